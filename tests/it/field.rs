//! Calls from public fault reports, each under `strict` and `safe`, through `pipe` and over gRPC: the field cases of the stages
//! `args`, `resolve` and `message`; those of the other stages are below.

mod batches;
mod host;
mod piped;
mod plan;
mod played;
mod registration;

use std::{fs, path::Path};

use toolbooth::{
    grpc::proto::{Batch, CallResult, ExecuteBatchRequest, Open, Profile},
    json::{Json, ParseLimits, parse},
};

use crate::{
    program::Folder,
    stand::{Stand, call, text},
};

/// What a case says of the arguments text that is no JSON object, or should not be one.
const MALFORMED: [&str; 9] = [
    "invalid_json",
    "not_object",
    "multiple_objects",
    "duplicate_key",
    "invalid_unicode",
    "too_deep",
    "forbidden_char",
    "suspect_markup",
    "truncated",
];

/// One call, to be made under one profile.
struct Case {
    id: String,
    profile: &'static str,
    contract: Json,
    name: String,
    arguments: String,
    expected: Json,
}

/// What a result says, whichever way it came.
#[derive(Debug)]
struct Said {
    is_error: bool,
    code: String,
    reason: String,
    text: String,
    arguments: Option<Json>,
    /// Target, path and operation.
    repairs: Vec<[String; 3]>,
    paths: Vec<String>,
}

#[test]
fn every_call_of_the_field_is_answered_as_it_should_be_through_pipe() {
    let cases = cases();
    for case in &cases {
        let register = Json::object([("register", case.contract.clone())]).to_text();
        let made = Json::object([
            ("id", Json::from("c")),
            ("name", Json::from(&*case.name)),
            ("arguments", Json::from(&*case.arguments)),
        ]);
        let batch = Json::object([("batch", Json::object([("calls", Json::from(vec![made]))]))]).to_text();
        let ended =
            Folder::of(&[]).run(&["pipe", "--profile", case.profile], format!("{register}\n{batch}\n").as_bytes());
        let answer = json(ended.out.lines().last().unwrap());
        case.compare(&said_by_pipe(&answer.get("batch").unwrap().get("results").unwrap().as_array().unwrap()[0]));
    }
    println!("{} calls, over two profiles", cases.len());
}

#[tokio::test]
async fn every_call_of_the_field_is_answered_as_it_should_be_over_grpc() {
    let cases = cases();
    let stand = Stand::with(r#"{"tools":[]}"#).await;
    let mut client = stand.client().await;
    for case in &cases {
        let profile = if case.profile == "strict" { Profile::Strict } else { Profile::Safe };
        let contracts = tools(&case.contract).iter().map(|contract| contract.to_text().into()).collect();
        let open = Open { contracts, profile: profile.into(), ..Open::default() };
        let batch = Batch { calls: vec![call("c", &case.name, &case.arguments)], ..Batch::default() };
        let request = ExecuteBatchRequest { open: Some(open), batch: Some(batch), ..ExecuteBatchRequest::default() };
        // A model's fault is an answer, and never a status.
        let answer = client.execute_batch(request).await.unwrap_or_else(|status| panic!("{}: {status}", case.id));
        case.compare(&said_by_grpc(&answer.into_inner().results[0]));
    }
}

fn tools(contract: &Json) -> Vec<Json> {
    match contract.get("tools") {
        Some(tools) => tools.as_array().unwrap().to_vec(),
        None => vec![contract.clone()],
    }
}

fn word(value: &Json, name: &str) -> String {
    value.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn list<'a>(value: &'a Json, name: &str) -> &'a [Json] {
    value.get(name).and_then(Json::as_array).unwrap_or_default()
}

fn said_by_pipe(result: &Json) -> Said {
    Said {
        is_error: word(result, "outcome") == "error",
        code: word(result, "code"),
        reason: word(result, "reason"),
        text: word(result, "text"),
        arguments: result.get("arguments").cloned(),
        repairs: list(result, "repairs").iter().map(|own| ["target", "path", "op"].map(|key| word(own, key))).collect(),
        paths: list(result, "violations").iter().map(|own| word(own, "path")).collect(),
    }
}

fn said_by_grpc(result: &CallResult) -> Said {
    let error = result.error.clone().unwrap_or_default();
    let code = error.code().as_str_name().trim_start_matches("ERROR_CODE_").to_lowercase();
    Said {
        is_error: result.is_error,
        code: if result.is_error { code } else { String::new() },
        reason: error.reason.clone(),
        text: text(result),
        arguments: std::str::from_utf8(&result.arguments).ok().filter(|text| !text.is_empty()).map(json),
        repairs: result.repairs.iter().map(|own| [own.target.clone(), own.path.clone(), own.op.clone()]).collect(),
        paths: error.violations.iter().map(|own| own.instance_path.clone()).collect(),
    }
}

fn json(text: &str) -> Json {
    parse(text.as_bytes(), &ParseLimits::wide()).unwrap()
}

/// The cases as they are written.
fn written() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/field/cases.jsonl")).unwrap()
}

/// All of them, each under both profiles.
fn cases() -> Vec<Case> {
    let cases: Vec<Json> = written().lines().map(json).collect();
    let calls = cases.iter().filter(|case| ["args", "resolve", "message"].contains(&&*word(case, "stage")));
    let found: Vec<Case> = calls
        .flat_map(|case| {
            [("strict", "expected_strict"), ("safe", "expected_coerce")].map(|(profile, key)| {
                let (contract, name, arguments) = asked(case);
                let expected = case.get(key).unwrap().clone();
                Case { id: format!("{} {profile}", word(case, "id")), profile, contract, name, arguments, expected }
            })
        })
        .collect();
    assert_eq!(found.len(), 2 * (72 + 7 + 2), "the stages have their cases");
    found
}

/// The contract, the name that is called, and the text of the arguments.
fn asked(case: &Json) -> (Json, String, String) {
    let echo = || Json::object([("echo", Json::empty_object())]);
    let tool = |name: &str, parameters: Json| {
        Json::object([("name", Json::from(name)), ("parameters", parameters), ("execute", echo())])
    };
    let input = case.get("input");
    match &*word(case, "stage") {
        "resolve" => {
            let input = input.unwrap();
            let any = || Json::object([("type", Json::from("object"))]);
            let tools = list(input, "tools").iter().map(|name| tool(name.as_str().unwrap(), any())).collect::<Vec<_>>();
            (Json::object([("tools", Json::from(tools))]), word(input, "called"), "{}".to_owned())
        }
        "message" => {
            let input = input.unwrap();
            // Both cases that are described in words ask for the same.
            let arguments = input.get("raw").map_or_else(
                || format!(r#"{{"content":"{}"}}"#, "x".repeat(100_000)),
                |raw| raw.as_str().unwrap().to_owned(),
            );
            (tool("t", input.get("schema").unwrap().clone()), "t".to_owned(), arguments)
        }
        _ => {
            let called = case.get("call").unwrap();
            let declared = case.get("tool").unwrap();
            let mut contract = tool(&word(declared, "name"), declared.get("parameters").unwrap().clone());
            let keys = contract.as_object_mut().unwrap();
            if let Some(defaults) = case.get("defaults") {
                keys.insert("arguments".into(), Json::object([("defaults", defaults.clone())]));
            }
            let renames = case.get("shim").and_then(|shim| shim.get("rename")?.as_object());
            let steps = renames.into_iter().flatten().map(|(from, to)| {
                let [from, to] = [from, to.as_str().unwrap()].map(|name| Json::from(format!("/{name}").as_str()));
                Json::object([("rename", Json::object([("from", from), ("to", to)]))])
            });
            let steps: Vec<Json> = steps.collect();
            if !steps.is_empty() {
                keys.insert("prepare".into(), Json::from(steps));
            }
            (contract, word(called, "name"), word(called, "raw"))
        }
    }
}

impl Case {
    fn compare(&self, said: &Said) {
        let place = format!("{}: {said:?}", self.id);
        match &*word(&self.expected, "outcome") {
            "error" => self.compare_error(said, &place),
            // The stage `message` asks for an error, and for what it says.
            "" => self.compare_message(said, &place),
            _ => {
                assert!(!said.is_error, "{place}");
                if let Some(arguments) = self.expected.get("args") {
                    assert_eq!(said.arguments.as_ref(), Some(arguments), "{place}");
                }
                let repairs = list(&self.expected, "repairs").iter().map(|own| match &*word(own, "path") {
                    "name" => ["name".to_owned(), String::new(), word(own, "op")],
                    path => ["arguments".to_owned(), path.to_owned(), word(own, "op")],
                });
                assert_eq!(said.repairs, repairs.collect::<Vec<_>>(), "{place}");
            }
        }
    }

    fn compare_error(&self, said: &Said, place: &str) {
        assert!(said.is_error && said.arguments.is_none(), "{place}");
        let (code, reason) = match &*word(&self.expected, "code") {
            "unknown_tool" => ("tool_not_found", String::new()),
            word if MALFORMED.contains(&word) => ("malformed_arguments", word.to_owned()),
            word => ("invalid_arguments", word.to_owned()),
        };
        assert_eq!((said.code.as_str(), &said.reason), (code, &reason), "{place}");
        let expected: Vec<&str> = list(&self.expected, "paths").iter().filter_map(Json::as_str).collect();
        let mut paths: Vec<&str> = said.paths.iter().map(String::as_str).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths, expected, "{place}");
        let hint = word(&self.expected, "hint_must_mention");
        assert!(said.text.contains(&hint), "{place}: `{hint}`");
    }

    fn compare_message(&self, said: &Said, place: &str) {
        assert!(said.is_error, "{place}");
        for word in list(&self.expected, "must_mention").iter().filter_map(Json::as_str) {
            assert!(said.text.contains(word), "{place}: `{word}`");
        }
        let forbidden = word(&self.expected, "must_not_contain");
        assert!(forbidden.is_empty() || !said.text.contains(&forbidden), "{place}");
        let most = self.expected.get("max_bytes").and_then(|most| usize::try_from(most.as_number()?.as_u64()?).ok());
        assert!(most.is_none_or(|most| said.text.len() <= most), "{place}");
    }
}

//! Texts from public fault reports that are no JSON object, each under `strict` and `safe`.

use std::{collections::BTreeMap, sync::Arc};

use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits, parse},
    pipeline::{self, Scope},
    refusal::{Reason, Repair},
    result::Trace,
    tools::{LoadOptions, Profile, load_document},
};

use super::{json, shared};

#[test]
fn p3_texts_that_are_no_json_object_are_repaired_or_refused_as_their_reports_ask() {
    let Some(cases) = shared("cases/field/cases.jsonl") else { return };
    let cases: Vec<Json> = cases.lines().map(json).collect();
    let texts: Vec<&Json> = cases.iter().filter(|case| is_no_object(case)).collect();
    assert!(texts.len() >= 19, "the cases have their texts: {}", texts.len());
    for case in &texts {
        for (profile, expected) in [(Profile::Strict, "expected_strict"), (Profile::Safe, "expected_coerce")] {
            check(case, profile, case.get(expected).unwrap());
        }
    }
    println!("{} texts, each under two profiles", texts.len());
}

fn word<'a>(value: &'a Json, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn raw(case: &Json) -> Option<&str> {
    word(case.get("call")?, "raw").filter(|_| word(case, "stage") == Some("args"))
}

/// Whether this is a case of a text that the parser alone does not make an object of.
fn is_no_object(case: &Json) -> bool {
    let read = |text: &str| parse(text.as_bytes(), &ParseLimits::default());
    raw(case).is_some_and(|text| !matches!(read(text), Ok(Json::Object(_))))
}

fn check(case: &Json, profile: Profile, expected: &Json) {
    let tool = case.get("tool").unwrap().to_text();
    let scope = Scope {
        catalog: load_document(tool.as_bytes(), &LoadOptions::default()).catalog,
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile,
    };
    let place = format!("{} {profile:?} {:?}", word(case, "id").unwrap(), raw(case));
    let arguments = raw(case).unwrap().to_owned().into();
    let name = word(case.get("tool").unwrap(), "name").unwrap().into();
    let call = ToolCall { index: 0, id: "c".into(), name, arguments, idempotency_key: None };
    let mut trace = Trace::default();
    match (word(expected, "outcome").unwrap(), pipeline::check(&scope, &call, &mut trace)) {
        ("error", Err(refusal)) => {
            let paths = Json::from(
                refusal
                    .violations
                    .iter()
                    .map(|violation| Json::from(violation.path.to_string().as_str()))
                    .collect::<Vec<_>>(),
            );
            assert_eq!(refusal.reason.map(Reason::as_str), word(expected, "code"), "{place}: {}", refusal.text);
            assert_eq!(Some(&paths), expected.get("paths"), "{place}");
            let mentioned = word(expected, "hint_must_mention").unwrap_or_default();
            assert!(
                refusal.text.contains(mentioned) && refusal.text.contains("Nothing was executed."),
                "{place}: {}",
                refusal.text
            );
        }
        ("ok" | "repaired", Ok(valid)) => {
            let done = |repair: &Repair| {
                Json::object([("path", repair.path.to_string().as_str().into()), ("op", repair.op.into())])
            };
            let repairs: Vec<Json> = trace.repairs.iter().map(done).collect();
            assert_eq!(Some(&**valid.value()), expected.get("args"), "{place}");
            assert_eq!(repairs, expected.get("repairs").and_then(Json::as_array).unwrap_or_default(), "{place}");
        }
        (outcome, checked) => panic!("{place}: expected {outcome}, got {checked:?}"),
    }
}

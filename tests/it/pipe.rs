//! `toolbooth pipe`: the stable format, line by line.

mod batches;

use serde_json::json;

use crate::program::Folder;

const ECHO: &str = "name: echo\nparameters: {type: object, properties: {n: {type: integer}}}\nexecute: {echo: {}}\n";

fn echo() -> Folder {
    Folder::of(&[("tools/echo.yaml", ECHO)])
}

#[test]
fn a_batch_is_answered_in_one_line_to_the_letter() {
    let line = r#"{"batch":{"id":"b7","finish_reason":"tool_calls","calls":[{"id":"c1","name":"echo","arguments":"{\"n\": 12345678901234567890}"},{"id":"c2","name":"echo","arguments":"{\"n\":1.5}"}]}}"#;
    let ended = echo().run(&["pipe", "--tools", "tools"], line.as_bytes());
    let ok = r#"{"index":0,"id":"c1","name":"echo","outcome":"ok","code":null,"reason":null,"executed":true,"terminate":false,"replayed":false,"text":"{\"n\":12345678901234567890}","structured":{"n":12345678901234567890},"raw_arguments":"{\"n\": 12345678901234567890}","arguments":{"n":12345678901234567890},"repairs":[],"violations":[]}"#;
    let error = r#"{"index":1,"id":"c2","name":"echo","outcome":"error","code":"invalid_arguments","reason":"schema","executed":false,"terminate":false,"replayed":false,"text":"Validation failed for tool \"echo\":\n  - n: expected integer, got number\n\nReceived arguments:\n{\n  \"n\": 1.5\n}","structured":null,"raw_arguments":"{\"n\":1.5}","repairs":[],"violations":[{"path":"/n","property":null,"keyword":"type","message":"expected integer, got number","hint":null}]}"#;
    let verdict = r#"{"terminate":false,"reason":"not_all","stop":false,"blocking":[0,1],"accepted":[],"limit":null,"remaining":{},"tool_choice":"echo"}"#;
    let expected = format!(r#"{{"batch":{{"id":"b7","results":[{ok},{error}],"verdict":{verdict}}}}}"#);
    assert_eq!((ended.code, ended.out.as_str()), (0, format!("{expected}\n").as_str()));
}

#[test]
fn a_line_that_is_not_understood_is_answered_and_the_next_one_is_read() {
    let batch = r#"{"batch":{"calls":[{"name":"echo"}]}}"#;
    let lines: Vec<(&[u8], &str)> = vec![
        (b"{\"batch\":", "not JSON: the text ends in the middle of a value, at column 10"),
        (b"{\"batch\":{\"calls\":[{}]}}", "/batch/calls/0: the key `name` is missing: add it"),
        (
            b"{\"batch\":{\"calls\":[{\"nme\":\"echo\",\"name\":\"echo\"}]}}",
            "/batch/calls/0/nme: unknown key `nme`; did you mean `name`?",
        ),
        (
            b"{\"batch\":{\"finish\":\"stop\",\"calls\":[]}}",
            "/batch/finish: unknown key `finish`; known here: id, finish_reason, mode, calls",
        ),
        (b"{\"batch\":{}}", "/batch: the key `calls` is missing: add it"),
        (b"{\"bath\":{\"calls\":[]}}", "/bath: unknown key `bath`; did you mean `batch`?"),
        (b"[]", "expected one of `{open: ...}`, `{batch: ...}`, `{register: ...}`, got array"),
        (
            b"{\"open\":{\"limits\":{\"max_wall\":\"late\"}}}",
            "/open/limits/max_wall: `late` is no duration: write it like `30s`, `100ms` or `2m`",
        ),
        (
            b"{\"batch\":{\"calls\":[{\"name\":\"\xff\"}]}}",
            "not JSON: a string is not valid Unicode, at column 29: arguments that are not Unicode go into `arguments_base64`",
        ),
        (
            b"{\"batch\":{\"calls\":[{\"name\":\"\\ud800\"}]}}",
            "not JSON: a string is not valid Unicode, at column 29: arguments that are not Unicode go into `arguments_base64`",
        ),
        (
            b"{\"batch\":{\"calls\":[{\"name\":\"echo\",\"arguments\":[]}]}}",
            "/batch/calls/0/arguments: expected the model's text as a string, or an object, got array",
        ),
        (
            b"{\"batch\":{\"calls\":[{\"name\":\"echo\",\"arguments_base64\":\"%\"}]}}",
            "/batch/calls/0/arguments_base64: not Base64: Invalid symbol 37, offset 0.",
        ),
    ];
    let mut input = Vec::new();
    for (line, _) in &lines {
        input.extend_from_slice(line);
        input.extend_from_slice(format!("\n{batch}\n\n").as_bytes());
    }
    let ended = echo().run(&["pipe", "--tools", "tools"], &input);
    assert_eq!(ended.code, 1);
    let answers = ended.lines();
    assert_eq!(answers.len(), 2 * lines.len());
    for (index, (_, message)) in lines.iter().enumerate() {
        // Two lines and a blank one each.
        assert_eq!(answers[2 * index], json!({"error": {"line": 3 * index + 1, "message": message}}));
        assert_eq!(answers[2 * index + 1]["batch"]["results"][0]["outcome"], "ok");
    }
}

#[test]
fn arguments_are_text_an_object_or_bytes() {
    let (answers, code) = echo().pipe(&[
        r#"{"batch":{"calls":[{"name":"echo","arguments":{"n":98765432109876543210,"x":[1.50]}},{"name":"echo","arguments_base64":"eyJuIjoxfQ=="},{"name":"echo","arguments_base64":"eyJzIjoi/yJ9"},{"name":"echo"},{"name":"echo","arguments":"{\"s\":\"\\u0000\"}"},{"name":"echo","arguments":"{\"\\ud800\":1}"}]}}"#,
    ]);
    let results = answers[0]["batch"]["results"].as_array().unwrap();
    let told: Vec<_> =
        results.iter().map(|result| (&result["raw_arguments"], &result["code"], &result["reason"])).collect();
    let (null, malformed) = (json!(null), json!("malformed_arguments"));
    assert_eq!(
        told,
        [
            (&json!(r#"{"n":98765432109876543210,"x":[1.50]}"#), &null, &null),
            (&json!(r#"{"n":1}"#), &null, &null),
            (&null, &malformed, &json!("invalid_unicode")),
            (&json!(""), &null, &null),
            (&json!(r#"{"s":"\u0000"}"#), &malformed, &json!("forbidden_char")),
            (&json!(r#"{"\ud800":1}"#), &malformed, &json!("invalid_unicode")),
        ]
    );
    assert_eq!(results[2]["raw_arguments_base64"], "eyJzIjoi/yJ9");
    assert!(results[2].get("raw_arguments").is_none() && results[2].get("arguments").is_none());
    assert_eq!((&results[3]["arguments"], code), (&json!({}), 0));
}

#[test]
fn registered_tools_serve_from_then_on_in_the_open_run_too() {
    let folder = echo();
    let batch = r#"{"batch":{"calls":[{"name":"later"}]}}"#;
    let (answers, code) = folder.pipe(&[
        r#"{"open":{"limits":{"max_turns":3}}}"#,
        batch,
        r#"{"register":{"name":"later","parameters":{"type":"object"},"execute":{"echo":{}}}}"#,
        batch,
        r#"{"register":{"tools":[{"name":"loose","execute":{"echo":{}}},{"name":"echo","parameters":{"type":"object"}},{"name":"typo","parameters":{},"timout":"1s"}]}}"#,
        r#"{"batch":{"calls":[{"name":"loose"},{"name":"echo"},{"name":"typo"}]}}"#,
        r#"{"register":7}"#,
    ]);
    assert_eq!(code, 0);
    let outcome = |answer: usize, call: usize| answers[answer]["batch"]["results"][call]["code"].clone();
    assert_eq!(outcome(0, 0), "tool_not_found");
    assert_eq!(
        answers[1],
        json!({"registered": {"name": "later", "status": "accepted", "dialect": "2020-12", "notes": []}})
    );
    assert_eq!(outcome(2, 0), json!(null));
    assert_eq!(answers[2]["batch"]["verdict"]["remaining"], json!({"turns": 1}));
    let registered =
        |answer: usize| (&answers[answer]["registered"]["status"], &answers[answer]["registered"]["notes"][0]["code"]);
    assert_eq!(registered(3), (&json!("accepted_with_warning"), &json!("no_parameters")));
    assert_eq!(registered(4), (&json!("quarantined"), &json!("duplicate_tool")));
    assert_eq!(
        answers[5],
        json!({"registered": {"name": "typo", "status": "quarantined", "dialect": null, "notes": [
            {"code": "unknown_key", "path": "/timout", "message": "unknown key `timout`; did you mean `timeout`?"},
        ]}})
    );
    assert_eq!((outcome(6, 0), outcome(6, 1), outcome(6, 2)), (json!(null), json!(null), json!("tool_quarantined")));
    assert_eq!(registered(7).0, "quarantined");
}

#[test]
fn tools_may_come_by_registration_alone() {
    let register = r#"{"register":{"name":"a","parameters":{}}}"#;
    let batch = r#"{"batch":{"calls":[{"name":"a"}]}}"#;
    let ended = Folder::of(&[]).run(&["pipe", "--execute", "echo"], format!("{register}\n{batch}").as_bytes());
    assert_eq!((ended.code, &ended.lines()[1]["batch"]["results"][0]["text"]), (0, &json!("{}")));
}

#[test]
fn a_tool_of_the_host_has_nobody_to_run_it() {
    let folder = Folder::of(&[("tools/a.yaml", "name: a\nparameters: {}\n")]);
    let (answers, code) = folder.pipe(&[r#"{"batch":{"calls":[{"name":"a"}]}}"#]);
    let result = &answers[0]["batch"]["results"][0];
    assert_eq!((&result["code"], &result["reason"], code), (&json!("execution_failed"), &json!("no_host"), 0));
}

#[test]
fn broken_contracts_are_reported_and_the_others_serve() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO), ("tools/b.yaml", "name: b\nparameters: {}\nmod: x\n")]);
    let ended = folder.run(&["pipe", "--tools", "tools"], br#"{"batch":{"calls":[{"name":"echo"}]}}"#);
    assert_eq!((ended.code, &ended.lines()[0]["batch"]["results"][0]["outcome"]), (0, &json!("ok")));
    assert!(ended.err.contains("tools/b.yaml:3: unknown key `mod`; did you mean `mode`?"), "{}", ended.err);
}

#[test]
fn e1_the_error_is_the_one_that_the_design_shows() {
    let contract = "name: submit_analysis\nparameters:\n  type: object\n  required: [name, evidence]\n  properties:\n    name: \
                    {type: string}\n    evidence: {type: string}\narguments: {profile: strict}\nexecute: {echo: {}}\n";
    let folder = Folder::of(&[("tools/submit.yaml", contract)]);
    let (answers, _) = folder.pipe(&[
        r#"{"batch":{"calls":[{"name":"submit_analysis","arguments":"{\"name\":\"first\",\"evidence\":42}"}]}}"#,
    ]);
    assert_eq!(
        answers[0]["batch"]["results"][0]["text"],
        "Validation failed for tool \"submit_analysis\":\n  - evidence: expected string, got number\n\nReceived \
         arguments:\n{\n  \"name\": \"first\",\n  \"evidence\": 42\n}"
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO)]);
    let script =
        r#"yes '{"batch":{"calls":[{"name":"echo"}]}}' | { "$0" pipe --tools tools; echo "$?" > code; } | head -n 1"#;
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_toolbooth")])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!((folder.read("code").trim(), String::from_utf8_lossy(&output.stderr).as_ref()), ("0", ""));
}

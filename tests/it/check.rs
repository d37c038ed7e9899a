//! `toolbooth check` and `toolbooth schema`: proving files before anybody depends on them.

use serde_json::json;

use crate::program::Folder;

const GOOD: &str = "name: submit\nparameters: {type: object}\nexecute: {submit: {}}\nmode: sequential\ntimeout: 30s\n";

#[test]
fn what_is_right_is_said_in_a_line_each() {
    let folder = Folder::of(&[
        ("tools/submit.yaml", GOOD),
        ("booth.yaml", "listen: {tcp: '127.0.0.1:7155'}\ntools: [tools]\ngrace: 5s\n"),
    ]);
    let ended = folder.run(&["check", "booth.yaml"], b"");
    assert_eq!(
        ended.out,
        "booth.yaml\n  ok       settings: tcp 127.0.0.1:7155, tools tools, grace 5s\n\n\
         tools/submit.yaml\n  ok       submit: run by submit, schema 2020-12, accepted once per run, sequential, timeout 30s, a \
         success terminates\n\n\
         1 tool serves, 1 settings file: 0 errors, 0 warnings\n"
    );
    assert_eq!(ended.code, 0);
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_remedy() {
    let folder = Folder::of(&[
        ("tools/a.yaml", "name: a\nparameters: {}\ntimout: 1s\n---\nname: b\n"),
        ("tools/c.json", "{\n\"name\": }"),
        ("tools/d.yaml", GOOD),
        ("tools/e.yaml", GOOD),
        ("booth.yaml", "listen:\n  sockt: a\n"),
    ]);
    let ended = folder.run(&["check", "tools", "booth.yaml", "none"], b"");
    assert_eq!(
        ended.out,
        "booth.yaml\n  error    settings: the booth does not start with them\n    booth.yaml:2: error[unknown_key] unknown key \
         `sockt`; did you mean `socket`?\n\n\
         none\n  error    path: not read\n    error[unreadable] none: No such file or directory (os error 2): name a contract \
         file, or a folder of them\n\n\
         tools/a.yaml\n  error    a: quarantined, it does not serve\n    tools/a.yaml:3: error[unknown_key] unknown key \
         `timout`; did you mean `timeout`?\n  warning  b: run by host, schema 2020-12\n    tools/a.yaml:5: \
         warning[no_parameters] no `parameters`: any object is accepted; write a JSON Schema\n\n\
         tools/c.json\n  error    file: see below\n    tools/c.json:2: error[syntax] expected a value: correct the JSON here; \
         comments and trailing commas are no part of it (line 2, column 9)\n\n\
         tools/d.yaml\n  ok       submit: run by submit, schema 2020-12, accepted once per run, sequential, timeout 30s, a \
         success terminates\n\n\
         tools/e.yaml\n  error    submit: quarantined, it does not serve\n    tools/e.yaml:1: error[duplicate_tool] the name \
         `submit` is taken by the contract at tools/d.yaml:1, which keeps it: rename one of them\n\n\
         2 tools serve, 3 quarantined, 1 settings file: 5 errors, 1 warning\n"
    );
    assert_eq!(ended.code, 1);
}

#[test]
fn warnings_alone_are_no_error() {
    let ended = Folder::of(&[("a.yaml", "name: a\n")]).run(&["check", "a.yaml"], b"");
    assert_eq!(ended.code, 0, "{}", ended.out);
    assert!(ended.out.ends_with("1 tool serves: 0 errors, 1 warning\n"), "{}", ended.out);
}

#[test]
fn tools_that_settings_name_are_checked_once_however_they_are_named() {
    let folder = Folder::of(&[
        ("tools/a.yaml", "name: a\nparameters: {}\n"),
        ("booth.yaml", "tools: [tools, ./tools/a.yaml]\n"),
    ]);
    let ended = folder.run(&["check", "booth.yaml", "tools"], b"");
    assert_eq!(ended.code, 0, "{}", ended.out);
    let folder = Folder::of(&[("booth.yaml", "tools: [none]\n")]);
    let ended = folder.run(&["check", "booth.yaml"], b"");
    assert!(ended.code == 1 && ended.out.contains("booth.yaml:1: error[unreadable] none: "), "{}", ended.out);
}

#[test]
fn programs_get_one_document() {
    let folder = Folder::of(&[("a.yaml", "name: a\nparameters: {}\nexecute: {echo: {}}\nmod: x\n")]);
    let ended = folder.run(&["check", "a.yaml", "--format", "json"], b"");
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let note = json!({
        "severity": "error", "code": "unknown_key", "file": "a.yaml", "line": 4, "path": "/mod",
        "message": "unknown key `mod`; did you mean `mode`?",
    });
    let contract = json!({
        "name": "a", "status": "quarantined", "line": 1, "executor": null, "dialect": null, "notes": [note],
    });
    assert_eq!(
        document,
        json!({
            "files": [{"file": "a.yaml", "kind": "contracts", "notes": [], "contracts": [contract]}],
            "summary": {"tools": 0, "quarantined": 1, "settings": 0, "errors": 1, "warnings": 0},
        })
    );
    assert_eq!(ended.code, 1);
}

#[test]
fn the_schemas_of_both_formats_are_printed() {
    let folder = Folder::of(&[]);
    for (arguments, title) in [
        (vec!["schema"], "Toolbooth contracts"),
        (vec!["schema", "contract"], "Toolbooth contracts"),
        (vec!["schema", "config"], "Toolbooth settings"),
    ] {
        let ended = folder.run(&arguments, b"");
        let schema: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!((ended.code, &schema["title"]), (0, &title.into()));
        assert!(jsonschema::validator_for(&schema).is_ok(), "{title}");
    }
}

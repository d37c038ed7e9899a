//! `toolbooth check` and `toolbooth schema`: proving files before anybody depends on them.

use std::{collections::BTreeSet, fs};

use serde_json::json;
use toolbooth::tools::{LINTS, Severity};

use crate::program::Folder;

const GOOD: &str = "name: submit\ndescription: Hand it in.\nparameters: {type: object, additionalProperties: false}\nexecute: {submit: {}}\nmode: sequential\ntimeout: 30s\n";

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
        ("tools/a.yaml", "name: a\nparameters: {}\ntimout: 1s\n---\nname: b\ndescription: Does it.\n"),
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
    let ended = Folder::of(&[("a.yaml", "name: a\ndescription: Does it.\n")]).run(&["check", "a.yaml"], b"");
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
        "name": "a", "status": "quarantined", "line": 1, "executor": null, "dialect": null, "notes": [note], "lints": [],
    });
    assert_eq!(
        document,
        json!({
            "files": [{"file": "a.yaml", "kind": "contracts", "notes": [], "contracts": [contract]}],
            "summary": {"tools": 0, "quarantined": 1, "settings": 0, "errors": 1, "warnings": 0, "infos": 0},
        })
    );
    assert_eq!(ended.code, 1);
}

/// Trips a lint once, one several times, and one on the contract itself.
const LINTED: &str = "\
name: find files
description: Find files.
parameters:
  type: object
  required: [tags, a, b, c, d]
  additionalProperties: false
  properties:
    tags:
      type: array
      description: Labels that it must have.
    a: {type: string}
    b: {type: string}
    c: {type: string}
    d: {type: string}
";

#[test]
fn lints_are_told_to_people_by_line_and_alike_ones_together() {
    let ended = Folder::of(&[("a.yaml", LINTED)]).run(&["check", "a.yaml"], b"");
    assert_eq!(
        ended.out,
        "a.yaml\n  warning  find files: run by host, schema 2020-12\n    \
         a.yaml:1: warning[tool_name] /name: OpenAI and Anthropic refuse every request with a name that is not 1 to 64 letters, \
         digits, `_` and `-`: rename the tool\n    \
         a.yaml:8: warning[array_without_items] /properties/tags: OpenAI and Gemini refuse every request with an array that has no \
         `items`: write what its items are\n    \
         a.yaml:11: note[no_property_description] /properties/a, /properties/b, /properties/c and 1 more: the model knows no more of \
         it than its name: write `description`, with an example where there is a format\n\n\
         1 tool serves: 0 errors, 2 warnings, 4 notes\n"
    );
    assert_eq!(ended.code, 0, "lints are no errors");
}

#[test]
fn the_whole_has_a_name_among_the_places_of_a_lint() {
    let text = "name: a\ndescription: d\nparameters:\n  type: object\n  required: [b]\n  properties:\n    b:\n      \
                description: d\n      type: object\n      properties: {}\n";
    let ended = Folder::of(&[("a.yaml", text)]).run(&["check", "a.yaml"], b"");
    let line = "    a.yaml:3: note[open_object] root, /properties/b: unknown fields pass without a word, misspelt optional ones \
                among them: write `additionalProperties: false`\n";
    assert!(ended.out.contains(line), "{}", ended.out);
}

#[test]
fn lints_are_told_to_programs_one_by_one() {
    let text = LINTED.replace("    b: {type: string}\n    c: {type: string}\n    d: {type: string}\n", "");
    let text = text.replace("[tags, a, b, c, d]", "[tags, a]");
    let ended = Folder::of(&[("a.yaml", &text)]).run(&["check", "a.yaml", "--format", "json"], b"");
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let lint = |severity: &str, code: &str, line: u32, path: &str, message: &str| json!({"severity": severity, "code": code, "file": "a.yaml", "line": line, "path": path, "message": message});
    assert_eq!(
        document["files"][0]["contracts"][0],
        json!({
            "name": "find files", "status": "accepted", "line": 1, "executor": "host", "dialect": "2020-12", "notes": [],
            "lints": [
                lint("warning", "tool_name", 1, "/name", "OpenAI and Anthropic refuse every request with a name that is not 1 to 64 \
                      letters, digits, `_` and `-`: rename the tool"),
                lint("warning", "array_without_items", 8, "/properties/tags", "OpenAI and Gemini refuse every request with an array \
                      that has no `items`: write what its items are"),
                lint("info", "no_property_description", 11, "/properties/a", "the model knows no more of it than its name: write \
                      `description`, with an example where there is a format"),
            ],
        })
    );
    assert_eq!(
        document["summary"],
        json!({"tools": 1, "quarantined": 0, "settings": 0, "errors": 0, "warnings": 2, "infos": 1})
    );
}

#[test]
fn warnings_count_for_the_exit_code_where_they_are_denied_and_notes_never_do() {
    let run = |text: &str, more: &[&str]| {
        let arguments = [&["check", "a.yaml"], more].concat();
        Folder::of(&[("a.yaml", text)]).run(&arguments, b"").code
    };
    let with_note = "name: a\ndescription: d\nparameters: {type: object}\n";
    let with_lint = "name: a\nparameters: {type: object, additionalProperties: false}\n";
    let with_warning = "name: a\ndescription: d\n";
    for (text, denied) in [(GOOD, 0), (with_note, 0), (with_lint, 1), (with_warning, 1)] {
        assert_eq!((run(text, &[]), run(text, &["--deny-warnings"])), (0, denied), "{text}");
    }
}

#[test]
fn contracts_are_read_under_the_profile_of_their_booth() {
    let folder = Folder::of(&[
        ("a.yaml", "name: a\nparameters: {type: OBJECT}\n"),
        ("strict.yaml", "tools: [a.yaml]\nprofile: strict\n"),
        ("safe.yaml", "tools: [a.yaml]\n"),
    ]);
    for (arguments, code) in [
        (&["a.yaml"][..], 0),
        (&["a.yaml", "--profile", "strict"], 1),
        (&["strict.yaml"], 1),
        (&["strict.yaml", "--profile", "safe"], 0),
        (&["safe.yaml"], 0),
    ] {
        let ended = folder.run(&[&["check"], arguments].concat(), b"");
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.out);
        assert_eq!(ended.out.contains("error[broken_schema]"), code == 1, "{arguments:?}: {}", ended.out);
    }
}

#[test]
fn the_examples_of_the_repository_are_without_warnings() {
    let folder = Folder::of(&[]);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/contracts");
    let ended = folder.run(&["check", examples, "--deny-warnings"], b"");
    assert_eq!(ended.code, 0, "{}", ended.out);
}

#[test]
fn every_lint_is_told_in_the_document_with_its_severity() {
    let codes: BTreeSet<_> = LINTS.iter().map(|lint| lint.code).collect();
    assert_eq!(codes.len(), LINTS.len(), "each code is there once");
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/lints.md")).unwrap();
    let (of_lints, _) = text.split_once("\n## What loading says").unwrap();
    let rows = of_lints.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let told: Vec<_> = rows.map(|(code, rest)| (code, rest.split(" |").next().unwrap())).collect();
    let severity = |severity| if severity == Severity::Warning { "warning" } else { "note" };
    let expected: Vec<_> = LINTS.iter().map(|lint| (lint.code, severity(lint.severity))).collect();
    assert_eq!(told, expected, "docs/lints.md has a row for each lint, in the order of LINTS");
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

//! `toolbooth call`: one call, for trying a contract.

use crate::program::Folder;

const ADD: &str =
    "name: add\nparameters: {type: object, required: [a], properties: {a: {type: integer}}}\nexecute: {echo: {}}\n";

fn folder() -> Folder {
    Folder::of(&[("tools/add.yaml", ADD), ("arguments.json", "{\"a\": 2}")])
}

#[test]
fn the_text_of_the_result_is_printed() {
    let ended = folder().run(&["call", "add", "--args", "{\"a\": 12345678901234567890}", "--tools", "tools"], b"");
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"a\":12345678901234567890}\n"));
    assert_eq!(ended.err, "");
}

#[test]
fn an_error_says_what_to_correct_and_is_the_exit_code() {
    let ended = folder().run(&["call", "add", "--args", "{\"a\": \"x\"}", "--tools", "tools"], b"");
    assert_eq!(ended.code, 1);
    assert!(ended.out.starts_with("Validation failed for tool \"add\":\n  - a: expected integer"), "{}", ended.out);
    let ended = folder().run(&["call", "ad", "--tools", "tools"], b"");
    assert_eq!((ended.code, ended.out.as_str()), (1, "Tool ad not found\n\nDeclared tools: add\n"));
}

#[test]
fn arguments_come_from_standard_input_or_a_file_too() {
    let folder = folder();
    let ended = folder.run(&["call", "add", "--args", "-", "--tools", "tools"], b"{\"a\": 1}");
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"a\":1}\n"));
    let ended = folder.run(&["call", "add", "--args", "@arguments.json", "--tools", "tools"], b"");
    assert_eq!((ended.code, ended.out.as_str()), (0, "{\"a\":2}\n"));
}

#[test]
fn the_whole_result_is_printed_on_request() {
    let ended = folder().run(&["call", "add", "--args", "{\"a\": 1.0e0}", "--tools", "tools", "--json"], b"");
    let result = &ended.lines()[0];
    assert_eq!((ended.code, &result["outcome"], &result["raw_arguments"]), (0, &"ok".into(), &"{\"a\": 1.0e0}".into()));
    assert!(ended.out.contains("\"arguments\":{\"a\":1}"), "{}", ended.out);
    assert_eq!(result["repairs"][0]["op"], "float_to_integer");
}

#[test]
fn a_call_that_cannot_be_made_is_neither_a_success_nor_an_error_result() {
    let folder = folder();
    for (arguments, says) in [
        (vec!["call", "add"], "--tools"),
        (vec!["call", "add", "--tools", "none"], "none: No such file"),
        (vec!["call", "add", "--tools", "tools", "--args", "@none.json"], "none.json cannot be read"),
        (vec!["call", "add", "--tools", "tools", "--profile", "lax"], "possible values: strict, safe, pi"),
    ] {
        let ended = folder.run(&arguments, b"");
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ended.err.contains(says), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn logs_are_lines_of_json_on_request() {
    let folder = Folder::of(&[("tools/a.yaml", "name: a\nparameters: {}\ntimout: 1s\n")]);
    let ended = folder.run(&["call", "a", "--tools", "tools", "--log-format", "json"], b"");
    let line: serde_json::Value = serde_json::from_str(&ended.err).unwrap();
    let said = (&line["level"], &line["message"], &line["tool"], &line["code"]);
    let message = "tools/a.yaml:3: unknown key `timout`; did you mean `timeout`?";
    assert_eq!(said, (&"ERROR".into(), &message.into(), &"a".into(), &"unknown_key".into()));
    let ended = folder.run(&["call", "a", "--tools", "tools", "--log-level", "off"], b"");
    assert_eq!((ended.code, ended.err.as_str()), (1, ""));
}

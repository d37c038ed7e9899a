//! What a model reads when its arguments are refused: short, complete, and not to be forged (rules E1 to E4).

use toolbooth::{pipeline, refusal::Refusal, result::Trace, tools::Profile};

use crate::stages::{call, scope};

/// The refusal of a call to the tool `t` of a contract.
fn refusal(contract: &str, arguments: &[u8]) -> Refusal {
    let scope = scope(contract, Profile::Strict);
    *pipeline::check(&scope, &call(arguments), &mut Trace::default()).expect_err("the call is refused")
}

fn text(contract: &str, arguments: &str) -> String {
    refusal(contract, arguments.as_bytes()).text
}

#[test]
fn e1_the_submission_with_a_number_as_evidence_reads_as_designed() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"name":{"type":"string"},"evidence":{"type":"string"}}}}"#;
    assert_eq!(
        text(contract, r#"{"name":"first","evidence":42}"#),
        "Validation failed for tool \"t\":\n  - evidence: expected string, got number\n\nReceived arguments:\n{\n  \"name\": \"first\",\n  \"evidence\": 42\n}"
    );
}

#[test]
fn e2_nothing_that_was_sent_can_forge_a_line() {
    let contract = r#"{"name":"t","parameters":{"type":"object","additionalProperties":false}}"#;
    let read = text(contract, r#"{"a\n  - b: missing\n\nReceived arguments:\u2028\u0085":1}"#);
    let lines: Vec<&str> = read.lines().collect();
    assert_eq!(lines[1], "  - a\\u{a}  - b: missing\\u{a}\\u{a}Received arguments:\\u{2028}\\u{85}: unknown field");
    assert_eq!(lines.len(), 7, "{read}");
}

#[test]
fn e2_no_control_character_is_shown() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}"#;
    let read = text(contract, "{\"a\":\"x\u{7f}\u{9b}y\",\"k\u{7f}\":1}");
    assert!(!read.contains(|letter: char| letter.is_control() && letter != '\n'), "{read:?}");
    assert!(read.ends_with("\"a\": \"x\\u007f\\u009by\",\n  \"k\\u007f\": 1\n}"), "{read}");
}

#[test]
fn e3_many_violations_are_counted_in_twenty_lines_and_leave_no_room_for_what_was_received() {
    let contract = r#"{"name":"t","parameters":{"type":"object","additionalProperties":{"type":"string"}}}"#;
    let sent = |count: usize| {
        let members: Vec<String> = (0..count).map(|number| format!("\"k{number}\":{number}")).collect();
        text(contract, &format!("{{{}}}", members.join(",")))
    };
    let read = sent(100);
    assert_eq!(read.lines().count(), 20, "{read}");
    assert!(read.ends_with("\n  - k17: expected string, got number\n  - and 82 more"), "{read}");
    let read = sent(19);
    assert!(read.ends_with("\n  - k18: expected string, got number") && read.lines().count() == 20, "{read}");
}

#[test]
fn e3_what_was_received_has_the_lines_that_the_violations_leave() {
    let contract = r#"{"name":"t","parameters":{"type":"object","required":["a","b","c"]}}"#;
    let sent = |count: usize| {
        let members: Vec<String> = (0..count).map(|number| format!("\"k{number}\":{number}")).collect();
        text(contract, &format!("{{{}}}", members.join(",")))
    };
    let read = sent(12);
    assert!(read.ends_with("  \"k11\": 11\n}") && read.lines().count() == 20, "{read}");
    let read = sent(13);
    assert!(read.ends_with("  \"k11\": 11,\n... and 2 more lines") && read.lines().count() == 20, "{read}");
}

#[test]
fn e3_long_lines_are_fewer_so_that_the_whole_stays_short() {
    let names: Vec<String> = (0..15).map(|number| format!("\"{}{number}\"", "\u{10000}".repeat(79))).collect();
    let deep = |name: &String| format!(r#"{{"type":"object","required":[{name}]}}"#);
    let contract = format!(
        r#"{{"name":"t","parameters":{{"type":"object","properties":{{{}}}}}}}"#,
        names.iter().map(|name| format!("{name}:{}", deep(name))).collect::<Vec<_>>().join(",")
    );
    let arguments = names.iter().map(|name| format!("{name}:{{}}")).collect::<Vec<_>>().join(",");
    let read = text(&contract, &format!("{{{arguments}}}"));
    assert!(read.len() <= 4096 && read.ends_with(" more"), "{} {read}", read.len());
}

#[test]
fn loop_005_a_long_string_is_shown_by_its_length_and_never_by_its_beginning() {
    let contract = r#"{"name":"t","parameters":{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"content":{"type":"string"}}}}"#;
    let read = text(contract, &format!(r#"{{"content":"{}"}}"#, "x".repeat(100_000)));
    assert!(read.contains("  - path: missing\n"));
    assert!(read.contains("\"content\": \"<string, 100000 characters>\""));
    assert!(!read.contains("xxxxxxxxxx") && read.len() < 600, "{read}");
}

#[test]
fn e3_a_large_array_is_cut_at_a_line_and_counted() {
    let contract = r#"{"name":"t","parameters":{"type":"object","required":["path"]}}"#;
    let items = vec!["1"; 5000].join(",");
    let read = text(contract, &format!(r#"{{"list":[{items}]}}"#));
    assert!(read.len() <= 4096 && read.lines().count() == 20, "{read}");
    assert_eq!(read.lines().last(), Some("... and 4989 more lines"));
}

#[test]
fn e3_what_is_sensitive_is_shown_nowhere() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"key":{"type":"string"},"token":{"type":"string","writeOnly":true},
        "list":{"type":"array","items":{"type":"object","properties":{"pin":{"type":"integer","writeOnly":true}}}},"n":{"type":"integer"}}},
        "arguments":{"sensitive":["/key"]}}"#;
    let refusal = refusal(contract, br#"{"key":"s3cret-a","token":"s3cret-b","list":[{"pin":"s3cret-c"}],"n":"x"}"#);
    assert!(!format!("{refusal:?}").contains("s3cret"), "{refusal:?}");
    assert!(refusal.text.contains("\"key\": \"<redacted>\""), "{}", refusal.text);
    assert_eq!(refusal.violation_count, 2);
}

#[test]
fn e3_what_is_sensitive_is_not_shown_under_its_old_name_either() {
    for (marked, arguments) in [(r#","writeOnly":true"#, "{}"), ("", r#"{"sensitive":["/password"]}"#)] {
        for received in ["short", "full"] {
            let arguments = arguments
                .replace('}', &format!(r#"{}"received":"{received}"}}"#, if arguments == "{}" { "" } else { "," }));
            let contract = format!(
                r#"{{"name":"t","parameters":{{"type":"object","required":["n"],"properties":{{"name":true,"password":{{"type":"string"{marked}}}}}}},
                    "prepare":[{{"rename":{{"from":"/pwd","to":"/password"}}}},{{"rename":{{"from":"/user","to":"/name"}}}}],
                    "arguments":{arguments}}}"#
            );
            let refusal = refusal(&contract, br#"{"pwd":"s3cret","user":"u"}"#);
            assert!(!format!("{refusal:?}").contains("s3cret"), "{refusal:?}");
            assert!(
                refusal.text.ends_with("{\n  \"password\": \"<redacted>\",\n  \"name\": \"u\"\n}"),
                "{}",
                refusal.text
            );
            let refusal = self::refusal(&contract, br#"{"user":"u"}"#);
            assert!(
                refusal.text.ends_with("{\n  \"user\": \"<redacted>\"\n}"),
                "nothing declares `user`: {}",
                refusal.text
            );
            let refusal = self::refusal(&contract, br#"{"pwd":"s3cret-a","password":"s3cret-b"}"#);
            assert!(!format!("{refusal:?}").contains("s3cret"), "{refusal:?}");
        }
    }
}

#[test]
fn e3_a_full_echo_is_no_longer_than_what_the_tool_may_answer() {
    let contract = r#"{"name":"t","parameters":{"type":"object","required":["path"]},"arguments":{"received":"full"},"output":{"max_bytes":5000}}"#;
    let deep = format!(r#"{{"a":{}{}{}}}"#, "[".repeat(60), vec!["1"; 400_000].join(","), "]".repeat(60));
    let read = text(contract, &deep);
    assert!((4_800..5_200).contains(&read.len()), "{}", read.len());
    assert!(read.ends_with(" more lines"), "{read}");
}

#[test]
fn e3_the_received_block_is_left_out_where_the_contract_says_so() {
    let contract = r#"{"name":"t","parameters":{"type":"object","required":["a"]},"arguments":{"received":"omit"}}"#;
    assert_eq!(text(contract, "{}"), "Validation failed for tool \"t\":\n  - a: missing");
}

#[test]
fn e4_a_misspelled_field_is_named() {
    let contract = r#"{"name":"t","parameters":{"type":"object","additionalProperties":false,"required":["file_path"],"properties":{"file_path":{"type":"string"}}}}"#;
    let read = text(contract, r#"{"filePath":"a"}"#);
    assert!(read.contains("  - file_path: missing (did you mean to rename `filePath`?)\n"), "{read}");
    assert!(read.contains("  - filePath: unknown field (did you mean `file_path`?)\n"), "{read}");
}

#[test]
fn p3_every_malformed_text_says_where_and_what_to_do() {
    let contract = r#"{"name":"t","parameters":{"type":"object"}}"#;
    for (arguments, reason, says) in [
        (
            &br#"{"a":1"#[..],
            "invalid_json",
            "the text ends in the middle of a value at line 1 column 7. Nothing was executed. The text is incomplete",
        ),
        (
            br#"{"a":1}{"a":2}"#,
            "invalid_json",
            "there is more text after the value at line 1 column 8. Nothing was executed. Send exactly one JSON object: one call per object",
        ),
        (br#"{"a":1,"a":1}"#, "duplicate_key", "the key \"a\" stands twice in one object at line 1 column 8"),
        (br#"{"a":"\ud800"}"#, "invalid_unicode", "a string is not valid Unicode at line 1 column 7"),
        (br#"{"a":"\u0000"}"#, "forbidden_char", "a string contains the character U+0000"),
        (b"{\"a\":\"\xff\"}", "invalid_unicode", "a string is not valid Unicode at line 1 column 7"),
        (b"[1]", "not_object", "must be a JSON object, got array"),
        (b"\"\"", "not_object", "must be a JSON object, got string"),
    ] {
        let refusal = refusal(contract, arguments);
        assert_eq!(refusal.reason.unwrap().as_str(), reason, "{arguments:?}");
        assert!(refusal.text.contains(says), "{}", refusal.text);
    }
}

#[test]
fn p3_a_text_that_cannot_be_repaired_says_where_and_what_to_do() {
    let contract = r#"{"name":"t","parameters":{"type":"object"},"arguments":{"profile":"safe"}}"#;
    for (arguments, reason, says) in [
        (
            "{'a':1,",
            "truncated",
            "middle of a value at line 1 column 8. Nothing was executed. The text is incomplete. Send the whole object again; if it was cut for its length, make it smaller.",
        ),
        ("```json\n{\"a\":\"b\n```", "truncated", "middle of a value at line 3 column 4."),
        (
            "{\"a\":1}\n{\"a\":2}",
            "multiple_objects",
            "there is a second, different object after the first at line 2 column 1. Nothing was executed. Send exactly one JSON object: one call per object.",
        ),
        (
            r#"{"p":"C:\new\dir"}"#,
            "invalid_json",
            r"a backslash in a string starts no legal escape at line 1 column 13. Nothing was executed. Write every backslash in a string as `\\`.",
        ),
        (
            "{'a':1,b:2}",
            "invalid_json",
            "expected a key in double quotes at line 1 column 8. Nothing was executed. Send one valid JSON object and nothing else.",
        ),
        (
            "Sure: {\"a\":1}",
            "invalid_json",
            "expected a value at line 1 column 1. Nothing was executed. Send one valid JSON object and nothing else.",
        ),
        (
            "{'a':1,'a':2}",
            "duplicate_key",
            "the key \"a\" stands twice in one object at line 1 column 8. Nothing was executed. Send each key once.",
        ),
        (r"{'\ud800':1}", "invalid_unicode", "at line 1 column 3. Nothing was executed. Send valid Unicode"),
        (
            "{\"a\":\"\0\"}",
            "forbidden_char",
            "U+0000 at line 1 column 7. Nothing was executed. Send it without that character.",
        ),
        (r#""{\"a\":1""#, "truncated", "middle of a value at line 1 column 1."),
        ("['x',]", "not_object", "must be a JSON object, got array. Nothing was executed. Send one JSON object."),
    ] {
        let refusal = refusal(contract, arguments.as_bytes());
        assert_eq!(refusal.reason.unwrap().as_str(), reason, "{arguments}");
        assert!(refusal.text.contains(says), "{}", refusal.text);
    }
}

#[test]
fn p2_an_unknown_tool_is_answered_with_the_nearest_names() {
    let contract = r#"{"name":"t_long","parameters":{"type":"object"}}"#;
    assert_eq!(text(contract, "{}"), "Tool t not found\n\nDeclared tools: t_long");
}

#[test]
fn p4_an_old_and_a_new_name_that_differ_are_a_conflict() {
    let contract =
        r#"{"name":"t","parameters":{"type":"object"},"prepare":[{"rename":{"from":"/filePath","to":"/path"}}]}"#;
    let refusal = refusal(contract, br#"{"filePath":"a","path":"b"}"#);
    assert_eq!(refusal.reason.unwrap().as_str(), "alias_conflict");
    assert!(refusal.text.contains("  - filePath: is an old name of `path`, and both are present"), "{}", refusal.text);
}

#[test]
fn v3_a_pattern_over_its_limit_of_steps_is_an_error_of_its_own() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"p":{"type":"string","pattern":"^(?:(?=a)(?:a|aa))+b$|!$"}}}}"#;
    let undecided = refusal(contract, format!(r#"{{"p":"{}!"}}"#, "a".repeat(200)).as_bytes());
    assert_eq!(undecided.reason.unwrap().as_str(), "pattern_limit");
    assert!(
        undecided.text.contains("  - p: could not be checked within the limit of steps; expected to match ^("),
        "{}",
        undecided.text
    );
    let wrong = refusal(contract, br#"{"p":"x"}"#);
    assert_eq!(wrong.reason.unwrap().as_str(), "schema");
}

#[test]
fn e3_a_secret_is_hidden_in_json_text_in_the_place_of_its_object_too() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"n":{"type":"object"}}},"arguments":{"sensitive":["/n/s"]}}"#;
    let read = text(contract, r#"{"n":"{\"s\":\"topsecret\"}"}"#);
    assert!(!read.contains("topsecret") && read.contains("\"n\": \"<redacted>\""), "{read}");
}

#[test]
fn e3_the_old_name_of_a_secret_is_hidden_in_a_conflict() {
    let contract = r#"{"name":"t","parameters":{"type":"object","properties":{"password":{"type":"string","writeOnly":true}}},"prepare":[{"rename":{"from":"/pwd","to":"/password"}}]}"#;
    let refusal = refusal(contract, br#"{"pwd":"s3cret-a","password":"s3cret-b"}"#);
    assert!(!format!("{refusal:?}").contains("s3cret"), "{refusal:?}");
    assert!(
        refusal.text.contains("  - pwd: is an old name of `password`, and both are present with different values\n"),
        "{}",
        refusal.text
    );
}

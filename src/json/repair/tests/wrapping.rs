//! What stands around the value.

use super::{all, none, read, refusal};
use crate::json::{Extent, ParseErrorKind, ParseLimits, parse_repaired};

#[test]
fn p3_one_fence_around_everything_is_stripped() {
    let fence: &[&str] = &["strip_fence"];
    all(&[
        ("```json\n{\"a\":1}\n```", r#"{"a":1}"#, fence),
        ("```\n{\"a\":1}\n```\n", r#"{"a":1}"#, fence),
        (" \r\n```JSON5 \t\r\n{\"a\":1}\r\n```  \r\n", r#"{"a":1}"#, fence),
        ("~~~json\n{\"a\":1}\n~~~", r#"{"a":1}"#, fence),
        ("````json\n{\"a\":\"```\"}\n````", r#"{"a":"```"}"#, fence),
        ("```json{\"a\":1}```", r#"{"a":1}"#, fence),
        ("``` {\"a\":1} ```", r#"{"a":1}"#, fence),
        (r#"```json\n{"a":1}\n```"#, r#"{"a":1}"#, &["strip_fence", "escaped_whitespace"]),
        ("```json\nnull\n```", "null", fence),
        ("```json\n\n```", "null", fence),
        ("```\n```", "null", fence),
        ("\u{feff}```json\n{}\n```", "{}", fence),
        (
            "```json\n{'a':1,}}\n```",
            r#"{"a":1}"#,
            &["strip_fence", "drop_trailing_brace", "python_literal", "strip_trailing_comma"],
        ),
    ]);
    for text in [
        "Here is the call:\n```json\n{}\n```",
        "```json\n{}\n```\nDone.",
        "```json\n{}\n```\n```json\n{}\n```",
        "```json\n{}\n~~~",
        "```json title\n{}\n```",
        "```true```",
        "`{}`",
        "{}\n```",
        "````\n{}\n```x",
    ] {
        assert!(matches!(refusal(text), ParseErrorKind::Syntax(_) | ParseErrorKind::Trailing), "{text}");
    }
}

#[test]
fn p3_special_tokens_behind_the_value_are_stripped() {
    let tokens: &[&str] = &["strip_special_tokens"];
    let both: &[&str] = &["strip_special_tokens", "strip_fence"];
    all(&[
        (r#"{"a":"<|x|>"}<|im_end|>"#, r#"{"a":"<|x|>"}"#, tokens),
        ("{}\n<|eot_id|> <|end_of_text|>\n", "{}", tokens),
        ("{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", "{}", tokens),
        ("```json\n{}\n```<｜tool▁call▁end｜>", "{}", both),
        ("```json\n{}<|im_end|>\n```", "{}", both),
        ("<|im_end|>", "null", tokens),
        ("null<|im_end|>", "null", tokens),
        ("{}}<|im_end|>", "{}", &["strip_special_tokens", "drop_trailing_brace"]),
    ]);
    none(
        &ParseErrorKind::Trailing,
        &[
            "{}<|im_end|>{}",
            "{}<|im_end|>x",
            "{}</tool_call>",
            "{}<||>",
            "{}<|a｜>",
            "{}<|{}|>",
            "<|im_start|>{}",
            "{}<|\"|>",
        ],
    );
}

#[test]
fn p3_objects_that_are_the_same_are_one_and_others_are_several() {
    let same: &[&str] = &["dedupe_identical_objects"];
    all(&[
        (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#, same),
        ("{\"a\":1,\"b\":[2]}\n{\"b\":[2],\"a\":1.0} {\"a\":1,\"b\":[2]}", r#"{"a":1,"b":[2]}"#, same),
        ("{}{}", "{}", same),
        (r#"{}{"a":1}"#, r#"{"a":1}"#, &["drop_empty_prefix"]),
        (
            r#"{}{}{"a":1}{"a":1}}"#,
            r#"{"a":1}"#,
            &["drop_empty_prefix", "dedupe_identical_objects", "drop_trailing_brace"],
        ),
        (
            r#"{"a":"\ud800"}{"a":"\ud800"}"#,
            "{\"a\":\"\u{fffd}\"}",
            &["dedupe_identical_objects", "replace_surrogate /a"],
        ),
    ]);
    none(
        &ParseErrorKind::MultipleObjects,
        &[
            r#"{"a":1}{"a":2}"#,
            r#"{"a":1}{}"#,
            r#"{"a":1}{"a":1}{"a":2}"#,
            r#"{"a":1}{"a":"1"}"#,
            r#"{"a":9007199254740993}{"a":9007199254740992}"#,
            r#"{"a":"\ud800"}{"a":"\ud801"}"#,
        ],
    );
    none(
        &ParseErrorKind::Trailing,
        &[r#"{"a":1},{"a":1}"#, r#"{"a":1} and {"a":1}"#, "[1][1]", "1 1", r#"{"a":1}}{"a":1}"#],
    );
    let error = read("{\"a\":1}\n {\"a\":2}").unwrap_err();
    assert_eq!((error.line, error.column), (2, 2));
}

#[test]
fn p3_brackets_behind_an_object_are_dropped() {
    let dropped: &[&str] = &["drop_trailing_brace"];
    all(&[(r#"{"a":1}}"#, r#"{"a":1}"#, dropped), ("{\"a\":1} ]\n}} ", r#"{"a":1}"#, dropped)]);
    none(&ParseErrorKind::Trailing, &[r#"{"a":1}})"#, "1}", "null}", r#"{"a":1}},"b":2}"#, r#""{}"}"#]);
}

#[test]
fn p3_a_text_that_spells_an_object_is_decoded_once() {
    let decoded = "json_string_to_object";
    all(&[
        (r#""{\"a\":1.10}""#, r#"{"a":1.10}"#, &[decoded]),
        (r#"" {\"a\":\"\\d\",}\n""#, r#"{"a":"\\d"}"#, &[decoded, "escape_backslash", "strip_trailing_comma"]),
        ("\"{\\\"a\\\":\\\"x\\ny\\\"}\"", r#"{"a":"x\ny"}"#, &[decoded, "escape_control"]),
        (r#""```json\n{'a':1}\n```""#, r#"{"a":1}"#, &[decoded, "strip_fence", "python_literal"]),
        ("```json\n\"{}\"\n```", "{}", &["strip_fence", decoded]),
        (r#"'{"a":1}'"#, r#"{"a":1}"#, &["python_literal", decoded]),
        (r#""""#, "{}", &["empty_text_to_object"]),
        (r#""  \n""#, "{}", &["empty_text_to_object"]),
        // What is no object stays a text, which is no object either.
        (r#""x""#, r#""x""#, &[]),
        (r#""[1]""#, r#""[1]""#, &[]),
        (r#""null""#, r#""null""#, &[]),
        (r#""\"{}\"""#, r#""\"{}\"""#, &[]),
    ]);
    none(&ParseErrorKind::Truncated, &[r#""{\"a\":""#, r#""{\"a\":1"#]);
    none(&ParseErrorKind::MultipleObjects, &[r#""{\"a\":1}{\"a\":2}""#]);
    // A replaced surrogate could stand in a key.
    none(&ParseErrorKind::InvalidUnicode, &[r#""{\"\ud800\":1}""#, r#""{\"\\ud800\":1}""#]);
}

#[test]
fn p3_a_nested_text_is_a_value_and_nothing_around_it() {
    let nested = |text: &str| parse_repaired(text.as_bytes(), &ParseLimits::default(), Extent::Nested);
    let read = nested(" ['a', \"b\nc\",]\n").unwrap();
    let ops: Vec<&str> = read.repairs.iter().map(|repair| repair.op).collect();
    assert_eq!(read.value.to_text(), r#"["a","b\nc"]"#);
    assert_eq!(ops, ["escape_control", "python_literal", "strip_trailing_comma"]);
    for text in ["```\n{}\n```", "{}{}", "{}}", "{}<|x|>", "\u{feff}{}", "", " "] {
        assert!(nested(text).is_err(), "{text}");
    }
    for (text, kind) in [("{}<|x|>", ParseErrorKind::Trailing), ("[1,<|x|>", ParseErrorKind::Syntax("a value"))] {
        assert_eq!(nested(text).unwrap_err().kind, kind, "{text}");
    }
    // One decode is the caller's.
    assert_eq!(nested(r#""{}""#).unwrap().value.to_text(), r#""{}""#);
}

//! The texts that pi parses: the outcome, the arguments, and the layout of the error.

use std::collections::BTreeSet;

use toolbooth::{json::Json, refusal::Repair};

use super::{Outcome, call, cases, contract, listed, text};

/// The text, read for a tool that accepts everything.
fn read(text: &[u8]) -> Outcome {
    call(&contract(&Json::empty_object()), text)
}

/// Refused alike, or read as the same arguments.
fn agrees(case: &Json) -> bool {
    let ours = read(text(case, "text").as_bytes());
    match ours.refusal {
        Some(_) => text(case, "outcome") == "error",
        None => text(case, "outcome") == "ok" && ours.trace.arguments.as_deref() == case.get("arguments"),
    }
}

#[test]
fn p3_texts_are_read_as_pi_reads_them_but_for_what_is_listed() {
    let cases = cases("args_parse.jsonl");
    let differing: BTreeSet<_> =
        cases.iter().filter(|case| !agrees(case)).map(|case| text(case, "id").to_owned()).collect();
    println!("texts: {} of {} agree", cases.len() - differing.len(), cases.len());
    // U+FFFD stands in the place of the half pair in this test's copy of the case as well, so that it cannot differ there.
    let listed = listed("Texts that differ");
    assert!(listed.contains("parse/lone_surrogate"));
    assert_eq!(differing, listed.into_iter().filter(|id| id != "parse/lone_surrogate").collect());
}

#[test]
fn e6_a_text_that_is_refused_is_shown_in_the_layout_of_pi() {
    for case in cases("args_parse.jsonl") {
        let Some(refusal) = read(text(&case, "text").as_bytes()).refusal else { continue };
        let shown = refusal.text.split_once("\n\nReceived arguments:\n");
        let (said, received) = shown.unwrap_or_else(|| panic!("{}", refusal.text));
        assert!(said.starts_with("Invalid arguments for tool \"t\": "), "{said}");
        assert_eq!(received, text(&case, "text"));
        assert_eq!(refusal.code.as_str(), "malformed_arguments");
        // Where the text is JSON, the message is pi's; otherwise pi repeats what V8 says, and the booth what its parser says.
        let of_pi = "Tool arguments must be a JSON object";
        assert_eq!(said.ends_with(of_pi), text(&case, "arguments_error").starts_with(of_pi), "{said}");
    }
}

#[test]
fn p3_backslashes_and_control_characters_are_repaired_in_any_mixture_and_listed() {
    for (sent, read_as, ops) in [
        (r#"{"p":"C:\Users\new"}"#, r#"{"p":"C:\\Users\new"}"#, "escape_backslash"),
        (
            r#"{"p":"\ud83d\ude00 \ud83d \ude00"}"#,
            "{\"p\":\"\u{1f600} \u{fffd} \u{fffd}\"}",
            "replace_surrogate (lossy)",
        ),
        ("{\"a\":\"x\ny\t\\d\u{1}\"}", r#"{"a":"x\ny\t\\d\u0001"}"#, "escape_control, escape_backslash"),
        (r#"{"t":"\usepackage \u12"}"#, r#"{"t":"\\usepackage \\u12"}"#, "escape_backslash"),
        (r#"{"a":"\\d","b":"\d","\c":"\""}"#, r#"{"a":"\\d","b":"\\d","\\c":"\""}"#, "escape_backslash"),
        ("\n{ \"a\" :\t\"\\d\" }", r#"{"a":"\\d"}"#, "escape_backslash"),
    ] {
        let ours = read(sent.as_bytes());
        assert_eq!(ours.trace.arguments.unwrap().text(), read_as, "{sent}");
        let op = |repair: &Repair| format!("{}{}", repair.op, if repair.lossy { " (lossy)" } else { "" });
        assert_eq!(ours.trace.repairs.iter().map(op).collect::<Vec<_>>().join(", "), ops, "{sent}");
    }
}

#[test]
fn p3_what_no_repair_makes_a_value_is_refused_with_the_text_as_it_was_sent() {
    for (sent, reason) in [
        (&b"{\"a\":\"\\"[..], "truncated"),
        (b"{\"a\":\"\0\"}", "forbidden_char"),
        (b"{\"a\":\"\xff\"}", "invalid_unicode"),
        (b"{\"a\":\"\\d\",\"a\":1}", "duplicate_key"),
    ] {
        let Outcome { refusal, trace } = read(sent);
        let refusal = refusal.unwrap();
        assert_eq!(refusal.reason.map(toolbooth::refusal::Reason::as_str), Some(reason), "{sent:?}");
        assert!(refusal.text.ends_with(&*String::from_utf8_lossy(sent)), "{}", refusal.text);
        assert!(trace.repairs.is_empty() && trace.arguments.is_none());
    }
}

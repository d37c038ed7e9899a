//! The texts that a model reads, one page for each kind of failure. What changes here changes what models do: a page that differs
//! fails, and `INSTA_UPDATE=always cargo nextest run texts` writes the new ones for review.

use std::{fmt::Write as _, time::Duration};

use toolbooth::{
    call::ToolCall,
    pipeline::{self, Scope},
    result::Trace,
    tools::Profile,
    wording,
};

use crate::stages::{check_bytes, tool};

/// Compares a page with the one that is kept.
macro_rules! same {
    ($page:expr $(,)?) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($page) })
    };
}

/// What each of some arguments gives under one profile: the arguments, and the text below them.
fn page(profile: Profile, rules: &str, cases: &[(&str, &str)]) -> String {
    let mut page = String::new();
    for (schema, arguments) in cases {
        let scope = Scope { profile, ..tool(schema, rules) };
        let refusal = check_bytes(&scope, arguments.as_bytes()).expect_err(arguments);
        let schema: String = schema.lines().map(str::trim_start).collect();
        let schema = schema.replacen(r#"{"type":"object","#, "{", 1);
        writeln!(page, "# {schema}\n# {arguments}\n{}\n", refusal.text).unwrap();
    }
    page
}

/// The lines of violations alone.
fn lines(cases: &[(&str, &str)]) -> String {
    let page = page(Profile::Strict, r#""received":"omit""#, cases);
    page.lines().filter(|line| !line.starts_with("Validation failed")).collect::<Vec<_>>().join("\n")
}

#[test]
fn v4_each_keyword_has_its_words() {
    same!(lines(&[
        (r#"{"type":"object","properties":{"a":{"type":"string"}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"type":["string","null","array"]}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"enum":["low",2,null]}}}"#, r#"{"a":"Low"}"#),
        (r#"{"type":"object","properties":{"a":{"const":{"b":1}}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"minimum":1}}}"#, r#"{"a":0}"#),
        (r#"{"type":"object","properties":{"a":{"maximum":1}}}"#, r#"{"a":2}"#),
        (r#"{"type":"object","properties":{"a":{"exclusiveMinimum":1}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"exclusiveMaximum":1}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"multipleOf":0.5}}}"#, r#"{"a":0.7}"#),
        (r#"{"type":"object","properties":{"a":{"minLength":2,"pattern":"^b"}}}"#, r#"{"a":"c"}"#),
        (r#"{"type":"object","properties":{"a":{"maxLength":2}}}"#, r#"{"a":"abc"}"#),
        (r#"{"type":"object","properties":{"a":{"minItems":2}}}"#, r#"{"a":[1]}"#),
        (r#"{"type":"object","properties":{"a":{"maxItems":1,"uniqueItems":true}}}"#, r#"{"a":[1,1]}"#),
        (r#"{"type":"object","properties":{"a":{"contains":{"type":"string"},"maxContains":1}}}"#, r#"{"a":["",""]}"#),
        (r#"{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}"#, r#"{"a":[1,2]}"#),
        (r#"{"type":"object","properties":{"a":{"unevaluatedItems":false}}}"#, r#"{"a":[1]}"#),
        (r#"{"type":"object","required":["file_path"]}"#, r#"{"filePath":1}"#),
        (r#"{"type":"object","minProperties":2}"#, r#"{"a":1}"#),
        (r#"{"type":"object","maxProperties":1}"#, r#"{"a":1,"b":2}"#),
        (r#"{"type":"object","properties":{"threshold":{}},"additionalProperties":false}"#, r#"{"treshold":1}"#),
        (r#"{"type":"object","properties":{"a":{}},"unevaluatedProperties":false}"#, r#"{"b":1}"#),
        (r#"{"type":"object","propertyNames":{"maxLength":1}}"#, r#"{"ab":1}"#),
        (r#"{"type":"object","patternProperties":{"^x":{"type":"string"}}}"#, r#"{"x1":1}"#),
        (r#"{"type":"object","dependentRequired":{"a":["b"]}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}"#, r#"{"a":1}"#),
        (r#"{"type":"object","properties":{"a":{"not":{"type":"string"}}}}"#, r#"{"a":""}"#),
        (r#"{"type":"object","properties":{"a":false}}"#, r#"{"a":1}"#),
        (
            r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}"#,
            r#"{"a":1}"#
        ),
        (r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"minimum":3}}}"##, r#"{"a":1}"#),
        (r#"{"type":"object","allOf":[{"required":["a"]},{"required":["b"]}]}"#, "{}"),
    ]));
}

#[test]
fn v4_each_format_has_its_words() {
    let of = |format: &str| format!(r#"{{"type":"object","properties":{{"a":{{"format":"{format}"}}}}}}"#);
    let [date_time, time, date, duration, email, uuid, uri] =
        ["date-time", "time", "date", "duration", "email", "uuid", "uri"].map(of);
    same!(lines(&[
        (&date_time, r#"{"a":"2026-04-29T15:30:00"}"#),
        (&date_time, r#"{"a":"tomorrow"}"#),
        (&time, r#"{"a":"15:30:00"}"#),
        (&date, r#"{"a":"29.4.2026"}"#),
        (&duration, r#"{"a":"2 days"}"#),
        (&email, r#"{"a":"me"}"#),
        (&uuid, r#"{"a":"1"}"#),
        (&uri, r#"{"a":"x"}"#),
    ]));
}

#[test]
fn e4_what_would_have_been_right_is_said_in_few_words() {
    let of = |kind: &str| format!(r#"{{"type":"object","properties":{{"a":{{"type":{kind}}}}}}}"#);
    let [integer, boolean, null, array, object, either] =
        [r#""integer""#, r#""boolean""#, r#""null""#, r#""array""#, r#""object""#, r#"["array","integer"]"#].map(of);
    same!(lines(&[
        (&integer, r#"{"a":" 5 "}"#),
        (&integer, r#"{"a":"5.0"}"#),
        (&integer, r#"{"a":"5.5"}"#),
        (&integer, r#"{"a":"five"}"#),
        (&boolean, r#"{"a":"true"}"#),
        (&boolean, r#"{"a":"yes"}"#),
        (&null, r#"{"a":"null"}"#),
        (&array, r#"{"a":"[1,2]"}"#),
        (&array, r#"{"a":"1,2"}"#),
        (&object, r#"{"a":"{\"b\":1}"}"#),
        (&object, r#"{"a":"[1]"}"#),
        (&either, r#"{"a":"7"}"#),
        (r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}"#, r#"{"a":"7"}"#,),
        (
            r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#,
            r#"{"arguments":"ls -la"}"#,
        ),
        (
            r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#,
            r#"{"arguments":{"command":"ls -la"}}"#,
        ),
        (r#"{"type":"object","properties":{"state":{"enum":["in_progress","done"]}}}"#, r#"{"state":"in progres"}"#,),
    ]));
}

#[test]
fn v4_a_union_is_explained_by_one_branch() {
    let tagged = r#"{"type":"object","properties":{"t":{"oneOf":[
        {"type":"object","properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
        {"type":"object","properties":{"kind":{"enum":["square","rectangle"]},"side":{"type":"number"}},"required":["kind"]}]}}}"#;
    let untagged = r#"{"type":"object","properties":{"t":{"anyOf":[
        {"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"integer"}},"required":["path"]},
        {"type":"object","properties":{"url":{"type":"string"}},"required":["url"]},{"type":"string"}]}}}"#;
    same!(lines(&[
        (tagged, r#"{"t":{"kind":"circle","radius":"big"}}"#),
        (tagged, r#"{"t":{"kind":"circel"}}"#),
        (tagged, r#"{"t":{"radius":1}}"#),
        (tagged, r#"{"t":"circle"}"#),
        (untagged, r#"{"t":{"path":"a","mode":"w"}}"#),
        (untagged, r#"{"t":{"uri":"a"}}"#),
        (untagged, r#"{"t":7}"#),
        (r#"{"type":"object","properties":{"t":{"oneOf":[{"minimum":1},{"minimum":2}]}}}"#, r#"{"t":3}"#),
        (r#"{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}"#, "{}"),
    ]));
}

#[test]
fn e1_what_was_received_stands_below() {
    let schema = r#"{"type":"object","required":["name"],"properties":{"pin":{"type":"string","writeOnly":true},
        "text":{"type":"string"},"list":{"type":"array"}}}"#;
    let long = format!(r#"{{"pin":"1234","text":"{}","list":[{}]}}"#, "x".repeat(200), vec!["1"; 100].join(","));
    let mut pages = String::new();
    for received in ["short", "full", "omit"] {
        let rules = format!(r#""received":"{received}""#);
        let page = page(Profile::Strict, &rules, &[(schema, &long)]);
        writeln!(pages, "## {received}\n{}", page.split_once("\nValidation").unwrap().1).unwrap();
    }
    // All of a hundred items is all of them.
    let pages = pages.replace(&"    1,\n".repeat(99), "    1, (99 times)\n");
    same!(pages);
}

#[test]
fn e3_many_equal_and_many_different_violations_are_folded_and_counted() {
    let equal = r#"{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"string"}]}}}"#;
    let many = r#"{"type":"object","additionalProperties":{"type":"string"}}"#;
    let sent: Vec<String> = (0..30).map(|number| format!(r#""k{number}":{number}"#)).collect();
    let sent = format!("{{{}}}", sent.join(","));
    same!(page(Profile::Strict, "", &[(equal, r#"{"a":1}"#), (many, &sent)]));
}

#[test]
fn p3_each_malformed_text_has_its_words() {
    let any = r#"{"type":"object"}"#;
    let cases: Vec<(&str, &str)> = [
        r#"{"a":1"#,
        r#"{"a":1}{"a":2}"#,
        r#"{"a":1} and so on"#,
        r#"{"a":1,"a":2}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\u0000"}"#,
        r#"{"a":"C:\dir"}"#,
        r#"{"a":tru}"#,
        "[1]",
        "\"text\"",
        "7",
    ]
    .into_iter()
    .map(|text| (any, text))
    .collect();
    let deep = format!(r#"{{"a":{}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let mut pages = page(Profile::Strict, "", &cases);
    pages += &page(Profile::Strict, "", &[(any, &deep)]).replace(&deep, "70 arrays, one in the other");
    pages += "## safe\n\n";
    pages += &page(Profile::Safe, "", &[(any, r#"{"a":1"#), (any, r#"{"a":1}{"a":2}"#)]);
    same!(pages);
}

#[test]
fn p4_conflicts_of_the_shim_and_markup_that_was_swallowed_have_their_words() {
    let scope = |contract: &str| {
        let loaded = toolbooth::tools::load_document(contract.as_bytes(), &toolbooth::tools::LoadOptions::default());
        Scope { catalog: loaded.catalog, ..tool(r#"{"type":"object"}"#, "") }
    };
    let shim = scope(
        r#"{"name":"t","parameters":{"type":"object"},"prepare":[{"rename":{"from":"/filePath","to":"/path"}}]}"#,
    );
    let markup = scope(r#"{"name":"t","parameters":{"type":"object","properties":{"content":{},"metadata":{}}}}"#);
    let said = |scope: &Scope, text: &str| check_bytes(scope, text.as_bytes()).expect_err(text).text;
    let swallowed = r#"{"content":"note</content>\n<parameter name=\"metadata\">{}</parameter>"}"#;
    same!([said(&shim, r#"{"filePath":"a","path":"b"}"#), said(&markup, swallowed)].join("\n\n"));
}

#[test]
fn v3_a_pattern_over_its_limit_has_words_of_its_own() {
    let schema = r#"{"type":"object","properties":{"p":{"type":"string","pattern":"^(?:(?=a)(?:a|aa))+b$|!$"}}}"#;
    let sent = format!(r#"{{"p":"{}!"}}"#, "a".repeat(70));
    same!(page(Profile::Strict, "", &[(schema, &sent)]));
}

#[test]
fn p2_tools_that_cannot_be_called_have_their_words() {
    let contracts = r#"{"tools":[{"name":"read_file","parameters":{"type":"object"}},{"name":"list_dir","parameters":{"type":"object"}},
        {"name":"broken","parameters":{"type":"nope"}}]}"#;
    let loaded = toolbooth::tools::load_document(contracts.as_bytes(), &toolbooth::tools::LoadOptions::default());
    let scope = Scope { catalog: loaded.catalog, ..tool(r#"{"type":"object"}"#, "") };
    let said = |name: &str| {
        let (id, name) = ("c".into(), name.into());
        let call = ToolCall { index: 0, id, name, arguments: "{}".into(), idempotency_key: None };
        pipeline::check(&scope, &call, &mut Trace::default()).expect_err("it is refused").text
    };
    same!(["execute_python", "read_fil", "a\nb", "broken"].map(said).join("\n\n"));
}

#[test]
fn p10_everything_else_that_the_booth_says_has_its_words() {
    let minute = Duration::from_mins(1);
    same!(
        [
            wording::truncated("t"),
            wording::denied("t", "not on a Sunday"),
            wording::denied("t", ""),
            wording::policy_unavailable("t"),
            wording::hook_invalid_arguments("t"),
            wording::timed_out("t", minute),
            wording::outcome_unknown("t", "no answer within 1m"),
            wording::cancelled("t", false),
            wording::cancelled("t", true),
            wording::duplicate_call_id("t", "c1"),
            wording::already_accepted("t"),
            wording::limit_reached("t", "max_calls"),
            wording::reserved_for_delivery("t", &["submit", "report"]),
            wording::last_but_one_invalid(2),
            wording::last_invalid(3),
            wording::execution_failed("t", "connection refused"),
            wording::result_invalid("t", "no JSON"),
            wording::overloaded("t"),
            wording::cut_marker(1_000_000),
            wording::cut_marker_at_least(1_000_000),
        ]
        .join("\n\n")
    );
}

//! What holds in profile `pi` as in every other: soundness, secrets, and bounded costs.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use toolbooth::{
    json::Json,
    tools::{Schema, SchemaOptions},
};

use super::{Outcome, call, contract, json};

/// The text that the model reads and the structure beside it.
fn shown(outcome: &Outcome) -> String {
    let refusal = outcome.refusal.as_ref().expect("the call is refused");
    format!("{} {:?}", refusal.text, refusal.violations)
}

#[test]
fn e3_what_a_contract_marks_is_not_shown_under_pi_either() {
    let schema = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},
        "key":{"type":"string","writeOnly":true},"list":{"type":"array","items":{"properties":{"key":{"writeOnly":true}}}}}}"#;
    for sent in [
        r#"{"n":"x","key":"s3cret"}"#,
        r#"{"n":"x","key":{"a":"s3cret"}}"#,
        r#"{"n":"x","list":{"key":"s3cret"}}"#,
        r#"{"n":"x","key":"s3cret""#,
        r#"{"n":"x","key":"s3cret","key":1}"#,
    ] {
        let outcome = call(&contract(&json(schema)), sent.as_bytes());
        assert!(!shown(&outcome).contains("s3cret"), "{}", shown(&outcome));
    }
    let sensitive =
        r#"{"name":"t","parameters":{"properties":{"n":{"type":"integer"}}},"arguments":{"sensitive":["/a/b"]}}"#;
    for sent in
        [r#"{"n":"x","a":{"b":"s3cret"}}"#, r#"{"n":"x","a":"s3cret"}"#, r#"["s3cret"]"#, r#"{"a":{"b":"s3cret"}"#]
    {
        let outcome = call(&json(sensitive), sent.as_bytes());
        assert!(!shown(&outcome).contains("s3cret"), "{}", shown(&outcome));
    }
}

#[test]
fn e3_a_contract_may_leave_out_what_was_received() {
    let contract =
        r#"{"name":"t","parameters":{"properties":{"n":{"type":"integer"}}},"arguments":{"received":"omit"}}"#;
    let text = |sent: &[u8]| call(&json(contract), sent).refusal.unwrap().text;
    assert_eq!(text(br#"{"n":"x"}"#), "Validation failed for tool \"t\":\n  - n: expected integer, got string");
    assert_eq!(text(b"null"), "Invalid arguments for tool \"t\": Tool arguments must be a JSON object");
}

#[test]
fn v3_hostile_schemas_and_values_end_soon_and_are_not_converted() {
    let union = r##"{"$defs":{"t":{"anyOf":[{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/t"}}},
        {"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/t"}}},
        {"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/t"}}},{"type":"boolean"}]}},"$ref":"#/$defs/t"}"##;
    let deep = |levels: usize, inner: &str| format!("{}{inner}{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let wraps =
        r##"{"properties":{"v":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}"##;
    let flat = r##"{"properties":{"v":{"$ref":"#/$defs/l"}},"$defs":{"l":{"allOf":[{"type":"array","items":{"$ref":"#/$defs/l"}}]}}}"##;
    let numbers = r#"{"properties":{"v":{"type":"array","items":{"type":"integer"}}}}"#;
    let branches = vec![r#"{"properties":{"n":{"type":"integer"}},"required":["m"]}"#; 500].join(",");
    let branches = format!(r#"{{"anyOf":[{branches}]}}"#);
    let many = |item: &str| format!(r#"{{"n":"1","v":[{}]}}"#, vec![item; 150_000].join(","));
    for (schema, sent) in [
        (union, deep(40, "1.5")),
        (union, deep(14, "\"x\"")),
        (wraps, r#"{"v":5}"#.to_owned()),
        (flat, r#"{"v":5}"#.to_owned()),
        (numbers, many("\"1\"")),
        (&branches, many("1")),
    ] {
        let start = Instant::now();
        let outcome = call(&contract(&json(schema)), sent.as_bytes());
        // Generous: this is an unoptimised build.
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}: {schema:.60}", start.elapsed());
        assert!(outcome.refusal.is_some(), "{schema:.60}");
    }
}

/// Schemas of the keywords that conversions look at.
fn schemas() -> impl Strategy<Value = Json> {
    let leaf = prop::sample::select(vec![
        r#"{"type":"string"}"#,
        r#"{"type":"integer","maximum":5}"#,
        r#"{"type":"number"}"#,
        r#"{"type":"boolean"}"#,
        r#"{"type":"null"}"#,
        r#"{"type":["integer","null"]}"#,
        r#"{"type":["boolean","string"]}"#,
        r#"{"const":1}"#,
        r#"{"enum":["1",true,null]}"#,
        r#"{"enum":[2,"b"]}"#,
        "true",
        "false",
        "{}",
        r##"{"$ref":"#"}"##,
    ]);
    leaf.prop_map(json).prop_recursive(3, 24, 3, |inner| {
        let pair = prop::collection::vec(inner.clone(), 1..3);
        prop_oneof![
            (inner.clone(), inner.clone(), any::<bool>()).prop_map(|(a, b, is_required)| {
                let required = if is_required { vec![Json::from("a")] } else { Vec::new() };
                let properties = Json::object([("a", a), ("b", b)]);
                Json::object([("type", "object".into()), ("properties", properties), ("required", required.into())])
            }),
            inner.clone().prop_map(|items| Json::object([("type", "array".into()), ("items", items)])),
            inner.prop_map(|rest| Json::object([("additionalProperties", rest)])),
            (prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]), pair)
                .prop_map(|(keyword, branches)| Json::object([(keyword, branches.into())])),
        ]
    })
}

fn values() -> impl Strategy<Value = Json> {
    let leaf = prop::sample::select(vec![
        "null", "true", "false", "0", "1", "2.5", "1.0", "1e30", "\"\"", "\"1\"", "\"true\"", "\"null\"", "\"2.5\"",
        "\"b\"", "\"x,y\"",
    ]);
    leaf.prop_map(json).prop_recursive(3, 16, 3, |inner| {
        let member = (prop::sample::select(vec!["a", "b", "c"]), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Json::Array),
            prop::collection::vec(member, 0..3).prop_map(Json::object),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c2_what_runs_is_valid_and_what_was_valid_runs_as_it_was(schema in schemas(), value in values()) {
        let schema = Json::object([("type", Json::from("object")), ("properties", Json::object([("v", schema)]))]);
        let sent = Json::object([("v", value)]);
        let Ok((compiled, _)) = Schema::compile(&schema, SchemaOptions::default()) else { return Ok(()) };
        let outcome = call(&contract(&schema), sent.to_text().as_bytes());
        let was_valid = compiled.is_valid(&sent);
        if let Some(arguments) = outcome.trace.arguments.as_deref() {
            prop_assert!(compiled.is_valid(arguments));
            prop_assert!(!was_valid || *arguments == sent);
            prop_assert!(*arguments == sent || !outcome.trace.repairs.is_empty());
        } else {
            let refusal = outcome.refusal.unwrap();
            prop_assert!(!was_valid && refusal.violation_count > 0 && refusal.text.starts_with("Validation failed"));
        }
    }
}

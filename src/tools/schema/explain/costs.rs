//! What an explanation may cost, whatever the schema and the value are (rule V3).

use super::super::tests::{json, schema};

#[test]
fn v4_ten_thousand_errors_are_counted_and_not_all_kept() {
    let items = format!("[{}]", vec!["1"; 10_000].join(","));
    let explanation = schema(r#"{"items":{"type":"string"}}"#).explain(&json(&items));
    assert_eq!((explanation.violations.len(), explanation.count), (100, 10_000));
}

#[test]
fn v3_ten_thousand_unknown_fields_are_not_each_compared_with_every_name_and_pattern() {
    let many = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
    let declared = many(1_000, |number| format!(r#""declared_{number}":true"#));
    let patterns = many(100, |number| format!(r#""^p{number}_":true"#));
    let sent = json(&format!("{{{}}}", many(9_000, |number| format!(r#""sent_{number}":1"#))));
    let text =
        |last: &str| format!(r#"{{"properties":{{{declared}}},"patternProperties":{{{patterns}}},"{last}":false}}"#);
    for last in ["additionalProperties", "unevaluatedProperties"] {
        let schema = schema(&text(last));
        let start = std::time::Instant::now();
        assert!(schema.explain(&sent).count >= 1);
        // Generous: it took more than a minute in an unoptimised build before steps were counted.
        assert!(start.elapsed().as_secs() < 10, "{last}: {:?}", start.elapsed());
    }
}

#[test]
fn v3_long_lists_of_names_and_choices_are_not_gone_through_for_each_of_many_items() {
    let many = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
    let names = many(20_000, |number| format!("\"name_{number}\""));
    let objects = json(&format!("[{}]", many(2_000, |number| format!(r#"{{"sent_{number}":"x"}}"#))));
    let texts = json(&format!("[{}]", many(2_000, |number| format!("\"text_{number}\""))));
    let long = "x".repeat(200_000);
    for (item, value) in [
        (format!(r#"{{"required":[{names}]}}"#), &objects),
        (format!(r#"{{"enum":[{names}]}}"#), &texts),
        (format!(r#"{{"const":["{long}"]}}"#), &texts),
        (format!(r#"{{"pattern":"^({long}|y)$"}}"#), &texts),
    ] {
        let schema = schema(&format!(r#"{{"items":{item}}}"#));
        let start = std::time::Instant::now();
        let explanation = schema.explain(value);
        assert!(explanation.count >= 50, "{item:.60}");
        assert!(explanation.violations.iter().all(|violation| violation.message.len() < 2_000), "{item:.60}");
        // Generous: this is an unoptimised build, and it took minutes before they were counted.
        assert!(start.elapsed().as_secs() < 8, "{item:.60}: {:?}", start.elapsed());
    }
}

#[test]
fn v3_a_recursive_union_does_not_explode() {
    let schema = schema(
        r##"{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},
                      {"type":"object","properties":{"a":{"$ref":"#"}},"required":["b"]},
                      {"type":"object","properties":{"a":{"$ref":"#"}},"required":["c"]}]}"##,
    );
    let value = format!("{}1{}", r#"{"a":"#.repeat(40), "}".repeat(40));
    let explanation = schema.explain(&json(&value));
    assert!(explanation.count >= 1);
}

//! What profile `safe` makes of arguments, rule by rule, through the stages that calls take.

mod arguments;
mod properties;

use toolbooth::{
    json::{Json, ParseLimits, parse},
    refusal::{Refusal, Repair},
};

use crate::stages::check;

/// The arguments after conversion, and what was done: `op path`.
fn converted(schema: &str, arguments: &str) -> Result<(String, Vec<String>), Box<Refusal>> {
    check(schema, arguments).map(|checked| (checked.arguments.to_text(), ops(&checked.repairs)))
}

fn ops(repairs: &[Repair]) -> Vec<String> {
    repairs.iter().map(|repair| format!("{} {}", repair.op, repair.path).trim_end().to_owned()).collect()
}

/// What becomes of a property `v` of this schema that is sent as this value; `None`: it is refused.
fn value(schema: &str, sent: &str) -> Option<(String, Vec<String>)> {
    let (object, ops) = converted(&of_v(schema), &format!(r#"{{"v":{sent}}}"#)).ok()?;
    let value = json(&object).get("v").map_or_else(|| "absent".to_owned(), Json::to_text);
    Some((value, ops))
}

fn of_v(schema: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{schema}}},"required":["v"]}}"#)
}

fn json(text: &str) -> Json {
    parse(text.as_bytes(), &ParseLimits::wide()).unwrap()
}

/// Each row: schema of `v`, what is sent, and what it becomes with the operations at `/v`; an empty one is a refusal.
fn table(rows: &[(&str, &str, &str, &[&str])]) {
    for (schema, sent, becomes, ops) in rows {
        let expected = (!becomes.is_empty()).then(|| {
            let ops = ops.iter().map(|op| if op.contains(' ') { (*op).to_owned() } else { format!("{op} /v") });
            ((*becomes).to_owned(), ops.collect::<Vec<_>>())
        });
        assert_eq!(value(schema, sent), expected, "{sent} under {schema}");
    }
}

#[test]
fn c1_what_validates_is_never_changed() {
    table(&[
        (r#"{"type":["boolean","string"]}"#, r#""true""#, r#""true""#, &[]),
        (r#"{"anyOf":[{"type":"null"},{"type":"number"}]}"#, "0", "0", &[]),
        (r#"{"anyOf":[{"type":"string"},{"type":"array"}]}"#, r#""[1]""#, r#""[1]""#, &[]),
        (r#"{"type":"string"}"#, r#""None""#, r#""None""#, &[]),
        (r#"{"type":"number"}"#, "1.50", "1.50", &[]),
        (r#"{"type":["integer","number"]}"#, "1.0", "1.0", &[]),
        ("true", "1e2", "1e2", &[]),
    ]);
}

#[test]
fn c1_what_validates_stays_beside_what_does_not() {
    let schema = |inner: &str| format!(r#"{{"type":"object","properties":{{"n":{{"type":"integer"}}}},{inner}}}"#);
    for (inner, kept) in [
        // Whether a member was evaluated, only the validator can tell.
        (r#""allOf":[{"properties":{"v":{"type":["integer","string"]}}}],"unevaluatedProperties":false"#, r#""5""#),
        (r#""allOf":[{"properties":{"v":{"type":["string","null"]}}}],"unevaluatedProperties":false"#, "null"),
        (
            r#""anyOf":[{"properties":{"v":{"type":["integer","null"]}}}],"unevaluatedProperties":{"type":"string"}"#,
            "5",
        ),
        (
            r#""allOf":[{"properties":{"v":{"allOf":[{"prefixItems":[{}]}],"unevaluatedItems":{"type":"string"}}}}]"#,
            "[5]",
        ),
        (r#""patternProperties":{"^v$":{"type":["integer","string"],"minLength":1}}"#, r#""5""#),
        // A reference may lead to where no schema is expected.
        (
            r##""allOf":[{"$ref":"#/components/c"}],"components":{"c":{"properties":{"v":{"type":["integer","string"],"minLength":1}}}}"##,
            r#""5""#,
        ),
        // What holds under a condition holds if what comes out meets it.
        (r#""if":{"properties":{"n":{"const":7}}},"else":{"properties":{"v":{"type":"string"}}}"#, "5"),
        // Keywords of a later dialect say nothing.
        (
            r#""$schema":"http://json-schema.org/draft-07/schema#","dependentSchemas":{"n":{"properties":{"v":{"type":"string"}}}}"#,
            "5",
        ),
        (
            r#""$schema":"http://json-schema.org/draft-06/schema#","if":true,"then":{"properties":{"v":{"type":"string"}}}"#,
            "5",
        ),
    ] {
        let (after, ops) = converted(&schema(inner), &format!(r#"{{"v":{kept},"n":"7"}}"#)).unwrap();
        assert_eq!(
            (after, ops),
            (format!(r#"{{"v":{kept},"n":7}}"#), vec!["string_to_integer /n".to_owned()]),
            "{inner}"
        );
    }
}

#[test]
fn c1_an_integer_is_spelled_as_one_where_the_schema_says_so() {
    table(&[
        (r#"{"type":"integer"}"#, "1e3", "1000", &["float_to_integer"]),
        (r#"{"type":["integer","null"]}"#, "5.0", "5", &["float_to_integer"]),
        (r#"{"anyOf":[{"type":"integer"},{"type":"string"}]}"#, "5.0", "5", &["float_to_integer"]),
        (r#"{"type":"array","items":{"type":"integer"}}"#, "[1,2.0]", "[1,2]", &["float_to_integer /v/1"]),
        (r#"{"type":"integer"}"#, "12345678901234567890.0", "12345678901234567890", &["float_to_integer"]),
        (r#"{"type":"integer"}"#, "1e1000000000", "1e1000000000", &[]),
        (r#"{"type":"number"}"#, "5.0", "5.0", &[]),
    ]);
}

#[test]
fn c3_texts_become_what_they_say_and_scalars_become_texts() {
    table(&[
        (r#"{"type":"integer"}"#, r#"" 42 ""#, "42", &["string_to_integer"]),
        (r#"{"type":"integer"}"#, r#""230.0""#, "230", &["string_to_integer"]),
        (r#"{"type":"integer"}"#, r#""725653563933458433""#, "725653563933458433", &["string_to_integer"]),
        (r#"{"type":"number"}"#, r#""-1.50e2""#, "-1.50e2", &["string_to_number"]),
        (r#"{"type":"boolean"}"#, r#""TRUE""#, "true", &["string_to_boolean"]),
        (r#"{"type":"boolean"}"#, r#""false""#, "false", &["string_to_boolean"]),
        (r#"{"type":"string"}"#, "1.10", r#""1.10""#, &["number_to_string"]),
        (r#"{"type":"string"}"#, "true", r#""true""#, &["boolean_to_string"]),
        (r#"{"const":true}"#, r#""true""#, "true", &["string_to_boolean"]),
        (r#"{"enum":[1,2]}"#, r#""2""#, "2", &["string_to_integer"]),
        (r#"{"enum":["1","2"]}"#, "2", r#""2""#, &["number_to_string"]),
    ]);
}

#[test]
fn c3_json_text_is_decoded_once_and_then_its_items() {
    let steps =
        r#"{"type":"array","items":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}"#;
    table(&[
        (
            steps,
            r#""[{\"ok\":\"false\"}]""#,
            r#"[{"ok":false}]"#,
            &["json_string_to_array", "string_to_boolean /v/0/ok"],
        ),
        (steps, r#""[{'ok': True}]""#, r#"[{"ok":true}]"#, &["json_string_to_array", "python_literal"]),
        (steps, r#""[{\"ok\":true}""#, "", &[]),
        (r#"{"type":"object"}"#, r#""{\"\ud800\":1}""#, "", &[]),
        (steps, r#""\"[]\"""#, "", &[]),
        (r#"{"type":"object"}"#, r#""{\"a\":1}""#, r#"{"a":1}"#, &["json_string_to_object"]),
        (r#"{"type":"object"}"#, r#""[1]""#, "", &[]),
        (r#"{"type":"integer"}"#, r#""[1]""#, "", &[]),
    ]);
}

#[test]
fn c3_a_shape_changes_only_between_a_value_and_an_array_of_it() {
    let texts = r#"{"type":"array","items":{"type":"string"}}"#;
    table(&[
        (texts, r#""a""#, r#"["a"]"#, &["wrap_in_array"]),
        (texts, "5", r#"["5"]"#, &["wrap_in_array", "number_to_string /v/0"]),
        (
            r#"{"type":"array","items":{"type":"integer"}}"#,
            r#""42""#,
            "[42]",
            &["wrap_in_array", "string_to_integer /v/0"],
        ),
        (r#"{"type":"array","items":{"type":"object"}}"#, r#"{"a":1}"#, r#"[{"a":1}]"#, &["wrap_in_array"]),
        (r#"{"type":"array","items":{"type":"array"}}"#, "1", "", &[]),
        (
            r#"{"type":"array","items":{"type":"object","properties":{"t":{"type":"array","items":{"type":"integer"}}}}}"#,
            r#"{"t":"1"}"#,
            r#"[{"t":[1]}]"#,
            &["wrap_in_array", "wrap_in_array /v/0/t", "string_to_integer /v/0/t/0"],
        ),
        (texts, r#""a, b""#, "", &[]),
        (texts, r#""[a]""#, "", &[]),
        (texts, r#""[\"a\"""#, "", &[]),
        (texts, r#""\"a\"""#, "", &[]),
        (texts, r#""""#, "", &[]),
        (texts, "null", "", &[]),
        (r#"{"type":"string"}"#, r#"["a"]"#, r#""a""#, &["unwrap_single"]),
        (r#"{"type":"integer"}"#, r#"["5"]"#, "5", &["unwrap_single", "string_to_integer"]),
        (r#"{"type":"string"}"#, r#"["a","b"]"#, "", &[]),
        (r#"{"type":"string"}"#, r#"[["a"]]"#, "", &[]),
        (r#"{"type":"string"}"#, "[]", "", &[]),
        (r#"{"items":{"type":"string","minLength":2}}"#, r#"["a"]"#, "", &[]),
    ]);
}

#[test]
fn v3_what_is_its_own_items_is_not_wrapped_without_end() {
    let own = r##"{"$ref":"#/properties/v"}"##;
    for items in [own.to_owned(), format!(r#"{{"anyOf":[{own},{{"type":"boolean"}}]}}"#)] {
        let schema = format!(r#"{{"type":"array","items":{items}}}"#);
        let start = std::time::Instant::now();
        assert_eq!(value(&schema, "5"), None, "{schema}");
        // Generous: this is an unoptimised build.
        assert!(start.elapsed().as_secs() < 2, "{:?}: {schema}", start.elapsed());
    }
}

#[test]
fn c3_a_listed_text_is_found_but_for_case_and_blanks_if_there_is_one() {
    table(&[
        (r#"{"enum":["low","high"]}"#, r#"" High""#, r#""high""#, &["fold_enum"]),
        (r#"{"enum":["in progress"]}"#, r#""InProgress""#, r#""in progress""#, &["fold_enum"]),
        (r#"{"const":"ASC"}"#, r#""asc""#, r#""ASC""#, &["fold_enum"]),
        (r#"{"enum":["asc","ASC"]}"#, r#""Asc""#, "", &[]),
        (r#"{"enum":["Active"]}"#, r#""Open""#, "", &[]),
        (r#"{"enum":["in_progress"]}"#, r#""in progress""#, "", &[]),
    ]);
}

#[test]
fn c4_nothing_is_dropped_from_what_is_optional_and_becomes_null_where_null_is_a_value() {
    let schema = |more: &str| {
        format!(
            r#"{{"type":"object","required":["must"],"properties":{{"must":{{"type":["integer","null"]}},
                "may":{{"type":"integer"}},"text":{{"type":"string","pattern":"^a"}},"nullable":{{"anyOf":[{{"type":"integer"}},{{"type":"null"}}]}}}}{more}}}"#
        )
    };
    for nothing in ["null", r#""""#, r#""null""#, r#""None""#, r#""undefined""#] {
        let (after, ops) =
            converted(&schema(""), &format!(r#"{{"must":1,"may":{nothing},"text":{nothing}}}"#)).unwrap();
        assert_eq!(after, r#"{"must":1}"#, "{nothing}");
        assert_eq!(ops, ["drop_optional_absent /may", "drop_optional_absent /text"], "{nothing}");
        let (after, _) = converted(&schema(""), &format!(r#"{{"must":{nothing},"nullable":{nothing}}}"#)).unwrap();
        assert_eq!(after, r#"{"must":null,"nullable":null}"#, "{nothing}");
    }
    for kept in [r#""NULL""#, r#""none""#, r#"" ""#, r#""nil""#, "false", "[]"] {
        assert!(converted(&schema(""), &format!(r#"{{"must":1,"may":{kept}}}"#)).is_err(), "{kept}");
    }
    // A key that nothing declares is not an optional property.
    assert!(converted(&schema(r#","additionalProperties":{"type":"integer"}"#), r#"{"must":1,"x":null}"#).is_err());
    table(&[
        (r#"{"type":"integer"}"#, "null", "", &[]),
        (r#"{"type":"integer"}"#, r#""undefined""#, "", &[]),
        (r#"{"type":["integer","null"]}"#, r#""None""#, "null", &["null_text_to_null"]),
        (
            r#"{"type":"array","items":{"type":["integer","null"]}}"#,
            r#"["None",null]"#,
            "[null,null]",
            &["null_text_to_null /v/0"],
        ),
    ]);
}

#[test]
fn c5_what_would_lose_or_guess_is_refused() {
    table(&[
        (r#"{"type":"boolean"}"#, "1", "", &[]),
        (r#"{"type":"boolean"}"#, r#""yes""#, "", &[]),
        (r#"{"type":"boolean"}"#, r#""0""#, "", &[]),
        (r#"{"type":"integer"}"#, "true", "", &[]),
        (r#"{"type":"integer"}"#, "5.5", "", &[]),
        (r#"{"type":"integer"}"#, r#""5.5""#, "", &[]),
        (r#"{"type":"integer"}"#, r#""0x10""#, "", &[]),
        (r#"{"type":"integer"}"#, r#""1,000""#, "", &[]),
        (r#"{"type":"integer"}"#, r#""007""#, "", &[]),
        (r#"{"type":"number"}"#, r#""+1""#, "", &[]),
        (r#"{"type":"number"}"#, r#""NaN""#, "", &[]),
        (r#"{"type":"array","items":{"type":"integer"}}"#, r#""1,2""#, "", &[]),
        (r#"{"type":"string"}"#, "null", "", &[]),
        (r#"{"type":"string"}"#, r#"{"a":1}"#, "", &[]),
        (r#"{"type":"object","additionalProperties":false}"#, r#"{"x":1}"#, "", &[]),
    ]);
}

#[test]
fn c5_of_two_readings_none_is_taken() {
    table(&[
        (
            r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}"#,
            "5",
            r#""5""#,
            &["number_to_string"],
        ),
        (r#"{"anyOf":[{"const":1},{"const":true}]}"#, r#""x""#, "", &[]),
        (r#"{"oneOf":[{"type":"integer","minimum":0},{"type":"integer","maximum":9}]}"#, r#""5""#, "", &[]),
        (r#"{"anyOf":[{"type":"integer"},{"type":"number"}]}"#, r#""5""#, "5", &["string_to_integer"]),
        (
            r#"{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"integer"}]}"#,
            r#""5""#,
            "5",
            &["string_to_integer"],
        ),
        // What is refused as a number is not acceptable as a text.
        (r#"{"type":["integer","string"],"minimum":10}"#, "5", "", &[]),
        (r#"{"anyOf":[{"type":"integer","minimum":10},{"type":"string"}]}"#, "9.5", "", &[]),
        (r#"{"anyOf":[{"enum":["auto"]},{"type":"integer"}]}"#, r#""5""#, "5", &["string_to_integer"]),
    ]);
    let twice = r#"{"type":"object","additionalProperties":false,"properties":{"a_b":{},"aB":{}}}"#;
    assert!(converted(twice, r#"{"A-B":1}"#).is_err());
    // `None` means nothing, and it is `none` in another case.
    let schema = r#"{"type":"object","properties":{"v":{"enum":["none","all"]}}}"#;
    assert!(converted(schema, r#"{"v":"None"}"#).is_err());
}

#[test]
fn c2_conversion_goes_through_references_combinations_tuples_and_patterns() {
    let n = r##"{"$ref":"#/$defs/n"}"##;
    let schema = |inner: &str| format!(r#"{{"type":"object","$defs":{{"n":{{"type":"integer"}}}},{inner}}}"#);
    for (inner, sent, becomes) in [
        (format!(r#""properties":{{"a":{n}}}"#), r#"{"a":"1"}"#, r#"{"a":1}"#),
        (format!(r#""allOf":[{{"properties":{{"a":{n}}}}}]"#), r#"{"a":"1"}"#, r#"{"a":1}"#),
        (format!(r#""properties":{{"a":{{"allOf":[{n},{{"minimum":1}}]}}}}"#), r#"{"a":"1"}"#, r#"{"a":1}"#),
        (
            format!(r#""properties":{{"a":{{"prefixItems":[{n},{{"type":"string"}}],"type":"array"}}}}"#),
            r#"{"a":["1",2]}"#,
            r#"{"a":[1,"2"]}"#,
        ),
        (format!(r#""patternProperties":{{"^n_":{n}}}"#), r#"{"n_x":"1","other":"1"}"#, r#"{"n_x":1,"other":"1"}"#),
        (format!(r#""additionalProperties":{n}"#), r#"{"x":"1"}"#, r#"{"x":1}"#),
        (
            format!(r#""if":{{"required":["k"]}},"then":{{"properties":{{"a":{n}}}}}"#),
            r#"{"k":1,"a":"1"}"#,
            r#"{"k":1,"a":1}"#,
        ),
        (
            format!(r#""dependentSchemas":{{"k":{{"properties":{{"a":{n}}}}}}}"#),
            r#"{"k":1,"a":"1"}"#,
            r#"{"k":1,"a":1}"#,
        ),
        (
            format!(
                r#""properties":{{"k":{n}}},"if":{{"properties":{{"k":{{"const":1}}}}}},"then":{{"properties":{{"a":{n}}}}},"else":{{"properties":{{"a":{{"type":"string"}}}}}}"#
            ),
            r#"{"k":"1","a":"1"}"#,
            r#"{"k":1,"a":1}"#,
        ),
    ] {
        assert_eq!(converted(&schema(&inner), sent).unwrap().0, becomes, "{inner}");
    }
    let tagged = of_v(
        r#"{"oneOf":[{"type":"object","properties":{"kind":{"const":"agent"},"id":{"type":"string"}},"required":["kind","id"]},
                     {"type":"object","properties":{"kind":{"const":"team"},"id":{"type":"integer"}},"required":["kind","id"]}]}"#,
    );
    assert_eq!(converted(&tagged, r#"{"v":{"kind":"team","id":"7"}}"#).unwrap().0, r#"{"v":{"kind":"team","id":7}}"#);
    assert_eq!(converted(&tagged, r#"{"v":{"kind":"agent","id":7}}"#).unwrap().0, r#"{"v":{"kind":"agent","id":"7"}}"#);
}

#[test]
fn c2_the_error_speaks_of_what_is_left_and_shows_what_was_sent() {
    let refusal = check(&of_v(r#"{"type":"integer","minimum":1}"#), r#"{"v":"0"}"#).map(drop).unwrap_err();
    assert_eq!(refusal.violations[0].keyword, "minimum");
    assert!(refusal.text.ends_with("\"v\": \"0\"\n}"), "{}", refusal.text);
    // The shape stays as it was sent: an error about an item that nobody sent would help nobody.
    let refusal = check(&of_v(r#"{"type":"array","items":{"type":"integer"}}"#), r#"{"v":"x"}"#).map(drop).unwrap_err();
    assert_eq!((refusal.violations[0].path.to_string(), refusal.violations[0].keyword), ("/v".to_owned(), "type"));
}

#[test]
fn c2_one_text_among_two_hundred_constrained_properties_is_converted() {
    let name = |at: u32| format!("p{at}");
    let properties: Vec<String> =
        (0..200).map(|at| format!(r#""{}":{{"type":"integer","minimum":0,"maximum":{at}}}"#, name(at))).collect();
    let schema =
        format!(r#"{{"type":"object","properties":{{{}}},"additionalProperties":false}}"#, properties.join(","));
    let sent: Vec<String> =
        (0..200).map(|at| format!(r#""{}":{}"#, name(at), if at == 120 { r#""7""# } else { "0" })).collect();
    let (arguments, ops) = converted(&schema, &format!("{{{}}}", sent.join(","))).unwrap();
    assert_eq!(json(&arguments).get("p120").map(Json::to_text).as_deref(), Some("7"));
    assert_eq!(ops, ["string_to_integer /p120"]);
}

#[test]
fn c3_what_would_be_left_as_a_wrapper_has_two_readings_and_is_refused() {
    let schema = r#"{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}"#;
    assert!(converted(schema, r#"{"arguments":{"a":1},"b":null}"#).is_err());
    let kept = converted(schema, r#"{"arguments":{"a":1},"a":2,"b":null}"#).unwrap();
    assert_eq!(kept, (r#"{"arguments":{"a":1},"a":2}"#.to_owned(), vec!["drop_optional_absent /b".to_owned()]));
}

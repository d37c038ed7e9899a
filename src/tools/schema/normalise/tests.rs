//! What is read as what it means, and what is not (rule V6).

use super::super::{Schema, SchemaOptions, tests::json};
use crate::{json::Json, tools::Severity};

/// The schema as it is read, and `code place` of each remark.
fn read(text: &str) -> (String, Vec<String>) {
    let (schema, notes) =
        Schema::compile(&json(text), SchemaOptions::default()).unwrap_or_else(|notes| panic!("{text}: {notes:?}"));
    assert!(notes.iter().all(|note| note.severity == Severity::Warning), "{notes:?}");
    assert_eq!(json(schema.text()), json(text), "the author's own is kept");
    (
        schema.ask(|schema| schema.source().to_text()),
        notes.iter().map(|note| format!("{} {}", note.code, note.path)).collect(),
    )
}

/// The place and the message of each error under `strict`.
fn refused(text: &str) -> Vec<String> {
    let strict = SchemaOptions { normalise: false, ..SchemaOptions::default() };
    let notes = Schema::compile(&json(text), strict).map(drop).unwrap_err();
    assert!(notes.iter().all(|note| note.severity == Severity::Error), "{notes:?}");
    notes.iter().map(|note| format!("{} {}", note.path, note.message)).collect()
}

fn is_valid(schema: &str, value: &str) -> bool {
    Schema::compile(&json(schema), SchemaOptions::default()).unwrap().0.is_valid(&json(value))
}

#[test]
fn v6_an_empty_array_where_an_object_belongs_is_an_empty_object() {
    for (written, meant, place) in [
        (r#"{"properties":[]}"#, r#"{"properties":{}}"#, "/properties"),
        (r#"{"properties":{"a":[]}}"#, r#"{"properties":{"a":{}}}"#, "/properties/a"),
        (r#"{"items":[]}"#, r#"{"items":{}}"#, "/items"),
        (r#"{"anyOf":[{"$defs":[]}]}"#, r#"{"anyOf":[{"$defs":{}}]}"#, "/anyOf/0/$defs"),
        (r#"{"additionalProperties":[]}"#, r#"{"additionalProperties":{}}"#, "/additionalProperties"),
    ] {
        assert_eq!(read(written), (meant.to_owned(), vec![format!("empty_array_to_object {place}")]), "{written}");
    }
    assert_eq!(
        refused(r#"{"properties":{"a":{"properties":[]}}}"#),
        ["/properties/a/properties `properties` is an empty array where an object belongs: write `{}`"]
    );
}

#[test]
fn v6_types_in_upper_case_are_those_in_lower_case() {
    let written = r#"{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":["Integer","NULL","null"]},
        "type":{"type":"string"}}}"#;
    let meant = r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"type":{"type":"string"}}}"#;
    let places = ["/type", "/properties/a/type", "/properties/b/type"].map(|place| format!("upper_case_type {place}"));
    assert_eq!(read(written), (meant.to_owned(), places.to_vec()));
    assert_eq!(
        refused(written),
        [
            "/type `OBJECT` is no type of JSON Schema: write `object`",
            "/properties/a/type `STRING` is no type of JSON Schema: write `string`",
            r#"/properties/b/type `Integer` is no type of JSON Schema: write `["integer","null"]`"#,
        ]
    );
}

#[test]
fn v6_nullable_admits_null_whatever_stands_beside_it() {
    let definitions = r#""$defs":{"s":{"type":"string"},"n":{"type":["string","null"]}}"#;
    for schema in [
        r#""type":"string","minLength":3"#,
        r#""type":["string","integer"]"#,
        r#""type":"string","enum":["abc"]"#,
        r#""enum":["abc"]"#,
        r#""const":"abc""#,
        r##""$ref":"#/$defs/s""##,
        r##""$ref":"#/$defs/n""##,
        r##""allOf":[{"$ref":"#/$defs/s"}],"description":"d""##,
        r##""oneOf":[{"$ref":"#/$defs/n"},{"type":"integer"}]"##,
        r#""anyOf":[{"type":"string"},{"type":"integer"}]"#,
        r#""anyOf":[{"type":"string"}],"not":{"type":"null"}"#,
        r#""type":"string","if":{"type":"null"},"then":false"#,
    ] {
        let schema = format!(r#"{{"properties":{{"a":{{{schema},"nullable":true}}}},{definitions}}}"#);
        assert_eq!(read(&schema).1, ["nullable /properties/a/nullable"], "{schema}");
        assert!(is_valid(&schema, r#"{"a":null}"#), "null: {schema}");
        assert!(is_valid(&schema, r#"{"a":"abc"}"#), "what was valid is valid: {schema}");
        assert!(!is_valid(&schema, r#"{"a":[]}"#), "what was not is not: {schema}");
    }
}

#[test]
fn v6_under_strict_nullable_says_nothing_and_that_is_said() {
    let strict = SchemaOptions { normalise: false, ..SchemaOptions::default() };
    let (schema, notes) = Schema::compile(&json(r#"{"items":{"type":"string","nullable":true}}"#), strict).unwrap();
    assert!(!schema.is_valid(&json("[null]")));
    assert_eq!(
        (notes[0].severity, notes[0].code, notes[0].message.as_str()),
        (
            Severity::Warning,
            "nullable",
            "`nullable` is of OpenAPI, no keyword of JSON Schema, and says nothing but under the profile `safe`: write \
             `type: [string, \"null\"]` instead"
        )
    );
}

#[test]
fn v6_nullable_is_let_be_where_it_says_nothing() {
    for schema in [
        // Arguments are an object, whatever is said of them as a whole.
        r#"{"type":"object","nullable":true}"#,
        r#"{"properties":{"a":{"type":["string","null"],"nullable":true},"b":{"nullable":true},"c":{"type":"string","nullable":false}}}"#,
        r#"{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"nullable":true}}}"#,
        r#"{"properties":{"nullable":{"type":"boolean"}}}"#,
    ] {
        assert_eq!(read(schema), (schema.to_owned(), vec![]));
    }
}

#[test]
fn v6_references_and_remarks_keep_to_their_places_when_nullable_moves_something() {
    let moved = r##"{"properties":{
        "a":{"nullable":true,"allOf":[{"properties":{"x y":{"type":"integer"},"n":{"oneOf":[{"type":"boolean"}],"nullable":true}}}]},
        "b":{"$ref":"#/properties/a/allOf/0/properties/x%20y"},
        "c":{"$ref":"#/properties/a/allOf/0/properties/n/oneOf/0"}}}"##;
    assert_eq!(
        read(moved).1,
        ["nullable /properties/a/nullable", "nullable /properties/a/allOf/0/properties/n/nullable"]
    );
    assert!(is_valid(moved, r#"{"a":{"n":null},"b":1,"c":true}"#));
    assert!(!is_valid(moved, r#"{"b":"1"}"#) && !is_valid(moved, r#"{"c":null}"#));
    let broken = r#"{"properties":{"a":{"nullable":true,"allOf":[{"oneOf":[{"pattern":"("}],"nullable":true}]}}}"#;
    let notes = Schema::compile(&json(broken), SchemaOptions::default()).map(drop).unwrap_err();
    assert_eq!(notes[0].path.to_string(), "/properties/a/allOf/0/oneOf/0/pattern");
}

#[test]
fn v6_limits_of_draft_4_are_numbers_in_a_schema_of_a_later_draft() {
    let later = |keywords: &str| {
        format!(r#"{{"$schema":"http://json-schema.org/draft-07/schema#","properties":{{"a":{{{keywords}}}}}}}"#)
    };
    for (written, meant, keyword) in [
        (r#""minimum":5,"exclusiveMinimum":true"#, r#""exclusiveMinimum":5"#, "exclusiveMinimum"),
        (r#""maximum":5.50,"exclusiveMaximum":true"#, r#""exclusiveMaximum":5.50"#, "exclusiveMaximum"),
        (r#""minimum":5,"exclusiveMinimum":false"#, r#""minimum":5"#, "exclusiveMinimum"),
        (r#""exclusiveMaximum":true"#, "", "exclusiveMaximum"),
    ] {
        let place = format!("boolean_limit /properties/a/{keyword}");
        assert_eq!(read(&later(written)), (later(meant), vec![place]), "{written}");
    }
    assert_eq!(
        refused(&later(r#""minimum":5,"exclusiveMinimum":true"#)),
        [
            "/properties/a/exclusiveMinimum `exclusiveMinimum: true` is of draft 4: write `exclusiveMinimum: 5` instead of it and `minimum`"
        ]
    );
    // Where nothing is said, it is draft 4 (rule V1).
    let old = r#"{"properties":{"a":{"minimum":5,"exclusiveMinimum":true}}}"#;
    assert_eq!(read(old), (old.to_owned(), vec!["older_dialect ".to_owned()]));
    assert!(!is_valid(old, r#"{"a":5}"#) && is_valid(old, r#"{"a":6}"#));
    // Where no dialect has all of it, it is the newest.
    let mixed = r#"{"properties":{"a":{"minimum":5,"exclusiveMinimum":true},"b":{"exclusiveMinimum":5}}}"#;
    assert_eq!(read(mixed).1, ["boolean_limit /properties/a/exclusiveMinimum"]);
    assert!(!is_valid(mixed, r#"{"a":5}"#) && !is_valid(mixed, r#"{"b":5}"#));
}

#[test]
fn v6_required_of_draft_3_goes_into_the_list_of_its_object() {
    let written = r#"{"required":true,"properties":{
        "a":{"type":"object","required":true,"properties":{"b":{"required":true},"c":{"required":false}}},
        "d":{"type":"array","items":{"type":"string","required":true}}},"allOf":[{"required":["x"],"properties":{"e":{"required":true}}}]}"#;
    let (meant, notes) = read(written);
    assert_eq!(
        meant,
        r#"{"properties":{"a":{"type":"object","properties":{"b":{},"c":{}},"required":["b"]},"d":{"type":"array","items":{"type":"string"}}},"allOf":[{"required":["x","e"],"properties":{"e":{}}}],"required":["a"]}"#
    );
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert_eq!(
        refused(r#"{"properties":{"a":{"required":true}}}"#),
        ["/properties/a/required `required: true` is of draft 3: add `a` to the list `required` of its object instead"]
    );
}

#[test]
fn v6_what_has_two_readings_is_refused() {
    for schema in [
        r#"{"properties":[1]}"#,
        r#"{"anyOf":[]}"#,
        r#"{"type":"dict"}"#,
        r##"{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"required":true}}}"##,
        r#"{"properties":{"a":{"anyOf":[{"type":"string","required":true}]}}}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","minimum":"5","exclusiveMinimum":true}"#,
    ] {
        assert!(Schema::compile(&json(schema), SchemaOptions::default()).is_err(), "{schema}");
    }
}

#[test]
fn v6_what_stands_where_values_stand_is_no_schema() {
    let written = r#"{"properties":{"a":{
        "const":{"properties":[],"type":"STRING","nullable":true,"required":true},
        "enum":[{"properties":[],"type":"STRING","nullable":true,"required":true}],
        "default":{"properties":[],"type":"STRING","nullable":true,"required":true},
        "examples":[{"properties":[],"type":"STRING","nullable":true}],
        "x-more":{"type":"STRING"}},"type":{"default":[]}}}"#;
    assert_eq!(read(written), (json(written).to_text(), vec![]));
}

#[test]
fn v6_what_is_read_as_what_it_means_is_read_so_again() {
    let written = r##"{"type":"OBJECT","properties":{"a":{"$ref":"#/$defs/s","nullable":true,"required":true},"b":[]},"$defs":{"s":{}}}"##;
    let (meant, notes) = read(written);
    assert_eq!(notes.len(), 4);
    assert_eq!(read(&meant), (meant.clone(), vec![]));
}

#[test]
fn v3_ten_thousand_places_are_changed_in_little_time() {
    let many: Vec<_> =
        (0..10_000).map(|at| format!(r#""p{at}":{{"type":"STRING","nullable":true,"required":true}}"#)).collect();
    let text = format!(r#"{{"properties":{{{}}}}}"#, many.join(","));
    let limits = crate::json::ParseLimits { max_keys: 50_000, ..crate::json::ParseLimits::wide() };
    let source = crate::json::parse(text.as_bytes(), &limits).unwrap();
    let start = std::time::Instant::now();
    let (schema, notes) = Schema::compile(&source, SchemaOptions::default()).unwrap();
    // Generous: this is an unoptimised build.
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    assert_eq!(notes.len(), 101);
    let listed = schema.ask(|schema| schema.source().get("required").and_then(Json::as_array).map(<[Json]>::len));
    assert_eq!(listed, Some(10_000));
}

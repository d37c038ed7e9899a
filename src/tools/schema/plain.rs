//! Which schemas wait for the first question before they are compiled. Compiling is the only proof of a pattern, of an address
//! and of whatever this list does not know; of the others the meta-schema has proven all that compiling could find.

use super::{dialect::Dialect, reference::Document, structure::each_subschema};
use crate::json::Json;

/// Keywords that compile whatever they hold, if the meta-schema accepts it.
const PROVEN: [&str; 40] = [
    "$comment",
    "$defs",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "default",
    "definitions",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

/// Whether a schema that its meta-schema accepts, and that was proven, is sure to compile.
pub(super) fn is_plain(document: Document<'_>, dialect: Dialect) -> bool {
    let mut is_plain = true;
    each_subschema(document.root, &mut |keywords, _| {
        let is_root = document.root.as_object().is_some_and(|root| std::ptr::eq(root, keywords));
        is_plain = is_plain && keywords.iter().all(|(keyword, held)| is_sure(keyword, held, is_root, dialect));
    });
    is_plain
}

fn is_sure(keyword: &str, held: &Json, is_root: bool, dialect: Dialect) -> bool {
    match keyword {
        "$schema" => is_root,
        "$ref" => held.as_str().is_some_and(|reference| leads_to_definition(reference, dialect)),
        _ => PROVEN.contains(&keyword),
    }
}

/// To the whole or to a definition, which the meta-schema has seen, and spelled so that there is one reading.
fn leads_to_definition(reference: &str, dialect: Dialect) -> bool {
    let holders: &[&str] =
        if dialect >= Dialect::Draft201909 { &["#/$defs/", "#/definitions/"] } else { &["#/definitions/"] };
    let name = holders.iter().find_map(|holder| reference.strip_prefix(holder));
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    reference == "#" || name.is_some_and(|name| name.chars().all(is_plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{
            compiled::Compiled,
            dialect::{Detected, detect},
            normalise::Normalised,
            reference::Names,
            tests::json,
        },
        *,
    };
    use crate::tools::{Schema, SchemaOptions};

    /// Whether it was left for later, if it was taken at all.
    fn waits(source: &Json) -> Option<bool> {
        let (schema, _) = Schema::compile(source, SchemaOptions::default()).ok()?;
        assert!(schema.0.ask(Compiled::has_validator), "it was taken, and does not compile: {}", schema.text());
        let source = &*Normalised::of(source, true).schema;
        let Detected { dialect, is_accepted, .. } = detect(source);
        let document = Document { root: source, names: &Names::of(source, dialect) };
        Some(is_accepted && is_plain(document, dialect))
    }

    #[test]
    fn v2_what_only_compiling_can_prove_is_compiled_at_load() {
        for (schema, expected) in [
            (r#"{"type":"object","properties":{"a":{"type":["string","null"],"maxLength":9}}}"#, true),
            (
                r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"a":{}},"items":{"$ref":"#/$defs/a"}}"##,
                true,
            ),
            (
                r##"{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"not":{"$ref":"#/definitions/a"}}"##,
                true,
            ),
            (r##"{"properties":{"a":{"$ref":"#"}}}"##, true),
            (r#"{"properties":{"a":{"pattern":"^a"}}}"#, false),
            (r#"{"patternProperties":{"^a":{}}}"#, false),
            (r#"{"$id":"http://example.test/a"}"#, false),
            (r##"{"properties":{"a":{"$ref":"#/properties/b"},"b":{}}}"##, false),
            (r##"{"$defs":{"a b":{}},"items":{"$ref":"#/$defs/a%20b"}}"##, false),
            (
                r##"{"$schema":"http://json-schema.org/draft-07/schema#","$defs":{"a":{}},"not":{"$ref":"#/$defs/a"}}"##,
                false,
            ),
            (r#"{"maxLength":1.0,"minItems":123456789012345678901}"#, true),
            (r#"{"unknown":{"type":7}}"#, false),
        ] {
            assert_eq!(waits(&json(schema)), Some(expected), "{schema}");
        }
        assert_eq!(waits(&json(r#"{"type":"text"}"#)), None);
    }

    /// Anything that somebody may write where a schema is meant.
    fn schemas() -> impl Strategy<Value = Json> {
        let values = [
            "null",
            "true",
            "0",
            "-1",
            "3",
            "1.0",
            "2.5",
            "1e3",
            "123456789012345678901",
            "\"a\"",
            "\"string\"",
            "\"#\"",
        ];
        let more = [
            "\"#/$defs/a\"",
            "\"#/definitions/a\"",
            "\"date\"",
            "[]",
            "[\"a\"]",
            "[\"a\",\"a\"]",
            "[\"null\",\"string\"]",
            "{}",
        ];
        let leaf = prop::sample::select([&values[..], &more[..]].concat()).prop_map(json);
        leaf.prop_recursive(4, 24, 4, |inner| {
            let keywords: Vec<&str> = PROVEN.into_iter().chain(["$ref", "a"]).collect();
            let object = prop::collection::vec((prop::sample::select(keywords), inner.clone()), 0..4);
            let object = object.prop_map(Json::object);
            prop_oneof![4 => object, 1 => prop::collection::vec(inner, 0..3).prop_map(Json::Array)]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn v2_whatever_waits_compiles(schema in schemas(), dialect in prop::sample::select(&DIALECTS[..])) {
            let mut schema = schema;
            if let Some(keywords) = schema.as_object_mut() {
                keywords.insert("$schema".into(), Json::from(dialect));
            }
            waits(&schema);
        }
    }

    /// The addresses of the dialects, and one that says none.
    const DIALECTS: [&str; 6] = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
        "http://example.test/mine",
    ];
}

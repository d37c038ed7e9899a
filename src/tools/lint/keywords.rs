//! Lints on keywords that say nothing where they stand: JSON Schema passes them over without a word.

use super::{
    codes::{IGNORED_BESIDE_REFERENCE, KEYWORD_OF_ANOTHER_DIALECT, KEYWORD_OF_ANOTHER_TYPE, MISSPELT_KEYWORD},
    findings::Findings,
    site::{Site, types},
    words::folded,
};
use crate::{excerpt::excerpt, tools::Dialect};

/// Keywords that judge, what they judge (nothing: every value), and the dialects that have them.
const JUDGING: [(&str, &[&str], Dialect, Dialect); 40] = [
    ("additionalItems", ARRAY, Dialect::Draft4, Dialect::Draft201909),
    ("additionalProperties", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("allOf", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("anyOf", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("const", ANY, Dialect::Draft6, Dialect::Draft202012),
    ("contains", ARRAY, Dialect::Draft6, Dialect::Draft202012),
    ("dependencies", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("dependentRequired", OBJECT, Dialect::Draft201909, Dialect::Draft202012),
    ("dependentSchemas", OBJECT, Dialect::Draft201909, Dialect::Draft202012),
    ("else", ANY, Dialect::Draft7, Dialect::Draft202012),
    ("enum", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("exclusiveMaximum", NUMBER, Dialect::Draft4, Dialect::Draft202012),
    ("exclusiveMinimum", NUMBER, Dialect::Draft4, Dialect::Draft202012),
    ("format", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("if", ANY, Dialect::Draft7, Dialect::Draft202012),
    ("items", ARRAY, Dialect::Draft4, Dialect::Draft202012),
    ("maxContains", ARRAY, Dialect::Draft201909, Dialect::Draft202012),
    ("maxItems", ARRAY, Dialect::Draft4, Dialect::Draft202012),
    ("maxLength", TEXT, Dialect::Draft4, Dialect::Draft202012),
    ("maxProperties", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("maximum", NUMBER, Dialect::Draft4, Dialect::Draft202012),
    ("minContains", ARRAY, Dialect::Draft201909, Dialect::Draft202012),
    ("minItems", ARRAY, Dialect::Draft4, Dialect::Draft202012),
    ("minLength", TEXT, Dialect::Draft4, Dialect::Draft202012),
    ("minProperties", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("minimum", NUMBER, Dialect::Draft4, Dialect::Draft202012),
    ("multipleOf", NUMBER, Dialect::Draft4, Dialect::Draft202012),
    ("not", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("oneOf", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("pattern", TEXT, Dialect::Draft4, Dialect::Draft202012),
    ("patternProperties", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("prefixItems", ARRAY, Dialect::Draft202012, Dialect::Draft202012),
    ("properties", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("propertyNames", OBJECT, Dialect::Draft6, Dialect::Draft202012),
    ("required", OBJECT, Dialect::Draft4, Dialect::Draft202012),
    ("then", ANY, Dialect::Draft7, Dialect::Draft202012),
    ("type", ANY, Dialect::Draft4, Dialect::Draft202012),
    ("unevaluatedItems", ARRAY, Dialect::Draft201909, Dialect::Draft202012),
    ("unevaluatedProperties", OBJECT, Dialect::Draft201909, Dialect::Draft202012),
    ("uniqueItems", ARRAY, Dialect::Draft4, Dialect::Draft202012),
];

const ANY: &[&str] = &[];
const ARRAY: &[&str] = &["array"];
const NUMBER: &[&str] = &["number", "integer"];
const OBJECT: &[&str] = &["object"];
const TEXT: &[&str] = &["string"];

/// Keywords that judge nothing, of JSON Schema and of those who add to it: they are no slips of the pen.
const OTHERS: [&str; 33] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "id",
    "nullable",
    "optional",
    "options",
    "readOnly",
    "title",
    "value",
    "values",
    "writeOnly",
    "xml",
    "name",
];

pub(super) fn passed_over(site: &Site<'_, '_>, findings: &mut Findings) {
    let is_reference_alone = site.dialect <= Dialect::Draft7 && site.has("$ref");
    let of_types: Vec<&str> = types(site.keywords).collect();
    for (keyword, judged, first, last) in JUDGING.iter().filter(|(keyword, ..)| site.has(keyword)) {
        let dialect = site.dialect.name();
        if is_reference_alone {
            findings.add(IGNORED_BESIDE_REFERENCE, || site.at(keyword), || {
                format!("{dialect} passes over what stands beside `$ref`: write `allOf` with the reference and this, or take a later dialect")
            });
        } else if !(*first..=*last).contains(&site.dialect) {
            findings.add(KEYWORD_OF_ANOTHER_DIALECT, || site.at(keyword), || {
                format!(
                    "`{keyword}` is of {} to {}, and says nothing in {dialect}: write it as that has it, or say another `$schema`",
                    first.name(),
                    last.name()
                )
            });
        } else if !judged.is_empty() && !of_types.is_empty() && !of_types.iter().any(|name| judged.contains(name)) {
            findings.add(KEYWORD_OF_ANOTHER_TYPE, || site.at(keyword), || {
                format!(
                    "`{keyword}` judges values of type {} only, and says nothing of type {}: correct the type, or remove it",
                    judged.join(" or "),
                    of_types.join(" or ")
                )
            });
        }
    }
}

pub(super) fn misspelt(site: &Site<'_, '_>, findings: &mut Findings) {
    for keyword in site.keywords.keys() {
        let is_known = JUDGING.iter().any(|(known, ..)| *known == &**keyword) || OTHERS.contains(&&**keyword);
        if is_known || keyword.starts_with("x-") || keyword.len() > 30 {
            continue;
        }
        if let Some(meant) = meant(keyword) {
            findings.add(
                MISSPELT_KEYWORD,
                || site.at(keyword),
                || format!("`{}` is no keyword, and is passed over: write `{meant}`", excerpt(keyword)),
            );
        }
    }
}

/// The judging keyword that somebody meant: but for case, punctuation, or one letter.
fn meant(keyword: &str) -> Option<&'static str> {
    let own = folded(keyword);
    let is_near = |known: &str| {
        // Known ones have no punctuation. Most differ in length, which is seen at once.
        known.len().abs_diff(own.len()) <= 1 && {
            let known = known.to_lowercase();
            own == known || (known.len() >= 4 && strsim::osa_distance(&own, &known) <= 1)
        }
    };
    JUDGING.iter().map(|(known, ..)| *known).find(|known| is_near(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        json::{ParseLimits, parse},
        tools::{Schema, SchemaOptions},
    };

    /// A keyword of a later dialect, a schema with it, and a value that it refuses.
    const LATER: [(&str, &str, &str); 9] = [
        ("const", r#""const":1"#, "2"),
        ("contains", r#""contains":{"type":"null"}"#, "[1]"),
        ("dependentRequired", r#""dependentRequired":{"a":["b"]}"#, r#"{"a":1}"#),
        ("dependentSchemas", r#""dependentSchemas":{"a":false}"#, r#"{"a":1}"#),
        ("if", r#""if":{},"then":{"type":"null"}"#, "1"),
        ("prefixItems", r#""prefixItems":[{"type":"null"}]"#, "[1]"),
        ("propertyNames", r#""propertyNames":{"maxLength":1}"#, r#"{"ab":1}"#),
        ("unevaluatedProperties", r#""unevaluatedProperties":false"#, r#"{"a":1}"#),
        ("dependencies", r#""dependencies":{"a":["b"]}"#, r#"{"a":1}"#),
    ];

    #[test]
    fn the_validator_has_a_keyword_in_the_dialects_that_the_table_names() {
        for (dialect, address) in [
            (Dialect::Draft4, "http://json-schema.org/draft-04/schema#"),
            (Dialect::Draft6, "http://json-schema.org/draft-06/schema#"),
            (Dialect::Draft7, "http://json-schema.org/draft-07/schema#"),
            (Dialect::Draft201909, "https://json-schema.org/draft/2019-09/schema"),
            (Dialect::Draft202012, "https://json-schema.org/draft/2020-12/schema"),
        ] {
            for (keyword, schema, value) in LATER {
                let json = |text: &str| parse(text.as_bytes(), &ParseLimits::wide()).unwrap();
                let schema = json(&format!(r#"{{"$schema":"{address}",{schema}}}"#));
                let (schema, _) = Schema::compile(&schema, SchemaOptions::default()).unwrap();
                let (_, _, first, last) = JUDGING.into_iter().find(|(known, ..)| *known == keyword).unwrap();
                let refuses = !schema.is_valid(&json(value));
                assert_eq!(refuses, (first..=last).contains(&dialect), "{keyword} in {}", dialect.name());
            }
        }
    }
}

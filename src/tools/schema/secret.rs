//! What a schema marks as `writeOnly` is never shown again (rule E3).

use std::sync::Arc;

use regex::Regex;

use super::reference::{Document, Reference};
use crate::json::{Json, Object};

/// What stands in the place of a hidden value.
const HIDDEN: &str = "<redacted>";
/// Schemas that may apply to one value; a schema with more is not followed further.
const MAX_SCHEMAS: usize = 64;

/// The value, with every `writeOnly` part replaced.
pub(super) fn without_secrets(document: Document<'_>, value: &Json) -> Json {
    redact(document, vec![document.root], value)
}

fn redact<'a>(document: Document<'a>, schemas: Vec<&'a Json>, value: &Json) -> Json {
    let schemas = applying(document, schemas);
    if schemas.iter().any(|schema| schema.get("writeOnly") == Some(&Json::Bool(true))) {
        return Json::from(HIDDEN);
    }
    match value {
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| (Arc::clone(name), redact(document, of_member(&schemas, name), value)))
                .collect::<Object>(),
        ),
        Json::Array(items) => Json::Array(
            items
                .iter()
                .enumerate()
                .map(|(position, value)| redact(document, of_item(&schemas, position), value))
                .collect(),
        ),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    }
}

/// The schemas and whatever they combine: every branch may be the one that applies.
fn applying<'a>(document: Document<'a>, mut schemas: Vec<&'a Json>) -> Vec<&'a Json> {
    let mut next = 0;
    while let Some(schema) = schemas.get(next).copied().filter(|_| schemas.len() < MAX_SCHEMAS) {
        next += 1;
        let mut add = |found: &'a Json| {
            if !schemas.iter().any(|known| std::ptr::eq(*known, found)) {
                schemas.push(found);
            }
        };
        for (_, reference) in schema.as_object().into_iter().flat_map(|keywords| document.references(keywords)) {
            if let Reference::Found(_, target) = document.resolve(reference) {
                add(target);
            }
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            schema.get(keyword).and_then(Json::as_array).unwrap_or_default().iter().for_each(&mut add);
        }
        for keyword in ["if", "then", "else"] {
            schema.get(keyword).into_iter().for_each(&mut add);
        }
    }
    schemas
}

fn of_member<'a>(schemas: &[&'a Json], name: &str) -> Vec<&'a Json> {
    let declared = |schema: &&'a Json| schema.get("properties").and_then(|properties| properties.get(name));
    let others = |schema: &&'a Json| schema.get("additionalProperties");
    let patterns = |schema: &&'a Json| schema.get("patternProperties").and_then(Json::as_object);
    schemas
        .iter()
        .filter_map(|schema| declared(schema).or_else(|| others(schema)))
        .chain(
            schemas
                .iter()
                .filter_map(patterns)
                .flatten()
                .filter(|(pattern, _)| may_match(pattern, name))
                .map(|(_, schema)| schema),
        )
        .collect()
}

/// A pattern that the engine does not take may match: rather hide too much.
fn may_match(pattern: &str, name: &str) -> bool {
    Regex::new(pattern).map_or(true, |pattern| pattern.is_match(name))
}

fn of_item<'a>(schemas: &[&'a Json], position: usize) -> Vec<&'a Json> {
    let mut found = Vec::new();
    for schema in schemas {
        let tuple = schema.get("prefixItems").or_else(|| schema.get("items")).and_then(Json::as_array);
        let fixed = tuple.and_then(|tuple| tuple.get(position));
        let rest = schema.get("items").filter(|items| !matches!(items, Json::Array(_)));
        found.extend(fixed.or(rest).or_else(|| schema.get("additionalItems")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, schema};

    #[test]
    fn e3_what_is_write_only_is_hidden_wherever_it_is_declared() {
        let schema = schema(
            r##"{"$defs":{"key":{"type":"string","writeOnly":true}},
                "properties":{"key":{"$ref":"#/$defs/key"},"list":{"type":"array","items":{"properties":{"p":{"writeOnly":true}}}}},
                "anyOf":[{"properties":{"either":{"writeOnly":true}}}],
                "patternProperties":{"^x":{"writeOnly":true}}}"##,
        );
        let value = json(r#"{"key":"s1","list":[{"p":{"deep":"s2"},"q":1}],"either":3,"x1":4,"open":"o"}"#);
        assert_eq!(
            schema.without_secrets(&value).to_text(),
            r#"{"key":"<redacted>","list":[{"p":"<redacted>","q":1}],"either":"<redacted>","x1":"<redacted>","open":"o"}"#
        );
    }
}

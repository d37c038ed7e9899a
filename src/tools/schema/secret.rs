//! What a schema marks as `writeOnly` is never shown again (rule E3).
//!
//! Whatever cannot be followed to its end is hidden, too: rather too much than too little.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use regex::Regex;

use super::{reference::Document, structure::subschemas};
use crate::json::{Json, Object};

/// What stands in the place of a hidden value.
pub const HIDDEN: &str = "<redacted>";
/// Schemas that are looked at and patterns that are tried for one redaction; what is left then is hidden.
const MAX_STEPS: usize = 500_000;

/// Whether anything in a schema is marked. In the many that mark nothing there is nothing to look for.
pub(super) fn has_secrets(schema: &Json) -> bool {
    match schema {
        Json::Array(items) => items.iter().any(has_secrets),
        Json::Object(members) => is_marked(schema) || members.values().any(has_secrets),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// The value itself, or the names in it.
fn is_marked(schema: &Json) -> bool {
    let write_only = |schema: &Json| schema.get("writeOnly") == Some(&Json::Bool(true));
    write_only(schema) || schema.get("propertyNames").is_some_and(write_only)
}

/// The value, with every `writeOnly` part replaced, and every member that an object does not declare which declares others.
pub(super) fn without_secrets(document: Document<'_>, value: &Json) -> Json {
    let mut redaction = Redaction { document, patterns: HashMap::new(), steps: MAX_STEPS };
    redaction.redact(vec![document.root], value)
}

struct Redaction<'a> {
    document: Document<'a>,
    /// Each is compiled once. `None`: the engine does not take it.
    patterns: HashMap<&'a str, Option<Regex>>,
    steps: usize,
}

impl<'a> Redaction<'a> {
    fn redact(&mut self, schemas: Vec<&'a Json>, value: &Json) -> Json {
        let Some(schemas) = self
            .document
            .combined(schemas, &mut self.steps)
            .filter(|schemas| !schemas.iter().any(|schema| is_marked(schema)))
        else {
            return Json::from(HIDDEN);
        };
        match value {
            _ if schemas.is_empty() => value.clone(),
            // It may be the text of what should be there, with a secret inside.
            Json::String(_) if self.is_secret_inside(&schemas) => Json::from(HIDDEN),
            Json::Object(members) => {
                let declares_some = schemas.iter().any(|schema| declares_some(schema));
                let shown = members.iter().map(|(name, value)| {
                    let below = self.of_member(&schemas, name);
                    let is_unknown = declares_some && below.is_empty();
                    (Arc::clone(name), if is_unknown { Json::from(HIDDEN) } else { self.redact(below, value) })
                });
                shown.collect::<Object>().into()
            }
            Json::Array(items) => {
                let shown = items.iter().enumerate().map(|(at, value)| self.redact(of_item(&schemas, at), value));
                Json::Array(shown.collect())
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
        }
    }

    /// Whether any member or item of a value may be marked.
    fn is_secret_inside(&mut self, schemas: &[&'a Json]) -> bool {
        let mut known = HashSet::new();
        let mut open = schemas.to_vec();
        while let Some(schema) = open.pop() {
            let Some(combined) = self.document.combined(vec![schema], &mut self.steps) else { return true };
            if combined.iter().any(|schema| is_marked(schema)) {
                return true;
            }
            let below = combined.into_iter().filter_map(Json::as_object).flat_map(subschemas);
            open.extend(
                below.map(|inner| inner.schema).filter(|inner| known.insert(std::ptr::from_ref::<Json>(inner))),
            );
        }
        false
    }

    fn step(&mut self) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        Some(())
    }

    /// A name that nothing declares may be anything that the rest is.
    fn of_member(&mut self, schemas: &[&'a Json], name: &str) -> Vec<&'a Json> {
        let mut found = Vec::new();
        for schema in schemas {
            let declared = schema.get("properties").and_then(|properties| properties.get(name));
            let others = ["additionalProperties", "unevaluatedProperties"].iter().find_map(|rest| schema.get(rest));
            let others = others.filter(|schema| schema.as_object().is_some());
            found.extend(declared.or(others));
            for (pattern, schema) in schema.get("patternProperties").and_then(Json::as_object).into_iter().flatten() {
                if self.may_match(pattern, name) {
                    found.push(schema);
                }
            }
        }
        found
    }

    /// A pattern that the engine does not take may match, and one that there is no time for.
    fn may_match(&mut self, pattern: &'a str, name: &str) -> bool {
        if self.step().is_none() {
            return true;
        }
        let pattern = self.patterns.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
        pattern.as_ref().is_none_or(|pattern| pattern.is_match(name))
    }
}

/// Whether the members of an object have names that are known, so that it is no map.
fn declares_some(schema: &Json) -> bool {
    let declared = ["properties", "patternProperties"].iter().filter_map(|keyword| schema.get(keyword)?.as_object());
    declared.into_iter().any(|declared| !declared.is_empty())
}

fn of_item<'a>(schemas: &[&'a Json], position: usize) -> Vec<&'a Json> {
    let mut found = Vec::new();
    for schema in schemas {
        let tuple = schema.get("prefixItems").or_else(|| schema.get("items")).and_then(Json::as_array);
        let fixed = tuple.and_then(|tuple| tuple.get(position));
        let rest = schema.get("items").filter(|items| !matches!(items, Json::Array(_)));
        let others = ["additionalItems", "unevaluatedItems"].iter().find_map(|rest| schema.get(rest));
        found.extend(fixed.or(rest).or(others).into_iter().chain(schema.get("contains")));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, schema};
    use crate::json::Json;

    #[test]
    fn e3_what_is_write_only_is_hidden_wherever_it_is_declared() {
        let schema = schema(
            r##"{"$defs":{"key":{"type":"string","writeOnly":true}},
                "properties":{"key":{"$ref":"#/$defs/key"},"list":{"type":"array","items":{"properties":{"p":{"writeOnly":true},"q":true}}},"open":true},
                "anyOf":[{"properties":{"either":{"writeOnly":true}}}],
                "patternProperties":{"^x":{"writeOnly":true}}}"##,
        );
        let value = json(r#"{"key":"s1","list":[{"p":{"deep":"s2"},"q":1}],"either":3,"x1":4,"open":"o"}"#);
        assert_eq!(
            schema.without_secrets(&value).to_text(),
            r#"{"key":"<redacted>","list":[{"p":"<redacted>","q":1}],"either":"<redacted>","x1":"<redacted>","open":"o"}"#
        );
    }

    #[test]
    fn e3_what_nothing_declares_may_be_a_secret_in_another_place() {
        let schema = schema(
            r#"{"properties":{"key":{"writeOnly":true},"open":true,"map":{"additionalProperties":{"type":"string"}},
                "free":{"type":"object"},"names":{"propertyNames":{"writeOnly":true}}},"additionalProperties":true}"#,
        );
        let value =
            json(r#"{"Key":"s","arguments":{"key":"s"},"open":1,"map":{"m":"o"},"free":{"f":"o"},"names":{"s":1}}"#);
        assert_eq!(
            schema.without_secrets(&value).to_text(),
            r#"{"Key":"<redacted>","arguments":"<redacted>","open":1,"map":{"m":"o"},"free":{"f":"o"},"names":"<redacted>"}"#
        );
    }

    #[test]
    fn e3_a_text_in_the_place_of_what_holds_a_secret_may_hold_it() {
        let schema = schema(
            r##"{"$defs":{"key":{"writeOnly":true}},"properties":{"o":{"type":"object","properties":{"key":{"$ref":"#/$defs/key"}}},
                "list":{"items":{"anyOf":[{"type":"string"},{"properties":{"key":{"$ref":"#/$defs/key"}}}]}},
                "open":{"type":"object","properties":{"x":{"type":"string"}}}}}"##,
        );
        let value = json(r#"{"o":"key=s3cret","list":"[{\"key\":\"s3cret\"}","open":"x=1"}"#);
        assert_eq!(schema.without_secrets(&value).to_text(), r#"{"o":"<redacted>","list":"<redacted>","open":"x=1"}"#);
    }

    #[test]
    fn e3_no_number_of_branches_and_no_keyword_lets_a_secret_through() {
        let branches = vec![r#"{"properties":{"open":true}}"#; 70].join(",");
        let secret = r##"{"$ref":"#/$defs/s"}"##;
        for text in [
            format!(r#"{{"oneOf":[{branches},{secret}]}}"#),
            format!(r#"{{"dependentSchemas":{{"open":{secret}}}}}"#),
            format!(r#"{{"dependencies":{{"open":{secret}}}}}"#),
            format!(r#"{{"not":{{"not":{secret}}}}}"#),
            format!(r#"{{"allOf":[{{"if":{secret}}}]}}"#),
        ] {
            let definitions = r#""$defs":{"s":{"properties":{"key":{"writeOnly":true},"open":true}}}"#;
            let schema = schema(&format!("{},{definitions}}}", text.strip_suffix('}').unwrap()));
            let shown = schema.without_secrets(&json(r#"{"key":"s3cret","open":1}"#)).to_text();
            assert_eq!(shown, r#"{"key":"<redacted>","open":1}"#, "{text:.60}");
        }
        let embedded = schema(
            r#"{"$ref":"http://e.test/s","$defs":{"s":{"$id":"http://e.test/s","properties":{"key":{"writeOnly":true}}}}}"#,
        );
        assert!(!embedded.without_secrets(&json(r#"{"key":"s3cret"}"#)).to_text().contains("s3cret"));
    }

    #[test]
    fn v3_ten_thousand_members_and_a_hundred_patterns_are_redacted_in_little_time() {
        let patterns: Vec<_> = (0..100).map(|number| format!(r#""^p{number}_[a-z]+":{{"writeOnly":true}}"#)).collect();
        let schema = schema(&format!(r#"{{"patternProperties":{{{}}}}}"#, patterns.join(",")));
        let members: Vec<_> = (0..9_999).map(|number| format!(r#""p{number}_key":1"#)).collect();
        let value = json(&format!("{{{}}}", members.join(",")));
        let start = std::time::Instant::now();
        let shown = schema.without_secrets(&value);
        // Generous: this is an unoptimised build, and compiling each pattern for each member took minutes.
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        let hidden = |name: &str| shown.get(name).and_then(Json::as_str) == Some("<redacted>");
        assert!(hidden("p7_key") && hidden("p9998_key"), "what there is no time for is hidden");
    }
}

//! `unevaluatedProperties` and `unevaluatedItems`: what nothing beside or below them has looked at.

use std::collections::HashSet;

use super::{Explanation, MAX_DEPTH, Spot, Walk, leaf, list};
use crate::{
    json::{Json, Object},
    tools::schema::Dialect,
};

/// Explains what is left over at a spot.
pub(super) fn check<'a>(walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
    let Some(LeftOver { keyword, schema, parts }) = left_over(walk, keywords, spot) else { return };
    for (step, value) in parts {
        match (spot.value, schema) {
            (Json::Object(members), Json::Bool(false)) => {
                let mut violation = leaf::unknown_field(walk, keywords, members, &step, spot);
                violation.keyword = keyword;
                violation.schema_path = spot.schema_path.join(keyword);
                found.push(violation);
            }
            _ => found.append(walk.at(&spot.inside(schema, &[keyword], value, &step))),
        }
    }
}

/// What nothing has looked at, and what the schema says about that.
pub(super) struct LeftOver<'a> {
    pub(super) keyword: &'static str,
    pub(super) schema: &'a Json,
    /// Members or items, by name or position.
    pub(super) parts: Vec<(String, &'a Json)>,
}

/// What is left over at a spot, if the schema says anything about that.
pub(super) fn left_over<'a>(walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>) -> Option<LeftOver<'a>> {
    let (keyword, mut parts): (_, Vec<(String, &'a Json)>) = match spot.value {
        Json::Object(members) => {
            ("unevaluatedProperties", members.iter().map(|(name, value)| (name.to_string(), value)).collect())
        }
        Json::Array(items) => {
            ("unevaluatedItems", items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => return None,
    };
    let schema = keywords.get(keyword).filter(|_| walk.schema.dialect >= Dialect::Draft201909)?;
    let mut seen = Seen::default();
    seen.beside(walk, keywords, spot);
    parts.retain(|(step, _)| !seen.has(step));
    Some(LeftOver { keyword, schema, parts })
}

/// The members or items of one value that some keyword has looked at.
#[derive(Default)]
struct Seen {
    all: bool,
    steps: HashSet<String>,
}

impl Seen {
    fn has(&self, step: &str) -> bool {
        self.all || self.steps.contains(step)
    }

    /// What a subschema that applies to the same value has looked at.
    fn below<'a>(&mut self, walk: &mut Walk<'a>, spot: &Spot<'a>) {
        let Some(keywords) = spot.schema.as_object().filter(|_| walk.depth < MAX_DEPTH && walk.steps.take()) else {
            return;
        };
        let rest = if spot.value.as_object().is_some() { "unevaluatedProperties" } else { "unevaluatedItems" };
        self.all |= keywords.contains_key(rest);
        walk.depth += 1;
        self.beside(walk, keywords, spot);
        walk.depth -= 1;
    }

    /// What the keywords of a schema have looked at.
    fn beside<'a>(&mut self, walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>) {
        match spot.value {
            Json::Object(members) => self.members(walk, keywords, members),
            Json::Array(items) => self.items(walk, keywords, items, spot),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        for target in walk.referred(keywords, spot) {
            self.below(walk, &target);
        }
        self.combinations(walk, keywords, spot);
    }

    fn members<'a>(&mut self, walk: &mut Walk<'a>, keywords: &'a Object, members: &Object) {
        self.all |= keywords.contains_key("additionalProperties");
        let declared = keywords.get("properties").and_then(Json::as_object);
        let patterns = keywords.get("patternProperties").and_then(Json::as_object);
        for name in members.keys() {
            let mut patterns = patterns.into_iter().flat_map(Object::keys);
            if declared.is_some_and(|declared| declared.contains_key(name))
                || patterns.any(|pattern| walk.name_matches(pattern, name))
            {
                self.steps.insert(name.to_string());
            }
        }
    }

    fn items<'a>(&mut self, walk: &mut Walk<'a>, keywords: &'a Object, items: &'a [Json], spot: &Spot<'a>) {
        let is_tuple = matches!(keywords.get("items"), Some(Json::Array(_)));
        let (tuple, rest) = if is_tuple { ("items", "additionalItems") } else { ("prefixItems", "items") };
        self.all |= keywords.contains_key(rest);
        self.steps.extend((0..list(keywords, tuple).len()).map(|at| at.to_string()));
        // Only in 2020-12 does `contains` count as having looked.
        if let Some(schema) = keywords.get("contains").filter(|_| walk.schema.dialect >= Dialect::Draft202012) {
            for (at, item) in items.iter().enumerate() {
                let step = at.to_string();
                if walk.accepts(&spot.inside(schema, &["contains"], item, &step)) {
                    self.steps.insert(step);
                }
            }
        }
    }

    fn combinations<'a>(&mut self, walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>) {
        for schema in list(keywords, "allOf") {
            self.below(walk, &spot.under(schema, &["allOf"]));
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches: Vec<_> =
                list(keywords, keyword).iter().map(|schema| spot.under(schema, &[keyword])).collect();
            let matching: Vec<bool> = branches.iter().map(|branch| walk.accepts(branch)).collect();
            // Where no branch fits, that is what is wrong, and not the fields that one of them names.
            let none = !matching.contains(&true);
            for (branch, _) in branches.iter().zip(matching).filter(|(_, matches)| *matches || none) {
                self.below(walk, branch);
            }
        }
        if let Some(condition) = keywords.get("if") {
            let condition = spot.under(condition, &["if"]);
            let holds = walk.accepts(&condition);
            if holds {
                self.below(walk, &condition);
            }
            let branch = if holds { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.below(walk, &spot.under(schema, &[branch]));
            }
        }
        for (name, schema) in keywords.get("dependentSchemas").and_then(Json::as_object).into_iter().flatten() {
            if spot.value.get(name).is_some() {
                self.below(walk, &spot.under(schema, &["dependentSchemas"]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::violations;

    #[test]
    fn v4_a_field_that_nothing_has_looked_at_is_named() {
        let schema = r##"{"$defs":{"base":{"properties":{"a":true},"patternProperties":{"^x-":true}}},
            "allOf":[{"$ref":"#/$defs/base"}],"properties":{"b":true},
            "anyOf":[{"properties":{"c":{"type":"string"}},"required":["c"]},{"properties":{"d":true},"required":["d"]}],
            "if":{"required":["b"]},"then":{"properties":{"e":true}},"else":{"properties":{"f":true}},
            "unevaluatedProperties":false}"##;
        assert_eq!(violations(schema, r#"{"a":1,"x-y":1,"b":1,"c":"","e":1}"#), Vec::<String>::new());
        assert_eq!(
            violations(schema, r#"{"a":1,"b":1,"c":"","e":1,"f":1,"z":1}"#),
            ["[f] unevaluatedProperties: unknown field", "[z] unevaluatedProperties: unknown field"]
        );
        assert_eq!(violations(schema, r#"{"c":"","d":1,"e":1}"#), ["[e] unevaluatedProperties: unknown field"]);
        let closed_below = r#"{"allOf":[{"additionalProperties":{"type":"string"}}],"unevaluatedProperties":false}"#;
        assert_eq!(violations(closed_below, r#"{"a":1}"#), ["/a type: expected string, got number"]);
    }

    #[test]
    fn v4_a_union_that_does_not_fit_is_what_is_wrong_and_not_its_fields() {
        let schema = r#"{"oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"required":["b"]}],
            "unevaluatedProperties":{"type":"integer"}}"#;
        assert_eq!(violations(schema, r#"{"a":1}"#), ["/a type: expected string, got number"]);
        assert_eq!(violations(schema, r#"{"a":"","c":""}"#), ["/c type: expected integer, got string"]);
    }

    #[test]
    fn v4_an_item_that_nothing_has_looked_at_is_named() {
        let schema = r#"{"allOf":[{"prefixItems":[true]}],"contains":{"type":"string"},"unevaluatedItems":false}"#;
        assert_eq!(violations(schema, r#"[1,"a",2,"b",{}]"#), ["/2 : not allowed", "/4 : not allowed"]);
    }
}

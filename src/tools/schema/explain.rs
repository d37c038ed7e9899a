//! Why a value does not satisfy its schema: every place, in document order, in words that a model can act on (rule V4).
//!
//! The validator has already said no; this walk only explains. It is bounded by a budget of steps, so that no schema and no
//! value can make an error expensive. Where it finds nothing, because a keyword is beyond it, the refusal is reported whole.

mod budget;
mod hint;
mod leaf;
mod leaves;
mod pi;
mod unevaluated;
mod union;

use std::sync::Arc;

use budget::Budget;
pub(in crate::tools) use leaf::{is_of_type, types};
use leaves::Leaves;
pub(super) use pi::explain as explain_as_pi;

use super::{compiled::Compiled, reference::Reference};
use crate::{
    json::{Json, Object, Pointer},
    refusal::Violation,
};

/// Steps for one explanation: visits of a schema at a value.
const MAX_STEPS: usize = 20_000;
/// Names that one explanation may compare for its hints.
const MAX_COMPARISONS: usize = 20_000;
/// Schemas at values, one inside the other, that the walk goes down through: it is recursive.
const MAX_DEPTH: usize = 500;
/// Violations that are kept; the rest is counted.
const MAX_VIOLATIONS: usize = 100;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The places, in document order, up to a cap.
    pub violations: Vec<Violation>,
    /// How many there are in all, as far as the walk came.
    pub count: usize,
    /// A pattern could not be matched within its limit of steps: nobody knows whether the value fits (rule V3).
    pub undecided: bool,
}

impl Explanation {
    /// One thing that is wrong.
    pub fn of(violation: Violation) -> Self {
        let mut explanation = Self::default();
        explanation.push(violation);
        explanation
    }

    fn push(&mut self, violation: Violation) {
        self.count += 1;
        if self.violations.len() < MAX_VIOLATIONS {
            self.violations.push(violation);
        }
    }

    fn append(&mut self, other: Self) {
        let kept = other.violations.len();
        other.violations.into_iter().for_each(|violation| self.push(violation));
        self.count += other.count - kept;
        self.undecided |= other.undecided;
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Explains why the schema refuses the value.
pub(super) fn explain(schema: &Compiled, value: &Json) -> Explanation {
    let spot = Spot::root(&schema.source, value);
    if !schema.can_judge(value) {
        return unjudged(&spot);
    }
    let mut explanation = Walk::of(schema, MAX_COMPARISONS).at(&spot);
    if explanation.is_empty() {
        explanation.push(spot.violation("", "does not satisfy the schema", "a value that satisfies the schema"));
    }
    explanation
}

/// Nobody knows whether the value fits.
fn unjudged(spot: &Spot<'_>) -> Explanation {
    let message =
        "could not be checked within the limit of steps: it has too many fields and items for so many patterns";
    Explanation { undecided: true, ..Explanation::of(spot.violation("", message, "fewer fields and items")) }
}

/// A schema at a value.
#[derive(Clone)]
struct Spot<'a> {
    schema: &'a Json,
    schema_path: Pointer,
    value: &'a Json,
    path: Pointer,
}

impl<'a> Spot<'a> {
    /// The whole of both.
    fn root(schema: &'a Json, value: &'a Json) -> Self {
        Self { schema, schema_path: Pointer::root(), value, path: Pointer::root() }
    }

    /// The same value under a subschema.
    fn under(&self, schema: &'a Json, steps: &[&str]) -> Self {
        let schema_path = steps.iter().fold(self.schema_path.clone(), |path, step| path.join(step));
        Self { schema, schema_path, value: self.value, path: self.path.clone() }
    }

    /// A member or item under a subschema.
    fn inside(&self, schema: &'a Json, steps: &[&str], value: &'a Json, step: &str) -> Self {
        Self { value, path: self.path.join(step), ..self.under(schema, steps) }
    }

    fn violation(&self, keyword: &'static str, message: impl Into<String>, expected: impl Into<String>) -> Violation {
        let schema_path = if keyword.is_empty() { self.schema_path.clone() } else { self.schema_path.join(keyword) };
        Violation {
            path: self.path.clone(),
            property: None,
            schema_path,
            keyword,
            message: message.into(),
            expected: expected.into(),
            actual: Some(self.value.kind()),
            hint: None,
        }
    }
}

struct Walk<'a> {
    schema: &'a Compiled,
    /// How far down the walk is.
    depth: usize,
    steps: Budget,
    comparisons: Budget,
    leaves: Leaves,
}

impl<'a> Walk<'a> {
    /// At the start, with so many names to compare.
    fn of(schema: &'a Compiled, comparisons: usize) -> Self {
        let steps = Budget::of(MAX_STEPS);
        Self { schema, depth: 0, steps, comparisons: Budget::of(comparisons), leaves: Leaves::default() }
    }

    /// Everything that is wrong at a spot and below.
    fn at(&mut self, spot: &Spot<'a>) -> Explanation {
        let mut found = Explanation::default();
        if self.depth >= MAX_DEPTH || !self.steps.take() {
            return found;
        }
        self.depth += 1;
        match spot.schema {
            Json::Bool(false) => found.push(spot.violation("", "not allowed", "nothing")),
            Json::Object(keywords) => self.keywords(keywords, spot, &mut found),
            Json::Null | Json::Bool(true) | Json::Number(_) | Json::String(_) | Json::Array(_) => {}
        }
        self.depth -= 1;
        found
    }

    /// The same value under the schemas that are referred to.
    fn referred(&self, keywords: &Object, spot: &Spot<'a>) -> Vec<Spot<'a>> {
        let document = self.schema.document();
        let target = |(_, reference)| match document.resolve(reference) {
            Reference::Found(target, schema) => Some(Spot { schema, schema_path: target, ..spot.clone() }),
            Reference::Dangling | Reference::ByAddress => None,
        };
        document.references(keywords).filter_map(target).collect()
    }

    fn keywords(&mut self, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        for target in self.referred(keywords, spot) {
            found.append(self.at(&target));
        }
        // Up to draft 7 a reference stands alone.
        if keywords.contains_key("$ref") && self.schema.dialect <= super::Dialect::Draft7 {
            return;
        }
        if let Some(violation) = leaf::wrong_type(keywords, spot) {
            // A value of the wrong kind breaks nothing else that is worth a line.
            found.push(violation);
            return;
        }
        leaf::check(self, keywords, spot, found);
        self.combinations(keywords, spot, found);
        match spot.value {
            Json::Object(members) => self.members(keywords, members, spot, found),
            Json::Array(items) => self.items(keywords, items, spot, found),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        unevaluated::check(self, keywords, spot, found);
    }

    /// `allOf`, unions, conditions.
    fn combinations(&mut self, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        for (position, schema) in list(keywords, "allOf").iter().enumerate() {
            found.append(self.at(&spot.under(schema, &["allOf", &position.to_string()])));
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(keywords, keyword);
            if !branches.is_empty() {
                found.append(union::explain(self, keyword, branches, spot));
            }
        }
        if let Some(schema) = keywords.get("not")
            && self.accepts(&spot.under(schema, &["not"]))
        {
            found.push(spot.violation("not", "must not match an excluded schema", "anything else"));
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.accepts(&spot.under(condition, &["if"])) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                found.append(self.at(&spot.under(schema, &[branch])));
            }
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            let by_name = keywords.get(keyword).and_then(Json::as_object);
            if !self.steps.take_for(by_name.map_or(0, Object::len)) {
                return;
            }
            for (name, schema) in by_name.into_iter().flatten() {
                if spot.value.get(name).is_some() && !matches!(schema, Json::Array(_)) {
                    found.append(self.at(&spot.under(schema, &[keyword, name])));
                }
            }
        }
    }

    fn members(&mut self, keywords: &'a Object, members: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        let declared = keywords.get("properties").and_then(Json::as_object);
        let patterns = keywords.get("patternProperties").and_then(Json::as_object);
        for (name, value) in members {
            if found.count >= MAX_VIOLATIONS && self.steps.is_spent() {
                return;
            }
            let mut known = false;
            if let Some(schema) = declared.and_then(|declared| declared.get(name)) {
                known = true;
                found.append(self.at(&spot.inside(schema, &["properties", name], value, name)));
            }
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.name_matches(pattern, name) {
                    known = true;
                    found.append(self.at(&spot.inside(schema, &["patternProperties", pattern], value, name)));
                }
            }
            match keywords.get("additionalProperties") {
                Some(Json::Bool(false)) if !known && self.steps.take() => {
                    found.push(leaf::unknown_field(self, keywords, members, name, spot));
                }
                Some(schema @ Json::Object(_)) if !known => {
                    found.append(self.at(&spot.inside(schema, &["additionalProperties"], value, name)));
                }
                _ => {}
            }
        }
    }

    fn items(&mut self, keywords: &'a Object, items: &'a [Json], spot: &Spot<'a>, found: &mut Explanation) {
        let (tuple_keyword, rest_keyword) = match keywords.get("items") {
            Some(Json::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        let tuple = list(keywords, tuple_keyword);
        for (position, value) in items.iter().enumerate() {
            let step = position.to_string();
            let schema = match tuple.get(position) {
                Some(schema) => Some((schema, vec![tuple_keyword, &step])),
                None => keywords.get(rest_keyword).map(|schema| (schema, vec![rest_keyword])),
            };
            if let Some((schema, steps)) = schema {
                found.append(self.at(&spot.inside(schema, &steps, value, &step)));
            }
            if found.count >= MAX_VIOLATIONS && self.steps.is_spent() {
                return;
            }
        }
    }

    /// Whether the walk finds nothing wrong.
    fn accepts(&mut self, spot: &Spot<'a>) -> bool {
        self.at(spot).is_empty()
    }

    /// Whether a member's name matches a key of `patternProperties`.
    fn name_matches(&mut self, pattern: &'a Arc<str>, name: &str) -> bool {
        let address = std::ptr::from_ref(pattern).addr();
        self.leaf_accepts(("pattern", address), || Json::from(&**pattern), &Json::from(name))
    }

    /// Whether the crate accepts the value under a keyword whose value stands in the schema.
    fn keyword_accepts(&mut self, keyword: &'static str, held: &'a Json, value: &Json) -> bool {
        self.leaf_accepts((keyword, std::ptr::from_ref(held).addr()), || held.clone(), value)
    }

    /// Whether a refused value was only refused because the pattern's engine came to its limit of steps (rule V3).
    fn gave_up(&self, pattern: &'a Json, value: &Json) -> bool {
        self.leaves.gave_up(("pattern", std::ptr::from_ref(pattern).addr()), value)
    }

    /// Whether the crate accepts the value under a single keyword; a step, after the last of which it does.
    fn leaf_accepts(&mut self, key: leaves::Key, held: impl FnOnce() -> Json, value: &Json) -> bool {
        !self.steps.take() || self.leaves.accept(self.schema, key, held, value)
    }
}

fn list<'a>(keywords: &'a Object, keyword: &str) -> &'a [Json] {
    keywords.get(keyword).and_then(Json::as_array).unwrap_or_default()
}

#[cfg(test)]
mod costs;

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::{json, schema};

    /// Path, property, keyword, message and hint of every violation.
    pub(super) fn violations(schema_text: &str, value: &str) -> Vec<String> {
        let explanation = schema(schema_text).explain(&json(value));
        assert_eq!(explanation.count, explanation.violations.len());
        let line = |violation: &super::Violation| {
            let property = violation.property.as_ref().map(|name| format!("[{name}]")).unwrap_or_default();
            let hint = violation.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}{property} {}: {}{hint}", violation.path, violation.keyword, violation.message)
        };
        explanation.violations.iter().map(line).collect()
    }

    #[test]
    fn v4_all_violations_are_found_in_document_order() {
        let schema = r#"{"type":"object","required":["name","evidence"],"additionalProperties":false,
            "properties":{"name":{"type":"string","minLength":2},"evidence":{"type":"string"},
                          "tags":{"type":"array","items":{"type":"string"}},"level":{"enum":["low","high"]}}}"#;
        assert_eq!(
            violations(schema, r#"{"evidence":42,"tags":["a",1,null],"level":"High","nam":"x"}"#),
            [
                "[name] required: missing (did you mean to rename `nam`?)",
                "/evidence type: expected string, got number",
                "/tags/1 type: expected string, got number",
                "/tags/2 type: expected string, got null",
                "/level enum: expected one of [\"low\",\"high\"] (did you mean \"high\"?)",
                "[nam] additionalProperties: unknown field (did you mean `name`?)",
            ]
        );
    }

    #[test]
    fn v4_a_union_is_explained_by_the_branch_that_was_meant() {
        let tagged = r#"{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},
                                  {"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind","y"]}]}"#;
        assert_eq!(violations(tagged, r#"{"kind":"b","y":"no"}"#), ["/y type: expected integer, got string"]);
        assert_eq!(violations(tagged, r#"{"kind":"z"}"#), ["/kind oneOf: expected one of a, b"]);
        assert_eq!(violations(tagged, "3"), [" oneOf: expected object, got number"]);
        let plain = r#"{"anyOf":[{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"integer"}},"required":["path"]},
                                 {"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}]}"#;
        assert_eq!(violations(plain, r#"{"path":"a","mode":"x"}"#), ["/mode type: expected integer, got string"]);
        let kinds = r#"{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}"#;
        assert_eq!(violations(kinds, "1"), [" anyOf: expected string or array, got number"]);
        assert_eq!(violations(kinds, "[1]"), ["/0 type: expected string, got number"]);
        assert_eq!(
            violations(r#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "3"),
            [" oneOf: matches more than one alternative"]
        );
    }

    #[test]
    fn v4_references_conditions_and_tuples_are_followed() {
        let schema = r##"{"$defs":{"n":{"type":"integer","minimum":1}},"prefixItems":[{"$ref":"#/$defs/n"}],"items":{"type":"string"}}"##;
        assert_eq!(
            violations(schema, "[0,5]"),
            ["/0 minimum: expected minimum 1", "/1 type: expected string, got number"]
        );
        let condition =
            r#"{"if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]},"else":{"required":["c"]}}"#;
        assert_eq!(violations(condition, r#"{"a":1}"#), ["[b] required: missing"]);
        assert_eq!(violations(condition, r#"{"a":2}"#), ["[c] required: missing"]);
    }

    #[test]
    fn v4_what_the_walk_cannot_follow_is_still_refused_with_a_word() {
        let schema = r#"{"properties":{"a":true},"unevaluatedProperties":false}"#;
        assert_eq!(violations(schema, r#"{"b":1}"#), ["[b] unevaluatedProperties: unknown field"]);
        let dynamic =
            r##"{"$dynamicAnchor":"x","$dynamicRef":"#y","$defs":{"y":{"$dynamicAnchor":"y","type":"string"}}}"##;
        assert_eq!(violations(dynamic, "1"), [" type: expected string, got number"]);
        let by_address =
            r#"{"$ref":"http://example.test/y","$defs":{"y":{"$id":"http://example.test/y","type":"string"}}}"#;
        assert_eq!(violations(by_address, "1"), [" : does not satisfy the schema"]);
    }
}

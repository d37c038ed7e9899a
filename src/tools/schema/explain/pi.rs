//! What is wrong with a value, in the order and the words of pi 1.6.0 (rule E6).
//!
//! It goes another way through the schema than our own explanation: what an object declares before what it holds, references
//! last, and in a union the branch that declares most of what was sent.

mod leaf;
mod union;

use super::{
    Explanation, MAX_DEPTH, Spot, Walk,
    leaf::names_accept,
    list,
    unevaluated::{self, LeftOver},
    unjudged,
};
use crate::{
    json::{Json, Object},
    refusal::Violation,
    tools::schema::{Compiled, Dialect},
};

/// Explains why the schema refuses the value.
pub(in crate::tools::schema) fn explain(schema: &Compiled, value: &Json) -> Explanation {
    let spot = Spot::root(&schema.source, value);
    if !schema.can_judge(value) {
        return unjudged(&spot);
    }
    let mut found = Explanation::default();
    // pi gives no hints, so there are no names to compare.
    Walk::of(schema, 0).pi(&spot, &mut found);
    if found.is_empty() {
        found.push(said(&spot, "", "invalid"));
    }
    found
}

/// A violation, which says what is expected where its message begins with that.
fn said(spot: &Spot<'_>, keyword: &'static str, message: impl Into<String>) -> Violation {
    let message = message.into();
    let expected = message.strip_prefix("expected ").unwrap_or(&message).to_owned();
    spot.violation(keyword, message, expected)
}

/// The same about a member of the value.
fn said_of(spot: &Spot<'_>, name: &str, keyword: &'static str, message: impl Into<String>) -> Violation {
    let actual = spot.value.get(name).map(Json::kind);
    Violation { property: Some(name.to_owned()), actual, ..said(spot, keyword, message) }
}

impl<'a> Walk<'a> {
    /// Everything that is wrong at a spot and below.
    fn pi(&mut self, spot: &Spot<'a>, found: &mut Explanation) {
        if self.depth >= MAX_DEPTH || !self.steps.take() {
            return;
        }
        self.depth += 1;
        match spot.schema {
            Json::Bool(false) => found.push(said(spot, "false", "no value is allowed here")),
            Json::Object(keywords) => self.pi_keywords(keywords, spot, found),
            Json::Null | Json::Bool(true) | Json::Number(_) | Json::String(_) | Json::Array(_) => {}
        }
        self.depth -= 1;
    }

    fn pi_keywords(&mut self, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        let before = found.count;
        // Up to draft 7 a reference stands alone.
        if !(keywords.contains_key("$ref") && self.schema.dialect <= Dialect::Draft7) {
            if let Some(violation) = leaf::wrong_type(keywords, spot) {
                found.push(violation);
                return;
            }
            leaf::check(self, keywords, spot, found);
            match spot.value {
                Json::Object(members) => self.pi_object(keywords, members, spot, found),
                Json::Array(items) => self.pi_array(keywords, items, spot, found),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
            self.pi_combinations(keywords, spot, found);
        }
        for target in self.referred(keywords, spot) {
            self.pi(&target, found);
        }
        if found.count == before {
            self.pi_unevaluated(keywords, spot, found);
        }
    }

    fn pi_object(&mut self, keywords: &'a Object, members: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        let required = list(keywords, "required").iter().filter_map(Json::as_str);
        for name in required.filter(|name| !members.contains_key(*name)) {
            found.push(said_of(spot, name, "required", "missing"));
        }
        let declared = keywords.get("properties").and_then(Json::as_object);
        for (name, schema) in declared.into_iter().flatten() {
            if let Some(value) = members.get(name) {
                self.pi(&spot.inside(schema, &["properties", name], value, name), found);
            }
        }
        for (name, value) in members {
            if !self.steps.take() {
                return;
            }
            self.pi_member(keywords, (name, value), spot, found);
        }
        leaf::size(["minProperties", "maxProperties", "properties"], members.len(), keywords, spot, found);
        self.pi_dependencies(keywords, members, spot, found);
    }

    /// What patterns, `additionalProperties` and `propertyNames` say about a member.
    fn pi_member(
        &mut self,
        keywords: &'a Object,
        (name, value): (&'a str, &'a Json),
        spot: &Spot<'a>,
        found: &mut Explanation,
    ) {
        let mut is_known = keywords.get("properties").is_some_and(|declared| declared.get(name).is_some());
        for (pattern, schema) in keywords.get("patternProperties").and_then(Json::as_object).into_iter().flatten() {
            if self.name_matches(pattern, name) {
                is_known = true;
                self.pi(&spot.inside(schema, &["patternProperties", pattern], value, name), found);
            }
        }
        match keywords.get("additionalProperties").filter(|_| !is_known) {
            Some(Json::Bool(false)) => found.push(said_of(spot, name, "additionalProperties", "unknown field")),
            Some(schema) => self.pi(&spot.inside(schema, &["additionalProperties"], value, name), found),
            None => {}
        }
        if let Some(schema) = keywords.get("propertyNames")
            && !names_accept(self, schema, &Json::from(name))
        {
            found.push(said_of(spot, name, "propertyNames", "invalid property name"));
        }
    }

    fn pi_dependencies(&mut self, keywords: &'a Object, members: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        let is_old = self.schema.dialect <= Dialect::Draft7;
        for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
            let by_name = keywords.get(keyword).filter(|_| keyword == "dependencies" || !is_old);
            for (name, needs) in by_name.and_then(Json::as_object).into_iter().flatten() {
                if !self.steps.take() {
                    return;
                }
                if !members.contains_key(name) {
                    continue;
                }
                let Some(needed) = needs.as_array() else {
                    self.pi(&spot.under(needs, &[keyword, name]), found);
                    continue;
                };
                for needed in needed.iter().filter_map(Json::as_str).filter(|needed| !members.contains_key(*needed)) {
                    found.push(said_of(spot, needed, "dependentRequired", format!("required when {name} is present")));
                }
            }
        }
    }

    fn pi_array(&mut self, keywords: &'a Object, items: &'a [Json], spot: &Spot<'a>, found: &mut Explanation) {
        let (tuple, rest) = match keywords.get("items") {
            Some(Json::Array(_)) => ("items", "additionalItems"),
            _ => ("prefixItems", "items"),
        };
        for (position, value) in items.iter().enumerate() {
            if self.steps.is_spent() {
                break;
            }
            let step = position.to_string();
            match (list(keywords, tuple).get(position), keywords.get(rest)) {
                (Some(schema), _) => self.pi(&spot.inside(schema, &[tuple, &step], value, &step), found),
                (None, Some(schema)) => self.pi(&spot.inside(schema, &[rest], value, &step), found),
                (None, None) => break,
            }
        }
        leaf::items(self, keywords, items, spot, found);
    }

    /// `allOf`, unions, conditions.
    fn pi_combinations(&mut self, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        for (position, schema) in list(keywords, "allOf").iter().enumerate() {
            self.pi(&spot.under(schema, &["allOf", &position.to_string()]), found);
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
            found.push(said(spot, "not", "must not match the schema in not"));
        }
        if let Some(condition) = keywords.get("if") {
            let branch = if self.accepts(&spot.under(condition, &["if"])) { "then" } else { "else" };
            if let Some(schema) = keywords.get(branch) {
                self.pi(&spot.under(schema, &[branch]), found);
            }
        }
    }

    /// What nothing has looked at.
    fn pi_unevaluated(&mut self, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
        let Some(LeftOver { keyword, schema, parts }) = unevaluated::left_over(self, keywords, spot) else { return };
        for (step, value) in parts {
            match (spot.value, schema) {
                (Json::Object(_), Json::Bool(false)) => found.push(said_of(spot, &step, keyword, "unknown field")),
                (Json::Array(_), Json::Bool(false)) => {
                    let item = spot.inside(schema, &[], value, &step);
                    found.push(said(&item, keyword, "unexpected item"));
                }
                _ => self.pi(&spot.inside(schema, &[keyword], value, &step), found),
            }
        }
    }
}

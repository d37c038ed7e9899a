//! The second pass: the first keyword among `$ref`, `const`, `enum`, unions, `allOf` and `type` says what a value becomes.

use std::ptr;

use super::{
    Conversion, Pass, list,
    members::tuple,
    scalar::{Change, Target},
};
use crate::{
    json::{Json, Object},
    tools::{
        coercion::{Trail, spelling},
        schema::Reference,
    },
};

impl<'s> Conversion<'s> {
    pub(super) fn convert(
        &mut self,
        schema: &'s Json,
        keywords: &'s Object,
        value: &Json,
        at: Trail<'_>,
    ) -> Option<Json> {
        if let Some(reference) = keywords.get("$ref").and_then(Json::as_str) {
            return self.convert_referred(reference, value, at);
        }
        if let Some(literal) = keywords.get("const") {
            return as_literal(literal, value).map(|change| self.record(change, value, at));
        }
        if let Some(choices) = list(keywords, "enum") {
            return self.convert_to_choice(schema, choices, value, at);
        }
        if let Some(branches) = list(keywords, "anyOf").or_else(|| list(keywords, "oneOf")) {
            return self.convert_to_branch(schema, branches, value, at);
        }
        if let Some(parts) = list(keywords, "allOf") {
            let converted = self.visit_all(Pass::Convert, parts, value, at);
            return self.convert_members_too(keywords, converted.as_ref().unwrap_or(value), at).or(converted);
        }
        self.convert_to_type(keywords, value, at)
    }

    fn convert_referred(&mut self, reference: &str, value: &Json, at: Trail<'_>) -> Option<Json> {
        let document = self.schema.document();
        // What a reference in a part with an address of its own means, only its place could tell.
        match document.resolve(reference) {
            Reference::Found(_, target) if !document.has_parts() => self.reenter(target, value, at),
            Reference::Found(..) | Reference::Dangling | Reference::ByAddress => None,
        }
    }

    /// The same value under another schema: once. A schema that refers to its own items would wrap without end.
    fn reenter(&mut self, schema: &'s Json, value: &Json, at: Trail<'_>) -> Option<Json> {
        let pair = (ptr::from_ref(schema).addr(), ptr::from_ref(value).addr());
        if self.entered.contains(&pair) {
            return None;
        }
        self.entered.push(pair);
        let converted = self.visit(Pass::Convert, schema, value, at);
        self.entered.pop();
        converted
    }

    fn convert_to_choice(&mut self, schema: &'s Json, choices: &[Json], value: &Json, at: Trail<'_>) -> Option<Json> {
        if !self.budget.pay(choices.len()) || choices.contains(value) {
            return None;
        }
        let mut candidates = choices.iter().filter_map(|choice| as_literal(choice, value));
        let change = candidates.find(|change| self.accepts(schema, &change.value))?;
        Some(self.record(change, value, at))
    }

    /// The first branch whose conversion the whole union accepts, if no branch accepts the value itself.
    fn convert_to_branch(
        &mut self,
        schema: &'s Json,
        branches: &'s [Json],
        value: &Json,
        at: Trail<'_>,
    ) -> Option<Json> {
        let keywords = schema.as_object()?;
        if !branches.iter().any(|branch| self.accepts(branch, value)) {
            let before = self.repairs.len();
            for branch in branches {
                let converted = self.visit(Pass::Convert, branch, value, at);
                let converted =
                    self.convert_members_too(keywords, converted.as_ref().unwrap_or(value), at).or(converted);
                if let Some(converted) = converted.filter(|converted| self.accepts(schema, converted)) {
                    return Some(converted);
                }
                self.repairs.truncate(before);
            }
        }
        self.convert_members_too(keywords, value, at)
    }

    /// The members that a union or a combination declares beside its branches.
    fn convert_members_too(&mut self, keywords: &'s Object, value: &Json, at: Trail<'_>) -> Option<Json> {
        let declares = ["properties", "patternProperties", "additionalProperties"];
        let members = value.as_object().filter(|_| declares.iter().any(|keyword| keywords.contains_key(*keyword)))?;
        self.members(Pass::Convert, keywords, members, at)
    }

    fn convert_to_type(&mut self, keywords: &'s Object, value: &Json, at: Trail<'_>) -> Option<Json> {
        let has = |names: [&str; 2]| names.iter().any(|keyword| keywords.contains_key(*keyword));
        let asked = match keywords.get("type") {
            Some(asked) => asked.as_str()?,
            None if has(["properties", "patternProperties"]) => "object",
            None if has(["items", "prefixItems"]) => "array",
            None => return None,
        };
        match (asked, value) {
            ("object", Json::Object(members)) => self.members(Pass::Convert, keywords, members, at),
            ("array", Json::Array(items)) => self.items(Pass::Convert, keywords, items, at),
            ("array", _) if tuple(keywords).is_none() => Some(self.wrap(keywords, value, at)),
            _ => Target::of_type(asked)?.convert(value).map(|change| self.record(change, value, at)),
        }
    }

    /// A single value in the place of a list.
    fn wrap(&mut self, keywords: &'s Object, value: &Json, at: Trail<'_>) -> Json {
        let lossy = value.as_str().is_some_and(|text| text.trim().is_empty() || spelling::reads_as_list(text));
        let copy = self.copy(value);
        let wrapped = Change { lossy, ..Change::new("wrap_in_array", vec![copy]) };
        let mut list = self.record(wrapped, value, at);
        let item = keywords.get("items").and_then(|items| self.reenter(items, value, Trail::Item(&at, 0)));
        if let Some(item) = item {
            list = Json::Array(vec![item]);
        }
        list
    }
}

/// The literal, if the value converts to exactly that.
fn as_literal(literal: &Json, value: &Json) -> Option<Change> {
    let change = Target::of_literal(literal)?.convert(value)?;
    (change.value == *literal).then_some(change)
}

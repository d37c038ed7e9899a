//! The last pass: what `type` still rejects, lists of types among it, is converted to the first of them that takes it.

use super::{Conversion, Pass, list, scalar::Target};
use crate::{
    json::{Json, Object},
    tools::{
        coercion::Trail,
        schema::{is_of_type, types},
    },
};

impl<'s> Conversion<'s> {
    pub(super) fn coerce(&mut self, keywords: &'s Object, value: &Json, at: Trail<'_>) -> Option<Json> {
        let parts = list(keywords, "allOf").unwrap_or_default();
        let mut coerced = self.visit_all(Pass::Types, parts, value, at);
        for keyword in ["anyOf", "oneOf"] {
            let branches = list(keywords, keyword).unwrap_or_default();
            coerced = self.coerce_to_branch(branches, coerced.as_ref().unwrap_or(value), at).or(coerced);
        }
        let types = types(keywords);
        coerced = self.coerce_to_type(&types, coerced.as_ref().unwrap_or(value), at).or(coerced);
        let inner = match coerced.as_ref().unwrap_or(value) {
            Json::Object(members) if types.contains(&"object") => self.members(Pass::Types, keywords, members, at),
            Json::Array(items) if types.contains(&"array") => self.items(Pass::Types, keywords, items, at),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => None,
        };
        inner.or(coerced)
    }

    fn coerce_to_branch(&mut self, branches: &'s [Json], value: &Json, at: Trail<'_>) -> Option<Json> {
        if branches.iter().any(|branch| self.accepts(branch, value)) {
            return None;
        }
        let before = self.repairs.len();
        branches.iter().find_map(|branch| {
            let coerced = self.visit(Pass::Types, branch, value, at);
            let coerced = coerced.filter(|coerced| self.accepts(branch, coerced));
            if coerced.is_none() {
                self.repairs.truncate(before);
            }
            coerced
        })
    }

    fn coerce_to_type(&mut self, types: &[&str], value: &Json, at: Trail<'_>) -> Option<Json> {
        if types.len() > 1 && types.iter().any(|name| is_of_type(value, name)) {
            return None;
        }
        let change = types.iter().find_map(|name| Target::of_type(name)?.coerce(value))?;
        Some(self.record(change, value, at))
    }
}

//! Which schemas apply to a value, and to what is in it.

use std::sync::Arc;

use super::{Coercion, kinds::Kinds};
use crate::{
    json::{Json, Object},
    tools::{Dialect, schema::Reference},
};

/// The schemas that judge one value, and the unions whose branch is chosen.
#[derive(Clone)]
pub(super) struct Spot<'a> {
    pub(super) schemas: Vec<&'a Json>,
    chosen: Vec<*const Json>,
    /// Kinds that the unions offer in any of their branches.
    pub(super) offered: Kinds,
}

/// What a spot comes to, references, `allOf` and conditions followed.
pub(super) struct Applying<'a> {
    /// All of them hold.
    pub(super) keywords: Vec<&'a Object>,
    /// The first union whose branch is not chosen.
    pub(super) union: Option<&'a Json>,
}

impl<'a> Spot<'a> {
    pub(super) fn of(schemas: Vec<&'a Json>) -> Self {
        Self { schemas, chosen: Vec::new(), offered: Kinds::NONE }
    }

    /// The same value under one branch of a union.
    pub(super) fn with_branch(&self, union: &'a Json, branch: &'a Json) -> Self {
        let mut spot = self.clone();
        spot.schemas.push(branch);
        spot.chosen.push(union);
        spot
    }
}

impl<'a> Coercion<'a> {
    pub(super) fn applying(&mut self, spot: &Spot<'a>, value: &Json) -> Applying<'a> {
        let mut applying = Applying { keywords: Vec::new(), union: None };
        let mut schemas = spot.schemas.clone();
        let mut next = 0;
        while let Some(schema) = schemas.get(next).copied() {
            next += 1;
            let Some(keywords) = schema.as_object() else { continue };
            self.refers(keywords, &mut schemas);
            // Up to draft 7 a reference stands alone.
            if keywords.contains_key("$ref") && self.schema.dialect() <= Dialect::Draft7 {
                continue;
            }
            applying.keywords.push(keywords);
            schemas.extend(keywords.get("allOf").and_then(Json::as_array).unwrap_or_default());
            self.conditions(keywords, value, &mut schemas);
            let unions = ["anyOf", "oneOf"].iter().filter_map(|keyword| keywords.get(*keyword));
            let mut open = unions.filter(|union| !spot.chosen.contains(&std::ptr::from_ref(*union)));
            applying.union = applying.union.or_else(|| open.next());
        }
        applying
    }

    fn refers(&self, keywords: &Object, schemas: &mut Vec<&'a Json>) {
        let document = self.schema.document();
        // What a reference in a part with an address of its own means, only its place could tell.
        if document.has_parts() {
            return;
        }
        for (_, reference) in document.references(keywords) {
            if let Reference::Found(_, schema) = document.resolve(reference) {
                schemas.push(schema);
            }
        }
    }

    fn conditions(&mut self, keywords: &'a Object, value: &Json, schemas: &mut Vec<&'a Json>) {
        if let Some(condition) = keywords.get("if") {
            let branch = if self.judge.accepts(condition, value) { "then" } else { "else" };
            schemas.extend(keywords.get(branch));
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, schema) in keywords.get(keyword).and_then(Json::as_object).into_iter().flatten() {
                if value.get(name).is_some() {
                    schemas.push(schema);
                }
            }
        }
    }

    /// The schemas of a member: what declares it, or what holds for those that nothing declares.
    pub(super) fn of_member(&mut self, keywords: &[&'a Object], name: &str) -> Vec<&'a Json> {
        let mut found = Vec::with_capacity(keywords.len());
        for keywords in keywords {
            let declared = keywords.get("properties").and_then(|declared| declared.get(name));
            let before = found.len();
            found.extend(declared);
            let patterns = keywords.get("patternProperties").and_then(Json::as_object);
            for (pattern, schema) in patterns.into_iter().flatten() {
                if self.judge.name_matches(pattern, name) {
                    found.push(schema);
                }
            }
            if found.len() == before {
                let rest = ["additionalProperties", "unevaluatedProperties"];
                found.extend(rest.iter().find_map(|keyword| keywords.get(*keyword)));
            }
        }
        found
    }
}

/// The schemas of an item.
pub(super) fn of_item<'a>(keywords: &[&'a Object], position: usize) -> Vec<&'a Json> {
    let mut found = Vec::new();
    for keywords in keywords {
        let (tuple, rest) = match keywords.get("items") {
            Some(Json::Array(tuple)) => (tuple.as_slice(), keywords.get("additionalItems")),
            rest => (keywords.get("prefixItems").and_then(Json::as_array).unwrap_or_default(), rest),
        };
        found.extend(tuple.get(position).or(rest).or_else(|| keywords.get("unevaluatedItems")));
    }
    found
}

/// Whether one of the schemas requires the member.
pub(super) fn is_required(keywords: &[&Object], name: &str) -> bool {
    let names = |keywords: &&Object| {
        let required = keywords.get("required").and_then(Json::as_array).unwrap_or_default();
        required.iter().any(|required| required.as_str() == Some(name))
    };
    keywords.iter().any(names)
}

/// Whether one of the schemas declares the member by its name.
pub(super) fn is_declared(keywords: &[&Object], name: &str) -> bool {
    keywords.iter().any(|keywords| keywords.get("properties").is_some_and(|declared| declared.get(name).is_some()))
}

/// The names that the schemas declare.
pub(super) fn declared_names<'a>(keywords: &[&'a Object]) -> impl Iterator<Item = &'a Arc<str>> {
    keywords.iter().filter_map(|keywords| keywords.get("properties")?.as_object()).flat_map(Object::keys)
}

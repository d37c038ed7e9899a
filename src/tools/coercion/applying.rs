//! Which schemas apply to a value, and to what is in it.

use std::{collections::HashSet, sync::Arc};

use super::{Coercion, kinds::Kinds};
use crate::{
    json::{Json, Object},
    tools::{Dialect, schema::Reference},
};

/// Keywords by which it depends on the value what applies.
const CONDITIONS: [&str; 3] = ["if", "dependencies", "dependentSchemas"];

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
    /// Whether something may apply because of what the value is.
    pub(super) is_conditional: bool,
}

impl Applying<'_> {
    /// Whether the same schemas apply.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (own, others) = (self.keywords.iter(), other.keywords.iter());
        own.len() == others.len() && own.zip(others).all(|(own, other)| std::ptr::eq(*own, *other))
    }
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
        let mut applying = Applying { keywords: Vec::new(), union: None, is_conditional: false };
        let mut schemas = spot.schemas.clone();
        // Several may refer to the same: it says the same again.
        let mut known: HashSet<*const Json> = HashSet::new();
        let mut next = 0;
        while let Some(schema) = schemas.get(next).copied().filter(|_| self.budget.pay(1)) {
            next += 1;
            let Some(keywords) = schema.as_object() else { continue };
            let mut found = self.referred(keywords);
            // Up to draft 7 a reference stands alone.
            if !keywords.contains_key("$ref") || self.schema.dialect() > Dialect::Draft7 {
                applying.keywords.push(keywords);
                found.extend(keywords.get("allOf").and_then(Json::as_array).unwrap_or_default());
                self.conditions(keywords, value, &mut found);
                applying.is_conditional |= CONDITIONS.iter().any(|keyword| keywords.contains_key(*keyword));
                let unions = ["anyOf", "oneOf"].iter().filter_map(|keyword| keywords.get(*keyword));
                let mut open = unions.filter(|union| !spot.chosen.contains(&std::ptr::from_ref(*union)));
                applying.union = applying.union.or_else(|| open.next());
            }
            schemas.extend(found.into_iter().filter(|schema| known.insert(std::ptr::from_ref(*schema))));
        }
        applying
    }

    fn referred(&self, keywords: &Object) -> Vec<&'a Json> {
        let document = self.schema.document();
        // What a reference in a part with an address of its own means, only its place could tell.
        if document.has_parts() {
            return Vec::new();
        }
        let target = |(_, reference)| match document.resolve(reference) {
            Reference::Found(_, schema) => Some(schema),
            Reference::Dangling | Reference::ByAddress => None,
        };
        document.references(keywords).filter_map(target).collect()
    }

    fn conditions(&mut self, keywords: &'a Object, value: &Json, found: &mut Vec<&'a Json>) {
        let dialect = self.schema.dialect();
        if let Some(condition) = keywords.get("if").filter(|_| dialect >= Dialect::Draft7 && self.budget.pay_for(value))
        {
            let branch = if self.judge.accepts(condition, value) { "then" } else { "else" };
            found.extend(keywords.get(branch));
        }
        let by_name = [("dependencies", Dialect::Draft4), ("dependentSchemas", Dialect::Draft201909)];
        for (keyword, _) in by_name.into_iter().filter(|(_, since)| dialect >= *since) {
            for (name, schema) in keywords.get(keyword).and_then(Json::as_object).into_iter().flatten() {
                if value.get(name).is_some() {
                    found.push(schema);
                }
            }
        }
    }

    /// The schemas of a member: what declares it, or what holds for those that nothing declares. What holds for those that were
    /// not evaluated is none of them: whether this one was, only the validator can tell.
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
                found.extend(keywords.get("additionalProperties"));
            }
        }
        found
    }
}

/// The schemas of an item.
pub(super) fn of_item<'a>(keywords: &[&'a Object], position: usize, dialect: Dialect) -> Vec<&'a Json> {
    let mut found = Vec::new();
    for keywords in keywords {
        let (tuple, rest) = match keywords.get("items") {
            Some(Json::Array(tuple)) => (tuple.as_slice(), keywords.get("additionalItems")),
            rest => {
                let tuple = keywords.get("prefixItems").filter(|_| dialect == Dialect::Draft202012);
                (tuple.and_then(Json::as_array).unwrap_or_default(), rest)
            }
        };
        found.extend(tuple.get(position).or(rest));
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

//! A schema object, as the lints look at it.

use std::sync::Arc;

use crate::{
    json::{Json, Object, Pointer},
    tools::{
        ArgumentRules,
        schema::{Dialect, Document, Place, Reference},
    },
};

/// A schema object of a tool's parameters, and what stands around it.
pub(super) struct Site<'a, 'p> {
    pub(super) keywords: &'a Object,
    pub(super) place: Place<'p>,
    pub(super) document: Document<'a>,
    pub(super) dialect: Dialect,
    pub(super) arguments: &'a ArgumentRules,
}

/// References that are followed one after the other.
const MOST_STEPS: usize = 8;

/// Keywords by which other schemas judge the same value.
const COMBINING: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "dependentSchemas",
    "dependencies",
];

impl<'a> Site<'a, '_> {
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Json> {
        self.keywords.get(keyword)
    }

    pub(super) fn has(&self, keyword: &str) -> bool {
        self.keywords.contains_key(keyword)
    }

    pub(super) fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    pub(super) fn list(&self, keyword: &str) -> &'a [Json] {
        self.get(keyword).and_then(Json::as_array).unwrap_or_default()
    }

    /// The place of something below it.
    pub(super) fn at(&self, step: &str) -> Pointer {
        self.place.join(step)
    }

    /// The place of one of its properties.
    pub(super) fn at_property(&self, name: &str) -> Pointer {
        self.place.join("properties").join(name)
    }

    /// The properties that it declares itself.
    pub(super) fn properties(&self) -> impl Iterator<Item = (&'a Arc<str>, &'a Json)> + use<'a> {
        self.get("properties").and_then(Json::as_object).into_iter().flatten()
    }

    /// Whether other schemas judge the same value.
    pub(super) fn is_combined(&self) -> bool {
        self.place.is_branch() || COMBINING.iter().any(|keyword| self.has(keyword))
    }

    /// The schema that a reference leads to, or the schema itself. `step` is where it stands.
    pub(super) fn resolved(&self, schema: &'a Json, place: Pointer) -> &'a Json {
        let (mut schema, mut place) = (schema, place);
        for _ in 0..MOST_STEPS {
            let Some(reference) = schema.get("$ref").and_then(Json::as_str) else { break };
            let Reference::Found(target, found) = self.document.resolve_from(&place.join("$ref"), reference) else {
                break;
            };
            (schema, place) = (found, target);
        }
        schema
    }
}

/// The types that a schema names.
pub(super) fn types(schema: &Object) -> impl Iterator<Item = &str> {
    let (one, many) = match schema.get("type") {
        Some(Json::String(name)) => (Some(&**name), &[][..]),
        Some(Json::Array(names)) => (None, names.as_slice()),
        _ => (None, &[][..]),
    };
    one.into_iter().chain(many.iter().filter_map(Json::as_str))
}

/// Whether a schema admits values of a type, as far as its own `type` says.
pub(super) fn admits(schema: &Object, name: &str) -> bool {
    !schema.contains_key("type") || types(schema).any(|one| one == name)
}

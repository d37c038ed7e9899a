//! Lints on objects and lists: what they must have, may have, and leave open.

use std::collections::HashSet;

use super::{
    codes::{
        ARRAY_WITHOUT_ITEMS, DEEP_SCHEMA, OPEN_OBJECT, OPTIONAL_WITHOUT_DEFAULT, UNDECLARED_REQUIRED, UNTYPED_PROPERTY,
    },
    findings::Findings,
    site::{Site, types},
};
use crate::{
    excerpt::excerpt,
    json::{Json, Object},
};

/// Levels of objects that `OpenAI` takes in strict mode.
const MAX_LEVELS: usize = 10;

/// Keywords by which an object says what it may have beside its properties.
const CLOSING: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "patternProperties"];

/// Keywords by which a schema says what it wants. The types say it, too.
const SAYING: [&str; 13] = [
    "type",
    "enum",
    "const",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "properties",
    "items",
];

pub(super) fn undeclared_required(site: &Site<'_, '_>, findings: &mut Findings) {
    // What other schemas judge, they may declare.
    if site.is_combined() || site.properties().next().is_none() || site.has("patternProperties") {
        return;
    }
    let declared = site.get("properties").and_then(Json::as_object);
    let is_closed = site.get("additionalProperties") == Some(&Json::Bool(false));
    for (index, name) in site.list("required").iter().enumerate() {
        let Some(name) = name.as_str().filter(|name| declared.is_some_and(|known| !known.contains_key(*name))) else {
            continue;
        };
        findings.add(
            UNDECLARED_REQUIRED,
            || site.at("required").join(index),
            || {
                let so = if is_closed { "and nothing can satisfy that" } else { "so that any value will do" };
                format!(
                    "`{}` is required and not among the properties, {so}: declare it, or correct the name",
                    excerpt(name)
                )
            },
        );
    }
}

pub(super) fn optional_without_default(site: &Site<'_, '_>, findings: &mut Findings) {
    if !site.place.is_root() {
        return;
    }
    let required: HashSet<&str> = site.list("required").iter().filter_map(Json::as_str).collect();
    for (name, schema) in site.properties().filter(|(name, _)| !required.contains(&***name)) {
        let Some(keywords) = site.resolved(schema, site.at_property(name)).as_object() else { continue };
        let tells = schema.get("description").and_then(Json::as_str).is_some_and(tells_default);
        let has_default = schema.get("default").is_some() || keywords.contains_key("default");
        if !has_default && !tells && !admits_null(keywords) {
            findings.add(OPTIONAL_WITHOUT_DEFAULT, || site.at_property(name), || {
                "the model must guess what leaving it out means, and OpenAI's strict mode has no optional properties: write \
                 `default`, admit null, or say it in the description"
                    .to_owned()
            });
        }
    }
}

fn tells_default(description: &str) -> bool {
    let description = description.to_lowercase();
    ["default", "optional", "omit", "if not", "leave out", "left out"].iter().any(|word| description.contains(word))
}

fn admits_null(keywords: &Object) -> bool {
    let is_null = |branch: &Json| branch.as_object().is_some_and(|branch| types(branch).any(|name| name == "null"));
    let branches = ["anyOf", "oneOf"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_array()).flatten();
    types(keywords).any(|name| name == "null") || branches.into_iter().any(is_null)
}

pub(super) fn open(site: &Site<'_, '_>, findings: &mut Findings) {
    // Of an empty schema, loading says enough.
    let declares = site.has("properties") || (site.place.is_root() && !site.keywords.is_empty());
    if declares && !site.is_combined() && !CLOSING.iter().any(|keyword| site.has(keyword)) {
        findings.add(OPEN_OBJECT, || site.place.pointer(), || {
            "unknown fields pass without a word, misspelt optional ones among them: write `additionalProperties: false`".to_owned()
        });
    }
}

pub(super) fn depth(site: &Site<'_, '_>, findings: &mut Findings) {
    let is_object = site.has("properties");
    if is_object && site.place.property().is_some() && site.place.properties_above() == MAX_LEVELS {
        findings.add(DEEP_SCHEMA, || site.place.pointer(), || {
            format!("objects are nested more than {MAX_LEVELS} deep: OpenAI's strict mode refuses that, and models lose their way; flatten it")
        });
    }
}

pub(super) fn untyped_properties(site: &Site<'_, '_>, findings: &mut Findings) {
    for (name, schema) in site.properties() {
        let says = |keywords: &Object| SAYING.iter().any(|keyword| keywords.contains_key(*keyword));
        if schema.as_object().map_or(*schema == Json::Bool(true), |keywords| !says(keywords)) {
            findings.add(UNTYPED_PROPERTY, || site.at_property(name), || {
                "it says no `type`: any value passes and none is converted, and strict modes refuse it; write the types that it may have"
                    .to_owned()
            });
        }
    }
}

pub(super) fn array_without_items(site: &Site<'_, '_>, findings: &mut Findings) {
    let is_array = types(site.keywords).any(|name| name == "array");
    let says = ["items", "prefixItems", "const", "enum"].iter().any(|keyword| site.has(keyword));
    if is_array && !says && !site.is_combined() {
        findings.add(
            ARRAY_WITHOUT_ITEMS,
            || site.place.pointer(),
            || {
                "OpenAI and Gemini refuse every request with an array that has no `items`: write what its items are"
                    .to_owned()
            },
        );
    }
}

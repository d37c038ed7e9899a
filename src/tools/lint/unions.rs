//! Lints on unions: whether it can be told which branch was meant, and what is converted.

use std::collections::HashSet;

use super::{
    codes::{TEXT_BESIDE_NUMBER, UNION_WITHOUT_DISCRIMINATOR},
    findings::Findings,
    site::{Site, types},
};
use crate::json::{Json, Object};

const UNIONS: [&str; 2] = ["anyOf", "oneOf"];

pub(super) fn without_discriminator(site: &Site<'_, '_>, findings: &mut Findings) {
    for keyword in UNIONS {
        let all = branches(site, keyword);
        let is_complete = all.len() == site.list(keyword).len();
        let others: Vec<_> = all.into_iter().filter(|branch| !types(branch).eq(["null"])).collect();
        let is_object =
            |branch: &&Object| types(branch).any(|name| name == "object") && branch.contains_key("properties");
        if others.len() > 1 && is_complete && others.iter().all(is_object) && !have_discriminator(&others) {
            findings.add(UNION_WITHOUT_DISCRIMINATOR, || site.at(keyword), || {
                "nothing says which of these objects was meant, so that an error speaks of the wrong one: give each a property with a \
                 `const` of its own, such as `kind`"
                    .to_owned()
            });
        }
    }
}

/// The objects of a union, references followed.
fn branches<'a>(site: &Site<'a, '_>, keyword: &str) -> Vec<&'a Object> {
    let branches = site.list(keyword).iter().enumerate();
    branches.filter_map(|(index, branch)| site.resolved(branch, site.at(keyword).join(index)).as_object()).collect()
}

/// Whether a property has one value in each of the objects, and another one in each.
fn have_discriminator(branches: &[&Object]) -> bool {
    let value = |branch: &Object, name: &str| {
        let schema = branch.get("properties")?.get(name)?;
        match (schema.get("const"), schema.get("enum").and_then(Json::as_array)) {
            (Some(value), _) | (None, Some([value])) => Some(value.to_canonical_text()),
            (None, _) => None,
        }
    };
    let is_discriminator = |name: &str| {
        let mut values = HashSet::new();
        branches.iter().all(|branch| value(branch, name).is_some_and(|value| values.insert(value)))
    };
    let first = branches.first().and_then(|branch| branch.get("properties")?.as_object());
    first.into_iter().flat_map(Object::keys).any(|name| is_discriminator(name))
}

pub(super) fn text_beside_number(site: &Site<'_, '_>, findings: &mut Findings) {
    let own: Vec<&str> = types(site.keywords).collect();
    let unions = UNIONS.iter().map(|keyword| (*keyword, branches(site, keyword).into_iter().flat_map(types).collect()));
    for (keyword, types) in [("type", own)].into_iter().chain(unions) {
        let has = |names: &[&str]| types.iter().any(|name| names.contains(name));
        if has(&["string"]) && has(&["number", "integer", "boolean"]) {
            findings.add(TEXT_BESIDE_NUMBER, || site.at(keyword), || {
                "a text such as `\"5\"` or `\"true\"` is taken as the text that it is and never converted: if the tool wants the \
                 number, leave the string out"
                    .to_owned()
            });
        }
    }
}

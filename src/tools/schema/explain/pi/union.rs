//! Unions: the branch that pi blames.

use super::{leaf::listed, said};
use crate::{
    json::{Json, Object},
    refusal::Violation,
    tools::schema::explain::{
        Explanation, Spot, Walk,
        union::{properties, resolved},
    },
};

/// Explains a union that the value may break.
pub(super) fn explain<'a>(
    walk: &mut Walk<'a>,
    keyword: &'static str,
    branches: &'a [Json],
    spot: &Spot<'a>,
) -> Explanation {
    let mut explained = Vec::with_capacity(branches.len());
    let mut matching = 0;
    for (position, schema) in branches.iter().enumerate() {
        let mut explanation = Explanation::default();
        walk.pi(&spot.under(schema, &[keyword, &position.to_string()]), &mut explanation);
        if explanation.is_empty() {
            matching += 1;
            if keyword == "anyOf" {
                return explanation;
            }
        }
        explained.push((resolved(walk, schema), explanation));
    }
    match matching {
        0 => {}
        1 => return Explanation::default(),
        _ => return Explanation::of(said(spot, keyword, "matches more than one alternative")),
    }
    let schemas: Vec<&Json> = explained.iter().map(|(schema, _)| *schema).collect();
    match (tag(walk, &schemas), spot.value) {
        (Some((name, values)), Json::Object(members)) => {
            let sent = members.get(name);
            match values.iter().position(|value| Some(value) == sent) {
                Some(branch) => {
                    explained.into_iter().nth(branch).map(|(_, explanation)| explanation).unwrap_or_default()
                }
                None => Explanation::of(wrong_tag(name, &values, keyword, spot)),
            }
        }
        _ => most_likely(explained, spot.value),
    }
}

/// The property that every branch fixes to a value of its own, and these values.
fn tag<'a>(walk: &Walk<'a>, branches: &[&'a Json]) -> Option<(&'a str, Vec<Json>)> {
    let names = properties(branches.first()?)?.keys();
    names.map(|name| &**name).find_map(|name| {
        if !walk.steps.take_for(branches.len()) {
            return None;
        }
        let mut values = Vec::with_capacity(branches.len());
        for branch in branches {
            let value = properties(branch)?.get(name)?.get("const")?;
            if matches!(value, Json::Array(_) | Json::Object(_)) || values.contains(value) {
                return None;
            }
            values.push(value.clone());
        }
        Some((name, values))
    })
}

fn wrong_tag(name: &str, values: &[Json], keyword: &'static str, spot: &Spot<'_>) -> Violation {
    let violation = said(spot, keyword, format!("expected one of {}", listed(values)));
    match spot.value.get(name) {
        Some(sent) => Violation { path: spot.path.join(name), actual: Some(sent.kind()), ..violation },
        None => Violation { property: Some(name.to_owned()), actual: None, ..violation },
    }
}

/// The branch that declares most of what was sent; among equals the one whose first violation lies deepest.
fn most_likely(explained: Vec<(&Json, Explanation)>, value: &Json) -> Explanation {
    let names = || value.as_object().into_iter().flat_map(Object::keys);
    let mut best: Option<((usize, usize), Explanation)> = None;
    for (branch, explanation) in explained {
        let declared = names().filter(|name| properties(branch).is_some_and(|all| all.contains_key(*name))).count();
        let rank = (declared, explanation.violations.first().map_or(0, path_length));
        if best.as_ref().is_none_or(|(highest, _)| rank > *highest) {
            best = Some((rank, explanation));
        }
    }
    best.map(|(_, explanation)| explanation).unwrap_or_default()
}

/// How long the path is as pi writes it.
fn path_length(violation: &Violation) -> usize {
    let path = violation.property.iter().fold(violation.path.clone(), |path, name| path.join(name));
    path.to_string().encode_utf16().count()
}

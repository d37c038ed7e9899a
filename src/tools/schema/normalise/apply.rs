//! Changes a schema so that it says what it means.

use std::collections::{HashMap, HashSet};

use super::{
    Change, Finding, in_lower_case, limit_of,
    nullable::{Moved, admit_null},
};
use crate::json::{Json, Object, Pointer};

/// The names that objects are to list as required, by the places of the objects.
type Required = HashMap<Pointer, Vec<String>>;

/// Makes the changes in an order in which each finds its place: those that move something last, and the inner ones first.
pub(super) fn all(found: &[Finding], schema: &mut Json, moved: &mut Moved) {
    let (moving, others): (Vec<_>, Vec<_>) = found.iter().partition(|finding| finding.change == Change::AdmitNull);
    let mut required = Required::new();
    for finding in others {
        in_place(finding, schema, &mut required);
    }
    for (object, names) in required {
        if let Some(object) = object.find_mut(schema).and_then(Json::as_object_mut) {
            list(object, &names);
        }
    }
    for finding in moving.into_iter().rev() {
        let Some((holder, keyword)) = finding.place.split_last() else { continue };
        let Some(keywords) = holder.find_mut(schema).and_then(Json::as_object_mut) else { continue };
        keywords.shift_remove(keyword);
        if admit_null(keywords) {
            moved.add(holder);
        }
    }
    moved.mend_references(schema);
}

fn in_place(finding: &Finding, schema: &mut Json, required: &mut Required) {
    let Some((holder, keyword)) = finding.place.split_last() else { return };
    let Some(keywords) = holder.find_mut(schema).and_then(Json::as_object_mut) else { return };
    match finding.change {
        Change::EmptyObject => replace(keywords, keyword, |_| Json::empty_object()),
        Change::LowerCase => replace(keywords, keyword, in_lower_case),
        Change::NumberLimit => number_limit(keywords, keyword),
        Change::ListRequired => {
            let said = keywords.shift_remove(keyword);
            if said == Some(Json::Bool(true))
                && let Some((properties, name)) = holder.split_last()
                && let Some((object, "properties")) = properties.split_last()
            {
                required.entry(object).or_default().push(name.to_owned());
            }
        }
        Change::AdmitNull => {}
    }
}

fn replace(keywords: &mut Object, keyword: &str, new: impl FnOnce(&Json) -> Json) {
    if let Some(held) = keywords.get_mut(keyword) {
        *held = new(held);
    }
}

fn number_limit(keywords: &mut Object, keyword: &str) {
    let is_exclusive = keywords.get(keyword) == Some(&Json::Bool(true));
    let limit = limit_of(keyword).filter(|_| is_exclusive).and_then(|limit| keywords.shift_remove(limit));
    match (limit, keywords.get_mut(keyword)) {
        (Some(limit), Some(held)) => *held = limit,
        _ => drop(keywords.shift_remove(keyword)),
    }
}

/// Adds names to the list of an object, those that are not there yet.
fn list(object: &mut Object, names: &[String]) {
    let required = object.entry("required".into()).or_insert_with(|| Json::Array(Vec::new()));
    let Json::Array(listed) = required else { return };
    let known: HashSet<&str> = listed.iter().filter_map(Json::as_str).collect();
    let new: Vec<Json> =
        names.iter().filter(|name| !known.contains(name.as_str())).map(|name| Json::from(name.as_str())).collect();
    listed.extend(new);
}

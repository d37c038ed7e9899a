//! What foreign schemas get wrong and can only mean one thing (rule V6): it is read as what it means, and remarked on. What has
//! two readings stays as it is, and the proof refuses it.

mod apply;
mod nullable;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::{
    faults::TYPES,
    structure::{Place, Shape, each_subschema, shape},
};
use crate::{
    excerpt::excerpt,
    json::{Json, Object, Pointer},
    tools::Note,
};
pub(super) use nullable::Moved;
use nullable::{admits_null, is_combined};

/// A schema, and what was done to it.
pub(super) struct Normalised<'a> {
    /// Borrowed if nothing was done.
    pub(super) schema: Cow<'a, Json>,
    pub(super) notes: Vec<Note>,
    pub(super) moved: Moved,
    /// Whether it may be read as what it means.
    is_allowed: bool,
}

/// A place, and what is done to it so that it says what it means.
struct Finding {
    /// The keyword, or the member of one.
    place: Pointer,
    change: Change,
    /// What is wrong there.
    fault: String,
    /// What to do.
    remedy: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Serialisers that know no empty objects write empty arrays.
    EmptyObject,
    /// Gemini spells types in upper case.
    LowerCase,
    /// `OpenAPI` 3.0 has no type `null`.
    AdmitNull,
    /// Draft 4 says of `minimum` and `maximum` whether they are exclusive. Later drafts have a number.
    NumberLimit,
    /// Draft 3 says of each property whether it is required. Later drafts list the names at their object.
    ListRequired,
}

impl<'a> Normalised<'a> {
    /// The schema, read as what it means. If it may not be, the remarks are errors, and the schema is one that has no other
    /// faults than its author's.
    pub(super) fn of(schema: &'a Json, is_allowed: bool) -> Self {
        let found = findings(schema);
        let schema = Cow::Borrowed(schema);
        let mut normalised = Self { schema, notes: Vec::new(), moved: Moved::default(), is_allowed };
        normalised.apply(found);
        normalised
    }

    /// Reads the limits of draft 4 as those of later drafts, in a schema of these. Says whether there were any.
    pub(super) fn take_limits_of_draft_4(&mut self) -> bool {
        let found = limits_of_draft_4(&self.schema);
        let are_any = !found.is_empty();
        self.apply(found);
        are_any
    }

    fn apply(&mut self, mut found: Vec<Finding>) {
        self.notes.extend(found.iter().map(|finding| finding.note(self.is_allowed)));
        // JSON Schema passes over keywords that it does not know: that one is not broken, it just says nothing.
        found.retain(|finding| self.is_allowed || finding.change != Change::AdmitNull);
        if !found.is_empty() {
            apply::all(&found, self.schema.to_mut(), &mut self.moved);
        }
    }
}

impl Finding {
    fn note(&self, is_allowed: bool) -> Note {
        let Self { place, change, fault, remedy } = self;
        if is_allowed {
            let message = format!("{fault}, and is read as what it can only mean: {remedy}");
            return Note::warning(change.code(), place.clone(), message);
        }
        if *change == Change::AdmitNull {
            let message = format!("{fault}, and says nothing but under the profile `safe`: {remedy}");
            return Note::warning(change.code(), place.clone(), message);
        }
        Note::error("broken_schema", place.clone(), format!("{fault}: {remedy}"))
    }
}

impl Change {
    fn code(self) -> &'static str {
        match self {
            Self::EmptyObject => "empty_array_to_object",
            Self::LowerCase => "upper_case_type",
            Self::AdmitNull => "nullable",
            Self::NumberLimit => "boolean_limit",
            Self::ListRequired => "boolean_required",
        }
    }
}

/// What is wrong in any dialect: one walk, which makes nothing where nothing is wrong.
fn findings(schema: &Json) -> Vec<Finding> {
    let mut found = Vec::new();
    each_subschema(schema, &mut |keywords, place| {
        for (keyword, held) in keywords {
            match (&**keyword, held) {
                ("type", held) => found.extend(upper_case(held, place)),
                ("nullable", Json::Bool(true)) => found.extend(nullable(keywords, place)),
                ("required", Json::Bool(is_required)) => found.extend(boolean_required(*is_required, place)),
                (keyword, held) => empty_arrays(keyword, held, place, &mut found),
            }
        }
    });
    found
}

fn upper_case(held: &Json, place: Place<'_>) -> Option<Finding> {
    let names = names_of(held);
    let name =
        names.iter().filter_map(Json::as_str).find(|name| lower_case(name).is_some_and(|lower| lower != *name))?;
    let lower = in_lower_case(held);
    let shown = lower.as_str().map_or_else(|| lower.to_text_start(100), ToOwned::to_owned);
    Some(Finding {
        place: place.join("type"),
        change: Change::LowerCase,
        fault: format!("`{}` is no type of JSON Schema", excerpt(name)),
        remedy: format!("write `{shown}`"),
    })
}

/// The type that a name is in whatever case.
fn lower_case(name: &str) -> Option<&'static str> {
    TYPES.into_iter().find(|known| name.eq_ignore_ascii_case(known))
}

/// The types in lower case, each once; what is none is left as it is.
fn in_lower_case(held: &Json) -> Json {
    let lower = |name: &Json| name.as_str().and_then(lower_case).map_or_else(|| name.clone(), Json::from);
    let Json::Array(names) = held else { return lower(held) };
    let mut known: Vec<Json> = Vec::with_capacity(names.len().min(TYPES.len()));
    for name in names.iter().map(lower) {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    Json::Array(known)
}

/// The names of `type`.
fn names_of(held: &Json) -> &[Json] {
    held.as_array().unwrap_or_else(|| std::slice::from_ref(held))
}

fn nullable(keywords: &Object, place: Place<'_>) -> Option<Finding> {
    // Arguments are always an object, whatever is said of the whole.
    if place.is_root() || admits_null(keywords) {
        return None;
    }
    let remedy = match keywords.get("type") {
        Some(Json::String(name)) if !is_combined(keywords) => {
            format!("write `type: [{}, \"null\"]` instead", excerpt(name))
        }
        Some(_) | None => "write `anyOf` with this and `{type: \"null\"}` instead".to_owned(),
    };
    let fault = "`nullable` is of OpenAPI, no keyword of JSON Schema".to_owned();
    Some(Finding { place: place.join("nullable"), change: Change::AdmitNull, fault, remedy })
}

/// Said of a property, it means that its object must have it. Said of a value that is judged only where there is one, it means
/// nothing. Said of what may be used as either, it may mean either.
fn boolean_required(is_required: bool, place: Place<'_>) -> Option<Finding> {
    let remedy = match place.property() {
        Some(name) if is_required => format!("add `{}` to the list `required` of its object instead", excerpt(name)),
        None if is_required && !place.is_of_one_value() => return None,
        Some(_) | None => "remove it".to_owned(),
    };
    let fault = format!("`required: {is_required}` is of draft 3");
    Some(Finding { place: place.join("required"), change: Change::ListRequired, fault, remedy })
}

fn empty_arrays(keyword: &str, held: &Json, place: Place<'_>, found: &mut Vec<Finding>) {
    let is_empty = |held: &Json| held.as_array().is_some_and(<[Json]>::is_empty);
    let mut add = |place: Pointer, what: &str| {
        let fault = format!("`{}` is an empty array where an object belongs", excerpt(what));
        found.push(Finding { place, change: Change::EmptyObject, fault, remedy: "write `{}`".to_owned() });
    };
    let is_list = ["allOf", "anyOf", "oneOf", "prefixItems"].contains(&keyword);
    match (shape(keyword), held) {
        (Shape::SchemaOrList | Shape::SchemasByName, held) if !is_list && is_empty(held) => {
            add(place.join(keyword), keyword);
        }
        // `dependencies` may hold lists of names.
        (Shape::SchemasByName, Json::Object(members)) if keyword != "dependencies" => {
            for (name, _) in members.iter().filter(|(_, member)| is_empty(member)) {
                add(place.join(keyword).join(name), name);
            }
        }
        (Shape::SchemaOrList | Shape::SchemasByName | Shape::Plain, _) => {}
    }
}

/// The limit that a keyword of draft 4 speaks of.
fn limit_of(keyword: &str) -> Option<&'static str> {
    match keyword {
        "exclusiveMinimum" => Some("minimum"),
        "exclusiveMaximum" => Some("maximum"),
        _ => None,
    }
}

fn limits_of_draft_4(schema: &Json) -> Vec<Finding> {
    let mut found = Vec::new();
    each_subschema(schema, &mut |keywords, place| {
        for (keyword, held) in keywords {
            let (Some(limit), Json::Bool(is_exclusive)) = (limit_of(keyword), held) else { continue };
            let remedy = match keywords.get(limit) {
                Some(Json::Number(number)) if *is_exclusive => {
                    format!("write `{keyword}: {}` instead of it and `{limit}`", excerpt(&number.spelling()))
                }
                Some(Json::Number(_)) | None => "remove it".to_owned(),
                Some(_) => continue,
            };
            let fault = format!("`{keyword}: {is_exclusive}` is of draft 4");
            found.push(Finding { place: place.join(keyword), change: Change::NumberLimit, fault, remedy });
        }
    });
    found
}

//! Single keywords: what they ask for, and the words for it.

use super::{Explanation, Spot, Walk, hint};
use crate::{
    json::{Json, Number, Object, Pointer},
    refusal::Violation,
    tools::schema::{Dialect, exact::is_unique, keywords::Comparison},
};

/// The violation of `type`, if there is one.
pub(super) fn wrong_type(keywords: &Object, spot: &Spot<'_>) -> Option<Violation> {
    let names = types(keywords);
    if names.is_empty() || names.iter().any(|name| is_of_type(spot.value, name)) {
        return None;
    }
    let expected = any_of_words(&names);
    let mut violation = spot.violation("type", format!("expected {expected}, got {}", spot.value.kind()), expected);
    violation.hint = hint::value_in_text(spot.value, |value| names.iter().any(|name| is_of_type(value, name)));
    Some(violation)
}

/// What `type` lists.
pub(in crate::tools) fn types(keywords: &Object) -> Vec<&str> {
    match keywords.get("type") {
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        name => name.and_then(Json::as_str).into_iter().collect(),
    }
}

pub(in crate::tools) fn is_of_type(value: &Json, name: &str) -> bool {
    value.kind().name() == name || (name == "integer" && value.as_number().is_some_and(Number::is_integer))
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn any_of_words(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// Everything that single keywords say against the value itself.
pub(super) fn check<'a>(walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
    choices(walk, keywords, spot, found);
    match spot.value {
        Json::Number(number) => limits(keywords, number, spot, found),
        Json::String(text) => texts(walk, keywords, text, spot, found),
        Json::Array(items) => lists(walk, keywords, items, spot, found),
        Json::Object(members) => objects(walk, keywords, members, spot, found),
        Json::Null | Json::Bool(_) => {}
    }
}

fn choices(walk: &Walk<'_>, keywords: &Object, spot: &Spot<'_>, found: &mut Explanation) {
    let listed_choices = keywords.get("enum").and_then(Json::as_array);
    if !walk.steps.take_for(listed_choices.map_or(0, <[Json]>::len)) {
        return;
    }
    // Draft 4 does not know `const`.
    if let Some(only) =
        keywords.get("const").filter(|only| walk.schema.dialect() >= Dialect::Draft6 && *only != spot.value)
    {
        let expected = short(only);
        found.push(spot.violation("const", format!("expected {expected}"), expected));
    }
    let Some(choices) = listed_choices else { return };
    if !choices.contains(spot.value) {
        let expected = format!("one of {}", listed(choices.iter()));
        let mut violation = spot.violation("enum", format!("expected {expected}"), expected);
        violation.hint = hint::nearest_choice(walk, choices.iter(), spot.value);
        found.push(violation);
    }
}

/// Choices that one line can hold.
pub(super) const MAX_CHOICES: usize = 20;
/// Characters of a pattern or of a number that are worth repeating.
const MAX_REPEATED: usize = 300;
/// Characters of a value that one line can hold.
pub(super) const MAX_SHORT: usize = 60;

/// Choices in brackets; those that do not fit are counted.
fn listed<'n>(mut choices: impl ExactSizeIterator<Item = &'n Json>) -> String {
    let shown: Vec<String> = choices.by_ref().take(MAX_CHOICES).map(short).collect();
    match choices.len() {
        0 => format!("[{}]", shown.join(",")),
        more => format!("[{}] and {more} more", shown.join(",")),
    }
}

/// A value of the schema, on one line and not too long.
pub(super) fn short(value: &Json) -> String {
    // A letter has at most four bytes.
    let text = value.to_text_start(4 * MAX_SHORT);
    if text.chars().count() <= MAX_SHORT {
        return text;
    }
    text.chars().take(MAX_SHORT).chain("...".chars()).collect()
}

fn limits(keywords: &Object, number: &Number, spot: &Spot<'_>, found: &mut Explanation) {
    let exclusive = |sibling: &str| keywords.get(sibling) == Some(&Json::Bool(true));
    for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"] {
        let Some(limit) = keywords.get(keyword).and_then(Json::as_number) else { continue };
        let comparison = Comparison::of(keyword, exclusive);
        if !comparison.holds(number, limit) {
            let expected = format!("{} {}", comparison.words(), repeated(&limit.spelling()));
            found.push(spot.violation(keyword, format!("expected {expected}"), expected));
        }
    }
}

/// A text of the schema, unless it is so long that nobody could use it.
fn repeated(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(MAX_REPEATED).collect();
    if letters.next().is_some() { format!("{start}...") } else { start }
}

/// Whether the size breaks a least or a greatest size, and the words for it.
fn size(
    [least, most, unit]: [&'static str; 3],
    size: usize,
    keywords: &Object,
    spot: &Spot<'_>,
    found: &mut Explanation,
) {
    let size = Number::from(i64::try_from(size).unwrap_or(i64::MAX));
    let bound = |keyword| keywords.get(keyword).and_then(Json::as_number);
    for (keyword, words, limit, broken) in [
        (least, "at least", bound(least), bound(least).is_some_and(|limit| size < *limit)),
        (most, "at most", bound(most), bound(most).is_some_and(|limit| size > *limit)),
    ] {
        if let Some(limit) = limit.filter(|_| broken) {
            let expected = format!("{words} {} {unit}", repeated(&limit.spelling()));
            found.push(spot.violation(keyword, format!("expected {expected}"), expected));
        }
    }
}

fn texts<'a>(walk: &mut Walk<'a>, keywords: &'a Object, text: &str, spot: &Spot<'a>, found: &mut Explanation) {
    size(["minLength", "maxLength", "characters"], text.chars().count(), keywords, spot, found);
    if let Some(pattern) = keywords.get("pattern")
        && !walk.keyword_accepts("pattern", pattern, spot.value)
    {
        let expected = format!("to match {}", repeated(pattern.as_str().unwrap_or_default()));
        let message = if walk.gave_up(pattern, spot.value) {
            found.undecided = true;
            format!("could not be checked within the limit of steps; expected {expected}")
        } else {
            format!("expected {expected}")
        };
        found.push(spot.violation("pattern", message, expected));
    }
    if let Some(format) = keywords.get("format")
        && !walk.keyword_accepts("format", format, spot.value)
    {
        let expected = format!("format {}", repeated(format.as_str().unwrap_or_default()));
        let mut violation = spot.violation("format", format!("expected {expected}"), expected);
        violation.hint = hint::for_format(walk, format, text);
        found.push(violation);
    }
}

fn lists<'a>(walk: &mut Walk<'a>, keywords: &'a Object, items: &'a [Json], spot: &Spot<'a>, found: &mut Explanation) {
    size(["minItems", "maxItems", "items"], items.len(), keywords, spot, found);
    if keywords.get("uniqueItems") == Some(&Json::Bool(true)) && !is_unique(items) {
        found.push(spot.violation("uniqueItems", "expected unique items", "unique items"));
    }
    if let Some(schema) = keywords.get("contains") {
        let matching = items
            .iter()
            .enumerate()
            .filter(|(position, item)| walk.accepts(&spot.inside(schema, &["contains"], item, &position.to_string())))
            .count();
        let one = Number::from(1);
        let least = keywords.get("minContains").and_then(Json::as_number).unwrap_or(&one);
        let most = keywords.get("maxContains").and_then(Json::as_number);
        let matching = Number::from(i64::try_from(matching).unwrap_or(i64::MAX));
        if matching < *least || most.is_some_and(|most| matching > *most) {
            let most = most.map(|most| format!(" and at most {most}")).unwrap_or_default();
            let expected = format!("at least {least}{most} items that match `contains`");
            found.push(spot.violation("contains", format!("expected {expected}"), expected));
        }
    }
}

fn objects<'a>(
    walk: &mut Walk<'a>,
    keywords: &'a Object,
    members: &'a Object,
    spot: &Spot<'a>,
    found: &mut Explanation,
) {
    size(["minProperties", "maxProperties", "properties"], members.len(), keywords, spot, found);
    let required = keywords.get("required").and_then(Json::as_array).unwrap_or_default();
    if !walk.steps.take_for(required.len()) {
        return;
    }
    for name in required.iter().filter_map(Json::as_str).filter(|name| !members.contains_key(*name)) {
        if !walk.steps.take() {
            return;
        }
        found.push(missing(walk, keywords, members, name, spot));
    }
    for keyword in ["dependentRequired", "dependencies"] {
        let by_name = keywords.get(keyword).and_then(Json::as_object);
        if !walk.steps.take_for(by_name.map_or(0, Object::len)) {
            return;
        }
        for (name, needs) in by_name.into_iter().flatten() {
            let needs = needs.as_array().filter(|_| members.contains_key(name)).unwrap_or_default();
            for needed in needs.iter().filter_map(Json::as_str).filter(|needed| !members.contains_key(*needed)) {
                if !walk.steps.take() {
                    return;
                }
                let message = format!("required when {} is present", Json::from(&**name).to_text());
                found.push(at_property(spot.violation(keyword, message, "a value"), needed, None));
            }
        }
    }
    if let Some(schema) = keywords.get("propertyNames") {
        for name in members.keys() {
            let text = Json::from(&**name);
            if !names_accept(walk, schema, &text) {
                let message = "the name of this field is not allowed";
                found.push(at_property(spot.violation("propertyNames", message, "another name"), name, None));
            }
        }
    }
}

/// Whether the schema of names accepts this one.
pub(super) fn names_accept<'a>(walk: &mut Walk<'a>, schema: &'a Json, name: &Json) -> bool {
    let address = std::ptr::from_ref(schema).addr();
    walk.leaf_accepts(("allOf", address), || Json::Array(vec![schema.clone()]), name)
}

fn is_declared(keywords: &Object, name: &str) -> bool {
    keywords.get("properties").and_then(|declared| declared.get(name)).is_some()
}

/// A required field that is not there. An undeclared field with nearly its name was probably meant.
fn missing(walk: &Walk<'_>, keywords: &Object, members: &Object, name: &str, spot: &Spot<'_>) -> Violation {
    let is_undeclared = |sent: &str| !is_declared(keywords, sent);
    let sent = members.keys().map(|sent| &**sent);
    let renamed = hint::nearest(walk, sent, name, is_undeclared);
    let hint = renamed
        .map(|sent| format!("did you mean to rename `{sent}`?"))
        .or_else(|| hint::wrapped(walk, members, name, is_undeclared));
    let expected = expected_kind(keywords, name);
    at_property(spot.violation("required", "missing", expected), name, hint)
}

/// What the schema of a field asks for, in a word.
fn expected_kind(keywords: &Object, name: &str) -> String {
    let place = Pointer::root().join(name).join("type");
    let declared = keywords.get("properties").and_then(|declared| place.find(declared));
    declared.and_then(Json::as_str).unwrap_or("a value").to_owned()
}

/// A field that the schema does not declare. A declared one with nearly its name, not sent, was probably meant.
pub(super) fn unknown_field(
    walk: &Walk<'_>,
    keywords: &Object,
    members: &Object,
    name: &str,
    spot: &Spot<'_>,
) -> Violation {
    let declared = keywords.get("properties").and_then(Json::as_object);
    let declared = declared.into_iter().flat_map(Object::keys).map(|name| &**name);
    let hint = hint::nearest(walk, declared, name, |name| !members.contains_key(name))
        .map(|declared| format!("did you mean `{declared}`?"));
    let mut violation = at_property(spot.violation("additionalProperties", "unknown field", "nothing"), name, hint);
    violation.actual = members.get(name).map(Json::kind);
    violation
}

fn at_property(violation: Violation, name: &str, hint: Option<String>) -> Violation {
    Violation { property: Some(name.to_owned()), hint, actual: None, ..violation }
}

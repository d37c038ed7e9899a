//! Single keywords, in the order and the words of pi.

use super::said;
use crate::{
    excerpt::beginning,
    json::{Json, Number, Object},
    refusal::Violation,
    tools::schema::{
        Dialect,
        exact::is_unique,
        explain::{Explanation, Spot, Walk, leaf},
        keywords::Comparison,
    },
};

/// Choices that are listed.
const MAX_CHOICES: usize = 20;
/// Bytes of a value, a pattern or a format of the schema that are repeated.
const MAX_REPEATED: usize = 4 << 10;

/// The violation of `type`, if there is one.
pub(super) fn wrong_type(keywords: &Object, spot: &Spot<'_>) -> Option<Violation> {
    let names = leaf::types(keywords);
    if names.is_empty() || names.iter().any(|name| leaf::is_of_type(spot.value, name)) {
        return None;
    }
    // Rule E1 has JSON's six kinds; pi has a seventh.
    let is_integer = spot.value.as_number().is_some_and(Number::is_integer);
    let got = if is_integer { "integer" } else { spot.value.kind().name() };
    let expected = names.join(" or ");
    Some(spot.violation("type", format!("expected {expected}, got {got}"), expected))
}

/// Choices, texts and numbers.
pub(super) fn check<'a>(walk: &mut Walk<'a>, keywords: &'a Object, spot: &Spot<'a>, found: &mut Explanation) {
    if let Some(choices) = keywords.get("enum").and_then(Json::as_array)
        && walk.steps.take_for(choices.len())
        && !choices.contains(spot.value)
    {
        found.push(told(walk, spot, "enum", format!("expected one of {}", listed(choices))));
    }
    if let Some(only) = keywords.get("const")
        && walk.schema.dialect >= Dialect::Draft6
        && only != spot.value
    {
        found.push(told(walk, spot, "const", format!("expected {}", text(only))));
    }
    match spot.value {
        Json::String(text) => texts(walk, keywords, text, spot, found),
        Json::Number(number) => limits(keywords, number, spot, found),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => {}
    }
}

/// A violation whose words repeat some of the schema: long ones cost steps.
fn told(walk: &Walk<'_>, spot: &Spot<'_>, keyword: &'static str, message: String) -> Violation {
    // There is one more than can be paid for.
    let _is_paid = walk.steps.take_for(message.len());
    said(spot, keyword, message)
}

/// A value of the schema. Nothing is shortened that a reader could want to see whole; what is longer is said for each of many
/// items, and costs for each.
fn text(value: &Json) -> String {
    beginning(&value.to_javascript_start(MAX_REPEATED), MAX_REPEATED).to_owned()
}

/// Choices in brackets; those that are too many are counted.
pub(super) fn listed(choices: &[Json]) -> String {
    let shown: Vec<String> = choices.iter().take(MAX_CHOICES).map(text).collect();
    match choices.len() - shown.len() {
        0 => format!("[{}]", shown.join(",")),
        more => format!("[{}, ... and {more} more]", shown.join(",")),
    }
}

fn texts<'a>(walk: &mut Walk<'a>, keywords: &'a Object, text: &str, spot: &Spot<'a>, found: &mut Explanation) {
    size(["minLength", "maxLength", "characters"], text.chars().count(), keywords, spot, found);
    if let Some(pattern) = keywords.get("pattern")
        && !walk.keyword_accepts("pattern", pattern, spot.value)
    {
        let expected = format!("expected to match {}", beginning(pattern.as_str().unwrap_or_default(), MAX_REPEATED));
        if walk.gave_up(pattern, spot.value) {
            found.undecided = true;
            let message = format!("could not be checked within the limit of steps; {expected}");
            found.push(spot.violation("pattern", message, expected));
        } else {
            found.push(told(walk, spot, "pattern", expected));
        }
    }
    if let Some(format) = keywords.get("format")
        && !walk.keyword_accepts("format", format, spot.value)
    {
        let expected = format!("expected format {}", beginning(format.as_str().unwrap_or_default(), MAX_REPEATED));
        found.push(told(walk, spot, "format", expected));
    }
}

fn limits(keywords: &Object, number: &Number, spot: &Spot<'_>, found: &mut Explanation) {
    let exclusive = |sibling: &str| keywords.get(sibling) == Some(&Json::Bool(true));
    for keyword in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"] {
        let Some(limit) = keywords.get(keyword).and_then(Json::as_number) else { continue };
        let comparison = Comparison::of(keyword, exclusive);
        if !comparison.holds(number, limit) {
            found.push(said(spot, keyword, format!("expected {} {}", comparison.words_of_pi(), limit.to_ecmascript())));
        }
    }
}

/// Whether the size breaks a least or a greatest size.
pub(super) fn size(
    [least, most, unit]: [&'static str; 3],
    size: usize,
    keywords: &Object,
    spot: &Spot<'_>,
    found: &mut Explanation,
) {
    let size = number(size);
    let bound = |keyword| keywords.get(keyword).and_then(Json::as_number);
    if let Some(limit) = bound(least).filter(|limit| size < **limit) {
        found.push(said(spot, least, format!("expected at least {} {unit}", limit.to_ecmascript())));
    }
    if let Some(limit) = bound(most).filter(|limit| size > **limit) {
        found.push(said(spot, most, format!("expected at most {} {unit}", limit.to_ecmascript())));
    }
}

/// What the array itself breaks, beside its items.
pub(super) fn items<'a>(
    walk: &mut Walk<'a>,
    keywords: &'a Object,
    items: &'a [Json],
    spot: &Spot<'a>,
    found: &mut Explanation,
) {
    size(["minItems", "maxItems", "items"], items.len(), keywords, spot, found);
    if keywords.get("uniqueItems") == Some(&Json::Bool(true)) && !is_unique(items) {
        found.push(said(spot, "uniqueItems", "expected unique items"));
    }
    let Some(schema) = keywords.get("contains") else { return };
    let is_old = walk.schema.dialect <= Dialect::Draft7;
    let bound = |keyword: &str| keywords.get(keyword).and_then(Json::as_number).filter(|_| !is_old);
    let (least, most) = (bound("minContains").cloned().unwrap_or_else(|| number(1)), bound("maxContains"));
    let is_match =
        |(at, item): &(usize, &'a Json)| walk.accepts(&spot.inside(schema, &["contains"], item, &at.to_string()));
    let matching = number(items.iter().enumerate().filter(is_match).count());
    if matching < least || most.is_some_and(|most| matching > *most) {
        found.push(said(spot, "contains", contained(&least, most)));
    }
}

fn contained(least: &Number, most: Option<&Number>) -> String {
    let items = |count: &Number| if *count == number(1) { "item" } else { "items" };
    match most {
        None => format!("expected at least {} matching {}", least.to_ecmascript(), items(least)),
        Some(most) if *least == number(0) => {
            format!("expected at most {} matching {}", most.to_ecmascript(), items(most))
        }
        Some(most) => {
            format!("expected between {} and {} matching items", least.to_ecmascript(), most.to_ecmascript())
        }
    }
}

fn number(count: usize) -> Number {
    Number::from(i64::try_from(count).unwrap_or(i64::MAX))
}

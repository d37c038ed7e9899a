//! What one value can be read as, by the kinds that its place asks for (rules C3 to C5).

use std::sync::Arc;

use super::{
    Trail,
    decode::{decode, limits},
    fit::Reading,
    kinds::Kinds,
    spelling,
};
use crate::{
    json::{Json, Number, Object, ParseLimits, Pointer, parse},
    refusal::Repair,
    tools::ArgumentRules,
};

/// What a place asks for.
pub(super) struct Asked<'a> {
    kinds: Kinds,
    /// What else the place takes, in other branches of its unions.
    offered: Kinds,
    /// The texts that it takes, if it lists them.
    texts: Vec<&'a str>,
    drop_empty: bool,
    /// What may be decoded there.
    limits: ParseLimits,
}

/// What a value may be read as.
pub(super) struct Candidate {
    value: Json,
    op: &'static str,
    /// What was repaired in its text, by places that start at the value.
    of_text: Vec<Repair>,
    /// Of the kind that is asked for beyond doubt: if it is refused still, the error speaks of it.
    pub(super) speaks_for_itself: bool,
}

impl Candidate {
    fn plain(op: &'static str, value: Json) -> Self {
        Self { value, op, of_text: Vec::new(), speaks_for_itself: true }
    }

    fn doubtful(op: &'static str, value: Json) -> Self {
        Self { speaks_for_itself: false, ..Self::plain(op, value) }
    }

    /// The candidate as a reading of the value at a place.
    pub(super) fn reading(self, value: &Json, trail: &Trail<'_>) -> Reading {
        let (path, from, to) = (trail.pointer(), value.kind().name(), self.value.kind().name());
        let of_text = self.of_text.into_iter().map(|repair| Repair { path: path.append(&repair.path), ..repair });
        let mut repairs = vec![Repair::of_arguments(path.clone(), self.op, from, to)];
        repairs.extend(of_text);
        Reading { value: self.value, repairs }
    }
}

impl<'a> Asked<'a> {
    pub(super) fn of(keywords: &[&'a Object], offered: Kinds, rules: &ArgumentRules, depth: usize) -> Self {
        let choices = keywords.iter().flat_map(|keywords| {
            let listed = keywords.get("enum").and_then(Json::as_array).unwrap_or_default();
            listed.iter().chain(keywords.get("const"))
        });
        let texts = choices.filter_map(Json::as_str).collect();
        let kinds = Kinds::asked_by(keywords);
        Self { kinds, offered: offered.or(kinds), texts, drop_empty: rules.drop_empty, limits: limits(rules, depth) }
    }

    /// How many choices a text is compared with.
    pub(super) fn choices(&self) -> usize {
        self.texts.len()
    }

    /// Whether the place takes values of this kind, and so has refused this one for another reason.
    fn takes(&self, kind: Kinds) -> bool {
        self.offered.has(kind)
    }
}

/// Readings in the same shape.
pub(super) fn conversions(asked: &Asked<'_>, value: &Json) -> Vec<Candidate> {
    let mut found = Vec::new();
    match value {
        Json::String(text) => of_text(asked, text, &mut found),
        Json::Number(number) => {
            found.extend(integer(asked, number));
            // What is refused as a number does not become acceptable as a text.
            if asked.kinds.has(Kinds::STRING) && !asked.takes(Kinds::INTEGER) && !asked.takes(Kinds::FRACTION) {
                found.push(Candidate::plain("number_to_string", Json::from(&*number.spelling())));
            }
        }
        Json::Bool(truth) => {
            if asked.kinds.has(Kinds::STRING) && !asked.takes(Kinds::BOOLEAN) {
                let text = if *truth { "true" } else { "false" };
                found.push(Candidate::plain("boolean_to_string", Json::from(text)));
            }
        }
        Json::Null | Json::Array(_) | Json::Object(_) => {}
    }
    found
}

fn of_text(asked: &Asked<'_>, text: &Arc<str>, found: &mut Vec<Candidate>) {
    if asked.kinds.has(Kinds::NULL) && spelling::is_nothing(text, asked.drop_empty) {
        found.push(Candidate::doubtful("null_text_to_null", Json::Null));
    }
    found.extend(number(asked, text));
    if asked.kinds.has(Kinds::BOOLEAN)
        && let Some(truth) = truth(text)
    {
        found.push(Candidate::plain("string_to_boolean", Json::Bool(truth)));
    }
    found.extend(decoded(asked, text));
    found.extend(folded(asked, text));
}

/// An integral number that is spelled with fraction or exponent. Only draft 4 refuses one.
fn integer(asked: &Asked<'_>, number: &Number) -> Option<Candidate> {
    let is_asked = asked.kinds.has(Kinds::INTEGER) && !asked.kinds.has(Kinds::FRACTION);
    let spelled = number.to_plain_integer().filter(|_| is_asked && !number.is_spelled_as_integer())?;
    Some(Candidate::plain("float_to_integer", Json::Number(spelled)))
}

/// The number that a text is, by JSON's grammar. It keeps its spelling where any number is asked for.
fn number(asked: &Asked<'_>, text: &str) -> Option<Candidate> {
    if !asked.kinds.has(Kinds::INTEGER) && !asked.kinds.has(Kinds::FRACTION) {
        return None;
    }
    let Ok(Json::Number(number)) = parse(text.as_bytes(), &ParseLimits::wide()) else { return None };
    if asked.kinds.has(Kinds::FRACTION) {
        return Some(Candidate::plain("string_to_number", Json::Number(number)));
    }
    let integer = if number.is_spelled_as_integer() { number } else { number.to_plain_integer()? };
    Some(Candidate::plain("string_to_integer", Json::Number(integer)))
}

fn truth(text: &str) -> Option<bool> {
    let text = text.trim();
    ["false", "true"].iter().position(|word| word.eq_ignore_ascii_case(text)).map(|position| position == 1)
}

/// The array or object that a text is the JSON of. It is decoded once.
fn decoded(asked: &Asked<'_>, text: &str) -> Option<Candidate> {
    let op = match text.trim_start().chars().next()? {
        '[' if asked.kinds.has(Kinds::ARRAY) => "json_string_to_array",
        '{' if asked.kinds.has(Kinds::OBJECT) => "json_string_to_object",
        _ => return None,
    };
    // What starts as one ends as one.
    let (value, of_text) = decode(text, &asked.limits, Pointer::root)?;
    Some(Candidate { of_text, ..Candidate::plain(op, value) })
}

/// The one listed text that differs at most in case and blanks.
fn folded(asked: &Asked<'_>, text: &str) -> Option<Candidate> {
    let mut same = asked.texts.iter().filter(|listed| spelling::is_same_text(listed, text));
    let first = same.next()?;
    same.all(|other| other == first).then(|| Candidate::doubtful("fold_enum", Json::from(*first)))
}

/// The operations that change a shape.
pub(super) const RESHAPINGS: [&str; 2] = ["wrap_in_array", "unwrap_single"];

/// The reading in another shape: an array of one, or the one item of an array.
pub(super) fn reshaping(asked: &Asked<'_>, value: &Json) -> Option<Candidate> {
    // What asks for no kind asks for no other shape.
    if asked.kinds == Kinds::NONE || asked.takes(Kinds::of(value)) {
        return None;
    }
    match value {
        Json::Array(items) => match items.as_slice() {
            [item] if item.as_array().is_none() && *item != Json::Null => {
                Some(Candidate::doubtful("unwrap_single", item.clone()))
            }
            _ => None,
        },
        _ if !asked.kinds.has(Kinds::ARRAY) || spelling::means_nothing(value, true) => None,
        // One item, or several: nobody knows.
        Json::String(text) if spelling::reads_as_list(text) => None,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_) => {
            Some(Candidate::doubtful("wrap_in_array", Json::Array(vec![value.clone()])))
        }
    }
}

//! What of arguments is shown to anybody: not what the contract or its schema marks as sensitive (rule E3).
//!
//! A value is hidden in its place, and what is said about it, too: the schema may name it. A name that nothing declares may be a
//! secret's in another spelling, or a wrapper around one; where there are secrets, what stands under it is hidden, too.

use std::borrow::Cow;

use super::{Explanation, HIDDEN, Tool};
use crate::{
    json::{Json, ParseError, ParseErrorKind, Pointer},
    refusal::Violation,
};

/// Keywords whose words repeat no value, neither one that was sent nor one of the schema.
const WITHOUT_VALUES: [&str; 8] =
    ["type", "format", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

impl Tool {
    /// The arguments without what must not be shown.
    pub fn without_secrets<'a>(&self, arguments: &'a Json) -> Cow<'a, Json> {
        if !self.has_secrets() {
            return Cow::Borrowed(arguments);
        }
        let mut shown = self.input.without_secrets(arguments);
        for place in &self.arguments.sensitive {
            if let Some(secret) = find_or_ancestor(place, &mut shown) {
                *secret = Json::from(HIDDEN);
            }
        }
        Cow::Owned(shown)
    }

    /// What is wrong with these arguments, without what must not be shown.
    pub fn without_secrets_in(&self, explanation: Explanation, arguments: &Json) -> Explanation {
        if !self.has_secrets() {
            return explanation;
        }
        let shown = self.without_secrets(arguments);
        let violations = explanation.violations.into_iter();
        let violations = violations.map(|violation| self.redacted(violation, arguments, &shown)).collect();
        Explanation { violations, ..explanation }
    }

    /// Why a text is not arguments, without the names in it, which nobody can tell from secrets before it is read.
    pub fn without_names_in(&self, error: ParseError) -> ParseError {
        if !self.has_secrets() {
            return error;
        }
        let mut unnamed = ParseError { path: Pointer::root(), ..error };
        if let ParseErrorKind::DuplicateKey(name) = &mut unnamed.kind {
            *name = HIDDEN.into();
        }
        unnamed
    }

    fn redacted(&self, violation: Violation, arguments: &Json, shown: &Json) -> Violation {
        let Some((place, value)) = hidden_on_the_way(&violation.path, arguments, shown) else {
            // A choice of whole objects may name what is hidden in one.
            let holds_secret = |place: &Pointer| place.is_within(&violation.path);
            let is_choice = ["const", "enum"].contains(&violation.keyword);
            let names_secret = violation.expected.contains('{') || self.arguments.sensitive.iter().any(holds_secret);
            return if is_choice && names_secret { without_words(violation) } else { violation };
        };
        if place == violation.path && WITHOUT_VALUES.contains(&violation.keyword) {
            return Violation { hint: None, ..violation };
        }
        Violation { path: place, property: None, actual: Some(value.kind()), ..without_words(violation) }
    }
}

fn without_words(violation: Violation) -> Violation {
    let message = "is not what the schema asks for".to_owned();
    Violation { message, expected: HIDDEN.to_owned(), hint: None, ..violation }
}

/// The value on the way to a place, or in it, that is not shown.
fn hidden_on_the_way<'a>(path: &Pointer, arguments: &'a Json, shown: &Json) -> Option<(Pointer, &'a Json)> {
    let (mut value, mut shown, mut place) = (arguments, shown, Pointer::root());
    let mut steps = path.steps().into_iter();
    loop {
        let is_hidden = shown.as_str() == Some(HIDDEN) && value != shown;
        if is_hidden {
            return Some((place, value));
        }
        let step = steps.next()?;
        let below = Pointer::root().join(step);
        (value, shown) = below.find(value).zip(below.find(shown))?;
        place = place.join(step);
    }
}

/// The value at the place; or the value on the way to it that should hold it and cannot, such as JSON text in the place of an
/// object: the secret may be in it.
fn find_or_ancestor<'a>(place: &Pointer, value: &'a mut Json) -> Option<&'a mut Json> {
    let mut value = value;
    for step in place.steps() {
        if !matches!(value, Json::Object(_) | Json::Array(_)) {
            return Some(value);
        }
        value = Pointer::root().join(step).find_mut(value)?;
    }
    Some(value)
}

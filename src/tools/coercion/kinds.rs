//! The kinds of value that a place asks for.

use crate::json::{Json, Kind, Number, Object};

/// A set of kinds. `integer` is a kind of its own here, and a part of `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    const ANY: Self = Self(0x7f);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers with a fraction.
    pub(super) const FRACTION: Self = Self(8);
    const NUMBER: Self = Self(4 | 8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);

    /// What a place takes, by `type`, `enum` and `const`; any kind if it says nothing of that.
    pub(super) fn offered_by(keywords: &[&Object]) -> Self {
        keywords.iter().fold(Self::ANY, |asked, keywords| asked.and(of_keywords(keywords)))
    }

    /// What a place asks for; nothing if it takes any kind.
    pub(super) fn asked_by(keywords: &[&Object]) -> Self {
        let asked = Self::offered_by(keywords);
        if asked == Self::ANY { Self::NONE } else { asked }
    }

    pub(super) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn of(value: &Json) -> Self {
        match value.kind() {
            Kind::Null => Self::NULL,
            Kind::Boolean => Self::BOOLEAN,
            Kind::Number if value.as_number().is_some_and(Number::is_integer) => Self::INTEGER,
            Kind::Number => Self::FRACTION,
            Kind::String => Self::STRING,
            Kind::Array => Self::ARRAY,
            Kind::Object => Self::OBJECT,
        }
    }
}

fn of_keywords(keywords: &Object) -> Kinds {
    let by_type = match keywords.get("type") {
        Some(Json::Array(names)) => names.iter().map(of_name).fold(Kinds::NONE, Kinds::or),
        Some(name) => of_name(name),
        None => Kinds::ANY,
    };
    let by_choice = match keywords.get("enum") {
        Some(Json::Array(choices)) => choices.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or),
        _ => Kinds::ANY,
    };
    let by_constant = keywords.get("const").map_or(Kinds::ANY, Kinds::of);
    by_type.and(by_choice).and(by_constant)
}

fn of_name(name: &Json) -> Kinds {
    match name.as_str() {
        Some("null") => Kinds::NULL,
        Some("boolean") => Kinds::BOOLEAN,
        Some("integer") => Kinds::INTEGER,
        Some("number") => Kinds::NUMBER,
        Some("string") => Kinds::STRING,
        Some("array") => Kinds::ARRAY,
        Some("object") => Kinds::OBJECT,
        Some(_) | None => Kinds::NONE,
    }
}

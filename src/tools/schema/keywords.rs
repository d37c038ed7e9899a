//! The keywords that compare numbers, judged by exact value on both sides (rule V5).
//!
//! A schema reaches the crate as `serde_json::Value`, which holds no number beyond 64 bits. A keyword with such a number is
//! therefore passed under another name, with its value as text (`structure::to_value`).

use std::{cmp::Ordering, collections::HashSet};

use jsonschema::{Keyword, Retrieve, ValidationError, ValidationOptions, paths::Location};
use serde_json::{Map, Value};

use super::{dialect::Dialect, exact::Exact};
use crate::json::{Json, Number, ParseLimits, parse};

/// Goes before the name of a keyword whose value is passed as text.
pub(super) const AS_TEXT: &str = "toolbooth:";

/// Keywords whose numbers must not be rounded.
pub(super) const NUMERIC: [&str; 7] =
    ["const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"];

type Options = ValidationOptions<'static, std::sync::Arc<dyn Retrieve>, Exact>;

/// Registers the exact keywords that the dialect has.
pub(super) fn register(mut options: Options, dialect: Dialect) -> Options {
    for keyword in NUMERIC {
        if keyword == "const" && dialect < Dialect::Draft6 {
            continue;
        }
        options = options
            .with_keyword(keyword, move |parent: &Map<String, Value>, value: &Value, _: Location| {
                Ok(compile(keyword, parent, Json::from(value)))
            })
            .with_keyword(
                format!("{AS_TEXT}{keyword}"),
                move |parent: &Map<String, Value>, value: &Value, _: Location| {
                    Ok(compile(keyword, parent, value.as_str().map(exact_value).unwrap_or_default()))
                },
            );
    }
    options
}

fn compile(keyword: &'static str, parent: &Map<String, Value>, value: Json) -> Box<dyn for<'i> Keyword<'i, Exact>> {
    Box::new(match (keyword, value) {
        ("const", value) => ExactKeyword::OneOf(vec![value]),
        ("enum", Json::Array(items)) => one_of(items),
        (_, Json::Number(limit)) => {
            let exclusive = |sibling: &str| parent.get(sibling) == Some(&Value::Bool(true));
            ExactKeyword::Compare(Comparison::of(keyword, exclusive), limit)
        }
        // Draft 4 has booleans beside `minimum` and `maximum`, which read them.
        _ => ExactKeyword::Always,
    })
}

fn exact_value(text: &str) -> Json {
    parse(text.as_bytes(), &ParseLimits::wide()).unwrap_or_default()
}

/// Many plain texts are looked up; anything else is compared.
fn one_of(items: Vec<Json>) -> ExactKeyword {
    if items.iter().all(|item| item.as_str().is_some()) {
        ExactKeyword::OneOfTexts(items.iter().filter_map(|item| item.as_str().map(Box::from)).collect())
    } else {
        ExactKeyword::OneOf(items)
    }
}

enum ExactKeyword {
    Always,
    OneOf(Vec<Json>),
    OneOfTexts(HashSet<Box<str>, ahash::RandomState>),
    Compare(Comparison, Number),
}

/// How a number is compared with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    AtMost,
    Below,
    AtLeast,
    Above,
    MultipleOf,
}

impl Comparison {
    /// The comparison of a keyword; `exclusive` says whether a draft 4 sibling is `true`.
    pub(super) fn of(keyword: &str, exclusive: impl Fn(&str) -> bool) -> Self {
        match keyword {
            "maximum" if exclusive("exclusiveMaximum") => Self::Below,
            "minimum" if exclusive("exclusiveMinimum") => Self::Above,
            "maximum" => Self::AtMost,
            "minimum" => Self::AtLeast,
            "exclusiveMaximum" => Self::Below,
            "exclusiveMinimum" => Self::Above,
            _ => Self::MultipleOf,
        }
    }

    /// Whether the number satisfies the limit.
    pub(super) fn holds(self, number: &Number, limit: &Number) -> bool {
        let order = number.cmp(limit);
        match self {
            Self::AtMost => order != Ordering::Greater,
            Self::Below => order == Ordering::Less,
            Self::AtLeast => order != Ordering::Less,
            Self::Above => order == Ordering::Greater,
            // A divisor that cannot be computed with was refused at load.
            Self::MultipleOf => number.is_multiple_of(limit).unwrap_or(false),
        }
    }

    /// What the model reads before the limit.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::AtMost => "maximum",
            Self::Below => "less than",
            Self::AtLeast => "minimum",
            Self::Above => "more than",
            Self::MultipleOf => "a multiple of",
        }
    }

    /// The same in the words of pi.
    pub(super) fn words_of_pi(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::Below => "<",
            Self::AtLeast => ">=",
            Self::Above => ">",
            Self::MultipleOf => "a multiple of",
        }
    }
}

impl<'i> Keyword<'i, Exact> for ExactKeyword {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) { Ok(()) } else { Err(ValidationError::custom("not allowed")) }
    }

    fn is_valid(&self, instance: &'i Json) -> bool {
        match self {
            Self::Always => true,
            Self::OneOf(items) => items.contains(instance),
            Self::OneOfTexts(texts) => instance.as_str().is_some_and(|text| texts.contains(text)),
            Self::Compare(comparison, limit) => {
                instance.as_number().is_none_or(|number| comparison.holds(number, limit))
            }
        }
    }
}

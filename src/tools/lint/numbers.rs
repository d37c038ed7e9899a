//! Lints on numbers: those that hosts round, and limits that nothing can keep.

use std::cmp::Ordering;

use super::{
    codes::{IMPOSSIBLE_LIMITS, LARGE_NUMBER},
    findings::Findings,
    site::Site,
};
use crate::{
    excerpt::excerpt,
    json::{Json, Number},
};

/// Keywords that hold numbers which arguments are compared with.
const KEYWORDS: [&str; 8] =
    ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum", "default"];

/// Keywords of which the first must not be more than the second.
const LIMITS: [(&str, &str); 4] =
    [("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")];

/// The largest of the integers that a double tells apart from their neighbours: 2^53 - 1.
const MAX_SAFE: i64 = (1 << 53) - 1;

pub(super) fn large(site: &Site<'_, '_>, findings: &mut Findings) {
    for keyword in KEYWORDS {
        let Some(held) = site.get(keyword) else { continue };
        let values = held.as_array().unwrap_or_else(|| std::slice::from_ref(held));
        if let Some(number) = values.iter().filter_map(Json::as_number).find(|number| is_rounded(number)) {
            findings.add(LARGE_NUMBER, || site.at(keyword), || {
                format!(
                    "hosts in JavaScript round `{}`, and arguments of that size: take a text of digits, or a limit up to {MAX_SAFE}",
                    excerpt(&number.spelling())
                )
            });
        }
    }
}

/// What is spelled as a double is meant as one.
fn is_rounded(number: &Number) -> bool {
    let is_safe = |number: i64| (-MAX_SAFE..=MAX_SAFE).contains(&number);
    number.is_spelled_as_integer() && !number.as_i64().is_some_and(is_safe)
}

pub(super) fn impossible_limits(site: &Site<'_, '_>, findings: &mut Findings) {
    let number = |keyword: &str| site.get(keyword).and_then(Json::as_number);
    for (least, most) in LIMITS {
        if number(least).zip(number(most)).is_some_and(|(least, most)| least.cmp(most) == Ordering::Greater) {
            findings.add(
                IMPOSSIBLE_LIMITS,
                || site.at(least),
                || format!("`{least}` is more than `{most}`, so that no value satisfies both: correct one of them"),
            );
        }
    }
}

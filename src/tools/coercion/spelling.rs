//! Spellings that mean the same, and spellings of nothing.

use crate::json::Json;

/// Spellings of nothing (rule C4), exactly these.
const NOTHING: [&str; 4] = ["", "null", "None", "undefined"];

/// Whether the text is one of them.
pub(super) fn is_nothing(text: &str, drop_empty: bool) -> bool {
    NOTHING.contains(&text) && (drop_empty || !text.is_empty())
}

/// Whether the value is null or one of them.
pub(super) fn means_nothing(value: &Json, drop_empty: bool) -> bool {
    *value == Json::Null || value.as_str().is_some_and(|text| is_nothing(text, drop_empty))
}

/// Whether two texts differ at most in case and blanks.
pub(super) fn is_same_text(left: &str, right: &str) -> bool {
    letters(left).eq(letters(right))
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase)
}

/// Whether the text can be read as several items, or as the beginning of such a text, or as a text in quotes: then it is not one
/// of them as it stands.
pub(super) fn reads_as_list(text: &str) -> bool {
    text.contains([',', ';', '\n']) || text.trim_start().starts_with(['[', '"'])
}

//! All text that the booth itself writes for a model, in one place (rules P10 and E1 to E4).

mod invalid;
mod pi;
mod plain;

pub use invalid::invalid_arguments;
pub use pi::*;
pub use plain::*;

use crate::json::Json;

/// Characters of a name or a text from outside that are shown; a longer one is shown by its length.
const MAX_SHOWN: usize = 80;

/// A text from outside on one line: nothing that was sent can forge a line (rule E2).
fn on_one_line(text: &str) -> String {
    let length = text.chars().count();
    if length > MAX_SHOWN {
        return format!("<string, {length} characters>");
    }
    text.chars().fold(String::with_capacity(text.len()), |mut line, letter| {
        if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
            line.extend(letter.escape_unicode());
        } else {
            line.push(letter);
        }
        line
    })
}

/// A name in double quotes, on one line.
fn quoted(name: &str) -> String {
    Json::from(on_one_line(name).as_str()).to_text()
}

//! JSON text from values.

use std::fmt::Write as _;

use super::{Json, Number};

/// Compact text.
pub(super) fn compact(value: &Json) -> String {
    let mut out = String::new();
    write_compact(&mut out, value);
    out
}

/// Text with two spaces of indentation, as `JSON.stringify(value, null, 2)` prints it.
pub(super) fn pretty(value: &Json) -> String {
    let mut out = String::new();
    write_pretty(&mut out, value, 0);
    out
}

/// Compact text with sorted keys and canonical numbers.
pub(super) fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write_canonical(&mut out, value);
    out
}

fn write_compact(out: &mut String, value: &Json) {
    match value {
        Json::Array(items) => separated(out, ('[', ']'), items.iter(), write_compact),
        Json::Object(members) => {
            separated(out, ('{', '}'), members.iter(), |out, (name, value)| {
                write_string(out, name);
                out.push(':');
                write_compact(out, value);
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            write_scalar(out, value, Number::spelling);
        }
    }
}

fn write_canonical(out: &mut String, value: &Json) {
    match value {
        Json::Array(items) => separated(out, ('[', ']'), items.iter(), write_canonical),
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            separated(out, ('{', '}'), sorted.into_iter(), |out, (name, value)| {
                write_string(out, name);
                out.push(':');
                write_canonical(out, value);
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            write_scalar(out, value, |number| number.canonical().into());
        }
    }
}

fn separated<T>(
    out: &mut String,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (position, item) in items.enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

fn write_pretty(out: &mut String, value: &Json, depth: usize) {
    match value {
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                new_line(out, position, depth + 1);
                write_pretty(out, item, depth + 1);
            }
            close_line(out, depth, ']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (position, (name, value)) in members.iter().enumerate() {
                new_line(out, position, depth + 1);
                write_string(out, name);
                out.push_str(": ");
                write_pretty(out, value, depth + 1);
            }
            close_line(out, depth, '}');
        }
        Json::Array(_) | Json::Object(_) => write_compact(out, value),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            write_scalar(out, value, Number::spelling);
        }
    }
}

fn new_line(out: &mut String, position: usize, depth: usize) {
    out.push_str(if position > 0 { ",\n" } else { "\n" });
    out.push_str(&"  ".repeat(depth));
}

fn close_line(out: &mut String, depth: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(bracket);
}

fn write_scalar(out: &mut String, value: &Json, spell: impl Fn(&Number) -> std::borrow::Cow<'_, str>) {
    match value {
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&spell(number)),
        Json::String(text) => write_string(out, text),
        Json::Null | Json::Array(_) | Json::Object(_) => out.push_str("null"),
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for part in text.split_inclusive(needs_escape) {
        let mut chars = part.chars();
        match chars.next_back() {
            Some(last) if needs_escape(last) => {
                out.push_str(chars.as_str());
                write_escape(out, last);
            }
            _ => out.push_str(part),
        }
    }
    out.push('"');
}

fn needs_escape(letter: char) -> bool {
    letter == '"' || letter == '\\' || letter < ' '
}

fn write_escape(out: &mut String, letter: char) {
    match letter {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        // Writing to a `String` cannot fail.
        control => drop(write!(out, "\\u{:04x}", u32::from(control))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ParseLimits, parse};

    fn value(text: &str) -> super::Json {
        parse(text.as_bytes(), &ParseLimits::default()).unwrap()
    }

    #[test]
    fn text_goes_through_unchanged() {
        let text = r#"{"z":1.50,"a":[18446744073709551617,-0,1e5,"é\n\u0001\"\\",null,true,{}]}"#;
        assert_eq!(value(text).to_text(), text);
    }

    #[test]
    fn pretty_text_is_what_javascript_prints() {
        assert_eq!(
            value(r#"{"a":[1,{"b":[]}],"c":{}}"#).to_pretty_text(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}"
        );
    }

    #[test]
    fn s4_equal_values_share_their_canonical_text() {
        assert_eq!(value(r#"{"b":1.0,"a":[1e2]}"#).to_canonical_text(), r#"{"a":[100],"b":1}"#);
    }
}

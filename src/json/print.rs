//! JSON text from values.

use std::fmt::Write as _;

use super::{Json, Number, scan::position};

/// How text is written.
#[derive(Clone, Copy)]
struct Print {
    /// It stops soon after so many.
    max_bytes: usize,
    style: Style,
}

/// Two ways to write the same value.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// Numbers as they were spelled, and nothing that a reader could take for the end of a line.
    Exact,
    /// What `JSON.stringify` writes, but with all digits of a number.
    JavaScript,
}

const WHOLE: Print = Print { max_bytes: usize::MAX, style: Style::Exact };

/// Compact text.
pub(super) fn compact(value: &Json) -> String {
    compact_start(value, usize::MAX, Style::Exact)
}

/// The beginning of the compact text, which is not made further than that.
pub(super) fn compact_start(value: &Json, max_bytes: usize, style: Style) -> String {
    let mut out = String::new();
    write_compact(&mut out, value, Print { max_bytes, style });
    out
}

/// Text with two spaces of indentation, as `JSON.stringify(value, null, 2)` prints it.
pub(super) fn pretty(value: &Json) -> String {
    let mut out = String::new();
    write_pretty(&mut out, value, 0, WHOLE);
    out
}

/// As many whole lines of the pretty text as fit, and how many more there are. Nothing else is made of it: indentation alone
/// can make the text hundreds of times as large as the value.
pub(super) fn pretty_lines(value: &Json, max_bytes: usize, style: Style) -> (String, usize) {
    let mut out = String::new();
    write_pretty(&mut out, value, 0, Print { max_bytes, style });
    if out.len() <= max_bytes {
        return (out, 0);
    }
    let fitting = out.as_bytes().get(..=max_bytes).unwrap_or_default();
    let end = fitting.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    out.truncate(end);
    let kept = out.lines().count();
    (out, lines(value) - kept)
}

/// The lines of the pretty text.
fn lines(value: &Json) -> usize {
    match value {
        Json::Array(items) if !items.is_empty() => 2 + items.iter().map(lines).sum::<usize>(),
        Json::Object(members) if !members.is_empty() => 2 + members.values().map(lines).sum::<usize>(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => 1,
    }
}

/// Compact text with sorted keys and canonical numbers.
pub(super) fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write_canonical(&mut out, value);
    out
}

fn write_compact(out: &mut String, value: &Json, print: Print) {
    match value {
        _ if out.len() > print.max_bytes => {}
        Json::Array(items) => {
            separated(out, ('[', ']'), print.max_bytes, items.iter(), |out, value| write_compact(out, value, print));
        }
        Json::Object(members) => {
            separated(out, ('{', '}'), print.max_bytes, members.iter(), |out, (name, value)| {
                write_string(out, name, print);
                out.push(':');
                write_compact(out, value, print);
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => match print.style {
            Style::Exact => write_scalar(out, value, print, Number::write_to),
            Style::JavaScript => {
                write_scalar(out, value, print, |out, number| out.push_str(&number.to_ecmascript()));
            }
        },
    }
}

fn write_canonical(out: &mut String, value: &Json) {
    match value {
        Json::Array(items) => separated(out, ('[', ']'), usize::MAX, items.iter(), write_canonical),
        Json::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            separated(out, ('{', '}'), usize::MAX, sorted.into_iter(), |out, (name, value)| {
                write_string(out, name, WHOLE);
                out.push(':');
                write_canonical(out, value);
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            write_scalar(out, value, WHOLE, |out, number| out.push_str(&number.canonical()));
        }
    }
}

fn separated<T>(
    out: &mut String,
    (open, close): (char, char),
    max_bytes: usize,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (position, item) in items.enumerate() {
        if out.len() > max_bytes {
            return;
        }
        if position > 0 {
            out.push(',');
        }
        write(out, item);
    }
    if out.len() <= max_bytes {
        out.push(close);
    }
}

fn write_pretty(out: &mut String, value: &Json, depth: usize, print: Print) {
    match value {
        _ if out.len() > print.max_bytes => {}
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if out.len() > print.max_bytes {
                    return;
                }
                new_line(out, position, depth + 1);
                write_pretty(out, item, depth + 1, print);
            }
            close_line(out, depth, ']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (position, (name, value)) in members.iter().enumerate() {
                if out.len() > print.max_bytes {
                    return;
                }
                new_line(out, position, depth + 1);
                write_string(out, name, print);
                out.push_str(": ");
                write_pretty(out, value, depth + 1, print);
            }
            close_line(out, depth, '}');
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            write_compact(out, value, print);
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

fn write_scalar(out: &mut String, value: &Json, print: Print, spell: impl Fn(&mut String, &Number)) {
    match value {
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => spell(out, number),
        Json::String(text) => write_string(out, text, print),
        Json::Null | Json::Array(_) | Json::Object(_) => out.push_str("null"),
    }
}

/// A text that alone is longer than what is written is not written to its end.
fn write_string(out: &mut String, text: &str, print: Print) {
    let mut rest = text.get(..text.floor_char_boundary(print.max_bytes)).unwrap_or(text);
    out.reserve(rest.len() + 2);
    out.push('"');
    while let Some(at) = position(rest, may_need_escape) {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut letters = from.chars();
        match letters.next() {
            Some(letter) if print.style.escapes(letter) => write_escape(out, letter),
            Some(letter) => out.push(letter),
            None => {}
        }
        rest = letters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Whether a character that begins with this byte may need an escape: quick to say no, which is nearly always the answer.
fn may_need_escape(byte: u8) -> bool {
    const FIRST_OF_80_TO_BF: u8 = 0xc2;
    const FIRST_OF_2028: u8 = 0xe2;
    matches!(byte, b'"' | b'\\' | ..b' ' | FIRST_OF_80_TO_BF | FIRST_OF_2028)
}

impl Style {
    /// What JSON wants escaped; and what some readers take for the end of a line, or terminals for a command.
    fn escapes(self, letter: char) -> bool {
        match letter {
            '"' | '\\' | ..' ' => true,
            '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => matches!(self, Self::Exact),
            _ => false,
        }
    }
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
    fn e2_what_ends_a_line_or_drives_a_terminal_is_escaped() {
        let text = "\u{1b}\u{80}\u{85}\u{9b}\u{9f}\u{a0}\u{2028}\u{2029}\u{202f}";
        let printed = "\"\\u001b\\u0080\\u0085\\u009b\\u009f\u{a0}\\u2028\\u2029\u{202f}\"";
        assert_eq!(super::Json::from(text).to_text(), printed);
        assert_eq!(value(printed), super::Json::from(text));
    }

    #[test]
    fn pretty_text_is_what_javascript_prints() {
        assert_eq!(
            value(r#"{"a":[1,{"b":[]}],"c":{}}"#).to_pretty_text(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}"
        );
    }

    #[test]
    fn what_javascript_prints_is_printed_for_whoever_expects_it() {
        let value = value("{\"a\":[1.0,1e21,\"\u{2028}\\u0007\"]}");
        let (text, more) = value.to_javascript_lines(1_000);
        assert_eq!(text, "{\n  \"a\": [\n    1,\n    1e+21,\n    \"\u{2028}\\u0007\"\n  ]\n}");
        assert_eq!(more, 0);
        assert_eq!(value.to_javascript_start(1_000), "{\"a\":[1,1e+21,\"\u{2028}\\u0007\"]}");
    }

    #[test]
    fn the_first_lines_are_those_of_the_whole_text_and_the_rest_is_counted() {
        let value = value(r#"{"a":[1,{"b":[],"c":"é"}],"d":{},"e":[[]]}"#);
        let whole = value.to_pretty_text();
        for max_bytes in 0..=whole.len() + 1 {
            let (kept, more) = value.to_pretty_lines(max_bytes);
            assert!(whole.starts_with(&kept) && kept.len() <= max_bytes + 1, "{max_bytes}: {kept}");
            assert_eq!(kept.lines().count() + more, whole.lines().count(), "{max_bytes}: {kept}");
            assert_eq!(more == 0, max_bytes >= whole.len(), "{max_bytes}");
        }
        assert!(value.to_text().starts_with(&value.to_text_start(7)) && value.to_text_start(7).len() < 12);
    }

    #[test]
    fn v3_no_more_is_printed_than_is_asked_for() {
        let deep = format!("{}{}{}", "[".repeat(62), vec!["1"; 500_000].join(","), "]".repeat(62));
        let value = parse(deep.as_bytes(), &ParseLimits::wide()).unwrap();
        let start = std::time::Instant::now();
        let (kept, more) = value.to_pretty_lines(4_096);
        assert!(kept.capacity() < 100_000 && kept.len() <= 4_097, "{}", kept.capacity());
        assert_eq!(kept.lines().count() + more, 500_124);
        // Generous: this is an unoptimised build.
        assert!(start.elapsed().as_millis() < 1_000, "{:?}", start.elapsed());
    }

    #[test]
    fn s4_equal_values_share_their_canonical_text() {
        assert_eq!(value(r#"{"b":1.0,"a":[1e2]}"#).to_canonical_text(), r#"{"a":[100],"b":1}"#);
    }
}

//! How pi 1.6.0 reads a text: raw control characters and backslashes without a legal escape are repaired, in any mixture;
//! the rest is JSON. What no JSON value of ours can hold is decided by our rules all the same (rule P3).

use bytes::Bytes;

use super::malformed;
use crate::{
    json::{self, Json, ParseError, ParseLimits, Pointer, SharedJson},
    pipeline::validate,
    refusal::{Refusal, Repair},
    result::Trace,
    tools::{self, Profile, Tool},
    wording,
};

/// What pi says of a text that is JSON and no object.
const NOT_AN_OBJECT: &str = "Tool arguments must be a JSON object";

/// Parses the text. Empty and blank text is `{}`; `null` is an error.
pub(super) fn parse(
    tool: &Tool,
    text: &Bytes,
    limits: &ParseLimits,
    trace: &mut Trace,
) -> Result<SharedJson, Box<Refusal>> {
    let value = if text.trim_ascii().is_empty() {
        Json::empty_object().into()
    } else {
        read(text, limits, trace).map_err(|error| {
            let error = tool.without_names_in(error);
            let text = wording::malformed_arguments_as_pi(tool, &error.to_string(), text);
            Refusal { text, ..malformed(tool, Profile::Pi, &error) }
        })?
    };
    trace.received = Some(value.clone());
    match *value {
        Json::Object(_) => Ok(value),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(not_object(tool, &value, text, trace).into())
        }
    }
}

fn read(text: &Bytes, limits: &ParseLimits, trace: &mut Trace) -> Result<SharedJson, ParseError> {
    json::parse_shared(text, limits).or_else(|error| {
        let Some(Escaped { text, ops }) = std::str::from_utf8(text).ok().and_then(Escaped::of) else {
            return Err(error);
        };
        let value = json::parse(text.as_bytes(), limits)?;
        trace.repairs.extend(ops.iter().map(|op| op.repair()));
        Ok(value.into())
    })
}

/// No object is no arguments, whatever the schema says; where the schema says no as well, it says so in pi's words.
fn not_object(tool: &Tool, value: &Json, text: &Bytes, trace: &Trace) -> Refusal {
    let converted = tools::converted_as_pi(&tool.input, value).map(|(converted, _)| converted);
    let converted = converted.as_ref().unwrap_or(value);
    if tool.input.is_valid(converted) {
        let text = wording::malformed_arguments_as_pi(tool, NOT_AN_OBJECT, text);
        return Refusal { text, ..super::not_object(tool, value) };
    }
    validate::refuse(tool, Profile::Pi, converted, trace)
}

/// A text in which what pi repairs is repaired.
struct Escaped {
    text: String,
    ops: Vec<Op>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Control,
    Backslash,
    Surrogate,
}

impl Op {
    fn repair(self) -> Repair {
        let (op, from, to) = match self {
            Self::Control => ("escape_control", "control character", "escape"),
            Self::Backslash => ("escape_backslash", "backslash", "escape"),
            Self::Surrogate => ("replace_surrogate", "lone surrogate", "U+FFFD"),
        };
        Repair { lossy: self == Self::Surrogate, ..Repair::of_arguments(Pointer::root(), op, from, to) }
    }
}

impl Escaped {
    /// `None` if there is nothing to repair.
    fn of(text: &str) -> Option<Self> {
        let mut escaped = Self { text: String::with_capacity(text.len()), ops: Vec::new() };
        let mut rest = text;
        while let Some(quote) = rest.find('"') {
            let (before, string) = rest.split_at_checked(quote + 1)?;
            escaped.text.push_str(before);
            rest = escaped.string(string);
        }
        escaped.text.push_str(rest);
        (!escaped.ops.is_empty()).then_some(escaped)
    }

    /// Takes a string up to its closing quote, and gives what comes behind that.
    fn string<'a>(&mut self, text: &'a str) -> &'a str {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => {
                    self.text.push('"');
                    return letters.as_str();
                }
                '\\' => {
                    let length = self.backslash(letters.as_str());
                    letters = letters.as_str().get(length..).unwrap_or_default().chars();
                }
                ..' ' => {
                    self.note(Op::Control);
                    self.text.push_str(Json::from(letter.to_string().as_str()).to_text().trim_matches('"'));
                }
                letter => self.text.push(letter),
            }
        }
        letters.as_str()
    }

    /// Takes a backslash and as much of what follows it as belongs to it; says how many bytes that is.
    fn backslash(&mut self, rest: &str) -> usize {
        if let Some(escape) = rest.get(..1).filter(|letter| "\"\\/bfnrt".contains(letter)) {
            self.text.push('\\');
            self.text.push_str(escape);
            return 1;
        }
        match code_unit(rest) {
            Some(0xd800..=0xdbff) => match rest.get(5..).and_then(|rest| rest.strip_prefix('\\')).and_then(code_unit) {
                Some(0xdc00..=0xdfff) => self.keep(rest, 11),
                _ => self.replace_surrogate(),
            },
            Some(0xdc00..=0xdfff) => self.replace_surrogate(),
            Some(_) => self.keep(rest, 5),
            None => {
                self.note(Op::Backslash);
                self.text.push_str("\\\\");
                0
            }
        }
    }

    fn keep(&mut self, rest: &str, length: usize) -> usize {
        self.text.push('\\');
        self.text.push_str(rest.get(..length).unwrap_or_default());
        length
    }

    /// Half of a pair, which no text of ours can hold.
    fn replace_surrogate(&mut self) -> usize {
        self.note(Op::Surrogate);
        self.text.push('\u{fffd}');
        5
    }

    fn note(&mut self, op: Op) {
        if !self.ops.contains(&op) {
            self.ops.push(op);
        }
    }
}

/// The code unit of `u` and four hexadecimal digits.
fn code_unit(text: &str) -> Option<u32> {
    let digits =
        text.strip_prefix('u')?.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

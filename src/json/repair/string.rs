//! Strings: raw control characters, backslashes that escape nothing, single quotes, halves of surrogate pairs.

use std::sync::Arc;

use super::{TextOp, reader::Tolerant};
use crate::json::{ParseErrorKind, parse::Parsed};

/// What a string stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A changed key could be another one, so a key is never changed.
    Key,
    Value,
}

/// What a backslash starts.
enum Escape {
    /// A character, spelled in so many bytes after the backslash.
    Letter(char, usize),
    /// Half of a surrogate pair: `u` and four digits.
    HalfPair,
    /// Nothing that JSON knows.
    Unknown,
}

impl<'a> Tolerant<'a> {
    pub(super) fn string(&mut self, role: Role) -> Parsed<Arc<str>> {
        let quote = self.strict.peek().unwrap_or(b'"');
        if quote == b'\'' {
            // Single quotes are Python's: the text is read as Python's grammar does, where an apostrophe that is not escaped ends
            // the string, and what follows must be JSON's punctuation. Prose with apostrophes in it is therefore refused.
            self.ops.insert(TextOp::PythonLiteral);
        }
        let start = self.strict.at + 1;
        let body = self.body(quote)?;
        let end = self.strict.at;
        self.control_characters(start, body)?;
        if !body.contains('\\') {
            return Ok(body.into());
        }
        // Until it is known to be good, every error is at a place inside.
        let text = self.unescaped(start, body, quote, role)?;
        self.strict.at = end;
        Ok(text.map_or_else(|| body.into(), Into::into))
    }

    /// The text between the quotes. A backslash takes the next byte with it, as in JSON and in Python.
    fn body(&mut self, quote: u8) -> Parsed<&'a str> {
        let start = self.strict.at + 1;
        self.strict.at = start;
        while let Some(byte) = self.strict.peek() {
            if byte == quote {
                let body = self.strict.text.get(start..self.strict.at).unwrap_or_default();
                self.strict.at += 1;
                return Ok(body);
            }
            self.strict.at += if byte == b'\\' { 2 } else { 1 };
        }
        self.strict.at = self.strict.text.len();
        Err(ParseErrorKind::Truncated)
    }

    /// A control character inside of a string can only be meant as itself: JSON gives it no other meaning there.
    fn control_characters(&mut self, start: usize, body: &str) -> Parsed<()> {
        let allow_nul = self.strict.limits.allow_nul;
        for (index, byte) in body.bytes().enumerate().filter(|(_, byte)| *byte < 0x20) {
            if byte == 0 && !allow_nul {
                self.strict.at = start + index;
                return Err(ParseErrorKind::ForbiddenNul);
            }
            self.ops.insert(TextOp::EscapeControl);
        }
        Ok(())
    }

    /// The text that is meant; `None` if its backslashes are meant as themselves. Who writes a backslash that escapes nothing
    /// has not escaped this string at all, so every backslash in it is one. A legal escape in the same string shows the
    /// opposite, and then there are two readings of it.
    fn unescaped(&mut self, start: usize, body: &str, quote: u8, role: Role) -> Parsed<Option<String>> {
        let (mut text, mut rest) = (String::with_capacity(body.len()), body);
        let (mut is_escaped, mut unknown, mut is_damaged) = (false, None, false);
        while let Some((plain, after)) = rest.split_once('\\') {
            text.push_str(plain);
            self.strict.at = start + body.len() - after.len() - 1;
            if is_read_otherwise(after) {
                self.read_otherwise.get_or_insert(self.strict.at);
            }
            let length = match escape(after, quote) {
                Escape::Letter('\0', _) if !self.strict.limits.allow_nul => return Err(ParseErrorKind::ForbiddenNul),
                Escape::Letter(letter, length) => {
                    is_escaped = true;
                    text.push(letter);
                    length
                }
                // It can be stored nowhere, and nothing else is meant by it.
                Escape::HalfPair if role == Role::Value => {
                    (is_escaped, is_damaged) = (true, true);
                    text.push(char::REPLACEMENT_CHARACTER);
                    5
                }
                Escape::HalfPair => return Err(ParseErrorKind::InvalidUnicode),
                // In a string that is quoted otherwise, `\'` is as likely the quote alone as both characters.
                Escape::Unknown if after.starts_with('\'') => return Err(ParseErrorKind::Backslash),
                Escape::Unknown => {
                    unknown.get_or_insert(self.strict.at);
                    0
                }
            };
            rest = after.get(length..).unwrap_or_default();
        }
        text.push_str(rest);
        match unknown {
            Some(at) if is_escaped => {
                self.strict.at = at;
                Err(ParseErrorKind::Backslash)
            }
            Some(_) => {
                self.ops.insert(TextOp::EscapeBackslash);
                Ok(None)
            }
            None if is_damaged && self.list(TextOp::ReplaceSurrogate).is_err() => Err(ParseErrorKind::InvalidUnicode),
            None => {
                self.replaced += usize::from(is_damaged);
                Ok(Some(text))
            }
        }
    }
}

/// What the text after a backslash makes of it. Of the quotes, the one around the string can be escaped, and JSON's always.
fn escape(after: &str, quote: u8) -> Escape {
    match after.as_bytes().first() {
        Some(b'"') => Escape::Letter('"', 1),
        Some(b'\'') if quote == b'\'' => Escape::Letter('\'', 1),
        Some(b'\\') => Escape::Letter('\\', 1),
        Some(b'/') => Escape::Letter('/', 1),
        Some(b'b') => Escape::Letter('\u{8}', 1),
        Some(b'f') => Escape::Letter('\u{c}', 1),
        Some(b'n') => Escape::Letter('\n', 1),
        Some(b'r') => Escape::Letter('\r', 1),
        Some(b't') => Escape::Letter('\t', 1),
        Some(b'u') => unicode(after),
        _ => Escape::Unknown,
    }
}

fn unicode(after: &str) -> Escape {
    let Some(first) = four_hex_digits(after) else { return Escape::Unknown };
    let second = after.get(5..).and_then(|rest| rest.strip_prefix('\\')).and_then(four_hex_digits);
    match (first, second) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            char::from_u32(code).map_or(Escape::Unknown, |letter| Escape::Letter(letter, 11))
        }
        _ => char::from_u32(first).map_or(Escape::HalfPair, |letter| Escape::Letter(letter, 5)),
    }
}

/// The number after `u`.
fn four_hex_digits(after: &str) -> Option<u32> {
    let digits = after.strip_prefix('u')?.get(..4)?;
    // Rust would take a sign, too.
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// Whether Python reads this escape as something else than the reader does. That matters only in a text that is Python's.
fn is_read_otherwise(after: &str) -> bool {
    after.starts_with(['/', 'a', 'v', 'x', 'N', 'U', '0', '1', '2', '3', '4', '5', '6', '7', '\n', '\r'])
}

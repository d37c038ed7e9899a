//! Strings: plain text, escapes, and what neither may hold.

use std::sync::Arc;

use super::{ParseErrorKind, Parsed, Reader};
use crate::json::scan::position;

impl<'a> Reader<'a> {
    pub(super) fn string(&mut self) -> Parsed<Arc<str>> {
        self.at += 1;
        let plain = self.plain_text();
        if self.take(b'"') {
            return Ok(plain.into());
        }
        // An escape may be one of several spellings.
        self.is_compact = false;
        let mut text = plain.to_owned();
        loop {
            if self.take(b'"') {
                return Ok(text.into());
            }
            if self.peek() == Some(0) && !self.limits.allow_nul {
                return Err(ParseErrorKind::ForbiddenNul);
            }
            if self.peek() != Some(b'\\') {
                return self.unexpected("no control character in a string: write it as an escape");
            }
            let escaped = self.escape()?;
            text.push(escaped);
            text.push_str(self.plain_text());
        }
    }

    /// The text up to the next quote, backslash, control character or end.
    fn plain_text(&mut self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = position(rest, |byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn escape(&mut self) -> Parsed<char> {
        let start = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.has_code_escape = true;
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => return self.no_escape(start),
        };
        self.at += 1;
        Ok(escaped)
    }

    /// The error for a backslash that no escape follows.
    fn no_escape<T>(&mut self, start: usize) -> Parsed<T> {
        if self.peek().is_none() {
            return Err(ParseErrorKind::Truncated);
        }
        self.at = start;
        Err(ParseErrorKind::Backslash)
    }

    fn unicode_escape(&mut self, start: usize) -> Parsed<char> {
        let first = self.four_hex_digits(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                let second = if self.take(b'\\') && self.take(b'u') { self.four_hex_digits(start)? } else { 0 };
                if !(0xdc00..=0xdfff).contains(&second) {
                    // Half a pair at the very end is a cut text; anywhere else nothing can store it.
                    let cut = self.peek().is_none();
                    self.at = start;
                    return Err(if cut { ParseErrorKind::Truncated } else { ParseErrorKind::InvalidUnicode });
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        match char::from_u32(code) {
            Some('\0') if !self.limits.allow_nul => {
                self.at = start;
                Err(ParseErrorKind::ForbiddenNul)
            }
            Some(letter) => Ok(letter),
            None => {
                self.at = start;
                Err(ParseErrorKind::InvalidUnicode)
            }
        }
    }

    fn four_hex_digits(&mut self, start: usize) -> Parsed<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.no_escape(start);
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}

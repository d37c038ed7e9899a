//! Why a text is no value.

use std::{fmt, sync::Arc};

use crate::json::Pointer;

/// Why a text was refused, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The cause.
    pub kind: ParseErrorKind,
    /// Line of the first byte that could not be taken, from 1.
    pub line: usize,
    /// Column of that byte in its line, in bytes, from 1.
    pub column: usize,
    /// The value that was being read.
    pub path: Pointer,
}

/// The kinds of cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// Not JSON. The text says what was expected.
    Syntax(&'static str),
    /// A backslash that starts no escape, or that could be meant as one and as itself.
    Backslash,
    /// The text ends inside a value.
    Truncated,
    /// A value is complete, and then another one starts.
    Trailing,
    /// An object is complete, and then a different one starts.
    MultipleObjects,
    /// The same key twice in one object.
    DuplicateKey(Arc<str>),
    /// Bytes that are not UTF-8, or half of a surrogate pair.
    InvalidUnicode,
    /// U+0000 in a string.
    ForbiddenNul,
    /// More levels than allowed.
    TooDeep(usize),
    /// More bytes than allowed.
    TooLarge(usize),
    /// More members than allowed.
    TooManyKeys(usize),
}

impl ParseError {
    /// The place in lines and columns of the byte at `offset`.
    pub(in crate::json) fn at(text: &[u8], offset: usize, kind: ParseErrorKind, path: Pointer) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.split(|byte| *byte == b'\n').count();
        Self { kind, line, column: 1 + before.len() - line_start, path }
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(expected) => write!(f, "expected {expected}"),
            Self::Backslash => f.write_str("a backslash in a string starts no legal escape"),
            Self::Truncated => f.write_str("the text ends in the middle of a value"),
            Self::Trailing => f.write_str("there is more text after the value"),
            Self::MultipleObjects => f.write_str("there is a second, different object after the first"),
            // A key is from outside: it may be long, and it must not forge a line.
            Self::DuplicateKey(key) if key.len() > 80 => {
                write!(f, "a key of {} bytes stands twice in one object", key.len())
            }
            Self::DuplicateKey(key) => write!(f, "the key \"{}\" stands twice in one object", key.escape_debug()),
            Self::InvalidUnicode => f.write_str("a string is not valid Unicode"),
            Self::ForbiddenNul => f.write_str("a string contains the character U+0000"),
            Self::TooDeep(max) => write!(f, "more than {max} levels of nesting"),
            Self::TooLarge(max) => write!(f, "more than {max} bytes"),
            Self::TooManyKeys(max) => write!(f, "more than {max} object members"),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.kind, self.line, self.column)
    }
}

impl std::error::Error for ParseError {}

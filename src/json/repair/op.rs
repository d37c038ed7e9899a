//! The words for what is repaired.

use super::TextRepair;
use crate::json::Pointer;

/// The repairs in the order in which they are listed: what stands around the value, the value, what stands in it, places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TextOp {
    StripSpecialTokens,
    StripFence,
    JsonStringToObject,
    EmptyTextToObject,
    DropEmptyPrefix,
    DedupeIdenticalObjects,
    DropTrailingBrace,
    EscapedWhitespace,
    EscapeControl,
    EscapeBackslash,
    PythonLiteral,
    StripTrailingComma,
    DedupeKey,
    ReplaceSurrogate,
}

impl TextOp {
    pub(super) fn at(self, path: Pointer) -> TextRepair {
        let (op, from, to) = match self {
            Self::StripSpecialTokens => ("strip_special_tokens", "text", "text"),
            Self::StripFence => ("strip_fence", "text", "text"),
            Self::JsonStringToObject => ("json_string_to_object", "string", "object"),
            Self::EmptyTextToObject => ("empty_text_to_object", "string", "object"),
            Self::DropEmptyPrefix => ("drop_empty_prefix", "objects", "object"),
            Self::DedupeIdenticalObjects => ("dedupe_identical_objects", "objects", "object"),
            Self::DropTrailingBrace => ("drop_trailing_brace", "text", "text"),
            Self::EscapedWhitespace => ("escaped_whitespace", "text", "text"),
            Self::EscapeControl => ("escape_control", "text", "text"),
            Self::EscapeBackslash => ("escape_backslash", "text", "text"),
            Self::PythonLiteral => ("python_literal", "text", "text"),
            Self::StripTrailingComma => ("strip_trailing_comma", "text", "text"),
            Self::DedupeKey => ("dedupe_key", "members", "member"),
            Self::ReplaceSurrogate => ("replace_surrogate", "string", "string"),
        };
        TextRepair { path, op, from, to, lossy: self == Self::ReplaceSurrogate }
    }
}

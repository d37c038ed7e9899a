//! What stands around the value: fences, special tokens, copies of it, brackets too many.

use super::{Extent, TextOp, reader::Tolerant};
use crate::json::{Json, ParseErrorKind, parse::Parsed};

/// What a text starts with.
enum Token {
    /// A special token of so many bytes.
    Whole(usize),
    /// The beginning of one, and then the text ends.
    Cut,
    /// Something else.
    None,
}

impl<'a> Tolerant<'a> {
    /// The one value of the text, and where it starts.
    pub(super) fn document(&mut self, text: &'a [u8], extent: Extent) -> Parsed<(Json, usize)> {
        let is_cut = self.strict.open(text)?;
        let read = match extent {
            Extent::Whole => self.wrapped(),
            Extent::Nested => self.bare(),
        };
        match read {
            // What stands behind the point of an error may be only what stands around a value: then the value was cut.
            Err(ParseErrorKind::Syntax(_) | ParseErrorKind::Trailing) if self.is_over(extent) => {
                Err(ParseErrorKind::Truncated)
            }
            Ok(_) if is_cut => Err(ParseErrorKind::Truncated),
            // What is Python in one place is Python in all, and then such an escape has two readings.
            Ok(_)
                if self.ops.contains(&TextOp::PythonLiteral)
                    && let Some(at) = self.read_otherwise =>
            {
                self.strict.at = at;
                Err(ParseErrorKind::Backslash)
            }
            read => read,
        }
    }

    fn bare(&mut self) -> Parsed<(Json, usize)> {
        self.skip_blanks();
        let start = self.strict.at;
        let value = self.value()?;
        self.skip_blanks();
        self.end()?;
        Ok((value, start))
    }

    fn wrapped(&mut self) -> Parsed<(Json, usize)> {
        // A byte order mark says how the text is encoded and is no part of it (RFC 8259, section 8.1).
        if self.rest().starts_with('\u{feff}') {
            self.strict.at += '\u{feff}'.len_utf8();
        }
        self.skip_blanks();
        self.open_fence()?;
        self.skip_blanks();
        let start = self.strict.at;
        let value = if self.is_blank() {
            Json::Null
        } else {
            let value = self.copies()?;
            // Behind anything else it rather shows that the beginning is missing.
            if value.as_object().is_some() {
                self.trailing_brackets();
            }
            value
        };
        self.special_tokens();
        self.close_fence()?;
        self.special_tokens();
        self.end()?;
        Ok((value, start))
    }

    fn end(&self) -> Parsed<()> {
        if self.strict.peek().is_none() { Ok(()) } else { Err(ParseErrorKind::Trailing) }
    }

    /// Whether there is nothing but what stands around a value.
    fn is_blank(&self) -> bool {
        self.rest().is_empty() || self.closing_fence().is_some() || !matches!(special_token(self.rest()), Token::None)
    }

    /// A fence around everything is markup for who reads it, and its language word names the format. Neither is JSON, so there
    /// is no other reading.
    fn open_fence(&mut self) -> Parsed<()> {
        let Some(fence @ (b'`' | b'~')) = self.strict.peek() else { return Ok(()) };
        let length = run_of(fence, self.rest());
        if length < 3 && length < self.rest().len() {
            return self.strict.unexpected("a value");
        }
        self.strict.at += length;
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+' | '.' | '#');
        let word = self.rest().trim_start_matches(is_word).trim_start_matches([' ', '\t']);
        self.strict.at = self.strict.text.len() - word.len();
        // On one line, only what cannot belong to the word shows where the value starts.
        if word.starts_with(['\n', '\r', '{', '[', '"', '\'']) || word.starts_with("\\n") || word.starts_with("\\r") {
            self.fence = Some((fence, length));
            Ok(())
        } else {
            self.strict.unexpected("a line break after the opening fence")
        }
    }

    fn closing_fence(&self) -> Option<usize> {
        let (fence, opening) = self.fence?;
        Some(run_of(fence, self.rest())).filter(|closing| *closing >= opening)
    }

    fn close_fence(&mut self) -> Parsed<()> {
        if self.fence.is_none() {
            return Ok(());
        }
        let Some(length) = self.closing_fence() else { return Err(ParseErrorKind::Trailing) };
        self.strict.at += length;
        self.ops.insert(TextOp::StripFence);
        self.skip_blanks();
        Ok(())
    }

    /// One object, perhaps more than once, perhaps after empty ones.
    fn copies(&mut self) -> Parsed<Json> {
        let start = self.strict.at;
        let mut value = self.value()?;
        let mut source = self.strict.text.get(start..self.strict.at).unwrap_or_default();
        self.skip_blanks();
        while value.as_object().is_some() && self.strict.peek() == Some(b'{') {
            let start = self.strict.at;
            let next = self.value()?;
            let next_source = self.strict.text.get(start..self.strict.at).unwrap_or_default();
            // Where something was lost, only the text shows whether the two were the same.
            let is_same = value == next && (self.replaced == 0 || source == next_source);
            if is_same {
                // Whichever of them is kept, the call is the same.
                self.ops.insert(TextOp::DedupeIdenticalObjects);
            } else if value.as_object().is_some_and(crate::json::Object::is_empty) {
                // A stream of arguments starts with `{}` at some providers, and the call has to be complete: only the other
                // object can be it.
                self.ops.insert(TextOp::DropEmptyPrefix);
                (value, source) = (next, next_source);
            } else {
                self.strict.at = start;
                return Err(ParseErrorKind::MultipleObjects);
            }
            self.skip_blanks();
        }
        Ok(value)
    }

    /// The object is complete, so a bracket that closes something behind it closes nothing.
    fn trailing_brackets(&mut self) {
        while self.strict.take(b'}') || self.strict.take(b']') {
            self.ops.insert(TextOp::DropTrailingBrace);
            self.skip_blanks();
        }
    }

    /// What a chat template puts behind a turn, which no JSON text can hold outside of a string.
    fn special_tokens(&mut self) {
        while let Token::Whole(length) = special_token(self.rest()) {
            self.strict.at += length;
            self.ops.insert(TextOp::StripSpecialTokens);
            self.skip_blanks();
        }
    }

    /// After an error: whether only what may stand around a value follows, whole or cut.
    fn is_over(&mut self, extent: Extent) -> bool {
        let at = self.strict.at;
        self.skip_blanks();
        if extent == Extent::Whole {
            self.special_tokens();
        }
        if let Some(length) = self.closing_fence() {
            self.strict.at += length;
            self.skip_blanks();
            self.special_tokens();
        }
        let rest = self.rest();
        let is_cut_fence = self.fence.is_some_and(|(fence, _)| run_of(fence, rest) == rest.len());
        let is_cut_token = extent == Extent::Whole && matches!(special_token(rest), Token::Cut);
        self.strict.at = at;
        rest.is_empty() || rest == "\\" || is_cut_fence || is_cut_token
    }
}

/// Whether a text that could not be read was meant as an object.
pub(super) fn opens_object(text: &str) -> bool {
    let text = text.trim_start();
    ["{", "```", "~~~"].iter().any(|start| text.starts_with(start))
}

fn run_of(byte: u8, text: &str) -> usize {
    text.bytes().take_while(|other| *other == byte).count()
}

/// Special tokens have the form `<|..|>`, or the same with full-width bars. No quote, bracket or control character is in them,
/// so that nothing of a value can be taken for one.
fn special_token(text: &str) -> Token {
    let Some(inner) = text.strip_prefix('<') else { return Token::None };
    if inner.is_empty() {
        return Token::Cut;
    }
    for bar in ['|', '｜'] {
        let Some(name) = inner.strip_prefix(bar) else { continue };
        let after = name.trim_start_matches(is_in_token);
        if after.is_empty() || after.strip_prefix(bar) == Some("") {
            return Token::Cut;
        }
        if after.len() < name.len()
            && let Some(rest) = after.strip_prefix(bar).and_then(|rest| rest.strip_prefix('>'))
        {
            return Token::Whole(text.len() - rest.len());
        }
    }
    Token::None
}

fn is_in_token(letter: char) -> bool {
    !letter.is_control() && !"<>|｜{}[]\"'`\\".contains(letter)
}

//! From bytes to an exact value, by RFC 8259 to the letter (rule P3).
//!
//! Depth, size, duplicate keys, lone surrogates and NUL are decided here, by rule, so that no JSON library decides them by
//! accident. Contracts are read by the same parser, with wider limits.

mod error;
mod string;

use bytes::Bytes;

use super::{Json, Number, Object, Pointer, SharedJson, shared::Holds};
pub use error::{ParseError, ParseErrorKind};

/// What the parser refuses although the grammar allows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseLimits {
    /// Levels of arrays and objects.
    pub max_depth: usize,
    /// Bytes of text.
    pub max_bytes: usize,
    /// Object members in the whole text.
    pub max_keys: usize,
    /// Whether a string may hold U+0000, which most stores cannot keep.
    pub allow_nul: bool,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { max_depth: 64, max_bytes: 1 << 20, max_keys: 10_000, allow_nul: false }
    }
}

impl ParseLimits {
    /// For text that was judged before, or whose size is somebody else's to limit: only what keeps the parser's own stack
    /// short is refused.
    pub fn wide() -> Self {
        Self { max_depth: 128, max_bytes: usize::MAX, max_keys: usize::MAX, allow_nul: true }
    }
}

/// Reads exactly one JSON value, with nothing but white space around it.
pub fn parse(text: &[u8], limits: &ParseLimits) -> Result<Json, ParseError> {
    read(text, limits).map(|(value, _)| value)
}

/// The same, for a value that goes on to others. Where the text is the one that the value would be written as, a copy of it is kept
/// for that: the text itself is a part of a message, which may be much larger and would live as long as the value.
pub fn parse_shared(text: &Bytes, limits: &ParseLimits) -> Result<SharedJson, ParseError> {
    let (value, reader) = read(text, limits)?;
    // A `<` may be written as an escape.
    let holds = Holds { tags: reader.has_code_escape || text.contains(&b'<'), fractions: reader.has_fraction };
    let written = reader.is_compact.then(|| Bytes::copy_from_slice(text));
    Ok(SharedJson::read(value, holds, written))
}

/// The value, and the reader that has read it.
fn read<'a>(text: &'a [u8], limits: &'a ParseLimits) -> Result<(Json, Reader<'a>), ParseError> {
    let mut reader = Reader::new(limits);
    let value = reader.document(text).map_err(|kind| {
        let path = reader.path.iter().rev().fold(Pointer::root(), |path, step| path.join(step));
        ParseError::at(text, reader.at, kind, path)
    })?;
    Ok((value, reader))
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) depth: usize,
    pub(super) keys: usize,
    /// Nothing was read so far that would be written in another way.
    is_compact: bool,
    /// A number was read that has a fraction or an exponent.
    has_fraction: bool,
    /// A character was read that is written as its code.
    pub(super) has_code_escape: bool,
    /// After an error: the steps to the value that was being read, the innermost first.
    path: Vec<String>,
    pub(super) limits: &'a ParseLimits,
}

pub(super) type Parsed<T> = Result<T, ParseErrorKind>;

impl<'a> Reader<'a> {
    pub(super) fn new(limits: &'a ParseLimits) -> Self {
        Self {
            text: "",
            at: 0,
            depth: 0,
            keys: 0,
            is_compact: true,
            has_fraction: false,
            has_code_escape: false,
            path: Vec::new(),
            limits,
        }
    }

    fn document(&mut self, text: &'a [u8]) -> Parsed<Json> {
        let is_cut = self.open(text)?;
        // Some of what is not ASCII would be written as an escape.
        self.is_compact = text.is_ascii();
        self.skip_blanks();
        let value = self.value()?;
        self.skip_blanks();
        if self.peek().is_some() || is_cut { Err(ParseErrorKind::Trailing) } else { Ok(value) }
    }

    /// Takes the text, and says whether its end has cut a character, which is left out.
    pub(super) fn open(&mut self, text: &'a [u8]) -> Parsed<bool> {
        if text.len() > self.limits.max_bytes {
            return Err(ParseErrorKind::TooLarge(self.limits.max_bytes));
        }
        let (text, is_cut) = match std::str::from_utf8(text) {
            Ok(text) => (text, false),
            // Wherever it stands: what is no character is one fault, and a character that the end has cut is another.
            Err(error) if error.error_len().is_some() => {
                self.at = error.valid_up_to();
                return Err(ParseErrorKind::InvalidUnicode);
            }
            Err(error) => {
                let whole = text.get(..error.valid_up_to()).and_then(|whole| std::str::from_utf8(whole).ok());
                (whole.unwrap_or_default(), true)
            }
        };
        self.text = text;
        Ok(is_cut)
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
            self.is_compact = false;
        }
    }

    /// Takes `byte` if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let next = self.peek() == Some(byte);
        self.at += usize::from(next);
        next
    }

    /// The error for a byte that does not fit here: a text that is over was cut.
    pub(super) fn unexpected<T>(&self, expected: &'static str) -> Parsed<T> {
        Err(if self.peek().is_none() { ParseErrorKind::Truncated } else { ParseErrorKind::Syntax(expected) })
    }

    pub(super) fn value(&mut self) -> Parsed<Json> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'n') => self.word(b"null", Json::Null),
            _ => self.unexpected("a value"),
        }
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Parsed<Json>) -> Parsed<Json> {
        if self.depth >= self.limits.max_depth {
            return Err(ParseErrorKind::TooDeep(self.limits.max_depth));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Parsed<Json> {
        let mut members = Object::default();
        if self.take(b'}') {
            return Ok(members.into());
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return self.unexpected("a key in double quotes");
            }
            let key = self.string()?;
            if members.contains_key(&key) {
                self.at = start;
                self.path.push(key.to_string());
                return Err(ParseErrorKind::DuplicateKey(key));
            }
            self.keys += 1;
            if self.keys > self.limits.max_keys {
                return Err(ParseErrorKind::TooManyKeys(self.limits.max_keys));
            }
            self.skip_blanks();
            if !self.take(b':') {
                return self.unexpected("`:` after a key");
            }
            self.skip_blanks();
            let value = self.value();
            if value.is_err() {
                self.path.push(key.to_string());
            }
            members.insert(key, value?);
            self.skip_blanks();
            if self.take(b'}') {
                return Ok(members.into());
            }
            if !self.take(b',') {
                return self.unexpected("`,` or `}`");
            }
            self.skip_blanks();
        }
    }

    fn array(&mut self) -> Parsed<Json> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            let value = self.value();
            if value.is_err() {
                self.path.push(items.len().to_string());
            }
            items.push(value?);
            self.skip_blanks();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            if !self.take(b',') {
                return self.unexpected("`,` or `]`");
            }
            self.skip_blanks();
        }
    }

    pub(super) fn word(&mut self, word: &'static [u8], value: Json) -> Parsed<Json> {
        for byte in word {
            if !self.take(*byte) {
                return self.unexpected("`true`, `false` or `null`");
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Parsed<Json> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.has_fraction = true;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            self.has_fraction = true;
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'0'..=b'9' | b'.' | b'+' | b'-')) {
            return Err(ParseErrorKind::Syntax("a number without leading zeros"));
        }
        // A number at the very end of the text may have lost its last digits, but only inside of something: and then the
        // bracket that is missing says so.
        Ok(Json::Number(Number::from_spelling(self.ascii(start))))
    }

    fn digits(&mut self) -> Parsed<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.unexpected("a digit");
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    /// The text since `start`, which is known to be ASCII.
    fn ascii(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> ParseErrorKind {
        parse(text.as_bytes(), &ParseLimits::default()).unwrap_err().kind
    }

    #[test]
    fn p3_a_cut_text_is_truncated_wherever_the_cut_is() {
        let text = r#"{"a":[1.5e3,"x\u00e9\n",{"b":null}],"c":true}"#;
        for end in 1..text.len() {
            let error = parse(&text.as_bytes()[..end], &ParseLimits::default()).unwrap_err();
            assert_eq!(error.kind, ParseErrorKind::Truncated, "cut at {end}");
        }
    }

    #[test]
    fn p3_what_the_grammar_allows_but_nobody_can_keep_is_refused_by_rule() {
        assert_eq!(refusal(r#"{"a":1,"a":1}"#), ParseErrorKind::DuplicateKey("a".into()));
        assert_eq!(refusal(r#"{"a":"\ud83d"}"#), ParseErrorKind::InvalidUnicode);
        assert_eq!(refusal(r#"{"a":"\ude00"}"#), ParseErrorKind::InvalidUnicode);
        assert_eq!(refusal(r#"{"a":"\u0000"}"#), ParseErrorKind::ForbiddenNul);
        assert_eq!(refusal(r#"{"a":1} {"b":2}"#), ParseErrorKind::Trailing);
        assert_eq!(refusal(&"[".repeat(20_000)), ParseErrorKind::TooDeep(64));
        let invalid_utf8 = parse(b"{\"a\":\"\xff\"}", &ParseLimits::default()).unwrap_err();
        assert_eq!((invalid_utf8.kind, invalid_utf8.column), (ParseErrorKind::InvalidUnicode, 7));
    }

    #[test]
    fn p3_bytes_that_are_no_text_are_one_fault_wherever_they_stand() {
        for text in [&b"\xff"[..], b"\xff{}", b"{}\xff", b"{\"a\":\xff}", b"{\"a\":\"\xff\"}", b"{\"\xff\":1}"] {
            let error = parse(text, &ParseLimits::default()).unwrap_err();
            let column = text.iter().position(|byte| *byte == 0xff).unwrap() + 1;
            assert_eq!((error.kind, error.column), (ParseErrorKind::InvalidUnicode, column), "{text:?}");
        }
    }

    #[test]
    fn p3_the_grammar_is_json_and_nothing_else() {
        for text in [
            "{'a':1}",
            "{a:1}",
            "{\"a\":1,}",
            "[1,]",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "NaN",
            "True",
            "\"\t\"",
            "\"\\x\"",
            "// x\n1",
            "-",
            "1..2",
            "0x10",
            "\u{a0}1",
        ] {
            assert!(parse(text.as_bytes(), &ParseLimits::default()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_pair_of_escapes_is_one_character() {
        let value = parse(br#""\ud83d\ude00""#, &ParseLimits::default()).unwrap();
        assert_eq!(value.as_str(), Some("\u{1f600}"));
    }

    #[test]
    fn errors_name_their_place() {
        let error = parse(b"{\n  \"a\": tru3\n}", &ParseLimits::default()).unwrap_err();
        assert_eq!((error.line, error.column), (2, 11));
    }

    #[test]
    fn size_and_number_of_keys_are_limited() {
        let limits = ParseLimits { max_bytes: 10, max_keys: 1, ..ParseLimits::default() };
        assert_eq!(parse(b"\"0123456789\"", &limits).unwrap_err().kind, ParseErrorKind::TooLarge(10));
        assert_eq!(parse(b"[{\"\":{}}]", &limits).map(|value| value.to_text()), Ok("[{\"\":{}}]".to_owned()));
        assert_eq!(parse(b"{\"\":{\"\":1", &limits).unwrap_err().kind, ParseErrorKind::TooManyKeys(1));
    }
}

//! The tolerant reader: the parser's grammar, and beside each rule what it forgives.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use indexmap::IndexSet;

use super::{TextOp, TextRepair, string::Role};
use crate::json::{
    Json, Object, ParseErrorKind, ParseLimits, Pointer,
    parse::{Parsed, Reader},
};

/// Bytes of paths that the list of repairs may have in all: a text with more places than that is refused, or one long key
/// before many places would fill the memory.
const MAX_LISTED: usize = 64 << 10;

pub(super) struct Tolerant<'a> {
    /// Where the text is read, and what is read of it without forgiving anything.
    pub(super) strict: Reader<'a>,
    /// What was repaired in the text.
    pub(super) ops: BTreeSet<TextOp>,
    /// What was repaired at places.
    pub(super) places: IndexSet<TextRepair>,
    /// Bytes of their paths.
    listed: usize,
    /// From the root to the value that is being read.
    steps: Vec<Step>,
    /// How many surrogates were replaced.
    pub(super) replaced: usize,
    /// The first escape in the text that Python reads as something else than JSON does.
    pub(super) read_otherwise: Option<usize>,
    /// The fence that is open: its character, and how many of them.
    pub(super) fence: Option<(u8, usize)>,
}

enum Step {
    Key(Arc<str>),
    Item(usize),
}

impl<'a> Tolerant<'a> {
    pub(super) fn new(limits: &'a ParseLimits) -> Self {
        Self {
            strict: Reader::new(limits),
            ops: BTreeSet::new(),
            places: IndexSet::new(),
            listed: 0,
            steps: Vec::new(),
            replaced: 0,
            read_otherwise: None,
            fence: None,
        }
    }

    /// The value that is being read.
    pub(super) fn path(&self) -> Pointer {
        self.steps.iter().fold(Pointer::root(), |path, step| match step {
            Step::Key(key) => path.join(key),
            Step::Item(index) => path.join(index),
        })
    }

    /// The text that is not read yet.
    pub(super) fn rest(&self) -> &'a str {
        self.strict.text.get(self.strict.at..).unwrap_or_default()
    }

    /// Lists a repair of the value that is being read, if there is room for it.
    pub(super) fn list(&mut self, op: TextOp) -> Result<(), ListIsFull> {
        let bytes: usize = self.steps.iter().map(|step| if let Step::Key(key) = step { key.len() } else { 4 }).sum();
        if self.listed + bytes >= MAX_LISTED {
            return Err(ListIsFull);
        }
        if self.places.insert(op.at(self.path())) {
            self.listed += bytes + 1;
        }
        Ok(())
    }

    /// White space between tokens. A backslash means nothing there, so `\n`, `\r` and `\t` can only be the white space that they
    /// would be in a string: the text was escaped once too often.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            self.strict.skip_blanks();
            if !["\\n", "\\r", "\\t"].iter().any(|blank| self.rest().starts_with(blank)) {
                return;
            }
            self.strict.at += 2;
            self.ops.insert(TextOp::EscapedWhitespace);
        }
    }

    pub(super) fn value(&mut self) -> Parsed<Json> {
        match self.strict.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"' | b'\'') => Ok(Json::String(self.string(Role::Value)?)),
            // No JSON value starts with a capital letter, and Python's three words mean what JSON's three words mean.
            Some(b'T') => self.python_word(b"True", Json::Bool(true)),
            Some(b'F') => self.python_word(b"False", Json::Bool(false)),
            Some(b'N') => self.python_word(b"None", Json::Null),
            _ => self.strict.value(),
        }
    }

    fn python_word(&mut self, word: &'static [u8], value: Json) -> Parsed<Json> {
        let value = self.strict.word(word, value)?;
        self.ops.insert(TextOp::PythonLiteral);
        Ok(value)
    }

    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Parsed<Json>) -> Parsed<Json> {
        let max_depth = self.strict.limits.max_depth;
        if self.strict.depth >= max_depth {
            return Err(ParseErrorKind::TooDeep(max_depth));
        }
        self.strict.depth += 1;
        self.strict.at += 1;
        self.skip_blanks();
        let value = read(self)?;
        self.strict.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Parsed<Json> {
        let mut members = Object::default();
        // Keys whose values have lost something: what such a value is equal to, it need not have been equal to.
        let mut damaged = HashSet::new();
        if self.strict.take(b'}') {
            return Ok(members.into());
        }
        loop {
            let start = self.strict.at;
            let key = self.key()?;
            self.steps.push(Step::Key(Arc::clone(&key)));
            let replaced = self.replaced;
            let value = self.value()?;
            if self.replaced > replaced {
                damaged.insert(Arc::clone(&key));
            }
            match members.get(&key) {
                None => drop(members.insert(Arc::clone(&key), value)),
                // Whichever of the two is kept, the object is the same.
                Some(earlier)
                    if *earlier == value && !damaged.contains(&key) && self.list(TextOp::DedupeKey).is_ok() => {}
                Some(_) => {
                    self.strict.at = start;
                    return Err(ParseErrorKind::DuplicateKey(key));
                }
            }
            self.steps.pop();
            if !self.goes_on(b'}', "`,` or `}`")? {
                return Ok(members.into());
            }
        }
    }

    /// A key and its colon.
    fn key(&mut self) -> Parsed<Arc<str>> {
        if !matches!(self.strict.peek(), Some(b'"' | b'\'')) {
            return self.strict.unexpected("a key in double quotes");
        }
        let key = self.string(Role::Key)?;
        let max_keys = self.strict.limits.max_keys;
        self.strict.keys += 1;
        if self.strict.keys > max_keys {
            return Err(ParseErrorKind::TooManyKeys(max_keys));
        }
        self.skip_blanks();
        if !self.strict.take(b':') {
            return self.strict.unexpected("`:` after a key");
        }
        self.skip_blanks();
        Ok(key)
    }

    fn array(&mut self) -> Parsed<Json> {
        let mut items = Vec::new();
        if self.strict.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            self.steps.push(Step::Item(items.len()));
            items.push(self.value()?);
            self.steps.pop();
            if !self.goes_on(b']', "`,` or `]`")? {
                return Ok(Json::Array(items));
            }
        }
    }

    /// After an element: whether another one follows. One comma before the bracket that closes separates nothing from nothing;
    /// were an element missing there, the bracket would not be.
    fn goes_on(&mut self, close: u8, expected: &'static str) -> Parsed<bool> {
        self.skip_blanks();
        if self.strict.take(close) {
            return Ok(false);
        }
        if !self.strict.take(b',') {
            return self.strict.unexpected(expected);
        }
        self.skip_blanks();
        if !self.strict.take(close) {
            return Ok(true);
        }
        self.ops.insert(TextOp::StripTrailingComma);
        Ok(false)
    }
}

/// More places were repaired than can be listed.
pub(super) struct ListIsFull;

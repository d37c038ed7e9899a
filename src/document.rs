//! Documents that people write: exact values that remember their lines, so that every remark can name `file:line`, and the
//! strict reading of them: a key that nobody knows is never passed over.

mod exact;
mod format;
mod lines;
mod note;
mod split;
mod yaml;

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
    sync::Arc,
};

use crate::json::{Json, ParseError, ParseErrorKind, ParseLimits, Pointer, parse};

pub use exact::{Elsewhere, Exact, ExactObject};
pub use format::{Format, unknown_key};
pub use lines::Lines;
pub use note::{MAX_NOTES, Note, Notes, Place, Severity, capped};
pub use split::{Item, Split, split};

/// Most bytes of a document.
const MAX_BYTES: usize = 16 << 20;

/// Most levels of nesting.
const MAX_DEPTH: usize = 128;

/// Most values of a document, those that YAML aliases repeat included.
const MAX_VALUES: usize = 2_000_000;

/// How a text is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// JSON, by RFC 8259.
    Json,
    /// YAML 1.2, of which only what JSON can say is read.
    Yaml,
}

impl Syntax {
    /// The syntax that the name of a file says.
    pub fn of(file: &Path) -> Option<Self> {
        let extension = file.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// A value and the line of each of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The value.
    pub value: Json,
    /// The lines of its parts.
    pub lines: Lines,
}

/// Why a text could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Stable word.
    pub code: &'static str,
    /// What is wrong and what to do, with the column.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
}

impl Unreadable {
    fn syntax(line: usize, column: usize, message: &str) -> Self {
        Self { code: "syntax", message: format!("{message} (line {line}, column {column})"), line }
    }

    /// The remark for it.
    pub fn note(self, file: Option<&Arc<str>>) -> Note {
        let place = file.map(|file| Place { file: Arc::clone(file), line: self.line });
        Note { place, ..Note::error(self.code, Pointer::root(), self.message) }
    }
}

/// The bytes of a file, as many as are read of a document and one more, by which [`read`] sees that it is too large.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let limit = MAX_BYTES + 1;
    // Room for what the file says it has and one byte more, so that its end is seen without growing. It may say anything.
    let size = file.metadata().map_or(0, |about| usize::try_from(about.len()).unwrap_or(limit));
    let mut text = Vec::with_capacity(size.saturating_add(1).min(limit));
    file.take(u64::try_from(limit).unwrap_or(u64::MAX)).read_to_end(&mut text)?;
    Ok(text)
}

/// Reads the documents of a text: one of JSON, one or more of YAML.
pub fn read(text: &[u8], syntax: Syntax) -> Result<Vec<Marked>, Unreadable> {
    if text.len() > MAX_BYTES {
        let message = format!("larger than {MAX_BYTES} bytes: split it");
        return Err(Unreadable { code: "too_large", message, line: 1 });
    }
    let text = std::str::from_utf8(text).map_err(|error| {
        let (before, _) = text.split_at(error.valid_up_to());
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.split(|byte| *byte == b'\n').count();
        Unreadable::syntax(line, 1 + before.len() - line_start, "not UTF-8: save the file as UTF-8")
    })?;
    // Editors on Windows put a byte order mark in front; it says nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let documents = match syntax {
        Syntax::Json => json(text)?,
        Syntax::Yaml => yaml::read(text)?,
    };
    if documents.is_empty() {
        let message = "there is nothing in it: write something, or remove the file".to_owned();
        return Err(Unreadable { code: "empty_document", message, line: 1 });
    }
    Ok(documents)
}

fn json(text: &str) -> Result<Vec<Marked>, Unreadable> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let limits = ParseLimits { max_depth: MAX_DEPTH, max_bytes: MAX_BYTES, max_keys: MAX_VALUES, allow_nul: false };
    let value = parse(text.as_bytes(), &limits)
        .map_err(|error| Unreadable::syntax(error.line, error.column, &format!("{}{}", error.kind, remedy(&error))))?;
    Ok(vec![Marked { lines: Lines::of_json(text, 1), value }])
}

fn remedy(error: &ParseError) -> &'static str {
    match error.kind {
        ParseErrorKind::Syntax(_) => ": correct the JSON here; comments and trailing commas are no part of it",
        ParseErrorKind::Backslash => ": write every backslash as `\\\\`",
        ParseErrorKind::Truncated => ": close what is open",
        ParseErrorKind::Trailing | ParseErrorKind::MultipleObjects => {
            ": a JSON file holds one value; put several tools into `tools: [...]`"
        }
        ParseErrorKind::DuplicateKey(_) => ": remove one of them",
        ParseErrorKind::InvalidUnicode | ParseErrorKind::ForbiddenNul => ": write another character",
        ParseErrorKind::TooDeep(_) => ": flatten it",
        ParseErrorKind::TooLarge(_) | ParseErrorKind::TooManyKeys(_) => ": split the file",
    }
}

impl Marked {
    /// The line of a place, or of the nearest place above it that exists.
    pub fn line(&self, path: &Pointer) -> usize {
        let (mut value, mut lines) = (&self.value, &self.lines);
        for step in path.steps() {
            let below = match value {
                Json::Object(members) => members.get_full(step).map(|(index, _, member)| (index, member)),
                Json::Array(items) => step.parse::<usize>().ok().and_then(|index| Some((index, items.get(index)?))),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
            };
            let Some((member, below)) = below.and_then(|(index, member)| Some((member, lines.child(index)?))) else {
                break;
            };
            (value, lines) = (member, below);
        }
        lines.line
    }

    /// Takes a member out of an object.
    pub fn remove(&mut self, name: &str) -> Option<Self> {
        let (index, _, value) = self.value.as_object_mut()?.shift_remove_full(name)?;
        Some(Self { value, lines: self.lines.remove(index) })
    }

    /// Puts a member behind the others of an object; one of the same name is replaced.
    pub fn insert(&mut self, name: &str, member: Self) {
        self.remove(name);
        if let Some(members) = self.value.as_object_mut() {
            members.insert(name.into(), member.value);
            self.lines.push(member.lines);
        }
    }

    /// The items of an array; the value itself if it is no array.
    pub fn into_items(self) -> Result<Vec<Self>, Self> {
        match self.value {
            Json::Array(items) => {
                Ok(items.into_iter().zip(self.lines.children).map(|(value, lines)| Self { value, lines }).collect())
            }
            value @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Object(_)) => {
                Err(Self { value, lines: self.lines })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &[u8], syntax: Syntax) -> (&'static str, usize, String) {
        let error = read(text, syntax).unwrap_err();
        (error.code, error.line, error.message)
    }

    #[test]
    fn json_places_have_the_lines_of_their_keys() {
        let text = "{\n  \"a\": {\n    \"b\\n\\\"\": [\n      1,\n      {\"c\": \"x\\\\\"}]\n  },\n  \"d\"\n: 2}";
        let document = read(text.as_bytes(), Syntax::Json).unwrap().remove(0);
        for (path, line) in
            [("", 1), ("/a", 2), ("/a/b\n\"", 3), ("/a/b\n\"/0", 4), ("/a/b\n\"/1/c", 5), ("/d", 7), ("/a/none/x", 2)]
        {
            assert_eq!(document.line(&Pointer::parse(path).unwrap()), line, "{path}");
        }
    }

    #[test]
    fn a_broken_json_file_is_reported_with_line_column_and_remedy() {
        assert_eq!(
            error(b"{\n \"a\": 1,\n}", Syntax::Json),
            (
                "syntax",
                3,
                "expected a key in double quotes: correct the JSON here; comments and trailing commas are no part of it \
                 (line 3, column 1)"
                    .to_owned()
            )
        );
        assert_eq!(error(b"{\"a\":1,\n\"a\":2}", Syntax::Json).1, 2);
    }

    #[test]
    fn text_that_is_not_utf8_is_reported_where_it_starts() {
        assert_eq!(
            error(b"a: 1\nb: \xff", Syntax::Yaml),
            ("syntax", 2, "not UTF-8: save the file as UTF-8 (line 2, column 4)".to_owned())
        );
    }

    #[test]
    fn files_without_a_value_are_empty() {
        for (text, syntax) in [
            ("", Syntax::Json),
            (" \n", Syntax::Json),
            ("", Syntax::Yaml),
            ("# x\n---\n", Syntax::Yaml),
            ("---\n---\n", Syntax::Yaml),
        ] {
            assert_eq!(error(text.as_bytes(), syntax).0, "empty_document", "{text:?}");
        }
    }

    #[test]
    fn members_move_with_their_lines() {
        let mut document = read(b"a: 1\nb: 2\nc: 3\n", Syntax::Yaml).unwrap().remove(0);
        let member = document.remove("a").unwrap();
        document.insert("z", member);
        assert_eq!(document.line(&Pointer::root().join("z")), 1);
        assert_eq!(document.line(&Pointer::root().join("c")), 3);
        assert_eq!(document.value.to_text(), r#"{"b":2,"c":3,"z":1}"#);
    }
}

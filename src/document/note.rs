//! Remarks about a document: what is wrong, where, and what to do.

use std::{fmt, sync::Arc};

use crate::json::Pointer;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It cannot be used: the tool does not serve, the booth does not start.
    Error,
    /// It is used; somebody should look.
    Warning,
    /// Worth knowing.
    Info,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How bad it is.
    pub severity: Severity,
    /// Stable word, for example `unknown_key`.
    pub code: &'static str,
    /// Where in the document.
    pub path: Pointer,
    /// What is wrong and what to do.
    pub message: String,
    /// Where in a file, if the document came from one.
    pub place: Option<Place>,
    /// How many remarks it stands for: more than itself only if it ends a list that was too long.
    pub count: usize,
}

/// Remarks on one thing that are kept; the rest is counted. They go over the wire in one message, and a small document can
/// have very many faults.
pub const MAX_NOTES: usize = 100;

/// Remarks as they are found: the first ones, and how many more there are.
#[derive(Debug, Default)]
pub struct Notes {
    kept: Vec<Note>,
    more: usize,
    /// The worst of those that are not kept.
    worst: Option<Severity>,
}

impl Notes {
    /// Adds a remark, which is made only if it is kept.
    pub fn add(&mut self, severity: Severity, note: impl FnOnce() -> Note) {
        if self.kept.len() < MAX_NOTES {
            self.kept.push(note());
        } else {
            self.more += 1;
            self.worst = Some(self.worst.map_or(severity, |worst| worst.min(severity)));
        }
    }

    /// The first ones, and one that counts the rest.
    pub fn into_vec(mut self) -> Vec<Note> {
        let last = self.kept.last().cloned();
        if let Some((last, severity)) = last.zip(self.worst) {
            self.kept.push(Note { severity, ..last.rest(self.more) });
        }
        self.kept
    }
}

/// The first of many remarks, and one that counts the rest.
pub fn capped(notes: Vec<Note>) -> Vec<Note> {
    let (mut kept, mut rest): (Vec<_>, Vec<_>) = notes.into_iter().partition(|note| note.count == 1);
    if kept.len() > MAX_NOTES {
        rest.extend(kept.split_off(MAX_NOTES));
    }
    let more = rest.iter().map(|note| note.count).sum();
    let worst = rest.iter().map(|note| note.severity).min();
    if let Some((first, severity)) = rest.into_iter().next().zip(worst) {
        kept.push(Note { severity, ..first.rest(more) });
    }
    kept
}

impl Note {
    /// Something that keeps the document from being used.
    pub fn error(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, path, message: message.into(), place: None, count: 1 }
    }

    /// Something to look at.
    pub fn warning(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, path, message) }
    }

    /// Something worth knowing.
    pub fn info(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Info, ..Self::error(code, path, message) }
    }

    /// A remark for so many others like this one.
    fn rest(self, count: usize) -> Self {
        Self { path: Pointer::root(), message: format!("and {count} more"), count, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(count: usize) -> Vec<Note> {
        (0..count).map(|number| Note::error("fault", Pointer::root().join(number), "wrong")).collect()
    }

    #[test]
    fn a_long_list_is_counted_and_lists_of_lists_are_counted_right() {
        assert_eq!(capped(faults(100)).len(), 100);
        let inner = capped(faults(9_000));
        assert_eq!((inner.len(), inner[100].message.as_str()), (101, "and 8900 more"));
        let outer = capped(inner.into_iter().chain(faults(50)).collect());
        assert_eq!((outer.len(), outer[100].message.as_str()), (101, "and 8950 more"));
    }

    #[test]
    fn what_is_not_kept_is_not_made_and_still_as_bad_as_it_is() {
        let mut notes = Notes::default();
        for _ in 0..MAX_NOTES {
            notes.add(Severity::Info, || Note::info("kept", Pointer::root(), "seen"));
        }
        notes.add(Severity::Error, || panic!("made for nothing"));
        let last = notes.into_vec().pop().unwrap();
        assert_eq!((last.severity, last.message.as_str()), (Severity::Error, "and 1 more"));
    }
}

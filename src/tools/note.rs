//! Remarks about a contract: what is wrong, where, and what to do.

use std::{fmt, sync::Arc};

use crate::json::Pointer;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The tool does not serve.
    Error,
    /// The tool serves; somebody should look.
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
    /// Where in the contract.
    pub path: Pointer,
    /// What is wrong and what to do.
    pub message: String,
    /// Where in a file, if the contract came from one.
    pub place: Option<Place>,
}

impl Note {
    /// Something that keeps the tool from serving.
    pub fn error(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, path, message: message.into(), place: None }
    }

    /// Something to look at.
    pub fn warning(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, path, message) }
    }

    /// Something worth knowing.
    pub fn info(code: &'static str, path: Pointer, message: impl Into<String>) -> Self {
        Self { severity: Severity::Info, ..Self::error(code, path, message) }
    }
}

/// What became of a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It serves.
    Accepted,
    /// It serves; the notes say what to look at.
    AcceptedWithWarning,
    /// It does not serve; the notes say why.
    Quarantined,
}

impl Status {
    /// The status that follows from the remarks.
    pub fn of(notes: &[Note]) -> Self {
        match notes.iter().map(|note| note.severity).min() {
            Some(Severity::Error) => Self::Quarantined,
            Some(Severity::Warning) => Self::AcceptedWithWarning,
            Some(Severity::Info) | None => Self::Accepted,
        }
    }

    /// The stable word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::AcceptedWithWarning => "accepted_with_warning",
            Self::Quarantined => "quarantined",
        }
    }
}

/// What became of one contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractReport {
    /// The tool's name; empty if the contract has none.
    pub name: Arc<str>,
    /// Whether it serves.
    pub status: Status,
    /// The dialect that its parameters are read in, for example `draft-07`; `None` if it was not read.
    pub dialect: Option<&'static str>,
    /// Remarks, errors first.
    pub notes: Vec<Note>,
}

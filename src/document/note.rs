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
}

impl Note {
    /// Something that keeps the document from being used.
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

//! What became of a contract: whether it serves, and what is to be said about it.

use std::sync::Arc;

use crate::document::{Note, Place, Severity};

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
    /// Where it stands, if it came from a file.
    pub place: Option<Place>,
    /// Whether it serves.
    pub status: Status,
    /// The dialect that its parameters are read in, for example `draft-07`; `None` if it was not read.
    pub dialect: Option<&'static str>,
    /// Remarks, errors first.
    pub notes: Vec<Note>,
    /// What will hurt later, if somebody asked ([`LoadOptions::lint`](super::LoadOptions::lint)). The status does not depend on it.
    pub lints: Vec<Note>,
}

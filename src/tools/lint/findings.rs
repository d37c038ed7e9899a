//! What was found, lint by lint: of one that finds very much, the first are kept and the others counted.

use std::collections::BTreeMap;

use super::codes::{LINTS, Lint};
use crate::{
    document::{Note, Notes},
    json::Pointer,
};

/// The findings so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    by_code: BTreeMap<&'static str, Notes>,
}

impl Findings {
    /// Adds a finding. Its words and its place are made only if it is kept.
    pub(super) fn add(&mut self, lint: Lint, place: impl FnOnce() -> Pointer, message: impl FnOnce() -> String) {
        let Lint { code, severity } = lint;
        let note = || Note { severity, ..Note::info(code, place(), message()) };
        self.by_code.entry(code).or_default().add(severity, note);
    }

    /// All of them, lint by lint, in the order of the lints.
    pub(super) fn into_notes(mut self) -> Vec<Note> {
        let in_order = LINTS.iter().filter_map(|lint| self.by_code.remove(lint.code));
        in_order.flat_map(Notes::into_vec).collect()
    }
}

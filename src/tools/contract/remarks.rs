//! What is remarked on one contract while it is compiled.

use std::{mem, sync::Arc};

use crate::{
    document::{Marked, Note, Place, Severity, capped},
    json::{Json, Pointer},
    tools::report::{ContractReport, Status},
};

/// The remarks so far, each with its line.
pub(super) struct Remarks<'a> {
    contract: &'a Marked,
    file: Option<&'a Arc<str>>,
    /// Far more than are kept, and few enough to hold.
    notes: Vec<Note>,
}

/// Remarks that are held until it is known which of them are the worst.
const MOST: usize = 1_000;

impl<'a> Remarks<'a> {
    pub(super) fn of(contract: &'a Marked, file: Option<&'a Arc<str>>) -> Self {
        Self { contract, file, notes: Vec::new() }
    }

    /// Adds a remark whose path starts at the contract.
    pub(super) fn add(&mut self, note: Note) {
        self.add_inside(&Pointer::root(), note);
    }

    /// Adds remarks whose paths start at the contract.
    pub(super) fn extend(&mut self, notes: Vec<Note>) {
        self.extend_below(&Pointer::root(), notes);
    }

    /// Adds remarks whose paths start at `base`, and keeps them so; only their lines are looked for from the contract.
    pub(super) fn extend_inside(&mut self, base: &Pointer, notes: Vec<Note>) {
        for note in notes {
            self.add_inside(base, note);
        }
    }

    fn add_inside(&mut self, base: &Pointer, note: Note) {
        if self.notes.len() >= MOST {
            self.notes.sort_by_key(|note| note.severity);
            self.notes = capped(mem::take(&mut self.notes));
        }
        self.notes.push(self.placed(base, note));
    }

    /// The remark, whose path starts at `base`, with its line.
    pub(super) fn placed(&self, base: &Pointer, note: Note) -> Note {
        let found =
            self.file.map(|file| Place { file: Arc::clone(file), line: self.contract.line(&base.append(&note.path)) });
        Note { place: note.place.or(found), ..note }
    }

    /// Adds remarks whose paths start at `base`, as ones whose paths start at the contract.
    pub(super) fn extend_below(&mut self, base: &Pointer, notes: Vec<Note>) {
        for note in notes {
            self.add(Note { path: base.append(&note.path), ..note });
        }
    }

    /// Whether the tool cannot serve.
    pub(super) fn are_fatal(&self) -> bool {
        self.notes.iter().any(|note| note.severity == Severity::Error)
    }

    /// The place of the first of these keys that the contract has.
    pub(super) fn place_of_any(&self, keys: &[&str]) -> Option<Pointer> {
        let key = keys.iter().find(|key| self.contract.value.get(key).is_some_and(|held| *held != Json::Null))?;
        Some(Pointer::root().join(key))
    }

    /// What became of the contract.
    pub(super) fn into_report(mut self, dialect: Option<&'static str>) -> ContractReport {
        let name = self.contract.value.get("name").and_then(Json::as_str).unwrap_or_default();
        self.notes.sort_by_key(|note| note.severity);
        let place = self.file.map(|file| Place { file: Arc::clone(file), line: self.contract.lines.line });
        let notes = capped(self.notes);
        ContractReport { name: name.into(), place, status: Status::of(&notes), dialect, notes, lints: Vec::new() }
    }
}

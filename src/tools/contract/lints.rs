//! The lints of a contract, each with its line.

use super::{remarks::Remarks, schemas};
use crate::{
    document::Note,
    json::Pointer,
    tools::{
        Tool,
        lint::{Linted, lint},
    },
};

/// What will hurt later of a tool that was compiled from this contract.
pub(super) fn of(tool: &Tool, remarks: &Remarks<'_>) -> Vec<Note> {
    let Linted { contract, parameters } = lint(tool);
    let of_contract = contract.into_iter().map(|note| remarks.placed(&Pointer::root(), note));
    let mut lints: Vec<Note> = of_contract.collect();
    // Where no schema was written, loading has said so.
    if let Some(base) = remarks.place_of_any(&schemas::INPUT) {
        lints.extend(parameters.into_iter().map(|note| remarks.placed(&base, note)));
    }
    lints.sort_by_key(|note| note.severity);
    lints
}

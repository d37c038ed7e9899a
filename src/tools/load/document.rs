//! From the text of a document to compiled contracts, each under the terms of its document.

use std::sync::Arc;

use super::LoadOptions;
use crate::{
    document::{Marked, Note, Place, Severity, Syntax, read},
    json::{Json, Pointer},
    tools::{
        catalog::Compiled,
        contract::{DEFAULTS, FORMAT, Terms, compile, executor::executor, format::Defaults},
        foreign::{Listing, listing},
        report::{ContractReport, Status},
    },
};

/// A document that is no contract, or only a wrapper around some: it has remarks, but no name.
pub(super) fn unread(mut notes: Vec<Note>, file: Option<&Arc<str>>, line: usize) -> Compiled {
    let place = file.map(|file| Place { file: Arc::clone(file), line });
    for note in &mut notes {
        note.place = note.place.take().or_else(|| place.clone());
    }
    notes.sort_by_key(|note| note.severity);
    let report =
        ContractReport { name: "".into(), place: place.clone(), status: Status::of(&notes), dialect: None, notes };
    Compiled { outcome: Err(Box::new(report)), place }
}

/// Reads every contract of a text.
pub(super) fn load_text(
    text: &[u8],
    syntax: Syntax,
    file: Option<&Arc<str>>,
    options: &LoadOptions,
    contracts: &mut Vec<Compiled>,
) {
    match read(text, syntax) {
        Ok(documents) => {
            for document in documents {
                load_listing(document, file, options, contracts);
            }
        }
        Err(error) => contracts.push(unread(vec![error.note(file)], file, 1)),
    }
}

fn load_listing(document: Marked, file: Option<&Arc<str>>, options: &LoadOptions, contracts: &mut Vec<Compiled>) {
    let place = |line| file.map(|file| Place { file: Arc::clone(file), line });
    let first_line = document.lines.line;
    let Listing { found, defaults, notes } = listing(document);
    let mut notes: Vec<Note> = notes.into_iter().map(|(note, line)| Note { place: place(line), ..note }).collect();
    let defaults = defaults.map(|defaults| read_defaults(&defaults, &place, &mut notes)).unwrap_or_default();
    let fatal = notes.iter().filter(|note| note.severity == Severity::Error).cloned().collect();
    let terms = Terms {
        defaults,
        of_document: fatal,
        execute: &options.execute,
        profile: options.profile,
        author: options.author,
        file,
    };
    for found in found {
        let place = place(found.contract.lines.line);
        contracts.push(Compiled { outcome: compile(found, &terms), place });
    }
    if !notes.is_empty() {
        contracts.push(unread(notes, file, first_line));
    }
}

/// Reads what a file says for all of its tools; remarks are added to those on the document.
fn read_defaults(block: &Marked, place: &dyn Fn(usize) -> Option<Place>, notes: &mut Vec<Note>) -> Defaults {
    let mut add = |found: Vec<Note>, inside: &Pointer| {
        for note in found {
            let inside = inside.append(&note.path);
            let place = place(block.line(&inside));
            notes.push(Note { path: Pointer::root().join("defaults").append(&inside), place, ..note });
        }
    };
    // Nothing at all may be written as null.
    if block.value == Json::Null {
        return Defaults::default();
    }
    let defaults = FORMAT.read::<Defaults>(DEFAULTS, &block.value).unwrap_or_else(|found| {
        add(found, &Pointer::root());
        Defaults::default()
    });
    if let Some(Err(found)) = defaults.execute.as_ref().map(executor) {
        add(found, &Pointer::root().join("execute"));
    }
    defaults
}

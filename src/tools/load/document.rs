//! From the text of a document to compiled contracts, each under the terms of its document.

use std::sync::Arc;

use super::{LoadOptions, cores::on_all_cores};
use crate::{
    document::{Marked, Note, Place, Severity, Syntax, capped, read},
    json::{Json, Pointer},
    tools::{
        Author,
        catalog::Compiled,
        contract::{DEFAULTS, FORMAT, Terms, compile, executor::executor, format::Defaults},
        foreign::{Listing, listing},
        report::{ContractReport, Status},
    },
};

/// Most tools of a document that a host sends: each costs a report and a compilation.
const MOST_TOOLS: usize = 1_000;

/// A document that is no contract, or only a wrapper around some: it has remarks, but no name.
pub(super) fn unread(mut notes: Vec<Note>, file: Option<&Arc<str>>, line: usize) -> Compiled {
    let place = file.map(|file| Place { file: Arc::clone(file), line });
    for note in &mut notes {
        note.place = note.place.take().or_else(|| place.clone());
    }
    notes.sort_by_key(|note| note.severity);
    let notes = capped(notes);
    let report =
        ContractReport { name: "".into(), place: place.clone(), status: Status::of(&notes), dialect: None, notes };
    Compiled { outcome: Err(Box::new(report)), place }
}

/// Reads every contract of a text.
pub(super) fn load_text(text: &[u8], syntax: Syntax, file: Option<&Arc<str>>, options: &LoadOptions) -> Vec<Compiled> {
    match read(text, syntax) {
        Ok(documents) => documents.into_iter().flat_map(|document| load_listing(document, file, options)).collect(),
        Err(error) => vec![unread(vec![error.note(file)], file, 1)],
    }
}

fn load_listing(document: Marked, file: Option<&Arc<str>>, options: &LoadOptions) -> Vec<Compiled> {
    let place = |line| file.map(|file| Place { file: Arc::clone(file), line });
    let first_line = document.lines.line;
    let Listing { mut found, defaults, notes } = listing(document);
    let mut notes: Vec<Note> = notes.into_iter().map(|(note, line)| Note { place: place(line), ..note }).collect();
    let defaults = defaults.map(|defaults| read_defaults(&defaults, &place, &mut notes)).unwrap_or_default();
    let terms = Terms {
        defaults,
        of_document: broken_document(&notes),
        execute: &options.execute,
        profile: options.profile,
        author: options.author,
        file,
    };
    if options.author == Author::Host && found.len() > MOST_TOOLS {
        let message = format!("{} tools, of at most {MOST_TOOLS}: the others are left out; send fewer", found.len());
        notes.push(Note::error("too_many_tools", Pointer::root().join("tools"), message));
        found.truncate(MOST_TOOLS);
    }
    let mut contracts = on_all_cores(found, |found| {
        let place = place(found.contract.lines.line);
        Compiled { outcome: compile(found, &terms), place }
    });
    if !notes.is_empty() {
        contracts.push(unread(notes, file, first_line));
    }
    contracts
}

/// What each tool of a broken document is told. The errors themselves are told once: there may be many of both.
fn broken_document(notes: &[Note]) -> Option<Note> {
    let errors = notes.iter().filter(|note| note.severity == Severity::Error);
    let count: usize = errors.clone().map(|note| note.count).sum();
    let place = errors.clone().next()?.place.clone();
    let plural = if count == 1 { "" } else { "s" };
    let message = format!(
        "the document around it has {count} error{plural}, and none of its tools serves: see the remarks on the document"
    );
    Some(Note { place, ..Note::error("broken_document", Pointer::root(), message) })
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

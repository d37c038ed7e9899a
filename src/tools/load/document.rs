//! From the text of a document to compiled contracts, each under the terms of its document.

use std::sync::Arc;

use super::{LoadOptions, cores::on_all_cores};
use crate::{
    document::{Marked, Note, Place, Severity, Split, Syntax, capped, read, split},
    json::{Json, Pointer},
    tools::{
        Author,
        catalog::Compiled,
        contract::{DEFAULTS, FORMAT, Terms, compile, executor::executor, format::Defaults},
        foreign::{Listing, TOOLS, listing},
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
    let report = ContractReport {
        name: "".into(),
        place: place.clone(),
        status: Status::of(&notes),
        dialect: None,
        notes,
        lints: Vec::new(),
    };
    Compiled { outcome: Err(Box::new(report)), place }
}

/// Reads every contract of a text: those of a long list one by one.
pub(super) fn load_text(text: &[u8], syntax: Syntax, file: Option<&Arc<str>>, options: &LoadOptions) -> Vec<Compiled> {
    one_by_one(text, syntax, file, options).unwrap_or_else(|| whole(text, syntax, file, options))
}

/// `None`: the text is no long list, or must be read as a whole to say what is wrong with it.
fn one_by_one(text: &[u8], syntax: Syntax, file: Option<&Arc<str>>, options: &LoadOptions) -> Option<Vec<Compiled>> {
    let Split { around, items } = split(text, syntax, TOOLS)?;
    // Those that are too many are not compiled, and so nobody would read them.
    if options.author == Author::Host && items.len() > MOST_TOOLS {
        return None;
    }
    load_listing(listing(around, items), file, options)
}

fn whole(text: &[u8], syntax: Syntax, file: Option<&Arc<str>>, options: &LoadOptions) -> Vec<Compiled> {
    match read(text, syntax) {
        Ok(documents) => {
            let listings = documents.into_iter().map(|document| listing(document, Vec::new()));
            listings.filter_map(|listing| load_listing(listing, file, options)).flatten().collect()
        }
        Err(error) => vec![unread(vec![error.note(file)], file, 1)],
    }
}

/// `None`: one of the contracts, which was not read yet, cannot be read.
fn load_listing(listing: Listing<'_>, file: Option<&Arc<str>>, options: &LoadOptions) -> Option<Vec<Compiled>> {
    let place = |line| file.map(|file| Place { file: Arc::clone(file), line });
    let Listing { mut entries, foreign, defaults, notes, first_line } = listing;
    let mut notes: Vec<Note> = notes.into_iter().map(|(note, line)| Note { place: place(line), ..note }).collect();
    let defaults = defaults.map(|defaults| read_defaults(&defaults, &place, &mut notes)).unwrap_or_default();
    let terms = Terms {
        defaults,
        of_document: broken_document(&notes),
        execute: &options.execute,
        profile: options.profile,
        author: options.author,
        schemas: &options.schemas,
        lint: options.lint,
        file,
    };
    if options.author == Author::Host && entries.len() > MOST_TOOLS {
        let message = format!("{} tools, of at most {MOST_TOOLS}: the others are left out; send fewer", entries.len());
        notes.push(Note::error("too_many_tools", Pointer::root().join("tools"), message));
        entries.truncate(MOST_TOOLS);
    }
    let compiled = on_all_cores(entries, |entry| {
        let place = place(entry.line());
        Some(Compiled { outcome: compile(entry.found(foreign)?, &terms), place })
    });
    let mut contracts: Vec<Compiled> = compiled.into_iter().collect::<Option<_>>()?;
    if !notes.is_empty() {
        contracts.push(unread(notes, file, first_line));
    }
    Some(contracts)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::catalog::Catalog;

    /// What a text gives when its list is read one by one, if it can be, and what it gives as a whole.
    fn both(text: &str, author: Author) -> (Option<String>, String) {
        let options = LoadOptions { author, ..LoadOptions::default() };
        let file: Arc<str> = "tools.json".into();
        let said = |compiled| format!("{:#?}", Catalog::of(compiled).reports);
        let (text, file) = (text.as_bytes(), Some(&file));
        let split = one_by_one(text, Syntax::Json, file, &options).map(said);
        (split, said(whole(text, Syntax::Json, file, &options)))
    }

    /// A list of tools over several lines, with one item of its own in the middle.
    fn tools(count: usize, special: &str) -> String {
        let tool = |number| {
            let schema = r#"{"type":"object","properties":{"a,]}\"":{"enum":["[","\\"]}}}"#;
            let tool = format!("{{\n\"name\": \"t{number}\",\n\"inputSchema\": {schema}}}");
            if number == count / 2 && !special.is_empty() { special.to_owned() } else { tool }
        };
        (0..count).map(tool).collect::<Vec<_>>().join("\n, ")
    }

    #[test]
    fn a_long_list_says_the_same_whether_it_is_read_one_by_one_or_as_a_whole() {
        for special in [
            "",
            r#"{"name":"t1","inputSchema":{}}"#,
            r#"{"name":"x","inputSchema":{"$ref":"y"},"unknown":1}"#,
            r#"{"type":"function","function":{"name":"é","parameters":{"type":"string"}}}"#,
        ] {
            let tools = tools(700, special);
            for text in [
                format!("[{tools}]"),
                format!(" {{\n\"tools\":\n[{tools}\n]}}"),
                format!("{{\"defaults\":{{\"arguments\":{{\"x\":1}}}},\n\"tools\":[{tools}],\n\"other\":1}}"),
                format!("{{\"tools\":[{tools}],\"nextCursor\":\"n\"\n}}\n"),
            ] {
                let (split, whole) = both(&text, Author::Operator);
                assert_eq!(split.as_deref(), Some(whole.as_str()), "{text:.60}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_one_by_one_is_read_as_a_whole() {
        let fine = tools(1_001, "");
        for text in [
            format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"tools\":[{fine}]}}}}"),
            format!("{{\"name\":\"t\",\"parameters\":{{\"enum\":[{fine}]}}}}"),
            format!("[{fine},1]"),
            format!("[{fine},]"),
            format!("[{fine}]]"),
            format!("[{fine}"),
            format!("{{\"tools\":[{fine}],\"tools\":[]}}"),
            format!("{{\"tools\":[{fine}] \"x\":1}}"),
            format!("[{}]", tools(1_000, "{\"name\":}")),
            format!("[{}]", tools(1_000, "{\"name\":\"\\ud800\"}")),
            format!("[{}]", tools(1_000, "{]")),
            format!("[{}]", tools(1_000, &format!("{}{}", "{\"a\":".repeat(127), "}".repeat(127)))),
        ] {
            assert_eq!(both(&text, Author::Operator).0, None, "{text:.60}");
        }
        assert_eq!(both(&format!("[{fine}]"), Author::Host).0, None, "too many of a host are counted");
    }
}

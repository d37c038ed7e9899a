//! The official JSON-Schema-Test-Suite, draft 7 and 2020-12.

mod calls;

use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolbooth::{
    json::Json,
    tools::{Note, Schema, SchemaOptions},
};

use super::{GENERIC, corpus, count, json, read};

/// Tests of groups that compile, and that the booth judges otherwise: file, group, and why.
const EXCEPTIONS: [[&str; 3]; 1] = [[
    "vocabulary.json",
    "schema that uses custom metaschema with with no validation vocabulary",
    "the metaschema is a remote document, never fetched: an unknown dialect is read as 2020-12, with a warning (rule V1)",
]];

/// Files of optional groups that are not asked, and why.
const NOT_ASKED: [[&str; 2]; 4] = [
    ["optional/cross-draft.json", "it refers to remote documents"],
    ["optional/format/idn-email.json", "the validator is built without internationalised names: unknown, so ignored"],
    ["optional/format/idn-hostname.json", "likewise"],
    ["optional/format-assertion.json", "the metaschema is remote, and formats are the contract's choice (rule V1)"],
];

/// Files where an explanation may be generic: only the validator follows references by address into embedded `$id`s, to the
/// metaschemas, and to whichever resource came this way.
const EXPLAINED_WHOLE: [&str; 7] = [
    "anchor.json",
    "definitions.json",
    "defs.json",
    "dynamicRef.json",
    "ref.json",
    "unevaluatedItems.json",
    "unevaluatedProperties.json",
];

#[derive(Deserialize)]
struct Group<'a> {
    draft: String,
    file: String,
    optional: bool,
    #[serde(rename = "group")]
    title: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    tests: Vec<Test<'a>>,
}

#[derive(Deserialize)]
struct Test<'a> {
    d: String,
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

impl Group<'_> {
    fn source(&self) -> Json {
        let mut source = json(self.schema.get());
        // The suite leaves the dialect of draft 7 to whoever runs it.
        if let Some(keywords) = source.as_object_mut().filter(|_| self.draft == "draft7") {
            let address = Json::from("http://json-schema.org/draft-07/schema#");
            keywords.entry("$schema".into()).or_insert(address);
        }
        source
    }

    fn compile(&self, formats: bool) -> Result<Schema, Vec<Note>> {
        Schema::compile(&self.source(), SchemaOptions { formats, ..SchemaOptions::default() }).map(|(schema, _)| schema)
    }
}

#[test]
fn required_groups_of_the_official_suite_that_need_no_remote_document_agree() {
    let Some(text) = corpus("json-schema-test-suite.jsonl") else { return };
    let Some(remotes) = corpus("json-schema-test-suite-remotes.json") else { return };
    let start = Instant::now();
    let (remotes, groups) = (json(&remotes), read::<Group<'_>>(&text));
    let (mut remote, mut judged, mut different, mut generic) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for group in groups.iter().filter(|group| !group.optional) {
        let schema = match group.compile(false) {
            Ok(schema) => schema,
            Err(notes) => {
                assert_needs_remote(group, &notes, &remotes);
                remote.push(&group.file);
                continue;
            }
        };
        for test in &group.tests {
            judged.push(&group.draft);
            if schema.is_valid(&json(test.data.get())) != test.valid {
                different.push([&*group.file, &*group.title]);
            }
            if is_generic(&schema, &json(test.data.get())) {
                assert!(EXPLAINED_WHOLE.contains(&&*group.file), "{} {} {}", group.file, group.title, test.d);
                generic.push(&group.file);
            }
        }
    }
    assert_eq!(different, EXCEPTIONS.map(|[file, group, _]| [file, group]));
    assert!(judged.len() > 2_000, "the suite has its tests: {}", judged.len());
    println!("{:?} tests agree but for {} in {:?}", count(&judged), different.len(), start.elapsed());
    println!("{} groups need a remote document: {:?}", remote.len(), count(&remote));
    println!("{} explanations are generic: {:?}", generic.len(), count(&generic));
}

#[test]
fn optional_groups_of_the_official_suite_agree_formats_included() {
    let Some(text) = corpus("json-schema-test-suite.jsonl") else { return };
    let mut judged = Vec::new();
    let (groups, not_asked): (Vec<_>, Vec<_>) = read::<Group<'_>>(&text)
        .into_iter()
        .filter(|group| group.optional)
        .partition(|group| !NOT_ASKED.iter().any(|[file, _]| *file == group.file));
    for group in &groups {
        let schema = group.compile(group.file.starts_with("optional/format/")).unwrap();
        for test in &group.tests {
            let place = format!("{} {} | {} | {}", group.draft, group.file, group.title, test.d);
            assert_eq!(schema.is_valid(&json(test.data.get())), test.valid, "{place}");
            is_generic(&schema, &json(test.data.get()));
            judged.push(&group.draft);
        }
    }
    println!("{:?} optional tests agree; {} groups were not asked", count(judged), not_asked.len());
}

/// An explanation is there if and only if the value is refused. Whether it says no more than that.
fn is_generic(schema: &Schema, value: &Json) -> bool {
    let explanation = schema.explain(value);
    assert_eq!(explanation.count == 0, schema.is_valid(value));
    assert_eq!(explanation.count == 0, explanation.violations.is_empty());
    explanation.violations.iter().any(|violation| violation.message == GENERIC)
}

/// A group is left out only because it needs one of the suite's remote documents, and is told so.
fn assert_needs_remote(group: &Group<'_>, notes: &[Note], remotes: &Json) {
    let names_one = |note: &Note| remotes.as_object().unwrap().keys().any(|address| note.message.contains(&**address));
    let place = format!("{} {} {notes:?}", group.file, group.title);
    assert!(notes.iter().all(|note| note.code == "remote_reference" && names_one(note)), "{place}");
}

//! Every schema of the corpus, loaded under `strict`.

use std::{num::NonZero, thread, time::Instant};

use toolbooth::tools::{ContractReport, Status};

use super::{SchemaLine, corpus, count, load, read};

/// Whose schemas are no JSON Schema: Gemini's requests spell the types in upper case.
const BROKEN: [&str; 1] = ["pydantic-ai/cassettes"];

#[test]
fn every_valid_schema_of_the_corpus_loads_and_the_others_are_told_the_remedy() {
    let Some(text) = corpus("schemas.jsonl") else { return };
    let start = Instant::now();
    let schemas: Vec<SchemaLine<'_>> = read(&text);
    let reports = load_all(&schemas);
    assert_eq!(reports.len(), schemas.len());
    for (schema, report) in schemas.iter().zip(&reports) {
        assert_eq!(*report.name, *schema.name());
        let place = format!("{} {}: {:?}", schema.source, schema.name(), report.notes);
        if !has_upper_case_type(schema) {
            assert_ne!(report.status, Status::Quarantined, "{place}");
            continue;
        }
        assert_eq!(report.status, Status::Quarantined, "{place}");
        assert!(BROKEN.contains(&&*schema.source), "{place}");
        for note in &report.notes {
            assert!(note.path.to_string().ends_with("/type") && note.message.contains(": write `"), "{place}");
        }
    }
    println!("{} schemas in {:?}", schemas.len(), start.elapsed());
    println!("status: {:?}", count(reports.iter().map(|report| report.status.as_str())));
    println!("dialect: {:?}", count(reports.iter().map(|report| report.dialect.unwrap_or("not read"))));
    println!("notes: {:?}", count(reports.iter().flat_map(|report| &report.notes).map(|note| note.code)));
    let quarantined = reports.iter().filter(|report| report.status == Status::Quarantined).count();
    assert_eq!((schemas.len() - quarantined, quarantined), (8_635, 7));
}

/// What became of each, in order.
fn load_all(schemas: &[SchemaLine<'_>]) -> Vec<ContractReport> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let parts = schemas.chunks(schemas.len().div_ceil(threads).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || load(part).reports)).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn has_upper_case_type(schema: &SchemaLine<'_>) -> bool {
    let text: String = schema.schema.get().split_whitespace().collect();
    text.split(r#""type":""#).skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

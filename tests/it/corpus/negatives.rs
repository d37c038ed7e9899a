//! Arguments that break their schema on purpose.

use std::time::Instant;

use toolbooth::tools::Entry;

use super::{CallLine, GENERIC, SchemaLine, corpus, count, json, load, read, referred};

#[test]
fn arguments_that_break_their_schema_on_purpose_are_refused_with_a_place_and_a_word() {
    let (Some(negatives), Some(schemas)) = (corpus("negatives.jsonl"), corpus("schemas.jsonl")) else { return };
    let start = Instant::now();
    let schemas: Vec<SchemaLine<'_>> = read(&schemas);
    let calls: Vec<CallLine<'_>> = read(&negatives);
    assert!(calls.len() > 1_000, "the corpus has its negatives: {}", calls.len());
    let catalog = load(referred(&schemas, &calls)).catalog;
    let mut keywords = Vec::new();
    for call in &calls {
        let place = format!("{} {} {}", call.source, call.name(), call.text());
        let Some(Entry::Served(tool)) = catalog.get(&call.name()) else { panic!("{place}: not served") };
        let value = json(call.text());
        assert!(!tool.input.is_valid(&value), "{place}");
        let explanation = tool.input.explain(&value);
        assert!(explanation.count >= 1 && !explanation.violations.is_empty(), "{place}");
        for violation in &explanation.violations {
            let said = format!("{place}: {violation:?}");
            assert_ne!(violation.message, GENERIC, "{said}");
            let at = violation.path.find(&value).unwrap_or_else(|| panic!("{said}: the place is in the arguments"));
            if let Some(name) = &violation.property {
                let is_missing = violation.message == "missing" || violation.message.starts_with("required when");
                assert_eq!(at.get(name).is_none(), is_missing, "{said}");
            } else {
                assert_eq!(violation.actual, Some(at.kind()), "{said}");
            }
            keywords.push(violation.keyword);
        }
    }
    println!("{} negatives in {:?}, none accepted, no generic explanation", calls.len(), start.elapsed());
    println!("violations: {:?}", count(keywords));
}

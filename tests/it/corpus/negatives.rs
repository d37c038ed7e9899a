//! Arguments that break their schema on purpose.

use std::time::Instant;

use toolbooth::{
    json::{Json, Number, ParseLimits, parse},
    tools::Entry,
};

use super::{CallLine, GENERIC, SchemaLine, contract_name, corpus, count, json, load, read, referred};
use crate::stages::{check_bytes, tool};

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

#[test]
fn under_safe_none_of_them_runs_that_loses_anything() {
    let (Some(negatives), Some(schemas)) = (corpus("negatives.jsonl"), corpus("schemas.jsonl")) else { return };
    let schemas: Vec<SchemaLine<'_>> = read(&schemas);
    let calls: Vec<CallLine<'_>> = read(&negatives);
    let (mut ran, mut ops) = (0, Vec::new());
    for call in &calls {
        let of_call = |schema: &&SchemaLine<'_>| contract_name(&schema.tool, Some(&schema.id)) == call.name();
        let schema = schemas.iter().find(of_call).unwrap();
        let scope = tool(schema.schema.get(), r#""profile":"safe""#);
        let Ok(checked) = check_bytes(&scope, call.text().as_bytes()) else { continue };
        let place = format!("{} {} {}: {:?}", call.source, call.name(), call.text(), checked.repairs);
        ran += 1;
        assert!(!checked.repairs.is_empty() && checked.repairs.iter().all(|repair| !repair.lossy), "{place}");
        keeps(&json(call.text()), &checked.arguments, &place);
        ops.extend(checked.repairs.iter().map(|repair| repair.op));
    }
    println!("{} negatives under `safe`: {ran} were converted without loss, the others refused", calls.len());
    println!("operations: {:?}", count(ops));
}

/// Judges by itself what was lost between two values, and knows nothing of how the one became the other.
fn keeps(before: &Json, after: &Json, place: &str) {
    match (before, after) {
        (Json::Object(sent), Json::Object(kept)) => {
            for (name, value) in sent.iter() {
                let same = |other: &&std::sync::Arc<str>| folded(other) == folded(name);
                match kept.keys().find(same) {
                    Some(found) => keeps(value, &kept[&**found], place),
                    // Only what means nothing may be gone.
                    None => assert!(means_nothing(value), "{place}: `{name}` is gone"),
                }
            }
            let invented = kept.keys().find(|name| !sent.keys().any(|other| folded(other) == folded(name)));
            assert_eq!(invented, None, "{place}");
        }
        (Json::Array(sent), Json::Array(kept)) if sent.len() == kept.len() => {
            sent.iter().zip(kept).for_each(|(sent, kept)| keeps(sent, kept, place));
        }
        (sent, Json::Array(kept)) if kept.len() == 1 => keeps(sent, &kept[0], place),
        (Json::Array(sent), kept) if sent.len() == 1 => keeps(&sent[0], kept, place),
        (Json::String(text), kept @ (Json::Array(_) | Json::Object(_))) => keeps(&json(text), kept, place),
        (Json::Number(sent), Json::Number(kept)) => assert_eq!(sent, kept, "{place}"),
        (Json::String(text), Json::Number(kept)) => assert_eq!(number(text).as_ref(), Some(kept), "{place}"),
        (Json::Number(sent), Json::String(text)) => assert_eq!(number(text).as_ref(), Some(sent), "{place}"),
        (Json::String(text), Json::Bool(kept)) => {
            assert_eq!(text.trim().to_lowercase(), kept.to_string(), "{place}");
        }
        (Json::Bool(sent), Json::String(text)) => assert_eq!(sent.to_string(), **text, "{place}"),
        (Json::String(sent), Json::String(kept)) => assert_eq!(folded(sent), folded(kept), "{place}"),
        (sent, Json::Null) => assert!(means_nothing(sent), "{place}: null is invented"),
        (sent, kept) => assert_eq!(sent, kept, "{place}"),
    }
}

fn means_nothing(value: &Json) -> bool {
    matches!(value, Json::Null) || value.as_str().is_some_and(|text| ["", "null", "None", "undefined"].contains(&text))
}

fn folded(name: &str) -> String {
    name.to_lowercase().replace(['-', '_', '.', ' '], "")
}

fn number(text: &str) -> Option<Number> {
    parse(text.as_bytes(), &ParseLimits::wide()).ok()?.as_number().cloned()
}

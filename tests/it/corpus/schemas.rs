//! Every schema of the corpus, loaded under `strict` and under `safe`.

use std::{
    num::NonZero,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use toolbooth::tools::{
    ContractReport, LINTS, LoadOptions, Note, PROVIDER_KEYWORDS, ProviderKeyword, Severity, Status, load_document,
};

use super::{SchemaLine, corpus, count, read};

/// Whose schemas are no JSON Schema: Gemini's requests spell the types in upper case.
const BROKEN: [&str; 1] = ["pydantic-ai/cassettes"];

#[test]
fn every_valid_schema_of_the_corpus_loads_and_the_others_are_told_the_remedy_or_read_as_what_they_mean() {
    let Some(text) = corpus("schemas.jsonl") else { return };
    let schemas: Vec<SchemaLine<'_>> = read(&text);
    let of_strict = load_all(&schemas, "strict");
    let of_safe = load_all(&schemas, "safe");
    for ((schema, strict), safe) in schemas.iter().zip(&of_strict).zip(&of_safe) {
        assert_eq!((&*strict.name, &*safe.name), (&*schema.name(), &*schema.name()));
        if has_upper_case_type(schema) {
            assert!(BROKEN.contains(&&*schema.source), "{} {}", schema.source, schema.name());
            is_told_the_remedy(strict);
            is_read_as_what_it_means(safe);
        } else {
            assert_ne!(strict.status, Status::Quarantined, "{} {:?}", schema.source, strict);
            assert_eq!(strict.status, safe.status, "{} {}", schema.source, schema.name());
        }
    }
    let quarantined =
        |reports: &[ContractReport]| reports.iter().filter(|report| report.status == Status::Quarantined).count();
    assert_eq!((schemas.len(), quarantined(&of_strict), quarantined(&of_safe)), (8_642, 7, 0));
}

fn is_told_the_remedy(report: &ContractReport) {
    assert_eq!(report.status, Status::Quarantined, "{report:?}");
    for note in &report.notes {
        let is_of_type = note.path.to_string().ends_with("/type");
        assert!(is_of_type && note.code == "broken_schema" && note.message.contains(": write `"), "{report:?}");
    }
}

fn is_read_as_what_it_means(report: &ContractReport) {
    assert_eq!(report.status, Status::AcceptedWithWarning, "{report:?}");
    for note in report.notes.iter().filter(|note| note.severity != Severity::Info) {
        let is_of_type = note.path.to_string().ends_with("/type");
        assert!(is_of_type && note.code == "upper_case_type" && note.message.contains(": write `"), "{report:?}");
    }
}

/// What became of each, in order.
fn load_all(schemas: &[SchemaLine<'_>], profile: &str) -> Vec<ContractReport> {
    let start = Instant::now();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let load = |part: &[SchemaLine<'_>]| {
        let contracts: Vec<String> = part.iter().map(|schema| schema.contract_under(profile)).collect();
        load_document(format!(r#"{{"tools":[{}]}}"#, contracts.join(",")).as_bytes(), &LoadOptions::default()).reports
    };
    let reports: Vec<_> = thread::scope(|scope| {
        let parts = schemas.chunks(schemas.len().div_ceil(threads).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || load(part))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert_eq!(reports.len(), schemas.len());
    println!("{profile}: {} schemas in {:?}", schemas.len(), start.elapsed());
    println!("  status: {:?}", count(reports.iter().map(|report| report.status.as_str())));
    println!("  dialect: {:?}", count(reports.iter().map(|report| report.dialect.unwrap_or("not read"))));
    println!("  notes: {:?}", count(reports.iter().flat_map(|report| &report.notes).map(|note| note.code)));
    reports
}

#[test]
fn every_schema_of_the_corpus_is_linted_and_no_lint_takes_long_or_finds_something_everywhere() {
    let Some(text) = corpus("schemas.jsonl") else { return };
    let schemas: Vec<SchemaLine<'_>> = read(&text);
    let contracts: Vec<String> = schemas.iter().map(|schema| schema.contract_under("safe")).collect();
    let start = Instant::now();
    let options = LoadOptions { lint: true, ..LoadOptions::default() };
    let reports = load_document(format!(r#"{{"tools":[{}]}}"#, contracts.join(",")).as_bytes(), &options).reports;
    // Generous: this is an unoptimised build on a shared machine.
    assert!(start.elapsed() < Duration::from_mins(2), "{:?}", start.elapsed());
    println!("{} schemas linted in {:?}", reports.len(), start.elapsed());
    for lint in LINTS {
        let tools = reports.iter().filter(|report| report.lints.iter().any(|note| note.code == lint.code)).count();
        let of_lint = |note: &&Note| note.code == lint.code;
        let findings: usize =
            reports.iter().flat_map(|report| &report.lints).filter(of_lint).map(|note| note.count).sum();
        println!("{findings:6} in {tools:5} tools: {:?} {}", lint.severity, lint.code);
        // The contracts of this test say nothing beside their schemas, and have long names.
        let is_of_test = ["no_tool_description", "tool_name"].contains(&lint.code);
        let is_rare = lint.severity == Severity::Info || tools * 10 < reports.len();
        assert!(is_of_test || is_rare, "a warning in {tools} of {} tools is no warning: {}", reports.len(), lint.code);
    }
}

/// Statuses of `strict-rules.json` that mean that nobody enforces what the keyword says.
const IGNORED: [&str; 5] = ["dropped", "ignored-or-unknown", "not-enforced", "folded-into-description", "rewritten"];

#[test]
fn what_is_said_of_providers_is_what_was_measured_and_read() {
    let Some(text) = corpus("strict-rules.json") else { return };
    let rules: Value = serde_json::from_str(&text).unwrap();
    for ProviderKeyword { keyword, refused_by, ignored_by } in PROVIDER_KEYWORDS {
        let case = match keyword {
            "additionalProperties" => "additionalProperties:schema",
            "if" => "if/then/else",
            "multipleOf" => "multipleOf(int)",
            "oneOf" => "oneOf(overlapping)",
            "unevaluatedProperties" => "unevaluatedProperties:false",
            keyword => keyword,
        };
        for (name, target) in [
            ("OpenAI", "openai_strict"),
            ("Anthropic", "anthropic_strict"),
            ("Gemini", "gemini_parametersJsonSchema"),
            ("llguidance", "llguidance"),
            ("Outlines", "outlines_core"),
            ("XGrammar", "xgrammar_strict_mode"),
        ] {
            let status = rules["keywords"][case][target]["status"].as_str().unwrap();
            let said = (refused_by.contains(&name), ignored_by.contains(&name));
            assert_eq!(said, (status == "error", IGNORED.contains(&status)), "{keyword} {name}: {status}");
        }
    }
}

fn has_upper_case_type(schema: &SchemaLine<'_>) -> bool {
    let text: String = schema.schema.get().split_whitespace().collect();
    text.split(r#""type":""#).skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

//! The stages of one call, in this process: where the time of a preflight goes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench whose case is broken has nothing to measure")]

use std::{collections::BTreeMap, sync::Arc};

use divan::{Bencher, black_box};
use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits, parse},
    pipeline::{Scope, check},
    result::Trace,
    tools::{Catalog, Entry, LoadOptions, Profile, Tool, load_files},
};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/case/report_bug.yaml");
const VALID: &str = include_str!("case/arguments.json");

fn main() {
    divan::main();
}

fn catalog() -> Catalog {
    load_files(&[CONTRACT.into()], &LoadOptions::default()).catalog
}

fn tool() -> Arc<Tool> {
    let Some(Entry::Served(tool)) = catalog().get("report_bug").cloned() else { panic!("{CONTRACT} does not serve") };
    tool
}

fn value() -> Json {
    parse(VALID.as_bytes(), &ParseLimits::default()).unwrap()
}

/// From the model's text to valid arguments, or to the error that it reads.
fn bench_check(bencher: Bencher<'_, '_>, arguments: String) {
    let scope = Scope {
        catalog: catalog(),
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile: Profile::default(),
    };
    let call = ToolCall {
        index: 0,
        id: "c0".into(),
        name: "report_bug".into(),
        arguments: arguments.into(),
        idempotency_key: None,
    };
    bencher.bench(|| check(&scope, black_box(&call), &mut Trace::default()));
}

#[divan::bench]
fn a_parse() -> Json {
    parse(black_box(VALID.as_bytes()), &ParseLimits::default()).unwrap()
}

#[divan::bench]
fn b_is_valid(bencher: Bencher<'_, '_>) {
    let (tool, value) = (tool(), value());
    bencher.bench(|| tool.input.is_valid(black_box(&value)));
}

#[divan::bench]
fn c_serialise(bencher: Bencher<'_, '_>) {
    let value = value();
    bencher.bench(|| black_box(&value).to_text());
}

#[divan::bench]
fn d_whole_check(bencher: Bencher<'_, '_>) {
    bench_check(bencher, VALID.to_owned());
}

#[divan::bench]
fn e_whole_check_of_an_invalid_call(bencher: Bencher<'_, '_>) {
    bench_check(bencher, VALID.replace(r#""priority":2"#, r#""priority":"high""#));
}

#[divan::bench]
fn f_whole_check_of_a_number_sent_as_text(bencher: Bencher<'_, '_>) {
    bench_check(bencher, VALID.replace(r#""priority":2"#, r#""priority":"2""#));
}

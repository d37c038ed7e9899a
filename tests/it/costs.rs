//! What costs much by design of whoever sent it ends soon, in an error (rules V2 and V3).
//!
//! No speed is meant by the bound here: it is an unoptimised build on a shared machine. Each pair is printed with its time, and
//! `make bench` shows that an optimised build takes at most 50 ms for each.

pub(crate) mod pairs;

use std::{
    thread,
    time::{Duration, Instant},
};

use toolbooth::{
    json::Json,
    pipeline,
    refusal::Refusal,
    result::Trace,
    tools::{Profile, STACK_BYTES, Schema, SchemaOptions},
};

use crate::stages::{call, scope};
use pairs::Pair;

/// Generous: each took minutes, or the stack, before it was bounded.
const PATIENCE: Duration = Duration::from_secs(20);

/// Loads the tool and calls it; what came of it, and how long both took.
fn play(pair: &Pair, profile: Profile) -> (Result<(), Box<Refusal>>, [Duration; 2]) {
    let contract = format!(r#"{{"name":"t","parameters":{},"execute":{{"echo":{{}}}}}}"#, pair.schema);
    let start = Instant::now();
    let scope = scope(&contract, profile);
    let loading = start.elapsed();
    let call = call(pair.arguments.as_bytes());
    let start = Instant::now();
    let outcome = pipeline::check(&scope, &call, &mut Trace::default()).map(drop);
    (outcome, [loading, start.elapsed()])
}

/// Runs with the stack that every thread of the booth has.
fn on_the_booths_stack(run: impl FnOnce() + Send + 'static) {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap();
}

#[test]
fn v3_whatever_is_made_to_cost_much_ends_soon_in_an_error_under_every_profile() {
    on_the_booths_stack(|| {
        let mut accepted = Vec::new();
        for pair in pairs::all() {
            for profile in [Profile::Strict, Profile::Safe, Profile::Pi] {
                let (outcome, [loading, checking]) = play(&pair, profile);
                let Err(refusal) = outcome else {
                    accepted.push((pair.name, profile));
                    continue;
                };
                let code = (refusal.code.as_str(), refusal.reason.map_or("", |reason| reason.as_str()));
                println!("{loading:>10.1?} {checking:>10.1?} {profile:?} {}: {code:?}", pair.name);
                assert!(loading.max(checking) < PATIENCE, "{}: {loading:?} {checking:?}", pair.name);
                // pi shortens nothing.
                let is_short = profile == Profile::Pi || refusal.text.len() <= 4 << 10;
                assert!(!refusal.text.is_empty() && is_short, "{}: {}", pair.name, refusal.text.len());
            }
        }
        assert_eq!(accepted, []);
    });
}

#[test]
fn v2_a_schema_of_five_thousand_levels_that_was_built_in_memory_is_refused() {
    on_the_booths_stack(|| {
        let deep = (0..5_000).fold(Json::from(true), |inner, _| Json::object([("not", inner)]));
        let notes = Schema::compile(&deep, SchemaOptions::default()).map(drop).unwrap_err();
        assert_eq!(notes[0].code, "schema_too_deep");
    });
}

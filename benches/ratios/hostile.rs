//! What schemas and arguments take that are made to cost much (rule V3). The tests play the same ones.

#[path = "../../tests/it/costs/pairs.rs"]
mod pairs;

use std::{collections::BTreeMap, sync::Arc, thread};

use anyhow::{Result, anyhow, ensure};
use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits},
    pipeline::{Scope, check},
    result::Trace,
    tools::{LoadOptions, Profile, STACK_BYTES, load_document},
};

use super::{
    figures::{Goal, Row},
    server::cpu_of,
};
use pairs::Pair;

const PROFILES: [Profile; 3] = [Profile::Strict, Profile::Safe, Profile::Pi];
/// Each is played so many times, and the quickest counts: whatever else the machine does only makes it slower. It is CPU time,
/// of one thread that waits for nothing.
const TIMES: u32 = 3;
const MOST: f64 = 50.0;

pub(crate) fn rows() -> Result<Vec<Row>> {
    // On the stack of the threads that judge.
    let measuring = thread::Builder::new().stack_size(STACK_BYTES).spawn(measure)?;
    measuring.join().map_err(|_panic| anyhow!("a pair was too much for the stack"))?
}

fn measure() -> Result<Vec<Row>> {
    let pairs = pairs::all();
    let (mut loading, mut checking) = ((f64::MIN, ""), (f64::MIN, ""));
    for pair in &pairs {
        for profile in PROFILES {
            let (load, call) = quickest(pair, profile)?;
            println!("{}, {profile:?}: ms to load: {load:.2}, to check: {call:.2}", pair.name);
            loading = if load > loading.0 { (load, pair.name) } else { loading };
            checking = if call > checking.0 { (call, pair.name) } else { checking };
        }
    }
    let row = |what: &str, (slowest, name): (f64, &str)| {
        let what = format!("slowest of {} hostile pairs under each profile, {what}: {name}", pairs.len());
        Row::absolute("V3", what, slowest, "ms", Some(Goal::AtMost(MOST)))
    };
    Ok(vec![row("loaded", loading), row("checked", checking)])
}

fn quickest(pair: &Pair, profile: Profile) -> Result<(f64, f64)> {
    let (mut load, mut call) = (f64::MAX, f64::MAX);
    for _ in 0..TIMES {
        let (loading, checking) = play(pair, profile)?;
        (load, call) = (load.min(loading), call.min(checking));
    }
    Ok((load, call))
}

fn play(pair: &Pair, profile: Profile) -> Result<(f64, f64)> {
    let contract = format!(r#"{{"name":"t","parameters":{},"execute":{{"echo":{{}}}}}}"#, pair.schema);
    let before = cpu_of("self")?;
    let loaded = load_document(contract.as_bytes(), &LoadOptions { profile, ..LoadOptions::default() });
    let loading = (cpu_of("self")? - before) / 1e3;
    let scope = Scope {
        catalog: loaded.catalog,
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile,
    };
    let arguments = pair.arguments.clone().into();
    let call = ToolCall { index: 0, id: "c".into(), name: "t".into(), arguments, idempotency_key: None };
    let before = cpu_of("self")?;
    let outcome = check(&scope, &call, &mut Trace::default()).map(drop);
    let checking = (cpu_of("self")? - before) / 1e3;
    ensure!(outcome.is_err(), "{} is accepted", pair.name);
    Ok((loading, checking))
}

//! F4 and F5: what it costs to explain a refusal, and to coerce, over a call that is valid as it was sent.

use std::{collections::BTreeMap, hint::black_box, sync::Arc};

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use toolbooth::{
    call,
    executors::Executors,
    grpc::proto::{Batch, Delivery, ToolCall},
    json::{Json, ParseLimits, parse},
    pipeline::{Scope, check},
    result::Trace,
    tools::{LoadOptions, Profile, load_paths},
};

use super::{
    case,
    cores::{Core, Held},
    figures::{Goal, ROUNDS, Rounds, Row},
    load::Run,
    server::{Server, cpu_of},
};

/// Messages of a round over the stream, and calls in each.
const MESSAGES: u32 = 1_000;
const CALLS: u32 = 8;
/// Checks of a round in this process.
const CHECKS: u32 = 100_000;

/// The tool of every benchmark, and one with a union of eight.
const PLAIN: &str = "t0";
const UNION: &str = "draw";

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = refusals().await?;
    rows.extend(coercion()?);
    Ok(rows)
}

/// A tool and two texts: one that is valid, and one that is not.
struct Pair {
    what: &'static str,
    tool: &'static str,
    valid: Bytes,
    other: Bytes,
}

fn pairs() -> Result<[Pair; 2]> {
    let union = r#"{"shape":{"kind":"circle","x":1.5,"y":-2,"radius":3}}"#;
    Ok([
        Pair {
            what: "a field of the wrong kind",
            tool: PLAIN,
            valid: case::arguments()?,
            other: case::arguments_with(r#""labels":["#, r#""labels":[[],"#)?,
        },
        Pair { what: "8-way oneOf", tool: UNION, valid: union.into(), other: union.replace('3', "[]").into() },
    ])
}

/// F4: server CPU of refused calls, error text included, over that of calls that are executed.
async fn refusals() -> Result<Vec<Row>> {
    let tools = tempfile::tempdir()?;
    case::write_folder(tools.path(), 1, case::ECHO)?;
    case::write_union(tools.path())?;
    let pairs = pairs()?;
    let mut measured: [(Rounds, Rounds); 2] = Default::default();
    let held = Held::on_one_core()?;
    for _ in 0..ROUNDS {
        let booth = Server::booth(tools.path(), 2)?;
        held.place(booth.process(), Core::Own)?;
        for (pair, (valid, refused)) in pairs.iter().zip(&mut measured) {
            valid.0.push(cpu_of_calls(&booth, pair.tool, &pair.valid, false).await?);
            refused.0.push(cpu_of_calls(&booth, pair.tool, &pair.other, true).await?);
        }
    }
    let row = |(pair, (valid, refused)): (&Pair, &(Rounds, Rounds)), most| {
        println!("{}: server CPU us a valid call: {valid}", pair.what);
        println!("{}: server CPU us a refused call: {refused}", pair.what);
        Row {
            number: "F4",
            what: format!("server CPU of a refused call, {}, over that of a valid one", pair.what),
            booth: format!("{:.1} us", refused.median()),
            baseline: format!("{:.1} us", valid.median()),
            figure: refused.over(valid).median(),
            unit: "x",
            goal: Some(Goal::AtMost(most)),
        }
    };
    Ok(pairs.iter().zip(&measured).zip([2.0, 4.0]).map(|(pair, most)| row(pair, most)).collect())
}

async fn cpu_of_calls(booth: &Server, tool: &str, arguments: &Bytes, are_refused: bool) -> Result<f64> {
    let call = |number: u32| ToolCall {
        id: format!("c{number}"),
        name: tool.to_owned(),
        arguments: arguments.clone(),
        idempotency_key: String::new(),
    };
    let batch = Batch { calls: (0..CALLS).map(call).collect(), ..Batch::default() };
    let mut run = Run::open(&booth.connect().await?, Delivery::Batch).await?;
    if are_refused {
        run.expect_errors();
    }
    for _ in 0..MESSAGES / 8 {
        run.batch(batch.clone()).await?;
    }
    let before = booth.cpu()?;
    for _ in 0..MESSAGES {
        run.batch(batch.clone()).await?;
    }
    Ok((booth.cpu()? - before) / f64::from(MESSAGES * CALLS))
}

/// F5, in this process: checks under `strict` and `safe`, and the parse.
fn coercion() -> Result<Vec<Row>> {
    let tools = tempfile::tempdir()?;
    case::write_folder(tools.path(), 1, case::ECHO)?;
    let loaded = load_paths(&[tools.path().to_owned()], &LoadOptions::default())?;
    let scope = |profile| Scope {
        catalog: loaded.catalog.clone(),
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile,
    };
    let (strict, safe) = (scope(Profile::Strict), scope(Profile::Safe));
    let (valid, text) = (case::arguments()?, case::arguments_with(r#""priority":2"#, r#""priority":"2""#)?);
    let [mut parsed, mut as_sent, mut unchanged, mut changed] = <[Rounds; 4]>::default();
    for _ in 0..ROUNDS {
        parsed.0.push(cpu_of_parse(&valid)?);
        as_sent.0.push(cpu_of_checks(&strict, &valid, 0)?);
        unchanged.0.push(cpu_of_checks(&safe, &valid, 0)?);
        changed.0.push(cpu_of_checks(&safe, &text, 1)?);
    }
    println!("in process: CPU us of a parse: {parsed}");
    println!("in process: CPU us of a check under `strict`: {as_sent}");
    println!("in process: CPU us of a check under `safe` that changes nothing: {unchanged}");
    println!("in process: CPU us of a check under `safe` that makes a number of a text: {changed}");
    let added = changed.minus(&unchanged);
    let percent = Rounds(unchanged.over(&as_sent).0.iter().map(|ratio| (ratio - 1.0) * 100.0).collect());
    Ok(vec![
        Row {
            number: "F5",
            what: "coercion of a number sent as text, over the parse".to_owned(),
            booth: format!("{:.2} us", added.median()),
            baseline: format!("{:.2} us", parsed.median()),
            figure: added.over(&parsed).median(),
            unit: "x",
            goal: Some(Goal::AtMost(1.0)),
        },
        Row {
            number: "F5",
            what: "a check under `safe` that changes nothing, more than under `strict`".to_owned(),
            booth: format!("{:.2} us", unchanged.median()),
            baseline: format!("{:.2} us", as_sent.median()),
            figure: percent.median(),
            unit: "%",
            goal: Some(Goal::AtMost(5.0)),
        },
    ])
}

fn cpu_of_parse(text: &Bytes) -> Result<f64> {
    let (limits, before) = (ParseLimits::default(), cpu_of("self")?);
    for _ in 0..CHECKS {
        black_box(parse(text, &limits)?);
    }
    Ok((cpu_of("self")? - before) / f64::from(CHECKS))
}

/// Each check takes the arguments, with so many repairs.
fn cpu_of_checks(scope: &Scope, arguments: &Bytes, repairs: usize) -> Result<f64> {
    let (id, name, arguments) = ("c0".into(), PLAIN.into(), arguments.clone());
    let call = call::ToolCall { index: 0, id, name, arguments, idempotency_key: None };
    let before = cpu_of("self")?;
    for _ in 0..CHECKS {
        let mut trace = Trace::default();
        if let Err(refusal) = check(scope, black_box(&call), &mut trace) {
            bail!("a call was refused: {}", refusal.text);
        }
        ensure!(trace.repairs.len() == repairs, "{repairs} repairs, not {:?}", trace.repairs);
    }
    Ok((cpu_of("self")? - before) / f64::from(CHECKS))
}

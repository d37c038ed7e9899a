//! F8: memory at rest, under load, and after it.

use std::path::Path;

use anyhow::Result;
use tempfile::tempdir;
use toolbooth::grpc::proto::Delivery;

use super::{
    case,
    figures::{Goal, ROUNDS, Rounds, Row},
    load::{Run, Shape, drive},
    server::{Client, Server},
};

const TOOLS: u32 = 10;
/// As many as fit one message.
const IN_FLIGHT: u32 = 10_000;
/// Calls of a run, in batches of 8. A run remembers the ids of its batches, so a long load is many runs.
const RUN_CALLS: u32 = 1_000;
const BATCH_CALLS: u32 = 8;
const WARM_UP_RUNS: u32 = 10;
const RUNS: u32 = 100;

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let (echo, host) = (tempdir()?, tempdir()?);
    case::write_folder(echo.path(), TOOLS, case::ECHO)?;
    case::write_folder(host.path(), TOOLS, case::HOST)?;
    let (mut idle, mut flight, mut growth) = (Rounds::default(), Rounds::default(), Rounds::default());
    for _ in 0..ROUNDS {
        idle.0.push(Server::booth(echo.path(), TOOLS)?.resident()?);
        flight.0.push(in_flight(host.path()).await?);
        growth.0.push(growth_after_load(echo.path()).await?);
    }
    println!("resident MB, idle with {TOOLS} tools: {idle}");
    println!("resident MB, {IN_FLIGHT} calls in flight: {flight}");
    println!("growth of resident memory in % over {} calls: {growth}", RUNS * RUN_CALLS);
    let row = |what: String, rounds: &Rounds, unit, most| {
        Row::absolute("F8", what, rounds.median(), unit, Some(Goal::AtMost(most)))
    };
    Ok(vec![
        row(format!("resident, idle with {TOOLS} tools"), &idle, "MB", 12.0),
        row("resident, 10,000 calls in flight on a stream".to_owned(), &flight, "MB", 40.0),
        row("resident, growth over 100,000 calls in 100 runs".to_owned(), &growth, "%", 5.0),
    ])
}

/// Memory while the host holds back the answers to all calls.
async fn in_flight(tools: &Path) -> Result<f64> {
    let booth = Server::booth(tools, TOOLS)?;
    let mut run = Run::open(&booth.connect().await?, Delivery::Each).await?;
    run.hold(case::batch(IN_FLIGHT, TOOLS)?).await?;
    let resident = booth.resident()?;
    run.release(IN_FLIGHT).await?;
    Ok(resident)
}

/// How much more memory it has after the load than after the warm-up, in percent.
async fn growth_after_load(tools: &Path) -> Result<f64> {
    let booth = Server::booth(tools, TOOLS)?;
    let client = booth.connect().await?;
    load(&client, WARM_UP_RUNS).await?;
    let before = booth.resident()?;
    load(&client, RUNS).await?;
    Ok((booth.resident()? / before - 1.0) * 100.0)
}

async fn load(client: &Client, runs: u32) -> Result<()> {
    let batch = case::batch(BATCH_CALLS, TOOLS)?;
    for _ in 0..runs {
        drive(client, Shape::Runs(1, Delivery::Batch), &batch, RUN_CALLS / BATCH_CALLS).await?;
    }
    Ok(())
}

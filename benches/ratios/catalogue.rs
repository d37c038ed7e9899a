//! F9 and F10: what 10, 1,000 and 10,000 tools cost at the start, and what they cost a call.

use std::time::Instant;

use anyhow::Result;
use tempfile::tempdir;
use toolbooth::grpc::proto::Delivery;

use super::{
    case,
    figures::{Goal, ROUNDS, Rounds, Row, milliseconds, p50},
    load::{Run, Shape, drive},
    server::Server,
};

const SIZES: [u32; 3] = [10, 1_000, 10_000];
/// Tools that are used, of those that are many.
const USED: u32 = 100;
const HOT_CALLS: u32 = 2_000;

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = vec![cold_start(10, 20.0).await?, cold_start(1_000, 60.0).await?];
    rows.extend(sizes().await?);
    Ok(rows)
}

/// From the start of the process to the first answered call. Contracts are a folder with a file for each tool.
async fn cold_start(tools: u32, most: f64) -> Result<Row> {
    let folder = tempdir()?;
    case::write_folder(folder.path(), tools, case::ECHO)?;
    let mut rounds = Rounds::default();
    for _ in 0..ROUNDS {
        let call = case::batch(1, tools)?;
        let start = Instant::now();
        let booth = Server::booth(folder.path(), tools)?;
        Run::open(&booth.connect().await?, Delivery::Each).await?.batch(call).await?;
        rounds.0.push(milliseconds(start.elapsed()));
    }
    let what = format!("cold start to the first answered call, {tools} tools in as many files");
    println!("{what}: ms: {rounds}");
    Ok(Row::absolute("F9", what, rounds.median(), "ms", Some(Goal::AtMost(most))))
}

/// What was measured of a catalogue in one file.
#[derive(Default)]
struct Measured {
    ready: Rounds,
    hot: Rounds,
    resident: Rounds,
}

async fn sizes() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let mut measured: [Measured; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (size, measured) in SIZES.into_iter().zip(&mut measured) {
            let listing = folder.path().join(format!("{size}.json"));
            if !listing.exists() {
                case::write_listing(&listing, size)?;
            }
            let start = Instant::now();
            let booth = Server::booth(&listing, size)?;
            measured.ready.0.push(milliseconds(start.elapsed()));
            let client = booth.connect().await?;
            let one_run = Shape::Runs(1, Delivery::Each);
            drive(&client, one_run, &case::batch(1, 1)?, HOT_CALLS / 8).await?;
            measured.hot.0.push(p50(drive(&client, one_run, &case::batch(1, 1)?, HOT_CALLS).await?));
            Run::open(&client, Delivery::Batch).await?.batch(case::batch(USED, USED.min(size))?).await?;
            measured.resident.0.push(booth.resident()?);
        }
    }
    for (size, Measured { ready, hot, resident }) in SIZES.into_iter().zip(&measured) {
        println!("{size} tools in one file: ready after ms: {ready}");
        println!("{size} tools in one file: p50 us of a hot tool: {hot}");
        println!("{size} tools in one file: resident MB with {USED} of them used: {resident}");
    }
    let [few, many, most] = &measured;
    Ok(vec![
        Row {
            number: "F10",
            what: "p50 of a hot tool among 10,000, over that among 10".to_owned(),
            booth: format!("{:.1} us", most.hot.median()),
            baseline: format!("{:.1} us", few.hot.median()),
            figure: most.hot.over(&few.hot).median(),
            unit: "x",
            goal: Some(Goal::AtMost(1.1)),
        },
        Row::absolute("", "1,000 tools in one file: ready".to_owned(), many.ready.median(), "ms", None),
        Row::absolute(
            "F10",
            "10,000 tools in one file: ready".to_owned(),
            most.ready.median(),
            "ms",
            Some(Goal::AtMost(150.0)),
        ),
        Row::absolute(
            "F10",
            format!("10,000 tools: resident with {USED} of them used"),
            most.resident.median(),
            "MB",
            Some(Goal::AtMost(80.0)),
        ),
    ])
}

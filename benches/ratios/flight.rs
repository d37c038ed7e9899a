//! F12: what a call costs when it is one of many in flight. The calls are the host's own, which holds all of them back before it
//! answers the first: so they really are in flight together.

use anyhow::Result;
use tempfile::tempdir;
use toolbooth::grpc::proto::Delivery;

use super::{
    case,
    figures::{Goal, ROUNDS, Rounds, Row},
    load::Run,
    server::Server,
};

const TOOLS: u32 = 10;
const LEVELS: [u32; 5] = [1, 10, 100, 1_000, 10_000];
/// Calls of a round at each level.
const CALLS: u32 = 10_000;

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let tools = tempdir()?;
    case::write_folder(tools.path(), TOOLS, case::HOST)?;
    let mut measured: [Rounds; 5] = Default::default();
    for _ in 0..ROUNDS {
        for (level, cpu) in LEVELS.into_iter().zip(&mut measured) {
            let booth = Server::booth(tools.path(), TOOLS)?;
            let mut run = Run::open(&booth.connect().await?, Delivery::Each).await?;
            fly(&mut run, level, CALLS / 10).await?;
            let before = booth.cpu()?;
            fly(&mut run, level, CALLS).await?;
            cpu.0.push((booth.cpu()? - before) / f64::from(CALLS));
        }
    }
    for (level, cpu) in LEVELS.into_iter().zip(&measured) {
        println!("{level} host calls in flight: server CPU us a call: {cpu}");
    }
    let [.., hundred, _, ten_thousand] = &measured;
    Ok(vec![Row {
        number: "F12",
        what: "server CPU of a host call at 10,000 in flight, over that at 100".to_owned(),
        booth: format!("{:.1} us", ten_thousand.median()),
        baseline: format!("{:.1} us", hundred.median()),
        figure: ten_thousand.over(hundred).median(),
        unit: "x",
        goal: Some(Goal::AtMost(1.3)),
    }])
}

/// So many calls in all, and at least one flight.
async fn fly(run: &mut Run, level: u32, calls: u32) -> Result<()> {
    for _ in 0..(calls / level).max(1) {
        run.hold(case::batch(level, TOOLS)?).await?;
        run.release(level).await?;
    }
    Ok(())
}

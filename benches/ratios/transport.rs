//! F1 to F3: what the booth adds to a bare tonic server that is handed the same bytes.

use std::{hint::black_box, path::Path, time::Instant};

use anyhow::{Result, bail, ensure};
use toolbooth::{
    grpc::proto::Delivery,
    json::{ParseLimits, parse},
    tools::{Entry, LoadOptions, load_paths},
};

use super::{
    case,
    cores::{Core, Held},
    figures::{Goal, ROUNDS, Rounds, Row, p50},
    load::{Shape, drive},
    server::{Server, cpu_of},
};

const TOOLS: u32 = 10;

/// One way to send calls, to the booth and to the echo.
struct Case {
    what: &'static str,
    booth: Shape,
    echo: Shape,
    /// Calls in one message, to the booth and to the echo.
    calls: (u32, u32),
    /// Calls in a round.
    round: u32,
    goals: Goals,
}

/// Which goals the case is judged by.
#[derive(Clone, Copy)]
enum Goals {
    /// The latency of a message and its answer.
    Latency(&'static str, f64),
    /// F2: CPU over that of the echo, and throughput.
    Flight,
    None,
}

impl Case {
    /// With one message in flight, either the client works or the server does.
    fn core(&self) -> Core {
        if let Shape::Runs(1, _) | Shape::Unary(1) = self.echo { Core::Shared } else { Core::Own }
    }
}

const ONE_RUN: Shape = Shape::Runs(1, Delivery::Each);
/// Results of a batch that goes out in one message come back together.
const ONE_RUN_OF_BATCHES: Shape = Shape::Runs(1, Delivery::Batch);

const CASES: [Case; 7] = [
    Case {
        what: "stream, 1 in flight",
        booth: ONE_RUN,
        echo: ONE_RUN,
        calls: (1, 1),
        round: 3_000,
        goals: Goals::Latency("F1", 1.5),
    },
    // A run has one batch at a time. So there are two ways to have 64 calls in flight: in one message, which is for the echo
    // what 64 messages on one stream are, and in 64 runs.
    Case {
        what: "stream, 64 in flight in one message",
        booth: ONE_RUN_OF_BATCHES,
        echo: Shape::Window(64),
        calls: (64, 1),
        round: 19_200,
        goals: Goals::Flight,
    },
    Case {
        what: "stream, 64 in flight in 64 runs",
        booth: Shape::Runs(64, Delivery::Each),
        echo: Shape::Runs(64, Delivery::Each),
        calls: (1, 1),
        round: 19_200,
        goals: Goals::Flight,
    },
    Case {
        what: "stream, batch of 8 in one message",
        booth: ONE_RUN_OF_BATCHES,
        echo: ONE_RUN,
        calls: (8, 8),
        round: 8_000,
        goals: Goals::None,
    },
    Case {
        what: "stream, batch of 32 in one message",
        booth: ONE_RUN_OF_BATCHES,
        echo: ONE_RUN,
        calls: (32, 32),
        round: 16_000,
        goals: Goals::None,
    },
    Case {
        what: "unary, 1 in flight",
        booth: Shape::Unary(1),
        echo: Shape::Unary(1),
        calls: (1, 1),
        round: 2_000,
        goals: Goals::Latency("F3", 1.25),
    },
    Case {
        what: "unary, 64 in flight",
        booth: Shape::Unary(64),
        echo: Shape::Unary(64),
        calls: (1, 1),
        round: 12_800,
        goals: Goals::None,
    },
];

/// What a server did with a case, round by round.
#[derive(Default)]
struct Measured {
    /// Time of a message and its answer, in microseconds.
    p50: Rounds,
    /// Server CPU of a call, in microseconds.
    cpu: Rounds,
    /// Calls in a second.
    rate: Rounds,
}

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let tools = tempfile::tempdir()?;
    case::write_folder(tools.path(), TOOLS, case::ECHO)?;
    let mut measured: Vec<(Measured, Measured)> = CASES.iter().map(|_| Default::default()).collect();
    let mut floor = Rounds::default();
    let held = Held::on_one_core()?;
    for _ in 0..ROUNDS {
        let echo = Server::echo()?;
        for (case, (_, measured)) in CASES.iter().zip(&mut measured) {
            held.place(echo.process(), case.core())?;
            measure(&echo, case.echo, case.calls.1, case.round, measured).await?;
        }
        drop(echo);
        let booth = Server::booth(tools.path(), TOOLS)?;
        for (case, (measured, _)) in CASES.iter().zip(&mut measured) {
            held.place(booth.process(), case.core())?;
            measure(&booth, case.booth, case.calls.0, case.round, measured).await?;
        }
        drop(booth);
        floor.0.push(in_process(tools.path())?);
    }
    println!("in process, parse + is_valid + serialise: CPU us a call: {floor}");
    let rows = CASES.iter().zip(&measured).flat_map(|(case, (booth, echo))| rows_of(case, booth, echo, &floor));
    Ok(rows.collect())
}

async fn measure(server: &Server, shape: Shape, calls: u32, round: u32, measured: &mut Measured) -> Result<()> {
    let client = server.connect().await?;
    let batch = case::batch(calls, TOOLS)?;
    drive(&client, shape, &batch, round / calls / 8).await?;
    let (start, cpu) = (Instant::now(), server.cpu()?);
    let times = drive(&client, shape, &batch, round / calls).await?;
    let (took, cpu) = (start.elapsed(), server.cpu()? - cpu);
    measured.p50.0.push(p50(times));
    measured.cpu.0.push(cpu / f64::from(round));
    measured.rate.0.push(f64::from(round) / took.as_secs_f64());
    Ok(())
}

/// CPU of a call in this process, through the library alone: the work that no booth can do without. Dropping what was made is
/// part of it.
fn in_process(tools: &Path) -> Result<f64> {
    const CALLS: u32 = 100_000;
    let loaded = load_paths(&[tools.to_owned()], &LoadOptions::default())?;
    let Some(Entry::Served(tool)) = loaded.catalog.get(&case::tool(0)) else { bail!("the tool does not serve") };
    let (arguments, limits) = (case::arguments()?, ParseLimits::default());
    let before = cpu_of("self")?;
    for _ in 0..CALLS {
        let value = parse(&arguments, &limits)?;
        ensure!(tool.input.is_valid(&value), "the arguments are valid");
        black_box(value.to_text());
    }
    Ok((cpu_of("self")? - before) / f64::from(CALLS))
}

fn rows_of(case: &Case, booth: &Measured, echo: &Measured, floor: &Rounds) -> Vec<Row> {
    for (server, Measured { p50, cpu, rate }) in [("booth", booth), ("echo", echo)] {
        println!("{}, {server}: p50 us a message: {p50}", case.what);
        println!("{}, {server}: server CPU us a call: {cpu}", case.what);
        println!("{}, {server}: calls/s: {rate}", case.what);
    }
    let row = |number, quantity: &str, (booth, echo): (&Rounds, &Rounds), unit, goal| Row {
        number,
        what: format!("{}: {quantity}", case.what),
        booth: format!("{:.1} {unit}", booth.median()),
        baseline: format!("{:.1} {unit}", echo.median()),
        figure: booth.over(echo).median(),
        unit: "x",
        goal,
    };
    let (number, latency) = match case.goals {
        Goals::Latency(number, most) => (number, Some(Goal::AtMost(most))),
        Goals::Flight | Goals::None => ("", None),
    };
    let mut rows = vec![
        row(number, "p50", (&booth.p50, &echo.p50), "us", latency),
        row("", "server CPU a call", (&booth.cpu, &echo.cpu), "us", None),
    ];
    if let Goals::Flight = case.goals {
        let added = booth.cpu.minus(&echo.cpu);
        let what = "server CPU added, over parse + is_valid + serialise";
        rows.push(row("F2", what, (&added, floor), "us", Some(Goal::AtMost(1.5))));
        rows.push(row("F2", "throughput", (&booth.rate, &echo.rate), "calls/s", Some(Goal::AtLeast(0.35))));
    }
    rows
}

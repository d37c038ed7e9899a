//! Booths that share a PostgreSQL: killed at any moment, raced for one key, and left alone by their database.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::future::join_all;
use tokio::{sync::Mutex, task::JoinSet};
use tonic::{Status, transport::Channel};
use toolbooth::grpc::proto::{self, Batch, ErrorCode, Open, tool_execution_service_client::ToolExecutionServiceClient};

use super::{
    arguments, folder,
    tally::{Dice, Tally, Told},
    task, tool,
};
use crate::{
    ledgers::server::Server,
    program::Folder,
    serve::Served,
    stand::{Stream, call, code, text},
};

const KILLS: usize = 200;
/// Calls at once.
const AT_ONCE: usize = 12;

fn booth(folder: &Folder, database: &Server) -> Served {
    Served::start(folder, &["--config", "booth.yaml", "--postgres", &database.url(), "--grace", "1s"])
}

/// One call in a run of its own.
async fn execute(channel: Channel, task: String, (tool, arguments): (&str, &str)) -> Result<proto::CallResult, Status> {
    let batch = Batch { calls: vec![call("c", tool, arguments)], ..Batch::default() };
    let open = Open { task_key: task, ..Open::default() };
    let request = proto::ExecuteBatchRequest { batch: Some(batch), open: Some(open), ..Default::default() };
    let answer = ToolExecutionServiceClient::new(channel).execute_batch(request).await?.into_inner();
    Ok(answer.results.into_iter().next().unwrap())
}

fn told(result: &proto::CallResult) -> Told {
    let reason = result.error.as_ref().map(|error| error.reason.as_str()).unwrap_or_default();
    match (code(result), reason) {
        (ErrorCode::Unspecified, _) if result.replayed => Told::Replayed,
        (ErrorCode::Unspecified, _) if result.executed => Told::Executed,
        (ErrorCode::OutcomeUnknown, _) => Told::Unknown,
        (ErrorCode::ExecutionFailed, "ledger") if !result.executed => Told::Unavailable,
        _ => panic!("{result:?}"),
    }
}

/// Submits, and writes down what it was told; not at all, if the booth is killed before it says anything.
async fn submit(channel: Channel, tally: &Mutex<Tally>, id: usize) {
    tally.lock().await.asked.insert(id);
    if let Ok(result) = execute(channel, task(id), (tool(id), &arguments(id))).await {
        tally.lock().await.tell(id, told(&result));
    }
}

/// Asks for everything once more, when every lease is over, and holds it against the database.
async fn settle(folder: &Folder, database: &Server, tally: Arc<Mutex<Tally>>) -> Tally {
    let served = booth(folder, database);
    let channel = served.channel().await;
    let all: Vec<usize> = tally.lock().await.asked.iter().copied().collect();
    for ids in all.chunks(32) {
        join_all(ids.iter().map(|id| submit(channel.clone(), &tally, *id))).await;
    }
    assert_eq!(served.end("-TERM"), Some(0));
    let tally = Arc::into_inner(tally).unwrap().into_inner();
    tally.check(folder, &["--postgres", &database.url()]);
    tally
}

#[tokio::test]
async fn s2_booths_that_are_killed_at_any_moment_forget_nothing_and_accept_nothing_twice() {
    let Some(database) = Server::start() else { return };
    let folder = folder();
    let (mut dice, tally, mut next) = (Dice::new(), Arc::new(Mutex::new(Tally::default())), 0);
    for _ in 0..KILLS {
        let mut served = booth(&folder, &database);
        let channel = served.channel().await;
        let mut running = JoinSet::new();
        let mut ids: Vec<usize> = (next..next + AT_ONCE).collect();
        next += AT_ONCE;
        let accepted = tally.lock().await.accepted();
        ids.extend((!accepted.is_empty()).then(|| accepted[dice.roll(accepted.len())]));
        for id in ids {
            let (channel, tally) = (channel.clone(), Arc::clone(&tally));
            running.spawn(async move { submit(channel, &tally, id).await });
        }
        for _ in 0..dice.roll(AT_ONCE) {
            running.join_next().await.unwrap().unwrap();
        }
        tokio::time::sleep(Duration::from_micros(u64::try_from(dice.roll(10_000)).unwrap())).await;
        served.child.kill().unwrap();
        served.child.wait().unwrap();
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
    }
    let heard = tally.lock().await.accepted().len();
    let tally = settle(&folder, &database, tally).await;
    println!(
        "{KILLS} kills, {} submissions: {heard} acknowledged before the last start, {} accepted, {} in doubt",
        tally.asked.len(),
        tally.accepted().len(),
        tally.count(Told::Unknown),
    );
}

#[tokio::test]
async fn s3_of_a_thousand_submissions_of_one_key_to_two_booths_one_wins() {
    const STREAMS: usize = 100;
    const CALLS: usize = 10;
    let Some(database) = Server::start() else { return };
    let folder = folder();
    // They run their programs in one folder; only their sockets are their own.
    let store = ["--config", "booth.yaml", "--postgres", &database.url()];
    let booths = ["one.sock", "other.sock"].map(|socket| Served::at(&folder, socket, &store));
    let channels = [booths[0].channel().await, booths[1].channel().await];
    let run = async |number: usize| {
        let open = Open { task_key: "t".into(), ..Open::default() };
        let mut stream = Stream::over(channels[number % 2].clone()).await.open(open).await;
        // Half of them say the same.
        let arguments = |at: usize| format!("{{\"x\":{}}}", if at.is_multiple_of(2) { 0 } else { number * CALLS + at });
        let calls = (0..CALLS).map(|at| call(&format!("c{at}"), "one", &arguments(at))).collect();
        let (results, verdict) = stream.batch("b", calls).await;
        assert_eq!((results.len(), verdict.accepted.len()), (CALLS, 1), "everybody is told of the winner");
        (0..CALLS).map(arguments).zip(results).collect::<Vec<_>>()
    };
    let told = join_all((0..STREAMS).map(run)).await.concat();
    assert_eq!(told.len(), STREAMS * CALLS);
    let winners: Vec<_> = told.iter().filter(|(_, result)| result.executed).collect();
    assert_eq!(winners.len(), 1);
    let (won, answer) = winners[0];
    let mut counts = BTreeMap::<&str, usize>::new();
    for (arguments, result) in &told {
        let is_right = if result.executed {
            *counts.entry("won").or_default() += 1;
            true
        } else if arguments == won {
            *counts.entry("replayed").or_default() += 1;
            result.replayed && text(result) == text(answer)
        } else {
            *counts.entry("already accepted").or_default() += 1;
            code(result) == ErrorCode::AlreadyAccepted
        };
        assert!(is_right, "{arguments}: {result:?}");
    }
    assert_eq!(folder.read("ran").lines().count(), 1, "it had its effect once");
    println!("1000 submissions of one key, over {STREAMS} streams to 2 booths: {counts:?}");
}

#[tokio::test]
async fn a_database_that_comes_and_goes_under_load_makes_clear_errors_and_no_wrong_answer() {
    const OUTAGES: usize = 2;
    let Some(mut database) = Server::start() else { return };
    let folder = folder();
    let mut served = booth(&folder, &database);
    let channel = served.channel().await;
    let (tally, next) = (Arc::new(Mutex::new(Tally::default())), Arc::new(std::sync::atomic::AtomicUsize::new(0)));
    let mut running = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (channel, tally, next) = (channel.clone(), Arc::clone(&tally), Arc::clone(&next));
        running.spawn(async move {
            loop {
                let id = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                // New ones, and old ones again.
                submit(channel.clone(), &tally, if id.is_multiple_of(4) { id / 2 } else { id }).await;
            }
        });
    }
    let told = async |wanted: Told, more: usize| {
        let before = tally.lock().await.count(wanted);
        while tally.lock().await.count(wanted) < before + more {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    for _ in 0..OUTAGES {
        told(Told::Executed, 50).await;
        database.stop();
        told(Told::Unavailable, 10).await;
        // What needs no ledger goes on.
        let echoed = execute(channel.clone(), String::new(), ("echo", "{\"x\":1}")).await.unwrap();
        assert_eq!(text(&echoed), "{\"x\":1}");
        assert!(served.child.try_wait().unwrap().is_none());
        database.again();
    }
    told(Told::Executed, 50).await;
    running.shutdown().await;
    assert_eq!(served.end("-TERM"), Some(0));
    let (unavailable, unknown) = {
        let tally = tally.lock().await;
        (tally.count(Told::Unavailable), tally.count(Told::Unknown))
    };
    let tally = settle(&folder, &database, tally).await;
    println!(
        "{OUTAGES} outages, {} submissions: {} accepted; {unavailable} refused and {unknown} unknown while it was away",
        tally.asked.len(),
        tally.accepted().len(),
    );
}

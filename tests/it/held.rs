//! Runs that are held, in process and in paused time: who leads them, how long they wait, and what is recorded meanwhile.

mod leading;
mod sent_again;

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, time::Instant};
use toolbooth::{
    booth::{Booth, CannotResume, Lease, OpenRun, RunInUse},
    call::{Batch, Finish, ToolCall},
    content::ToolOutput,
    host::{Asked, Asks, Host, Signal},
    refusal::Code,
    run::{BatchOutcome, Feed, Keep, Known, RecordRoom, Run, Unobserved},
};

use crate::stand::booth;

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

const GRACE: Duration = Duration::from_mins(1);
const MOMENT: Duration = Duration::from_millis(1);
/// A moment less than the grace.
const ALMOST: Duration = Duration::from_millis(59_999);

fn asks() -> Asks {
    Asks { before: false, after: false, timeout: GRACE }
}

/// A run with a host, and what the host hears.
fn opened(booth: &Booth, id: &str, calls_go_on: bool) -> (Lease, mpsc::UnboundedReceiver<Signal>) {
    let (host, heard) = Host::new(asks(), true);
    let keep = Keep { grace: GRACE, calls_go_on };
    let request = OpenRun { id: Some(id.into()), keep, host: Some(host), ..OpenRun::default() };
    (booth.open(request).unwrap().lease, heard)
}

fn feed(id: &str, tool: &str, arguments: &str) -> Feed {
    feed_of(id, vec![call("a", tool, arguments)])
}

fn feed_of(id: &str, calls: Vec<ToolCall>) -> Feed {
    Feed::from(Batch { id: id.into(), calls, finish: Finish::Complete, mode: None })
}

fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    let arguments = arguments.as_bytes().to_vec().into();
    ToolCall { index: 0, id: id.into(), name: tool.into(), arguments, idempotency_key: None }
}

/// Starts a batch whose one call the host executes.
fn asking(lease: &Lease, id: &str) -> tokio::task::JoinHandle<Arc<BatchOutcome>> {
    let host = Arc::clone(lease.host().unwrap());
    tokio::spawn(lease.run().batch(feed(id, "ask", "{}"), host))
}

fn code(outcome: &BatchOutcome) -> Option<Code> {
    outcome.results[0].error.as_ref().map(|error| error.code)
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_its_grace_and_not_a_moment_longer() {
    let booth = booth(TOOLS);
    for (id, calls_go_on) in [("kept", true), ("cancelled", false)] {
        let (lease, _heard) = opened(&booth, id, calls_go_on);
        let running = asking(&lease, "b1");
        tokio::task::yield_now().await;
        let lost = Instant::now();
        lease.wait();
        if calls_go_on {
            tokio::time::sleep(ALMOST).await;
            assert_eq!(booth.runs.get(id).unwrap().waits_until, Some(lost + GRACE));
            assert!(!running.is_finished());
            assert_eq!(code(&running.await.unwrap()), Some(Code::Cancelled));
            assert_eq!(lost.elapsed(), GRACE);
        } else {
            assert_eq!(code(&running.await.unwrap()), Some(Code::Cancelled));
            assert_eq!(lost.elapsed(), Duration::ZERO, "at once");
            tokio::time::sleep(ALMOST).await;
            assert!(booth.runs.get(id).is_some(), "the run itself waits all the same");
            tokio::time::sleep(2 * MOMENT).await;
        }
        assert!(booth.runs.get(id).is_none());
        let again = booth.runs.resume(id, true).unwrap_err();
        assert_eq!(again, CannotResume::NotHeld(id.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_resumed_has_its_whole_grace_again() {
    let booth = booth(TOOLS);
    let (lease, _heard) = opened(&booth, "r", true);
    lease.wait();
    tokio::time::sleep(ALMOST).await;
    let lease = booth.runs.resume("r", true).unwrap();
    tokio::time::sleep(2 * GRACE).await;
    assert!(booth.runs.get("r").unwrap().waits_until.is_none(), "the first wait is over for good");
    lease.wait();
    tokio::time::sleep(ALMOST).await;
    assert!(booth.runs.get("r").is_some());
    tokio::time::sleep(2 * MOMENT).await;
    assert!(booth.runs.get("r").is_none());
}

#[tokio::test(start_paused = true)]
async fn only_the_newest_leader_has_a_say() {
    let booth = booth(TOOLS);
    let (first, _heard) = opened(&booth, "r", true);
    let id: Arc<str> = "r".into();
    let request = || OpenRun { id: Some(Arc::clone(&id)), ..OpenRun::default() };
    assert_eq!(booth.open(request()).unwrap_err(), RunInUse(Arc::clone(&id)));
    let second = booth.runs.resume("r", true).unwrap();
    tokio::time::timeout(MOMENT, first.taken_over()).await.expect("it is told");
    drop(first);
    assert!(booth.runs.get("r").is_some(), "what the first one does ends nothing");
    let third = booth.runs.resume("r", true).unwrap();
    second.wait();
    assert!(booth.runs.get("r").unwrap().waits_until.is_none(), "the third one leads");
    let otherwise = booth.runs.resume("r", false).unwrap_err();
    assert_eq!(otherwise, CannotResume::OpenedOtherwise(Arc::clone(&id), "a stream"));
    drop(third);
    assert!(booth.runs.get("r").is_none());
    booth.open(request()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_booth_caps_the_grace_and_holds_no_run_without_one() {
    let mut booth = booth(TOOLS);
    booth.max_grace = Duration::from_secs(5);
    let (lease, _heard) = opened(&booth, "r", true);
    assert_eq!(lease.run().keep().grace, Duration::from_secs(5));
    booth.max_grace = Duration::ZERO;
    let (none, _heard) = opened(&booth, "none", true);
    none.wait();
    assert!(booth.runs.get("none").is_none());
}

#[tokio::test(start_paused = true)]
async fn what_is_still_asked_is_asked_once_more_of_a_host_that_has_come_back() {
    let booth = booth(TOOLS);
    let (lease, mut heard) = opened(&booth, "r", true);
    let host = Arc::clone(lease.host().unwrap());
    let running = asking(&lease, "b1");
    let asked = async |heard: &mut mpsc::UnboundedReceiver<Signal>| loop {
        if let Signal::Execute(execution, asked) = heard.recv().await.unwrap() {
            return (execution.idempotency_key().into_owned(), asked);
        }
    };
    let (key, first) = asked(&mut heard).await;
    assert_eq!(first, Asked::First);
    host.go_away();
    let mut back = host.come_back();
    assert_eq!(back.ended, None);
    assert_eq!(asked(&mut back.heard).await, (key, Asked::Again));
    host.outcome(("b1", 0), None, Ok(ToolOutput::text("done"))).unwrap();
    assert_eq!(running.await.unwrap().results[0].text(), "done");
    // Once it has heard the end, nothing of it is said again.
    while !matches!(back.heard.recv().await, Some(Signal::Finished(_))) {}
    host.tell(Signal::BatchFinished(lease.run().batch(feed("b2", "echo", "{}"), Arc::new(Unobserved)).await));
    assert!(host.come_back().heard.try_recv().is_err());
}

async fn echoed(run: &Arc<Run>, id: &str, bytes: usize) -> Arc<BatchOutcome> {
    let arguments = format!("{{\"x\":\"{}\"}}", "y".repeat(bytes));
    run.batch(feed(id, "echo", &arguments), Arc::new(Unobserved)).await
}

#[tokio::test(start_paused = true)]
async fn records_share_a_room_in_which_the_oldest_make_way_and_runs_that_end_leave_theirs() {
    let mut booth = booth(TOOLS);
    // A result of 10,000 bytes takes about 60 KB: the model's text, the value twice, its text twice.
    booth.record_room = RecordRoom::of(150_000);
    let (one, _heard) = opened(&booth, "one", true);
    for id in ["b1", "b2", "b3"] {
        echoed(one.run(), id, 10_000).await;
    }
    let known = ["b1", "b2", "b3", "b4"].map(|id| one.run().knows(id));
    assert_eq!(known, [Known::Forgotten, Known::Recorded, Known::Recorded, Known::New]);
    let (two, _heard) = opened(&booth, "two", true);
    echoed(two.run(), "b1", 10_000).await;
    assert_eq!(two.run().knows("b1"), Known::Forgotten, "a run takes nothing from another one");
    drop(one);
    echoed(two.run(), "b2", 10_000).await;
    assert_eq!(two.run().knows("b2"), Known::Recorded);
    echoed(two.run(), "b3", 200_000).await;
    assert_eq!(two.run().knows("b3"), Known::Forgotten, "it is larger than the room");
}

#[tokio::test(start_paused = true)]
async fn records_are_kept_for_the_grace_and_the_newest_as_long_as_its_run() {
    let booth = booth(TOOLS);
    let (lease, _heard) = opened(&booth, "r", true);
    echoed(lease.run(), "b1", 1).await;
    echoed(lease.run(), "b2", 1).await;
    tokio::time::sleep(GRACE).await;
    assert_eq!(["b1", "b2"].map(|id| lease.run().knows(id)), [Known::Recorded; 2]);
    tokio::time::sleep(MOMENT).await;
    assert_eq!(["b1", "b2"].map(|id| lease.run().knows(id)), [Known::Forgotten, Known::Recorded]);
    assert_eq!(lease.run().last_batch().as_deref(), Some("b2"));
}

#[tokio::test(start_paused = true)]
async fn b5_a_record_that_grows_old_while_its_batch_is_sent_again_stands() {
    let booth = booth(TOOLS);
    let (lease, _heard) = opened(&booth, "r", true);
    let host = Arc::clone(lease.host().unwrap());
    let send = || {
        let calls = vec![call("a", "ask", "{}"), call("b", "ask", "{}")];
        tokio::spawn(lease.run().batch(feed_of("b1", calls), Arc::<Host>::clone(&host)))
    };
    let first = asking(&lease, "b1");
    tokio::task::yield_now().await;
    lease.run().cancel_in_batch("b1", None);
    let first = first.await.unwrap();
    assert_eq!((code(&first), first.results[0].executed), (Some(Code::Cancelled), true));
    echoed(lease.run(), "b2", 1).await;
    tokio::time::sleep(ALMOST).await;
    let again = send();
    tokio::time::sleep(2 * MOMENT).await;
    host.outcome(("b1", 1), None, Ok(ToolOutput::text("done"))).unwrap();
    assert_eq!(again.await.unwrap().results[1].text(), "done");
    let once_more = tokio::time::timeout(MOMENT, send()).await.expect("nobody is asked").unwrap();
    let told: Vec<_> = once_more.results.iter().map(|result| (result.replayed, result.is_error)).collect();
    assert_eq!(told, [(true, true), (true, false)]);
}

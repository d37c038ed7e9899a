//! Cancellation reaches a call at whatever stage it is, and whatever runs it (rule B8).

mod executors;

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::Instant;
use toolbooth::{
    ports::{Decision, Hook, HookCall, HookError, Override},
    refusal::Code,
    result::CallResult,
    run::{BatchOutcome, Run, RunOptions, VerdictReason},
};

use crate::inside::{Does, Heard, Player, Script, feed, options, refusals};

/// Cancels the call of index 0 of batch `b1`, and perhaps others.
type Way = fn(&Run);

/// How much is cancelled.
const WAYS: [(&str, Way); 3] = [
    ("call", |run| assert!(run.cancel_in_batch("b1", Some(0)))),
    ("batch", |run| assert!(run.cancel_in_batch("b1", None))),
    ("run", Run::cancel),
];

const TOOLS: &str = r#"{"tools":[
  {"name":"plain","parameters":{"type":"object","properties":{"v":{}}},"execute":{"host":{}}},
  {"name":"retry","parameters":{"type":"object","properties":{"v":{}}},"execute":{"host":{}},"idempotent":true},
  {"name":"once","parameters":{"type":"object","properties":{"v":{}}},"execute":{"host":{}},"accept":{"once_per":"task"}},
  {"name":"program","parameters":{"type":"object","properties":{"v":{}}},"execute":{"command":{"argv":["true"]}}}
]}"#;

/// What a run is opened with whose tools play the script.
fn playing(script: Script) -> (RunOptions, Arc<Player>) {
    let player = Player::new(script);
    (options(TOOLS, Arc::<Player>::clone(&player)), player)
}

/// Everything has gone as far as it goes by itself.
async fn settled() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// Plays a batch and cancels its first call when everything waits. No time may go by from then on.
async fn cancelled(run: &Arc<Run>, tools: &[&str], cancel: Way) -> Arc<BatchOutcome> {
    let calls: Vec<_> = tools.iter().map(|tool| (*tool, "{}")).collect();
    let heard = Arc::new(Heard::default());
    let running = tokio::spawn(run.batch(feed("b1", &calls), Arc::<Heard>::clone(&heard)));
    settled().await;
    let at = Instant::now();
    cancel(run);
    settled().await;
    assert!(heard.finished.lock().unwrap().contains(&0), "it is answered at once");
    let outcome = running.await.unwrap();
    assert_eq!(at.elapsed(), Duration::ZERO);
    outcome
}

/// Of the first call, which was cancelled: whether it was executed, and how often it was tried.
fn told(way: &str, outcome: &Arc<BatchOutcome>) -> (bool, u32) {
    assert_eq!(refusals(outcome)[0], Some((Code::Cancelled, None)), "{way}");
    assert_eq!(outcome.verdict.reason == VerdictReason::Cancelled, way != "call", "{way}");
    (outcome.results[0].executed, outcome.results[0].attempts)
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_runs_is_cancelled_and_what_executes_it_is_dropped() {
    for (way, cancel) in WAYS {
        let (options, player) = playing(|_, _| Does::Hang);
        let outcome = cancelled(&Run::open(options), &["plain"], cancel).await;
        assert_eq!((told(way, &outcome), player.running()), ((true, 1), 0), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_waits_for_its_next_try_is_cancelled() {
    for (way, cancel) in WAYS {
        let scripts: [(Script, _); 2] = [(|_, _| Does::Fail, true), (|_, _| Does::NotStart, false)];
        for (script, executed) in scripts {
            let (options, player) = playing(script);
            let outcome = cancelled(&Run::open(options), &["retry"], cancel).await;
            assert_eq!((told(way, &outcome), player.tries().len()), ((executed, 1), 1), "{way}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_waits_for_a_permit_is_cancelled_and_never_executed() {
    for (way, cancel) in WAYS {
        let (mut options, player) = playing(|_, _| Does::Hang);
        options.capacity.max_parallel = 0;
        let outcome = cancelled(&Run::open(options), &["program"], cancel).await;
        assert_eq!((told(way, &outcome), player.tries().len()), ((false, 0), 0), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_waits_for_the_submission_of_another_run_is_cancelled_and_never_executed() {
    for (way, cancel) in WAYS {
        let (first, player) = playing(|_, _| Does::Hang);
        let (mut second, _) = playing(|_, _| Does::Hang);
        (second.id, second.ledger) = ("second".into(), Arc::clone(&first.ledger));
        let first = Run::open(first);
        let holding = tokio::spawn(first.batch(feed("b0", &[("once", "{}")]), Arc::new(Heard::default())));
        player.tried(1).await;
        let outcome = cancelled(&Run::open(second), &["once"], cancel).await;
        assert_eq!((told(way, &outcome), player.tries().len()), ((false, 0), 1), "{way}");
        first.cancel();
        holding.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_waits_for_the_submission_before_it_is_cancelled_alone() {
    let (options, player) = playing(|_, _| Does::Hang);
    let (run, heard) = (Run::open(options), Arc::new(Heard::default()));
    let calls = [("once", r#"{"v":1}"#), ("once", r#"{"v":2}"#)];
    let running = tokio::spawn(run.batch(feed("b1", &calls), Arc::<Heard>::clone(&heard)));
    settled().await;
    assert!(run.cancel_in_batch("b1", Some(1)));
    settled().await;
    assert_eq!(*heard.finished.lock().unwrap(), [1], "the one before it goes on");
    run.cancel();
    let outcome = running.await.unwrap();
    assert_eq!(refusals(&outcome), [Some((Code::Cancelled, None)); 2]);
    let executed: Vec<bool> = outcome.results.iter().map(|result| result.executed).collect();
    assert_eq!((executed, player.tries().len()), (vec![true, false], 1));
}

/// Never answers, before a call or after it.
#[derive(Debug)]
struct Silent {
    before: bool,
}

#[async_trait]
impl Hook for Silent {
    async fn before(&self, _: &HookCall) -> Result<Decision, HookError> {
        if self.before { pending().await } else { Ok(Decision::Allow) }
    }

    async fn after(&self, _: &HookCall, _: &CallResult) -> Result<Override, HookError> {
        if self.before { Ok(Override::default()) } else { pending().await }
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_waits_for_its_policy_is_cancelled_and_never_executed() {
    for (way, cancel) in WAYS {
        let (mut options, player) = playing(|_, _| Does::Answer);
        options.scope.hooks = vec![Arc::new(Silent { before: true })];
        let outcome = cancelled(&Run::open(options), &["plain"], cancel).await;
        assert_eq!((told(way, &outcome), player.tries().len()), ((false, 0), 0), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_call_that_has_run_keeps_its_result_and_waits_for_no_policy() {
    for (way, cancel) in WAYS {
        let (mut options, _) = playing(|_, _| Does::Answer);
        options.scope.hooks = vec![Arc::new(Silent { before: false })];
        let outcome = cancelled(&Run::open(options), &["plain"], cancel).await;
        assert_eq!(refusals(&outcome), [None], "{way}");
        assert_eq!(outcome.results[0].warnings[0].code, "after_hook_failed", "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_a_sibling_of_a_cancelled_call_goes_on() {
    let (options, player) = playing(|tool, _| if tool == "plain" { Does::Hang } else { Does::Answer });
    let run = Run::open(options);
    let outcome = cancelled(&run, &["plain", "retry"], WAYS[0].1).await;
    assert_eq!(refusals(&outcome), [Some((Code::Cancelled, None)), None]);
    assert_eq!(player.running(), 0);
}

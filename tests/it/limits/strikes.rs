//! One counter a run over every kind of invalid call, with a warning before the last.

use std::sync::Arc;

use async_trait::async_trait;
use toolbooth::{
    ports::{Decision, Hook, HookCall, HookError, Override},
    result::CallResult,
    run::{Limits, Run, RunOptions},
};

use crate::inside::{Does, Player, options, play};

const TOOL: &str = r#"{"name":"t","parameters":{"type":"object","properties":{"n":{"type":"integer"}}},"arguments":{"received":"omit"}}"#;
const WARNING: &str = "One more invalid call in a row ends this run.";
const END: &str = "the last one allowed: the run stops here.";

/// Denies 1, cannot judge 2, and allows the rest.
#[derive(Debug)]
struct Strict;

#[async_trait]
impl Hook for Strict {
    async fn before(&self, call: &HookCall) -> Result<Decision, HookError> {
        match call.arguments.text() {
            r#"{"n":1}"# => Ok(Decision::Deny { reason: "not 1".into(), terminate: false }),
            r#"{"n":2}"# => Err(HookError("away".into())),
            _ => Ok(Decision::Allow),
        }
    }

    async fn after(&self, _: &HookCall, _: &CallResult) -> Result<Override, HookError> {
        Ok(Override::default())
    }
}

fn run(max: u32) -> Arc<Run> {
    let mut options = options(TOOL, Player::new(|_, _| Does::Answer));
    options.scope.hooks = vec![Arc::new(Strict)];
    let limits = Limits { max_consecutive_invalid: Some(max), ..Limits::default() };
    Run::open(RunOptions { limits, ..options })
}

/// What is said below each result: nothing, the warning, or the end.
async fn said(max: u32, calls: &[(&str, &str)]) -> (Vec<&'static str>, bool) {
    let outcome = play(&run(max), "b1", calls).await;
    let of = |result: &Arc<CallResult>| {
        let text = result.text();
        match (text.contains(WARNING), text.contains(END)) {
            (false, false) => "",
            (true, false) => "warned",
            (false, true) => "ended",
            (true, true) => "both",
        }
    };
    (outcome.results.iter().map(of).collect(), outcome.verdict.stop)
}

#[tokio::test(start_paused = true)]
async fn b7_not_found_malformed_invalid_and_denied_calls_are_counted_together() {
    let kinds = [("nowhere", "{}"), ("t", "{"), ("t", r#"{"n":"x"}"#), ("t", r#"{"n":1}"#)];
    assert_eq!(said(4, &kinds).await, (vec!["", "", "warned", "ended"], true));
    // Whichever comes last is told.
    for last in 0..kinds.len() {
        let mut turned = kinds;
        turned.rotate_left(last);
        assert_eq!(said(4, &turned).await, (vec!["", "", "warned", "ended"], true), "{last}");
    }
}

#[tokio::test(start_paused = true)]
async fn b7_a_call_that_runs_begins_the_count_anew_and_a_policy_that_is_away_changes_nothing() {
    let (bad, good, away) = (("t", "{"), ("t", r#"{"n":3}"#), ("t", r#"{"n":2}"#));
    assert_eq!(said(2, &[bad, good, bad, good]).await, (vec!["warned", "", "warned", ""], false));
    assert_eq!(said(3, &[bad, away, bad, away, bad]).await, (vec!["", "", "warned", "", "ended"], true));
}

#[tokio::test(start_paused = true)]
async fn b7_there_is_no_warning_where_the_first_is_the_last() {
    assert_eq!(said(1, &[("t", "{"), ("t", "{")]).await, (vec!["ended", ""], true));
}

//! Every limit of time, in paused time: nothing here waits for a clock.

use std::{future::pending, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::{Instant, advance};
use toolbooth::{
    host::{Asks, Host, Signal},
    ports::{Decision, Hook, HookCall, HookError, Override},
    refusal::{Code, Reason},
    result::CallResult,
    run::{Limits, Run, RunOptions},
};

use crate::inside::{Does, Player, Script, options, play, refusals};

const SECOND: Duration = Duration::from_secs(1);

const TOOLS: &str = r#"{"tools":[
  {"name":"idle","parameters":{"type":"object"},"timeout":"10s"},
  {"name":"hard","parameters":{"type":"object"},"deadline":"1m"},
  {"name":"both","parameters":{"type":"object"},"timeout":"10s","deadline":"1m"},
  {"name":"effect","parameters":{"type":"object"},"timeout":"10s","side_effect":true},
  {"name":"once","parameters":{"type":"object"},"deadline":"1m","accept":{"once_per":"task"}},
  {"name":"free","parameters":{"type":"object"}}
]}"#;

fn opened(script: Script) -> RunOptions {
    options(TOOLS, Player::new(script))
}

#[tokio::test(start_paused = true)]
async fn b7_the_time_of_a_run_is_over_to_the_moment_and_what_runs_is_not_cut() {
    let limits = Limits { max_wall: Some(Duration::from_mins(1)), ..Limits::default() };
    let run = Run::open(RunOptions { limits, ..opened(|_, _| Does::AnswerAfter(30 * SECOND)) });
    let outcome = play(&run, "b1", &[("free", "{}")]).await;
    assert_eq!((refusals(&outcome), outcome.verdict.stop), (vec![None], false));
    assert_eq!(outcome.verdict.remaining.wall, Some(30 * SECOND));
    advance(29 * SECOND).await;
    let outcome = play(&run, "b2", &[("free", "{}")]).await;
    assert_eq!((refusals(&outcome), outcome.verdict.stop), (vec![None], true), "it began in time");
    assert_eq!(outcome.verdict.remaining.wall, Some(Duration::ZERO));
    let outcome = play(&run, "b3", &[("free", "{}")]).await;
    assert_eq!(refusals(&outcome), [Some((Code::LimitReached, Some(Reason::MaxWall)))]);

    let limits = Limits { max_wall: Some(Duration::from_mins(1)), ..Limits::default() };
    let run = Run::open(RunOptions { limits, ..opened(|_, _| Does::Answer) });
    advance(60 * SECOND).await;
    let outcome = play(&run, "b1", &[("free", "{}")]).await;
    assert_eq!((refusals(&outcome)[0].unwrap().1, outcome.verdict.stop), (Some(Reason::MaxWall), true));
}

#[tokio::test(start_paused = true)]
async fn b7_idle_time_is_moved_by_signs_of_life_and_the_deadline_by_nothing() {
    let idle = Some((Code::TimedOut, Some(Reason::Idle)));
    let deadline = Some((Code::TimedOut, Some(Reason::Deadline)));
    let unknown = Some((Code::OutcomeUnknown, Some(Reason::Idle)));
    let cases: [(&str, Script, _, u64); 9] = [
        ("idle", |_, _| Does::Hang, idle, 10),
        ("idle", |_, _| Does::AnswerAfter(9 * SECOND), None, 9),
        ("idle", |_, _| Does::Talk(11 * SECOND), idle, 10),
        ("hard", |_, _| Does::Hang, deadline, 60),
        ("hard", |_, _| Does::Talk(SECOND), deadline, 60),
        ("both", |_, _| Does::Hang, idle, 10),
        ("both", |_, _| Does::Talk(9 * SECOND), deadline, 60),
        ("effect", |_, _| Does::Hang, unknown, 10),
        ("free", |_, _| Does::AnswerAfter(1_000_000 * SECOND), None, 1_000_000),
    ];
    for (tool, script, expected, seconds) in cases {
        let begun = Instant::now();
        let outcome = play(&Run::open(opened(script)), "b1", &[(tool, "{}")]).await;
        assert_eq!((refusals(&outcome), begun.elapsed().as_secs()), (vec![expected], seconds), "{tool}");
        assert_eq!(outcome.results[0].duration.as_secs(), seconds, "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn b7_a_call_waits_for_the_submission_of_another_run_as_long_as_its_own_time() {
    let player = Player::new(|_, _| Does::Hang);
    let first = options(TOOLS, Arc::<Player>::clone(&player));
    let mut second = opened(|_, _| Does::Answer);
    (second.id, second.ledger) = ("second".into(), Arc::clone(&first.ledger));
    let first = Run::open(first);
    let begun = Instant::now();
    let (holder, waiter) = {
        let second = Run::open(second);
        tokio::join!(play(&first, "b1", &[("once", "{}")]), async {
            player.tried(1).await;
            advance(SECOND).await;
            play(&second, "b1", &[("once", "{}")]).await
        })
    };
    assert_eq!(refusals(&holder), [Some((Code::OutcomeUnknown, Some(Reason::Deadline)))]);
    assert_eq!(refusals(&waiter)[0].map(|(code, _)| code), Some(Code::OutcomeUnknown), "the first one is in doubt");
    assert_eq!(begun.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn p6_a_host_that_does_not_judge_in_time_has_denied_nothing_and_allowed_nothing() {
    let timeout = 7 * SECOND;
    for (before, expected) in [(true, Some((Code::PolicyUnavailable, None))), (false, None)] {
        let (host, mut signals) = Host::new(Asks { before, after: !before, timeout }, false);
        let mut options = opened(|_, _| Does::Answer);
        options.scope.hooks = vec![host];
        let begun = Instant::now();
        let outcome = play(&Run::open(options), "b1", &[("free", "{}")]).await;
        assert_eq!((refusals(&outcome), begun.elapsed()), (vec![expected], timeout));
        assert_eq!(outcome.results[0].executed, !before);
        let judged = std::iter::from_fn(|| signals.try_recv().ok());
        let asked = judged.filter(|signal| matches!(signal, Signal::JudgeBefore(_) | Signal::JudgeAfter(..)));
        assert_eq!(asked.count(), 1);
    }
}

/// Takes its time.
#[derive(Debug)]
struct Slow(Duration);

#[async_trait]
impl Hook for Slow {
    async fn before(&self, _: &HookCall) -> Result<Decision, HookError> {
        tokio::time::sleep(self.0).await;
        Ok(Decision::Allow)
    }

    async fn after(&self, _: &HookCall, _: &CallResult) -> Result<Override, HookError> {
        pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn b7_the_time_of_a_tool_begins_when_it_is_started_and_not_with_its_policy() {
    let mut options = opened(|_, _| Does::Hang);
    options.scope.hooks = vec![Arc::new(Slow(30 * SECOND))];
    let begun = Instant::now();
    let outcome = play(&Run::open(options), "b1", &[("idle", "{}")]).await;
    assert_eq!(refusals(&outcome), [Some((Code::TimedOut, Some(Reason::Idle)))]);
    assert_eq!(begun.elapsed().as_secs(), 40);
}

//! Tools with bad manners, in process and in paused time: whatever one does, every call gets its one result, and no sibling
//! waits for it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use toolbooth::{
    call::{Batch, Finish, ToolCall},
    content::{Progress, ToolOutput},
    ports::{Decision, Execution, Executor, ExecutorError, Hook, HookCall, HookError, Override, ProgressSender},
    refusal::Code,
    result::CallResult,
    run::{BatchOutcome, Feed, Observer, Run, VerdictReason},
};

use crate::inside::{self, Does};

const TOOLS: &str = r#"{"tools":[
  {"name":"deaf","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"late","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"1m"},
  {"name":"chatty","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"1m","deadline":"10m"},
  {"name":"panics","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"once","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"run"}},
  {"name":"good","parameters":{"type":"object"},"execute":{"host":{}}}
]}"#;

/// Does what the name of the tool says.
#[derive(Debug, Default)]
struct Manners {
    executed: AtomicUsize,
}

#[async_trait]
impl Executor for Manners {
    async fn execute(&self, execution: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError> {
        self.executed.fetch_add(1, Ordering::Relaxed);
        match &*execution.tool.name {
            "deaf" | "late" => std::future::pending().await,
            "chatty" => loop {
                progress.send(Progress { progress: 1.0, total: 0.0, message: "still here".into() });
                tokio::time::sleep(Duration::from_secs(30)).await;
            },
            "panics" | "once" => panic!("a bug in an executor"),
            _ => Ok(ToolOutput::text("done")),
        }
    }
}

/// Keeps what it hears.
#[derive(Default)]
struct Heard {
    finished: Mutex<Vec<u32>>,
    progress: AtomicUsize,
}

impl Observer for Heard {
    fn started(&self, _: u32, _: &Arc<str>, _: &Arc<str>) {}
    fn progress(&self, _: u32, _: Progress) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }
    fn finished(&self, result: &Arc<CallResult>) {
        self.finished.lock().unwrap().push(result.call.index);
    }
}

/// A policy with a bug.
#[derive(Debug)]
struct Buggy;

#[async_trait]
impl Hook for Buggy {
    async fn before(&self, call: &HookCall) -> Result<Decision, HookError> {
        assert!(call.call.index != 0, "a bug in a policy");
        Ok(Decision::Allow)
    }

    async fn after(&self, call: &HookCall, _: &CallResult) -> Result<Override, HookError> {
        assert!(call.call.index != 1, "a bug in a policy");
        Ok(Override::default())
    }
}

fn run(executor: &Arc<Manners>) -> Arc<Run> {
    judged_run(executor, Vec::new())
}

fn judged_run(executor: &Arc<Manners>, hooks: Vec<Arc<dyn Hook>>) -> Arc<Run> {
    let mut options = inside::options(TOOLS, Arc::<Manners>::clone(executor));
    options.scope.hooks = hooks;
    Run::open(options)
}

fn feed(id: &str, calls: &[(&str, &str)]) -> Feed {
    let call = |(index, (id, name)): (u32, &(&str, &str))| ToolCall {
        index,
        id: (*id).into(),
        name: (*name).into(),
        arguments: "{}".into(),
        idempotency_key: None,
    };
    let calls = (0..).zip(calls).map(call).collect();
    Batch { id: id.into(), calls, finish: Finish::Complete, mode: None }.into()
}

fn codes(outcome: &BatchOutcome) -> Vec<Option<Code>> {
    outcome.results.iter().map(|result| result.error.as_ref().map(|error| error.code)).collect()
}

#[tokio::test(start_paused = true)]
async fn b8_tools_that_ignore_cancellation_do_not_hold_the_batch() {
    let (run, heard) = (run(&Arc::default()), Arc::new(Heard::default()));
    let calls = [("a", "deaf"), ("b", "good"), ("a", "deaf"), ("c", "deaf")];
    let running = tokio::spawn(run.batch(feed("b1", &calls), Arc::<Heard>::clone(&heard)));
    while heard.finished.lock().unwrap().as_slice() != [1] {
        tokio::task::yield_now().await;
    }
    // One call, the repetition of another, then the rest.
    assert!(run.cancel_in_batch("b1", Some(3)));
    while heard.finished.lock().unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(run.cancel_in_batch("b1", Some(2)));
    while heard.finished.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*heard.finished.lock().unwrap(), [1, 3, 2]);
    assert!(run.cancel_in_batch("b1", None));
    let outcome = running.await.unwrap();
    let cancelled = Some(Code::Cancelled);
    assert_eq!(codes(&outcome), [cancelled, None, cancelled, cancelled]);
    assert_eq!(outcome.results.iter().map(|result| result.executed).collect::<Vec<_>>(), [true, true, false, true]);
    assert_eq!(outcome.verdict.reason, VerdictReason::Cancelled);
    assert_eq!(*heard.finished.lock().unwrap(), [1, 3, 2, 0], "each once");
    assert!(!run.cancel_in_batch("b1", None), "it is over");
}

#[tokio::test(start_paused = true)]
async fn b7_idle_time_and_deadline_end_what_does_not_end_by_itself() {
    let (run, heard) = (run(&Arc::default()), Arc::new(Heard::default()));
    let begun = tokio::time::Instant::now();
    let outcome = run.batch(feed("b1", &[("a", "late"), ("b", "chatty")]), Arc::<Heard>::clone(&heard)).await;
    assert_eq!(codes(&outcome), [Some(Code::TimedOut), Some(Code::TimedOut)]);
    let durations: Vec<u64> = outcome.results.iter().map(|result| result.duration.as_secs()).collect();
    assert_eq!(durations, [60, 600], "progress moves the idle time, and not the deadline");
    assert_eq!(begun.elapsed().as_secs(), 600);
    assert!(heard.progress.load(Ordering::Relaxed) >= 20);
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_executor_is_a_result_and_leaves_no_key_held() {
    let executor = Arc::new(Manners::default());
    let (run, heard) = (run(&executor), Arc::new(Heard::default()));
    let calls = [("a", "panics"), ("b", "good"), ("c", "once")];
    let outcome = run.batch(feed("b1", &calls), Arc::<Heard>::clone(&heard)).await;
    let unknown = Some(Code::OutcomeUnknown);
    assert_eq!(codes(&outcome), [unknown, None, unknown]);
    assert_eq!(heard.finished.lock().unwrap().len(), 3);
    let again = run.batch(feed("b2", &[("d", "once")]), Arc::<Heard>::clone(&heard));
    let outcome = tokio::time::timeout(Duration::from_hours(1), again).await.expect("nobody waits for a lost holder");
    assert_eq!((codes(&outcome), outcome.results[0].executed), (vec![unknown], false));
    assert_eq!(executor.executed.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn s4_a_batch_that_nobody_runs_any_more_leaves_its_key_in_doubt_and_not_held() {
    let (run, player) = inside::run(TOOLS, |_, _| Does::Hang);
    let given_up = inside::play(&run, "b1", &[("once", "{}")]);
    tokio::time::timeout(Duration::from_secs(1), given_up).await.expect_err("it hangs");
    assert_eq!((player.tries().len(), player.running()), (1, 0));
    let again = inside::play(&run, "b2", &[("once", "{}")]);
    let outcome = tokio::time::timeout(Duration::from_hours(1), again).await.expect("nobody waits for a lost holder");
    assert_eq!((codes(&outcome), player.tries().len()), (vec![Some(Code::OutcomeUnknown)], 1));
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_policy_concerns_its_call_only() {
    let executor = Arc::new(Manners::default());
    let (run, heard) = (judged_run(&executor, vec![Arc::new(Buggy)]), Arc::new(Heard::default()));
    let calls = [("a", "good"), ("b", "good"), ("c", "good")];
    let outcome = run.batch(feed("b1", &calls), Arc::<Heard>::clone(&heard)).await;
    assert_eq!(codes(&outcome), [Some(Code::ExecutionFailed), Some(Code::OutcomeUnknown), None]);
    assert_eq!(outcome.results.iter().map(|result| result.executed).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(executor.executed.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn b8_a_run_that_is_cancelled_answers_the_calls_of_a_feed_that_is_still_coming() {
    let executor = Arc::new(Manners::default());
    let (run, heard) = (run(&executor), Arc::new(Heard::default()));
    let (feeder, eager) = Feed::eager("b1".into(), None);
    let running = tokio::spawn(run.batch(eager, Arc::<Heard>::clone(&heard)));
    run.cancel();
    tokio::task::yield_now().await;
    let call =
        |index| ToolCall { index, id: "".into(), name: "good".into(), arguments: "{}".into(), idempotency_key: None };
    feeder.feed(toolbooth::run::Fed::Call(call(0)));
    feeder.feed(toolbooth::run::Fed::Call(call(1)));
    feeder.feed(toolbooth::run::Fed::End(Finish::Complete));
    let outcome = running.await.unwrap();
    assert_eq!(codes(&outcome), [Some(Code::Cancelled), Some(Code::Cancelled)]);
    assert_eq!(executor.executed.load(Ordering::Relaxed), 0);
}

//! Stage 7: the tool runs, within its time, until it answers, its tries are used up or the call is cancelled (rule P7, and B7 and
//! B8 for time).
//!
//! The tool's own manners do not matter: when time is over the future is dropped, and whatever the executor has started
//! ends with it.

use std::{future::pending, sync::Arc, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::StreamExt as _;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::{AdmittedCall, Watch};
use crate::{
    content::ToolOutput,
    ports::{Execution, Executor, ExecutorError, ProgressSender},
    refusal::{Code, Reason, Refusal},
    tools::Tool,
    wording,
};

/// The least pause before a second try; each further one doubles it. Up to as much again is added at random, so that calls that
/// failed together do not come back together.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// No further doubling.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How far an execution came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The executor was not started: nothing can have happened.
    NotStarted,
    /// The tool answered.
    Answered,
    /// The executor was started, and nobody knows what the tool did.
    Unknown,
}

/// Output, or why there is none.
pub(super) type Ran = Result<ToolOutput, Refusal>;

/// What executing a call brought.
pub(super) struct Executed {
    pub(super) ran: Ran,
    pub(super) attempt: Attempt,
    /// How many tries there were.
    pub(super) attempts: u32,
}

/// Runs the tool: once, or again where a try failed and its contract lets it be repeated.
pub(super) async fn run(
    executor: &dyn Executor,
    admitted: &AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> Executed {
    let tool = admitted.tool();
    if cancel.is_cancelled() {
        let refusal = Refusal::new(Code::Cancelled, None, wording::cancelled(&tool.name, false));
        return Executed { ran: Err(refusal), attempt: Attempt::NotStarted, attempts: 0 };
    }
    watch.started();
    let deadline = tool.deadline.map(|deadline| Instant::now() + deadline);
    let mut pauses = pauses(tool);
    let (mut attempts, mut earlier_started) = (1, false);
    loop {
        let end = once(executor, execution(admitted, attempts, deadline), deadline, watch, cancel).await;
        // A pause that outlasts the deadline leaves no time for another try.
        let pause = pauses.next().filter(|pause| end.may_be_repeated() && fits(*pause, deadline));
        let Some(pause) = pause else { break end.judge(tool, earlier_started, attempts) };
        earlier_started |= end.has_started();
        info!(attempt = attempts, ?pause, "the try failed; the call is tried again");
        tokio::select! {
            biased;
            () = cancel.cancelled() => break End::Cancelled { has_started: false }.judge(tool, earlier_started, attempts),
            () = sleep(pause) => attempts += 1,
        }
    }
}

/// How long to wait before each further try: longer each time, and never the same for all who wait.
fn pauses(tool: &Tool) -> impl Iterator<Item = Duration> + use<> {
    let retries = usize::try_from(tool.retries).unwrap_or(usize::MAX);
    let growing = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE);
    growing.with_factor(2.0).with_jitter().with_max_times(retries).build()
}

fn fits(pause: Duration, deadline: Option<Instant>) -> bool {
    deadline.is_none_or(|deadline| Instant::now() + pause < deadline)
}

/// Runs the tool once. What is not over at the end of this is dropped.
async fn once(
    executor: &dyn Executor,
    execution: Execution,
    deadline: Option<Instant>,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> End {
    let tool = Arc::clone(&execution.tool);
    let (progress, mut signs_of_life) = ProgressSender::channel();
    let running = executor.execute(execution, progress);
    tokio::pin!(running);
    let mut idle = tool.timeout.map(|timeout| Instant::now() + timeout);
    loop {
        tokio::select! {
            biased;
            Some(progress) = signs_of_life.next() => {
                idle = tool.timeout.map(|timeout| Instant::now() + timeout);
                watch.progress(progress);
                if cancel.is_cancelled() || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    // A tool that never stops talking must not talk its end away.
                    signs_of_life.close();
                }
            }
            answer = &mut running => break End::Answer(Box::new(answer)),
            () = cancel.cancelled() => break End::Cancelled { has_started: true },
            () = at(deadline) => break End::Late(Reason::Deadline, tool.deadline.unwrap_or_default()),
            () = at(idle) => break End::Late(Reason::Idle, tool.timeout.unwrap_or_default()),
        }
    }
}

fn execution(admitted: &AdmittedCall, attempt: u32, deadline: Option<Instant>) -> Execution {
    let (call, place, tool) = (admitted.call(), admitted.place(), admitted.tool());
    Execution {
        tool: Arc::clone(tool),
        call: Arc::clone(call),
        place: place.clone(),
        arguments: admitted.arguments().clone(),
        attempt,
        timeout: tool.timeout,
        deadline: deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())),
        key: admitted.key().cloned(),
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

/// How a try ended.
enum End {
    Answer(Box<Result<ToolOutput, ExecutorError>>),
    /// While it ran, or before it was started.
    Cancelled {
        has_started: bool,
    },
    Late(Reason, Duration),
}

impl End {
    /// Whether another try may do better. What the tool has answered stands, and time that is over does not come back.
    fn may_be_repeated(&self) -> bool {
        match self {
            Self::Answer(answer) => match **answer {
                Err(ExecutorError::NotStarted(_) | ExecutorError::Failed(_)) => true,
                Ok(_) | Err(ExecutorError::NoHost | ExecutorError::InvalidResult(_)) => false,
            },
            Self::Late(reason, _) => *reason == Reason::Idle,
            Self::Cancelled { .. } => false,
        }
    }

    /// Whether something may have happened.
    fn has_started(&self) -> bool {
        match self {
            Self::Answer(answer) => !matches!(**answer, Err(ExecutorError::NoHost | ExecutorError::NotStarted(_))),
            Self::Cancelled { has_started } => *has_started,
            Self::Late(..) => true,
        }
    }

    /// What it means that the last try ended so. What an earlier try may have done counts, too.
    fn judge(self, tool: &Tool, earlier_started: bool, attempts: u32) -> Executed {
        let has_answered = matches!(&self, Self::Answer(answer) if answer.is_ok());
        let has_started = earlier_started || self.has_started();
        let attempt = match (has_answered, has_started) {
            (true, _) => Attempt::Answered,
            (false, true) => Attempt::Unknown,
            (false, false) => Attempt::NotStarted,
        };
        Executed { ran: self.ran(tool, has_started), attempt, attempts }
    }

    fn ran(self, tool: &Tool, has_started: bool) -> Ran {
        let name = &tool.name;
        let has_effect = has_started && tool.has_effect();
        let failed = |reason: Option<Reason>, cause: &str| {
            if has_effect {
                Refusal::new(Code::OutcomeUnknown, reason, wording::outcome_unknown(name, cause))
            } else {
                Refusal::new(Code::ExecutionFailed, reason, wording::execution_failed(name, cause))
            }
        };
        match self {
            Self::Answer(answer) => answer.map_err(|error| match error {
                ExecutorError::NoHost => failed(Some(Reason::NoHost), &error.to_string()),
                ExecutorError::NotStarted(cause) => failed(Some(Reason::Unreachable), &cause),
                ExecutorError::Failed(cause) => failed(None, &cause),
                ExecutorError::InvalidResult(cause) => {
                    Refusal::new(Code::ResultInvalid, None, wording::result_invalid(name, &cause))
                }
            }),
            Self::Cancelled { .. } => Err(Refusal::new(Code::Cancelled, None, wording::cancelled(name, has_started))),
            Self::Late(reason, after) if has_effect => {
                Err(failed(Some(reason), &format!("no answer within {}", humantime::format_duration(after))))
            }
            Self::Late(reason, after) => {
                Err(Refusal::new(Code::TimedOut, Some(reason), wording::timed_out(name, after)))
            }
        }
    }
}

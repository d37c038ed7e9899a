//! Stage 7: the tool runs, within its time, until it answers or the call is cancelled (rule P7, and B7 and B8 for time).
//!
//! The tool's own manners do not matter: when time is over the future is dropped, and whatever the executor has started
//! ends with it.

use std::{future::pending, sync::Arc, time::Duration};

use futures::StreamExt as _;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{AdmittedCall, Watch};
use crate::{
    content::ToolOutput,
    ports::{Execution, Executor, ExecutorError, ProgressSender},
    refusal::{Code, Reason, Refusal},
    tools::Tool,
    wording,
};

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

/// Runs the tool once.
pub(super) async fn run(
    executor: &dyn Executor,
    admitted: &AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> (Ran, Attempt) {
    let tool = admitted.tool();
    if cancel.is_cancelled() {
        let refusal = Refusal::new(Code::Cancelled, None, wording::cancelled(&tool.name, false));
        return (Err(refusal), Attempt::NotStarted);
    }
    watch.started();
    let (progress, mut signs_of_life) = ProgressSender::channel();
    let running = executor.execute(execution(admitted), progress);
    tokio::pin!(running);
    let started = Instant::now();
    let deadline = tool.deadline.map(|deadline| started + deadline);
    let mut idle = tool.timeout.map(|timeout| started + timeout);
    let end = loop {
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
            () = cancel.cancelled() => break End::Cancelled,
            () = at(deadline) => break End::Late(Reason::Deadline, tool.deadline.unwrap_or_default()),
            () = at(idle) => break End::Late(Reason::Idle, tool.timeout.unwrap_or_default()),
        }
    };
    end.judge(tool)
}

fn execution(admitted: &AdmittedCall) -> Execution {
    let (call, place, tool) = (admitted.call(), admitted.place(), admitted.tool());
    Execution {
        tool: Arc::clone(tool),
        call: Arc::clone(call),
        place: place.clone(),
        arguments: admitted.arguments().clone(),
        attempt: 1,
        timeout: tool.timeout,
        deadline: tool.deadline,
        key: admitted.key().cloned(),
    }
}

async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => pending().await,
    }
}

/// How the wait for the tool ended.
enum End {
    Answer(Box<Result<ToolOutput, ExecutorError>>),
    Cancelled,
    Late(Reason, Duration),
}

impl End {
    fn judge(self, tool: &Tool) -> (Ran, Attempt) {
        let name = &tool.name;
        let has_effect = tool.has_effect();
        let unknown = |reason: Option<Reason>, cause: &str| {
            Refusal::new(Code::OutcomeUnknown, reason, wording::outcome_unknown(name, cause))
        };
        match self {
            Self::Answer(answer) => match *answer {
                Ok(output) => (Ok(output), Attempt::Answered),
                Err(ExecutorError::NoHost) => {
                    let text = wording::execution_failed(name, &ExecutorError::NoHost.to_string());
                    (Err(Refusal::new(Code::ExecutionFailed, Some(Reason::NoHost), text)), Attempt::NotStarted)
                }
                Err(ExecutorError::NotStarted(cause)) => {
                    let text = wording::execution_failed(name, &cause);
                    (Err(Refusal::new(Code::ExecutionFailed, Some(Reason::Unreachable), text)), Attempt::NotStarted)
                }
                Err(ExecutorError::Failed(cause)) if has_effect => (Err(unknown(None, &cause)), Attempt::Unknown),
                Err(ExecutorError::Failed(cause)) => {
                    let text = wording::execution_failed(name, &cause);
                    (Err(Refusal::new(Code::ExecutionFailed, None, text)), Attempt::Unknown)
                }
                Err(ExecutorError::InvalidResult(cause)) => {
                    let text = wording::result_invalid(name, &cause);
                    (Err(Refusal::new(Code::ResultInvalid, None, text)), Attempt::Unknown)
                }
            },
            Self::Cancelled => {
                (Err(Refusal::new(Code::Cancelled, None, wording::cancelled(name, true))), Attempt::Unknown)
            }
            Self::Late(reason, after) if has_effect => {
                let cause = format!("no answer within {}", humantime::format_duration(after));
                (Err(unknown(Some(reason), &cause)), Attempt::Unknown)
            }
            Self::Late(reason, after) => {
                (Err(Refusal::new(Code::TimedOut, Some(reason), wording::timed_out(name, after))), Attempt::Unknown)
            }
        }
    }
}

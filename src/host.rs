//! The host of a run, at the other end of the run's stream: it hears of calls, executes calls, and judges them.
//!
//! Everything that goes to it goes through one channel, so that it arrives in the order in which it happened. Every question
//! has a place, the batch and the index, and waits for one answer. A question that nobody waits for any more is taken back,
//! and its answer, if it still comes, is recorded and not delivered.

mod waiting;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{
    content::{Progress, ToolOutput},
    ports::{Decision, Execution, Executor, ExecutorError, Hook, HookCall, HookError, Override, ProgressSender},
    result::CallResult,
    run::{BatchOutcome, Observer},
};
use waiting::Waiting;
pub use waiting::{Delivery, UnknownCall};

/// What the booth says to the host.
#[derive(Debug)]
pub enum Signal {
    /// A call passed its preflight, and its executor starts.
    Started {
        /// The call.
        index: u32,
        /// The call's id.
        call_id: Arc<str>,
        /// Its tool.
        tool: Arc<str>,
    },
    /// A sign of life of a running call.
    Progress(u32, Progress),
    /// The one terminal result of a call.
    Finished(Arc<CallResult>),
    /// The batch is over; nothing else comes of it.
    BatchFinished(Box<BatchOutcome>),
    /// The booth failed on the batch; nobody knows what became of its calls.
    BatchLost,
    /// Execute this call.
    Execute(Box<Execution>),
    /// Stop executing this call: its result is given.
    Cancel {
        /// The call.
        index: u32,
        /// The call's id.
        call_id: Arc<str>,
    },
    /// Judge this call before it runs.
    JudgeBefore(HookCall),
    /// Judge this call's result.
    JudgeAfter(HookCall, Box<CallResult>),
}

/// The host of one run.
#[derive(Debug)]
pub struct Host {
    signals: mpsc::UnboundedSender<Signal>,
    outcomes: Waiting<Result<ToolOutput, ExecutorError>>,
    decisions: Waiting<Result<Decision, HookError>>,
    overrides: Waiting<Result<Override, HookError>>,
    /// When it wants to be asked.
    pub asks: Asks,
}

/// When the host wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asks {
    /// Before each execution.
    pub before: bool,
    /// After each execution.
    pub after: bool,
    /// How long the booth waits for an answer.
    pub timeout: Duration,
}

/// Why a host that has closed its side cannot answer.
const CLOSED: &str = "the host has closed its side of the stream";

impl Host {
    /// A host, and what is said to it.
    pub fn new(asks: Asks) -> (Arc<Self>, mpsc::UnboundedReceiver<Signal>) {
        let (signals, heard) = mpsc::unbounded_channel();
        let (outcomes, decisions, overrides) = (Waiting::default(), Waiting::default(), Waiting::default());
        (Arc::new(Self { signals, outcomes, decisions, overrides, asks }), heard)
    }

    /// The host's answer to an execution. `call_id` is checked if it is given.
    pub fn outcome(
        &self,
        place: (&str, u32),
        call_id: Option<&str>,
        outcome: Result<ToolOutput, ExecutorError>,
    ) -> Result<Delivery, UnknownCall> {
        self.outcomes.answer(place, call_id, outcome)
    }

    /// A sign of life of a call that the host executes.
    pub fn sign_of_life(&self, place: (&str, u32), progress: Progress) -> Result<Delivery, UnknownCall> {
        self.outcomes.sign_of_life(place, progress)
    }

    /// The host's judgement before a call.
    pub fn decision(&self, place: (&str, u32), decision: Result<Decision, HookError>) -> Result<Delivery, UnknownCall> {
        self.decisions.answer(place, None, decision)
    }

    /// The host's judgement after a call.
    pub fn changes(&self, place: (&str, u32), changes: Result<Override, HookError>) -> Result<Delivery, UnknownCall> {
        self.overrides.answer(place, None, changes)
    }

    /// The host has closed its side: no answer can come any more, to no question asked or still to be asked.
    pub fn close(&self) {
        self.outcomes.close(|| Err(ExecutorError::Failed(CLOSED.to_owned())));
        self.decisions.close(|| Err(HookError(CLOSED.to_owned())));
        self.overrides.close(|| Err(HookError(CLOSED.to_owned())));
    }

    /// Says something to the host.
    pub fn tell(&self, signal: Signal) {
        // Without a stream there is nobody to tell; then the run is being cancelled.
        drop(self.signals.send(signal));
    }

    async fn judged<T>(&self, answer: impl Future<Output = Option<Result<T, HookError>>>) -> Result<T, HookError> {
        match tokio::time::timeout(self.asks.timeout, answer).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err(HookError(CLOSED.to_owned())),
            Err(_) => {
                let timeout = humantime::format_duration(self.asks.timeout);
                Err(HookError(format!("the host did not answer within {timeout}")))
            }
        }
    }
}

impl Observer for Host {
    fn started(&self, index: u32, call_id: &Arc<str>, tool: &Arc<str>) {
        self.tell(Signal::Started { index, call_id: Arc::clone(call_id), tool: Arc::clone(tool) });
    }

    fn progress(&self, index: u32, progress: Progress) {
        self.tell(Signal::Progress(index, progress));
    }

    fn finished(&self, result: &Arc<CallResult>) {
        self.tell(Signal::Finished(Arc::clone(result)));
    }
}

#[async_trait]
impl Executor for Host {
    async fn execute(&self, execution: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError> {
        let (batch, index) = (Arc::clone(&execution.place.batch), execution.call.index);
        let call_id = Arc::clone(&execution.call.id);
        let question = self.outcomes.question((&batch, index), Some(&call_id), Some(progress));
        let Some(question) = question else { return Err(ExecutorError::NotStarted(CLOSED.to_owned())) };
        self.tell(Signal::Execute(Box::new(execution)));
        let question = question.or_when_given_up(|| self.tell(Signal::Cancel { index, call_id }));
        question.answer().await.unwrap_or_else(|| Err(ExecutorError::Failed(CLOSED.to_owned())))
    }
}

#[async_trait]
impl Hook for Host {
    async fn before(&self, call: &HookCall) -> Result<Decision, HookError> {
        if !self.asks.before {
            return Ok(Decision::Allow);
        }
        let question = self.decisions.question((&call.place.batch, call.call.index), None, None);
        let Some(question) = question else { return Err(HookError(CLOSED.to_owned())) };
        self.tell(Signal::JudgeBefore(call.clone()));
        self.judged(question.answer()).await
    }

    async fn after(&self, call: &HookCall, result: &CallResult) -> Result<Override, HookError> {
        if !self.asks.after {
            return Ok(Override::default());
        }
        let question = self.overrides.question((&call.place.batch, call.call.index), None, None);
        let Some(question) = question else { return Err(HookError(CLOSED.to_owned())) };
        self.tell(Signal::JudgeAfter(call.clone(), Box::new(result.clone())));
        self.judged(question.answer()).await
    }
}

//! The host of a run, at the other end of the run's stream: it hears of calls, executes calls, and judges them.
//!
//! Everything that goes to it goes through one channel, so that it arrives in the order in which it happened. Every question
//! has a place, the batch and the index, and waits for one answer. A question that nobody waits for any more is taken back,
//! and its answer, if it still comes, is recorded and not delivered.

mod waiting;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::{
    content::{Progress, ToolOutput},
    ports::{Decision, Execution, Executor, ExecutorError, Hook, HookCall, HookError, Override, ProgressSender},
    result::CallResult,
    run::{BatchOutcome, Observer},
};
pub use waiting::{Delivery, UnknownCall};
use waiting::{Question, Waiting};

/// What the booth says to the host.
#[derive(Debug, Clone)]
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
    BatchFinished(Arc<BatchOutcome>),
    /// The booth failed on the batch; nobody knows what became of its calls.
    BatchLost,
    /// Execute this call, unless it was begun when it was asked for before a connection was lost.
    Execute(Box<Execution>, Asked),
    /// Stop executing this call: its result is given, or it will be asked for again.
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

/// Whether the host was asked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// It is asked for the first time.
    First,
    /// It is asked once more, over another connection.
    Again,
}

/// The host of one run.
#[derive(Debug)]
pub struct Host {
    link: Mutex<Link>,
    outcomes: Waiting<Result<ToolOutput, ExecutorError>>,
    decisions: Waiting<Result<Decision, HookError>>,
    overrides: Waiting<Result<Override, HookError>>,
    /// When it wants to be asked.
    pub asks: Asks,
}

/// The way to the host, and what it must hear again over another one.
#[derive(Debug)]
struct Link {
    /// `None` while the host is away.
    signals: Option<mpsc::UnboundedSender<Signal>>,
    /// News of the running batch, kept for a host that may come back.
    news: Option<Vec<Signal>>,
}

/// What a host hears that has come back.
#[derive(Debug)]
pub struct ComeBack {
    /// What is said to it from now on: first of all the news of the running batch, and what is still asked.
    pub heard: mpsc::UnboundedReceiver<Signal>,
    /// The batch that ended while the host was away, if the news are of one.
    pub ended: Option<Arc<str>>,
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
    /// A host, and what is said to it. One that may come back hears the news of the running batch again then.
    pub fn new(asks: Asks, may_come_back: bool) -> (Arc<Self>, mpsc::UnboundedReceiver<Signal>) {
        let (signals, heard) = mpsc::unbounded_channel();
        let (outcomes, decisions, overrides) = (Waiting::default(), Waiting::default(), Waiting::default());
        let link = Mutex::new(Link { signals: Some(signals), news: may_come_back.then(Vec::new) });
        (Arc::new(Self { link, outcomes, decisions, overrides, asks }), heard)
    }

    /// The host has come back.
    pub fn come_back(&self) -> ComeBack {
        let (signals, heard) = mpsc::unbounded_channel();
        let mut link = self.link();
        let news = link.news.iter().flatten().cloned();
        let questions = [self.outcomes.reopen(), self.decisions.reopen(), self.overrides.reopen()];
        for signal in news.chain(questions.into_iter().flatten()) {
            drop(signals.send(signal));
        }
        let ended = link.news.iter().flatten().find_map(|news| {
            if let Signal::BatchFinished(outcome) = news { Some(Arc::clone(&outcome.batch)) } else { None }
        });
        if let Some(news) = link.news.as_mut().filter(|_| ended.is_some()) {
            news.clear();
        }
        link.signals = Some(signals);
        ComeBack { heard, ended }
    }

    /// The host is away: nothing is sent, and what it is asked waits for it.
    pub fn go_away(&self) {
        self.link().signals = None;
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
        let mut link = self.link();
        let Link { signals, news } = &mut *link;
        if let Some(news) = news {
            match &signal {
                // Once it was said, a host that has not heard it sends its batch again.
                Signal::BatchFinished(_) if signals.is_some() => news.clear(),
                // Nothing of it is recorded, and its id is not taken again.
                Signal::BatchLost => news.clear(),
                Signal::Finished(_) | Signal::BatchFinished(_) => news.push(signal.clone()),
                Signal::Started { .. }
                | Signal::Progress(..)
                | Signal::Execute(..)
                | Signal::Cancel { .. }
                | Signal::JudgeBefore(_)
                | Signal::JudgeAfter(..) => {}
            }
        }
        // Without a way there is nobody to tell.
        if let Some(signals) = signals {
            drop(signals.send(signal));
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        // What the lock guards is never left half changed.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks something, over the way that there is now and over every later one; `None` once nobody can answer any more.
    fn ask<'a, T>(
        &'a self,
        waiting: &'a Waiting<T>,
        place: (&Arc<str>, u32),
        running: Option<(&Arc<str>, ProgressSender)>,
        ask: impl Fn(Asked) -> Signal,
    ) -> Option<Question<'a, T>> {
        // Held until it is asked, so that a host that comes back meanwhile is not asked twice.
        let link = self.link();
        let again = link.news.is_some().then(|| ask(Asked::Again));
        let question = waiting.question(place, again, running)?;
        if let Some(signals) = &link.signals {
            drop(signals.send(ask(Asked::First)));
        }
        Some(question)
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
        let execute = |asked| Signal::Execute(Box::new(execution.clone()), asked);
        let question = self.ask(&self.outcomes, (&batch, index), Some((&call_id, progress)), execute);
        let Some(question) = question else { return Err(ExecutorError::NoHost) };
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
        let place = (&call.place.batch, call.call.index);
        let question = self.ask(&self.decisions, place, None, |_| Signal::JudgeBefore(call.clone()));
        let Some(question) = question else { return Err(HookError(CLOSED.to_owned())) };
        self.judged(question.answer()).await
    }

    async fn after(&self, call: &HookCall, result: &CallResult) -> Result<Override, HookError> {
        if !self.asks.after {
            return Ok(Override::default());
        }
        let place = (&call.place.batch, call.call.index);
        let judge = |_| Signal::JudgeAfter(call.clone(), Box::new(result.clone()));
        let question = self.ask(&self.overrides, place, None, judge);
        let Some(question) = question else { return Err(HookError(CLOSED.to_owned())) };
        self.judged(question.answer()).await
    }
}

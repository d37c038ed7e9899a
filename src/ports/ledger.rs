//! Where it is written what was executed once (rules S1 to S4): submissions, and calls under a key of their host's.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use uuid::Uuid;

use crate::{content::ToolOutput, json::SharedJson, tools::InDoubt};

/// What an execution is unique for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OnceKey {
    /// The task of the run.
    pub task: Arc<str>,
    /// Who else shares the key.
    pub scope: KeyScope,
    /// The key within them.
    pub key: Arc<str>,
}

/// Who shares a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Submissions to this tool. The key is a run, the task, or the canonical text of an argument.
    Submission(Arc<str>),
    /// Calls of the task to any tool. The key is the host's own idempotency key.
    Call,
}

/// What a call must hold before it is executed: all of its keys, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The keys, at least one. The first that is taken says what was executed.
    pub keys: Vec<OnceKey>,
    /// What happens while an earlier execution has an unknown outcome.
    pub in_doubt: InDoubt,
    /// The key that this execution gives to whatever has side effects.
    pub idempotency_key: Arc<str>,
}

/// What was executed once: the call, and the answer that every repetition of it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The keys that it holds.
    pub keys: Vec<OnceKey>,
    /// The tool.
    pub tool: Arc<str>,
    /// The run in which it was executed.
    pub run: Arc<str>,
    /// The model's call id.
    pub call_id: Arc<str>,
    /// The arguments as the model sent them.
    pub raw_arguments: Bytes,
    /// The arguments that were executed.
    pub arguments: SharedJson,
    /// When: milliseconds since 1970-01-01T00:00:00Z.
    pub recorded_at_ms: i64,
    /// What its result was: with `terminate` as it was said then.
    pub output: ToolOutput,
}

/// What was accepted, as whoever consumes it reads it (rule S5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The task.
    pub task: Arc<str>,
    /// The tool that accepted it.
    pub tool: Arc<str>,
    /// The key within the task and the tool.
    pub key: Arc<str>,
    /// The run in which it was accepted.
    pub run: Arc<str>,
    /// The model's call id.
    pub call_id: Arc<str>,
    /// The arguments as the model sent them.
    pub raw_arguments: Bytes,
    /// The arguments that were executed.
    pub arguments: SharedJson,
    /// When: milliseconds since 1970-01-01T00:00:00Z.
    pub accepted_at_ms: i64,
    /// Position in the order of acceptance, from 1. Numbers may be missing.
    pub sequence: u64,
}

impl Record {
    /// The submission that it is, if it is one.
    pub fn submission(&self, sequence: u64) -> Option<Submission> {
        let submitted = |key: &OnceKey| matches!(key.scope, KeyScope::Submission(_));
        let own = self.keys.iter().find(|key| submitted(key))?;
        Some(Submission {
            task: Arc::clone(&own.task),
            tool: Arc::clone(&self.tool),
            key: Arc::clone(&own.key),
            run: Arc::clone(&self.run),
            call_id: Arc::clone(&self.call_id),
            raw_arguments: self.raw_arguments.clone(),
            arguments: self.arguments.clone(),
            accepted_at_ms: self.recorded_at_ms,
            sequence,
        })
    }
}

/// Proof that a claim is held for one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The keys.
    pub keys: Vec<OnceKey>,
    /// The mark of the holder, which no other reservation has.
    pub holder: Uuid,
    /// The key to give to whatever has side effects: the claim's own, or that of the execution that was in doubt.
    pub idempotency_key: Arc<str>,
}

/// What became of an attempt to reserve a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Reserved {
    /// It is held: execute, then record, release or doubt.
    Free(Reservation),
    /// Something was executed under this key.
    Taken(OnceKey, Box<Record>),
    /// An earlier execution under this key has an unknown outcome.
    InDoubt(OnceKey),
}

/// Which submissions to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    /// Of this task only.
    pub task: Option<Arc<str>>,
    /// Of this tool only.
    pub tool: Option<Arc<str>>,
    /// Under this key only.
    pub key: Option<Arc<str>>,
    /// Only those after this sequence number.
    pub after: u64,
    /// At most so many.
    pub limit: usize,
    /// The newest of them first, instead of the oldest.
    pub newest_first: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self { task: None, tool: None, key: None, after: 0, limit: usize::MAX, newest_first: false }
    }
}

impl Selection {
    /// Whether the submission is of the task and the tool, and under the key, that are asked for.
    pub fn includes(&self, submission: &Submission) -> bool {
        let is = |wanted: &Option<Arc<str>>, own: &Arc<str>| wanted.as_ref().is_none_or(|wanted| wanted == own);
        is(&self.task, &submission.task) && is(&self.tool, &submission.tool) && is(&self.key, &submission.key)
    }
}

/// How long the ledger remembers; `None`: for ever. What is forgotten may be executed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Submissions, and keys of submissions that are in doubt.
    pub submissions: Option<Duration>,
    /// Calls under a key of their host's only.
    pub calls: Option<Duration>,
}

impl Default for Retention {
    fn default() -> Self {
        Self { submissions: None, calls: Some(Duration::from_hours(24)) }
    }
}

/// The ledger could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Its store does not answer, or answers with a failure. What was asked for may have happened or not.
    #[error("the ledger is not available: {0}")]
    Unavailable(String),
    /// The reservation is not held any more: its key was handed to somebody else after a doubt.
    #[error("the reservation is not held any more")]
    NotHeld,
}

/// Keeps what was executed once. Every method that changes something returns when the change is as durable as the ledger can make
/// it. Futures may be dropped at any time: what a dropped one has reserved is released.
#[async_trait]
pub trait Ledger: Debug + Send + Sync {
    /// Holds all keys of the claim for one execution. Waits while another holder's execution is undecided; the caller bounds the
    /// wait. With `InDoubt::Retry`, a key in doubt is handed out again, with the idempotency key of the execution in doubt.
    async fn reserve(&self, claim: &Claim) -> Result<Reserved, LedgerError>;

    /// The execution succeeded: the keys are taken. The ledger gives the sequence number.
    async fn record(&self, reservation: Reservation, record: Record) -> Result<(), LedgerError>;

    /// Nothing was executed: the keys are what they were before the reservation, free or in doubt.
    async fn withdraw(&self, reservation: Reservation) -> Result<(), LedgerError>;

    /// The execution failed without effect: the keys are free again.
    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError>;

    /// Nobody knows whether the execution had its effect (rule S4).
    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError>;

    /// What was accepted, in the order of acceptance.
    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, LedgerError>;

    /// Returns when something was recorded after the sequence number: the newest sequence number.
    async fn changed(&self, after: u64) -> Result<u64, LedgerError>;

    /// Forgets what is older than the retention at this time: how many records and doubts that were.
    async fn forget(&self, retention: Retention, now_ms: i64) -> Result<u64, LedgerError>;
}

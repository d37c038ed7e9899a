//! Where it is written what was accepted (rules S1 to S4).

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{content::ToolOutput, json::SharedJson, tools::InDoubt};

/// What an acceptance is unique for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AcceptKey {
    /// The task of the run.
    pub task: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
    /// The key within the task and the tool: a run, the task, or the canonical text of an argument.
    pub key: Arc<str>,
}

/// What was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The key that it holds.
    pub key: AcceptKey,
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
    /// Position in the order of acceptance, from 1; 0 until the ledger has given one.
    pub sequence: u64,
}

/// A submission and the answer that every repetition of it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// What was accepted.
    pub submission: Submission,
    /// What its result was: with `terminate` as it was said then.
    pub output: ToolOutput,
}

/// Proof that a key is held for one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The key.
    pub key: AcceptKey,
    /// The ledger's own mark of the holder.
    pub holder: u64,
}

/// What became of an attempt to reserve a key.
#[derive(Debug)]
pub enum Reserved {
    /// The key is held: execute, then accept or release.
    Free(Reservation),
    /// Something was accepted under the key.
    Taken(Box<Accepted>),
    /// An earlier execution under the key has an unknown outcome.
    InDoubt,
}

/// The ledger could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LedgerError(pub String);

/// Keeps what was accepted. Every method that changes something returns when the change is as durable as the ledger can make it.
#[async_trait]
pub trait Ledger: Debug + Send + Sync {
    /// Holds the key for one execution. Waits while another holder's execution is undecided; the caller bounds the wait.
    /// With `InDoubt::Retry`, a key in doubt is handed out again.
    async fn reserve(&self, key: &AcceptKey, in_doubt: InDoubt) -> Result<Reserved, LedgerError>;

    /// The execution succeeded: the key is taken for ever. The ledger gives the sequence number.
    async fn accept(&self, reservation: Reservation, accepted: Accepted) -> Result<(), LedgerError>;

    /// The execution failed without effect: the key is free again.
    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError>;

    /// Nobody knows whether the execution had its effect (rule S4).
    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError>;

    /// What a task has accepted, or all tasks, in the order of acceptance, after a sequence number.
    async fn accepted(&self, task: Option<&str>, after: u64) -> Result<Vec<Submission>, LedgerError>;

    /// Returns when something was accepted after the sequence number: the newest sequence number.
    async fn changed(&self, after: u64) -> Result<u64, LedgerError>;
}

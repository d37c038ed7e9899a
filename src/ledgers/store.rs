//! What a ledger wants of its store.

use std::{collections::HashMap, fmt::Debug, sync::Arc};

use async_trait::async_trait;

use super::{
    operation::Operation,
    slot::{Answer, Kind},
};
use crate::ports::{Record, Retention, Selection, Submission};

/// Keeps slots and records.
#[async_trait]
pub trait Store: Debug + Send + Sync + 'static {
    /// Applies the operations, one after the other, and returns when all that they change is as durable as it can be: all of it, or
    /// nothing. What changes nothing costs no commit.
    async fn apply(&self, operations: Arc<[Operation]>) -> Result<Applied, Failure>;

    /// What was accepted, in the order of acceptance.
    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, Failure>;

    /// The sequence number of the newest record.
    async fn newest(&self) -> Result<u64, Failure>;

    /// Forgets what is older: how many records and doubts that were.
    async fn forget(&self, older: Older) -> Result<u64, Failure>;

    /// Whether others change it, too.
    fn is_shared(&self) -> bool {
        false
    }
}

/// What became of a group of operations.
#[derive(Debug)]
pub struct Applied {
    /// The answers, in their order.
    pub(super) answers: Vec<Answer>,
    /// The records that answers name, or why one cannot be read.
    pub(super) records: HashMap<u64, Result<Arc<Record>, String>>,
    /// The sequence number of the newest record.
    pub(super) newest: u64,
}

/// A store that does not do its work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Why.
    pub(super) message: String,
    /// Whether it may have been done all the same.
    pub(super) is_undecided: bool,
}

impl Failure {
    /// Nothing was changed.
    pub(super) fn before(cause: &(impl ToString + ?Sized)) -> Self {
        Self { message: cause.to_string(), is_undecided: false }
    }

    /// Nobody knows what was changed.
    pub(super) fn during(cause: &(impl ToString + ?Sized)) -> Self {
        Self { message: cause.to_string(), is_undecided: true }
    }
}

/// What may be forgotten: what is from before these times, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy)]
pub struct Older {
    submissions: Option<i64>,
    calls: Option<i64>,
}

impl Older {
    pub(super) fn of(retention: Retention, now_ms: i64) -> Self {
        let before =
            |kept: std::time::Duration| now_ms.saturating_sub(i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
        Self { submissions: retention.submissions.map(before), calls: retention.calls.map(before) }
    }

    /// The time before which things of this kind are forgotten; `None`: they are kept.
    pub(super) fn than(self, kind: Kind) -> Option<i64> {
        match kind {
            Kind::Submission => self.submissions,
            Kind::Call => self.calls,
        }
    }

    /// Whether something of this time is forgotten.
    pub(super) fn is(self, kind: Kind, at_ms: i64) -> bool {
        self.than(kind).is_some_and(|before| at_ms < before)
    }
}

//! Limits of a run, and what is left of them (rule B7).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::refusal::Reason;

/// The limits; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Limits {
    /// Batches in the run.
    pub max_turns: Option<u32>,
    /// Calls in the run.
    pub max_calls: Option<u32>,
    /// Calls in one batch.
    pub max_calls_per_batch: Option<u32>,
    /// Calls in a row that were not found, malformed, invalid or denied.
    pub max_consecutive_invalid: Option<u32>,
    /// Time since the run was opened.
    pub max_wall: Option<Duration>,
    /// Whether the last turn and the last call are kept for tools that accept submissions. `None` is no.
    pub reserve_delivery: Option<bool>,
}

impl Limits {
    /// These limits, and the others where these say nothing.
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        Self {
            max_turns: self.max_turns.or(others.max_turns),
            max_calls: self.max_calls.or(others.max_calls),
            max_calls_per_batch: self.max_calls_per_batch.or(others.max_calls_per_batch),
            max_consecutive_invalid: self.max_consecutive_invalid.or(others.max_consecutive_invalid),
            max_wall: self.max_wall.or(others.max_wall),
            reserve_delivery: self.reserve_delivery.or(others.reserve_delivery),
        }
    }
}

/// The name of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Batches in the run.
    Turns,
    /// Calls in the run.
    Calls,
    /// Calls in one batch.
    CallsPerBatch,
    /// Invalid calls in a row.
    ConsecutiveInvalid,
    /// Time since the run was opened.
    Wall,
    /// Calls of one tool in the run.
    CallsOfTool,
    /// The last turn or the last call, which is kept for a submission.
    ReservedForDelivery,
}

impl Limit {
    /// All of them.
    pub(super) const ALL: [Self; 7] = [
        Self::Turns,
        Self::Calls,
        Self::CallsPerBatch,
        Self::ConsecutiveInvalid,
        Self::Wall,
        Self::CallsOfTool,
        Self::ReservedForDelivery,
    ];

    /// The reason that a refused call gives.
    pub fn reason(self) -> Reason {
        match self {
            Self::Turns => Reason::MaxTurns,
            Self::Calls => Reason::MaxCalls,
            Self::CallsPerBatch => Reason::MaxCallsPerBatch,
            Self::ConsecutiveInvalid => Reason::MaxConsecutiveInvalid,
            Self::Wall => Reason::MaxWall,
            Self::CallsOfTool => Reason::MaxCallsOfTool,
            Self::ReservedForDelivery => Reason::ReservedForDelivery,
        }
    }

    /// Its name, for example `max_turns`.
    pub fn as_str(self) -> &'static str {
        self.reason().as_str()
    }
}

/// What is left; `None` where there is no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budget {
    /// Batches.
    pub turns: Option<u32>,
    /// Calls.
    pub calls: Option<u32>,
    /// Invalid calls in a row.
    pub consecutive_invalid: Option<u32>,
    /// Time.
    pub wall: Option<Duration>,
    /// Calls of each tool whose contract limits them.
    pub tool_calls: BTreeMap<Arc<str>, u32>,
}

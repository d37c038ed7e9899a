//! Limits of a run, counted over all its batches and checked before each (rule B7).

use std::time::Duration;

use crate::refusal::{Code, Reason};

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
}

impl Limit {
    /// The reason that a refused call gives.
    pub fn reason(self) -> Reason {
        match self {
            Self::Turns => Reason::MaxTurns,
            Self::Calls => Reason::MaxCalls,
            Self::CallsPerBatch => Reason::MaxCallsPerBatch,
            Self::ConsecutiveInvalid => Reason::MaxConsecutiveInvalid,
            Self::Wall => Reason::MaxWall,
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
}

/// What was used.
#[derive(Debug, Default)]
pub(super) struct Counters {
    turns: u32,
    calls: u32,
    consecutive_invalid: u32,
    /// The run was told that it stops for its invalid calls: a valid one that stood in the same batch does not undo that.
    gave_up: bool,
}

impl Counters {
    /// Begins a batch, or names the limit that forbids it.
    pub(super) fn begin_batch(&mut self, limits: &Limits, elapsed: Duration) -> Option<Limit> {
        let reached = self.reached(limits, elapsed);
        self.turns += u32::from(reached.is_none());
        reached
    }

    /// Takes a call into the batch, or names the limit that forbids it.
    pub(super) fn take_call(&mut self, limits: &Limits, index: u32) -> Option<Limit> {
        if limits.max_calls_per_batch.is_some_and(|max| index >= max) {
            return Some(Limit::CallsPerBatch);
        }
        if limits.max_calls.is_some_and(|max| self.calls >= max) {
            return Some(Limit::Calls);
        }
        self.calls += 1;
        None
    }

    /// A call passed its preflight.
    pub(super) fn valid_call(&mut self) {
        self.consecutive_invalid = 0;
    }

    /// A call was refused. The count, if it just reached the limit.
    pub(super) fn refused_call(&mut self, limits: &Limits, code: Code) -> Option<u32> {
        if !code.counts_as_invalid() {
            return None;
        }
        self.consecutive_invalid += 1;
        let reached = limits.max_consecutive_invalid.filter(|max| *max == self.consecutive_invalid);
        self.gave_up |= reached.is_some();
        reached
    }

    /// The limit that forbids any further batch.
    pub(super) fn reached(&self, limits: &Limits, elapsed: Duration) -> Option<Limit> {
        let used = |used: u32, max: Option<u32>| max.is_some_and(|max| used >= max);
        [
            (Limit::ConsecutiveInvalid, self.gave_up || limits.max_consecutive_invalid == Some(0)),
            (Limit::Wall, limits.max_wall.is_some_and(|max| elapsed >= max)),
            (Limit::Calls, used(self.calls, limits.max_calls)),
            (Limit::Turns, used(self.turns, limits.max_turns)),
        ]
        .into_iter()
        .find_map(|(limit, reached)| reached.then_some(limit))
    }

    /// What is left.
    pub(super) fn remaining(&self, limits: &Limits, elapsed: Duration) -> Budget {
        let left = |used: u32, max: Option<u32>| max.map(|max| max.saturating_sub(used));
        Budget {
            turns: left(self.turns, limits.max_turns),
            calls: left(self.calls, limits.max_calls),
            consecutive_invalid: limits
                .max_consecutive_invalid
                .map(|max| if self.gave_up { 0 } else { max.saturating_sub(self.consecutive_invalid) }),
            wall: limits.max_wall.map(|max| max.saturating_sub(elapsed)),
        }
    }
}

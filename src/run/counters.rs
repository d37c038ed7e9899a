//! What a run has used, counted over all its batches and checked before each (rule B7).

use std::{sync::Arc, time::Duration};

use ahash::AHashMap;

use super::{Budget, Limit, Limits};
use crate::{
    refusal::{Code, Reason},
    tools::{Catalog, Tool},
};

/// Batches for which the last turn or call is kept though they do not deliver: a model may need to be told, but not for ever.
const MAX_OFFERS: u32 = 3;

/// What was used.
#[derive(Debug, Default)]
pub(super) struct Counters {
    turns: u32,
    calls: u32,
    consecutive_invalid: u32,
    /// The run was told that it stops for its invalid calls: a valid one that stood in the same batch does not undo that.
    gave_up: bool,
    /// Of tools with limits of their own.
    tools: AHashMap<Arc<str>, Used>,
    /// The last turn and the last call are kept for delivery.
    keeps_last: bool,
    /// This batch has the last turn, and the turn is kept.
    has_kept_turn: bool,
    /// Batches that had only what is kept, and did not use it.
    offers: u32,
}

/// What was used of one tool.
#[derive(Debug, Default)]
struct Used {
    calls: u32,
    calls_in_flight: usize,
    bytes_in_flight: usize,
}

/// What a refused call means for the calls after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strike {
    /// One more in a row ends the run; it was the so manieth.
    LastButOne(u32),
    /// It was the last one allowed; it was the so manieth.
    Last(u32),
}

impl Counters {
    /// Begins a batch, or names the limit that forbids it. A turn that is kept for delivery is used by the call that delivers.
    pub(super) fn begin_batch(&mut self, limits: &Limits, elapsed: Duration, catalog: &Catalog) -> Option<Limit> {
        // Where nothing can be delivered, nothing is kept.
        self.keeps_last = limits.reserve_delivery == Some(true) && !catalog.submissions().is_empty();
        let reached = self.reached(limits, elapsed);
        self.has_kept_turn = self.keeps_last && is_last(self.turns, limits.max_turns);
        self.offers += u32::from(reached.is_none() && self.has_only_kept(limits));
        self.turns += u32::from(reached.is_none() && !self.has_kept_turn);
        reached
    }

    /// Takes a call into the batch, or names the limit that forbids it. `delivers`: whether its tool accepts submissions.
    pub(super) fn take_call(&mut self, limits: &Limits, index: u32, delivers: impl FnOnce() -> bool) -> Option<Limit> {
        if limits.max_calls_per_batch.is_some_and(|max| index >= max) {
            return Some(Limit::CallsPerBatch);
        }
        if limits.max_calls.is_some_and(|max| self.calls >= max) {
            return Some(Limit::Calls);
        }
        let is_kept = self.has_kept_turn || self.keeps_last && is_last(self.calls, limits.max_calls);
        if is_kept && !delivers() {
            return Some(Limit::ReservedForDelivery);
        }
        if let Some(max) = limits.max_turns.filter(|_| self.has_kept_turn) {
            self.turns = max;
        }
        self.calls += 1;
        None
    }

    /// Takes a call to a tool, or says which of the tool's own limits forbids it. Whoever takes one gives it back.
    pub(super) fn take_of_tool(&mut self, tool: &Tool, bytes: usize) -> Result<(), (Code, Reason)> {
        let used = self.tools.entry(Arc::clone(&tool.name)).or_default();
        let limits = tool.limits;
        if limits.max_calls.is_some_and(|max| used.calls >= max) {
            return Err((Code::LimitReached, Reason::MaxCallsOfTool));
        }
        if limits.max_calls_in_flight.is_some_and(|max| used.calls_in_flight >= max) {
            return Err((Code::Overloaded, Reason::MaxCallsInFlightOfTool));
        }
        let bytes_in_flight = used.bytes_in_flight.saturating_add(bytes);
        if limits.max_bytes_in_flight.is_some_and(|max| bytes_in_flight > max) {
            return Err((Code::Overloaded, Reason::MaxBytesInFlightOfTool));
        }
        used.calls += 1;
        used.calls_in_flight += 1;
        used.bytes_in_flight = bytes_in_flight;
        Ok(())
    }

    /// A call to a tool is not in flight any more.
    pub(super) fn give_back_of_tool(&mut self, tool: &str, bytes: usize) {
        if let Some(used) = self.tools.get_mut(tool) {
            used.calls_in_flight = used.calls_in_flight.saturating_sub(1);
            used.bytes_in_flight = used.bytes_in_flight.saturating_sub(bytes);
        }
    }

    /// A call passed its preflight.
    pub(super) fn valid_call(&mut self) {
        self.consecutive_invalid = 0;
    }

    /// A call was refused. What it means for the next ones, if that has to be said.
    pub(super) fn refused_call(&mut self, limits: &Limits, code: Code) -> Option<Strike> {
        if !code.counts_as_invalid() {
            return None;
        }
        self.consecutive_invalid += 1;
        let count = self.consecutive_invalid;
        match limits.max_consecutive_invalid?.checked_sub(count)? {
            0 => {
                self.gave_up = true;
                Some(Strike::Last(count))
            }
            1 => Some(Strike::LastButOne(count)),
            _ => None,
        }
    }

    /// The limit that forbids any further batch.
    pub(super) fn reached(&self, limits: &Limits, elapsed: Duration) -> Option<Limit> {
        let used = |used: u32, max: Option<u32>| max.is_some_and(|max| used >= max) || self.is_lost(used, max);
        let used_up =
            [(Limit::Calls, used(self.calls, limits.max_calls)), (Limit::Turns, used(self.turns, limits.max_turns))];
        self.ended_by(limits, elapsed).or_else(|| used_up.into_iter().find_map(first_reached))
    }

    /// The limit that forbids even what was counted already.
    pub(super) fn ended_by(&self, limits: &Limits, elapsed: Duration) -> Option<Limit> {
        let ended = [
            (Limit::ConsecutiveInvalid, self.gave_up || limits.max_consecutive_invalid == Some(0)),
            (Limit::Wall, limits.max_wall.is_some_and(|max| elapsed >= max)),
        ];
        ended.into_iter().find_map(first_reached)
    }

    /// Whether nothing is left but what is kept for delivery.
    pub(super) fn has_only_kept(&self, limits: &Limits) -> bool {
        self.keeps_last && (is_last(self.turns, limits.max_turns) || is_last(self.calls, limits.max_calls))
    }

    /// What is left, of the run and of each tool in its catalog that has a limit.
    pub(super) fn remaining(&self, limits: &Limits, elapsed: Duration, catalog: &Catalog) -> Budget {
        let left = |used: u32, max: Option<u32>| {
            max.map(|most| if self.is_lost(used, max) { 0 } else { most.saturating_sub(used) })
        };
        let left_of_tool = |tool: &Arc<Tool>| {
            let used = self.tools.get(&tool.name).map_or(0, |used| used.calls);
            Some((Arc::clone(&tool.name), tool.limits.max_calls?.saturating_sub(used)))
        };
        Budget {
            turns: left(self.turns, limits.max_turns),
            calls: left(self.calls, limits.max_calls),
            consecutive_invalid: limits
                .max_consecutive_invalid
                .map(|max| if self.gave_up { 0 } else { max.saturating_sub(self.consecutive_invalid) }),
            wall: limits.max_wall.map(|max| max.saturating_sub(elapsed)),
            tool_calls: catalog.counted().iter().filter_map(left_of_tool).collect(),
        }
    }

    /// Whether the last one was kept, and is not any more.
    fn is_lost(&self, used: u32, max: Option<u32>) -> bool {
        self.keeps_last && self.offers >= MAX_OFFERS && is_last(used, max)
    }
}

fn first_reached((limit, is_reached): (Limit, bool)) -> Option<Limit> {
    is_reached.then_some(limit)
}

/// Whether only one is left.
fn is_last(used: u32, max: Option<u32>) -> bool {
    max.is_some_and(|max| used.checked_add(1) == Some(max))
}

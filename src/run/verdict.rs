//! What a batch means for the run (rules B6 and B9).

use std::sync::Arc;

use super::{Budget, Limit};
use crate::{ports::Submission, refusal::Code, result::CallResult};

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The run may end.
    pub terminate: bool,
    /// Why.
    pub reason: VerdictReason,
    /// A limit says that the host must not ask the model again.
    pub stop: bool,
    /// Calls that did not agree to end.
    pub blocking: Vec<u32>,
    /// What the task has accepted so far.
    pub accepted: Vec<Submission>,
    /// The limit that was reached.
    pub limit: Option<Limit>,
    /// What is left.
    pub remaining: Budget,
    /// The tool to force at the next request to the model.
    pub tool_choice: Option<Arc<str>>,
}

/// Why the verdict is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictReason {
    /// Every result agreed.
    AllTerminate,
    /// Not every result agreed.
    NotAll,
    /// There were no calls.
    Empty,
    /// The response was cut off.
    Truncated,
    /// A limit was reached.
    LimitReached,
    /// The batch was cancelled.
    Cancelled,
}

impl VerdictReason {
    /// The stable word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllTerminate => "all_terminate",
            Self::NotAll => "not_all",
            Self::Empty => "empty",
            Self::Truncated => "truncated",
            Self::LimitReached => "limit_reached",
            Self::Cancelled => "cancelled",
        }
    }
}

/// All must agree: the answer, why, and who did not. An empty batch is no agreement.
pub fn agree(terminates: impl IntoIterator<Item = bool>, cut_off: bool) -> (bool, VerdictReason, Vec<u32>) {
    let mut count = 0_usize;
    let mut blocking = Vec::new();
    for (index, terminate) in (0..).zip(terminates) {
        count += 1;
        if !terminate {
            blocking.push(index);
        }
    }
    let reason = match (cut_off, count, blocking.is_empty()) {
        (true, ..) => VerdictReason::Truncated,
        (false, 0, _) => VerdictReason::Empty,
        (false, _, true) => VerdictReason::AllTerminate,
        (false, _, false) => VerdictReason::NotAll,
    };
    (reason == VerdictReason::AllTerminate, reason, blocking)
}

/// What a batch ended with, beside its results.
pub(super) struct Ending {
    pub(super) cut_off: bool,
    pub(super) cancelled: bool,
    /// The limit that ends the run.
    pub(super) reached: Option<Limit>,
    pub(super) remaining: Budget,
    pub(super) accepted: Vec<Submission>,
    /// The tool to force because only its call is left.
    pub(super) to_force: Option<Arc<str>>,
}

impl Verdict {
    /// `served` is the own name of the tool that a name means, if it can be called.
    pub(super) fn of(results: &[Arc<CallResult>], ending: Ending, served: impl Fn(&str) -> Option<Arc<str>>) -> Self {
        let (terminate, agreed, blocking) = agree(results.iter().map(|result| result.terminate), ending.cut_off);
        let refused = results.iter().find_map(|result| refused_by(result));
        let limit = ending.reached.or(refused);
        let reason = if ending.cancelled {
            VerdictReason::Cancelled
        } else if limit.is_some() && agreed == VerdictReason::NotAll {
            VerdictReason::LimitReached
        } else {
            agreed
        };
        let can_go_on = |tool: &Arc<str>| ending.reached.is_none() && ending.remaining.tool_calls.get(tool) != Some(&0);
        let tool_choice = ending.to_force.or_else(|| tool_to_force(results, served)).filter(can_go_on);
        Self {
            terminate: terminate && !ending.cancelled,
            reason,
            stop: ending.reached.is_some(),
            blocking,
            accepted: ending.accepted,
            limit,
            remaining: ending.remaining,
            tool_choice,
        }
    }
}

/// The limit by which a call was refused.
fn refused_by(result: &CallResult) -> Option<Limit> {
    let error = result.error.as_ref().filter(|error| error.code == Code::LimitReached)?;
    Limit::ALL.into_iter().find(|limit| Some(limit.reason()) == error.reason)
}

/// The tool of the invalid calls, if they all meant the same.
fn tool_to_force(results: &[Arc<CallResult>], served: impl Fn(&str) -> Option<Arc<str>>) -> Option<Arc<str>> {
    let is_invalid = |result: &&Arc<CallResult>| {
        let code = result.error.as_ref().map(|error| error.code);
        matches!(code, Some(Code::InvalidArguments | Code::MalformedArguments | Code::Truncated))
    };
    let mut tools = results.iter().filter(is_invalid).map(|result| served(&result.call.name));
    let first = tools.next()??;
    tools.all(|tool| tool.as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b6_only_a_batch_in_which_all_agree_ends_the_run() {
        for (case, terminates, cut_off, expected) in [
            ("term-003", vec![], false, (false, VerdictReason::Empty, vec![])),
            ("term-004", vec![true, false], false, (false, VerdictReason::NotAll, vec![1])),
            ("term-006", vec![false, false, true], false, (false, VerdictReason::NotAll, vec![0, 1])),
            ("term-007", vec![true], false, (true, VerdictReason::AllTerminate, vec![])),
            ("all", vec![true, true], false, (true, VerdictReason::AllTerminate, vec![])),
            ("cut off", vec![true], true, (false, VerdictReason::Truncated, vec![])),
        ] {
            assert_eq!(agree(terminates, cut_off), expected, "{case}");
        }
    }
}

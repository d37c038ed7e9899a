//! What refuses a call before anybody looks at it, and the delivery of results that needed no executor.

use super::Ongoing;
use crate::{
    call::ToolCall,
    content::Content,
    refusal::{Code, Reason, Refusal},
    result::{CallResult, Trace},
    run::{Limit, counters::Strike},
    wording,
};

impl Ongoing {
    /// What refuses a call before anybody looks at it.
    pub(super) fn forbidden(&mut self, call: &ToolCall) -> Option<Refusal> {
        let capacity = self.run.capacity();
        self.bytes = self.bytes.saturating_add(call.arguments.len());
        if self.cut_off {
            return Some(Refusal::new(Code::Truncated, None, wording::truncated(&call.name)));
        }
        if self.cancel.is_cancelled() {
            return Some(Refusal::new(Code::Cancelled, None, wording::cancelled(&call.name, false)));
        }
        if self.calls.len() >= capacity.max_calls_in_flight {
            return Some(over_limit(&call.name, Code::Overloaded, Reason::MaxCallsInFlight));
        }
        if self.bytes > capacity.max_bytes_in_flight {
            return Some(over_limit(&call.name, Code::Overloaded, Reason::MaxBytesInFlight));
        }
        let delivers = || self.run.scope().tool(&call.name).is_some_and(|tool| tool.accept.is_some());
        let limit = match self.closed {
            Some(limit) => Some(limit),
            // It was counted when it was sent before.
            None if self.earlier.as_ref().is_some_and(|earlier| earlier.counted.contains(&call.index)) => None,
            None => {
                let limit = self.run.counters().take_call(self.run.limits(), call.index, delivers);
                if limit.is_none() {
                    self.counted.insert(call.index);
                }
                limit
            }
        }?;
        if limit == Limit::ReservedForDelivery {
            let scope = self.run.scope();
            let submissions: Vec<&str> = scope.catalog.submissions().iter().map(|tool| &*tool.name).collect();
            let text = wording::reserved_for_delivery(&call.name, &submissions);
            return Some(Refusal::new(Code::LimitReached, Some(limit.reason()), text));
        }
        Some(over_limit(&call.name, Code::LimitReached, limit.reason()))
    }

    pub(super) fn refuse(&mut self, call: ToolCall, code: Code, reason: Option<Reason>) {
        let call = self.numbered(call);
        let text = if code == Code::Overloaded { wording::overloaded } else { wording::truncated }(&call.name);
        let refused = CallResult::refused(call, Trace::default(), Refusal::new(code, reason, text));
        self.delivery.span(&refused.call).in_scope(|| self.settle(refused));
    }

    /// Delivers a result that needs no executor.
    pub(super) fn settle(&mut self, mut result: CallResult) {
        result.call = self.with_id(result.call);
        if let Some(error) = &mut result.error
            && let Some(strike) = self.run.counters().refused_call(self.run.limits(), error.code)
        {
            error.text.push_str(&match strike {
                Strike::LastButOne(count) => wording::last_but_one_invalid(count),
                Strike::Last(count) => wording::last_invalid(count),
            });
            result.content = vec![Content::text(error.text.as_str())];
        }
        self.calls.settle(self.delivery.deliver(result));
    }
}

/// A call that is more than a limit allows.
pub(super) fn over_limit(tool: &str, code: Code, reason: Reason) -> Refusal {
    let text = if code == Code::Overloaded {
        wording::overloaded(tool)
    } else {
        wording::limit_reached(tool, reason.as_str())
    };
    Refusal::new(code, Some(reason), text)
}

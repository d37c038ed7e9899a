//! Where the news of a batch goes: to its observer, and what matters at night to the log. Never an argument.
//!
//! Each call has one span, named and filled as OpenTelemetry's conventions for generative AI have it. All of those are still "in
//! development", so their names stand here and nowhere else.

use std::sync::Arc;

use tracing::{Span, debug, field, info, info_span};

use super::{Limit, Observer, Verdict, VerdictReason};
use crate::{
    call::{BatchPlace, ToolCall, is_blank_id},
    content::Progress,
    excerpt::beginning,
    pipeline::Watch,
    refusal::Reason,
    result::CallResult,
};

/// Bytes of a name or an id that the log shows.
const MAX_SHOWN: usize = 80;

const TOOL_NAME: &str = "gen_ai.tool.name";
const CALL_ID: &str = "gen_ai.tool.call.id";
const ERROR_TYPE: &str = "error.type";

/// The way of a batch's news.
#[derive(Clone)]
pub(super) struct Delivery {
    pub(super) place: BatchPlace,
    observer: Arc<dyn Observer>,
}

impl Delivery {
    pub(super) fn new(place: BatchPlace, observer: Arc<dyn Observer>) -> Self {
        Self { place, observer }
    }

    /// The span of a call, from its preflight to its result.
    pub(super) fn span(&self, call: &ToolCall) -> Span {
        let (run, batch) = (&*self.place.run, &*self.place.batch);
        // They may be of any length; the log escapes what they hold.
        let tool = beginning(&call.name, MAX_SHOWN);
        let call_id = (!is_blank_id(&call.id)).then(|| beginning(&call.id, MAX_SHOWN));
        info_span!(
            "execute_tool",
            run,
            batch,
            index = call.index,
            { TOOL_NAME } = tool,
            { CALL_ID } = call_id,
            { ERROR_TYPE } = field::Empty
        )
    }

    /// Delivers the one terminal result of a call, within its span.
    pub(super) fn deliver(&self, result: CallResult) -> Arc<CallResult> {
        log(&result);
        let result = Arc::new(result);
        self.observer.finished(&result);
        result
    }

    /// Writes down what the batch means for its run. That a run goes on is nothing that anybody looks for at night.
    pub(super) fn conclude(&self, calls: usize, verdict: &Verdict) {
        let (run, batch, reason) = (&*self.place.run, &*self.place.batch, verdict.reason.as_str());
        let limit = verdict.limit.map(Limit::as_str);
        let Verdict { terminate, stop, .. } = verdict;
        if verdict.reason == VerdictReason::NotAll && !stop {
            debug!(run, batch, calls, "batch finished; the run goes on");
        } else {
            info!(run, batch, calls, terminate, stop, reason, limit, "batch finished");
        }
    }

    /// Watches a call while it runs.
    pub(super) fn watch(&self, call: &Arc<ToolCall>) -> CallWatch {
        CallWatch { call: Arc::clone(call), observer: Arc::clone(&self.observer) }
    }
}

/// The span says which call this is.
fn log(result: &CallResult) {
    let CallResult { executed, attempts, replayed, duration, .. } = result;
    if let Some(error) = &result.error {
        Span::current().record(ERROR_TYPE, error.code.as_str());
        info!(reason = error.reason.map(Reason::as_str), executed, attempts, ?duration, "call answered with an error");
    } else {
        debug!(replayed, attempts, ?duration, "call answered");
    }
}

/// Watches one call.
pub(super) struct CallWatch {
    call: Arc<ToolCall>,
    observer: Arc<dyn Observer>,
}

impl Watch for CallWatch {
    fn started(&self) {
        self.observer.started(self.call.index, &self.call.id, &self.call.name);
    }

    fn progress(&self, progress: Progress) {
        self.observer.progress(self.call.index, progress);
    }
}

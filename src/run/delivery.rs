//! Where the news of a batch goes: to its observer, and what matters at night to the log. Never an argument.

use std::sync::Arc;

use tracing::{debug, info};

use super::{Limit, Observer, Verdict};
use crate::{
    call::{BatchPlace, ToolCall},
    content::Progress,
    excerpt::excerpt,
    pipeline::Watch,
    refusal::Reason,
    result::CallResult,
};

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

    /// Delivers the one terminal result of a call.
    pub(super) fn deliver(&self, result: CallResult) -> Arc<CallResult> {
        self.log(&result);
        let result = Arc::new(result);
        self.observer.finished(&result);
        result
    }

    /// Writes down what the batch means for its run.
    pub(super) fn conclude(&self, calls: usize, verdict: &Verdict) {
        let (run, batch, reason) = (&*self.place.run, &*self.place.batch, verdict.reason.as_str());
        let limit = verdict.limit.map(Limit::as_str);
        let Verdict { terminate, stop, .. } = verdict;
        info!(run, batch, calls, terminate, stop, reason, limit, "batch finished");
    }

    /// Watches a call while it runs.
    pub(super) fn watch(&self, call: &Arc<ToolCall>) -> CallWatch {
        CallWatch { call: Arc::clone(call), observer: Arc::clone(&self.observer) }
    }

    fn log(&self, result: &CallResult) {
        let (run, batch) = (&*self.place.run, &*self.place.batch);
        let CallResult { call, executed, replayed, duration, .. } = result;
        let (index, tool) = (call.index, excerpt(&call.name));
        if let Some(error) = &result.error {
            let (code, reason) = (error.code.as_str(), error.reason.map(Reason::as_str));
            info!(run, batch, index, tool, code, reason, executed, ?duration, "call answered with an error");
        } else {
            debug!(run, batch, index, tool, replayed, ?duration, "call answered");
        }
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

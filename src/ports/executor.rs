//! Whatever runs a tool.

use std::{borrow::Cow, fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::channel::mpsc;

use crate::{
    call::{BatchPlace, ToolCall},
    content::{Progress, ToolOutput},
    json::SharedJson,
    tools::Tool,
};

/// A call that was admitted, as its executor sees it. Only the pipeline makes one, from an admitted call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Execution {
    /// The contract.
    pub tool: Arc<Tool>,
    /// The call, with its id and index.
    pub call: Arc<ToolCall>,
    /// Its run and batch.
    pub place: BatchPlace,
    /// The validated arguments.
    pub arguments: SharedJson,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// Idle time that the pipeline grants this try, for executors that pass it on.
    pub timeout: Option<Duration>,
    /// Hard time that the pipeline still grants, over all tries, for executors that pass it on.
    pub deadline: Option<Duration>,
    /// The key of this call, the same for every try; `None`: see [`Execution::idempotency_key`].
    pub(crate) key: Option<Arc<str>>,
}

impl Execution {
    /// The key of this call, the same for every try: the host's own, or one that no other call has, unless it repeats one that is in
    /// doubt.
    pub fn idempotency_key(&self) -> Cow<'_, str> {
        self.key.as_deref().map_or_else(|| self.call.key_at(&self.place), Cow::Borrowed)
    }
}

/// Where executors send signs of life. Sending never waits, and after the call's end it does nothing.
#[derive(Debug, Clone)]
pub struct ProgressSender(mpsc::UnboundedSender<Progress>);

impl ProgressSender {
    /// A sender and the pipeline's end of it.
    pub(crate) fn channel() -> (Self, mpsc::UnboundedReceiver<Progress>) {
        let (sender, receiver) = mpsc::unbounded();
        (Self(sender), receiver)
    }

    /// Reports a sign of life. Late progress is dropped.
    pub fn send(&self, progress: Progress) {
        // The receiver is gone when the call is over: then nobody wants to know.
        drop(self.0.unbounded_send(progress));
    }
}

/// Why there is no output.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// The tool is executed by the host, and this call has none to ask, or none any more.
    #[error("the tool is executed by its host, and this call has no host to ask")]
    NoHost,
    /// The tool was not started: nothing can have happened.
    #[error("{0}")]
    NotStarted(String),
    /// The tool was started and failed; something may have happened.
    #[error("{0}")]
    Failed(String),
    /// The tool answered, but with nothing that is a result.
    #[error("{0}")]
    InvalidResult(String),
}

/// Runs tools. Time-outs and cancellation are the pipeline's: it drops the future, and whatever the executor has started
/// must end with it.
#[async_trait]
pub trait Executor: Debug + Send + Sync {
    /// Runs the tool once.
    async fn execute(&self, execution: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError>;
}

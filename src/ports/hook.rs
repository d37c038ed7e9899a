//! Whoever judges calls: before they run, and what came of them after.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;

use crate::{
    call::{BatchPlace, ToolCall},
    content::Content,
    json::{Json, SharedJson},
    result::CallResult,
    tools::Tool,
};

/// What a hook sees.
#[derive(Debug, Clone)]
pub struct HookCall {
    /// The contract.
    pub tool: Arc<Tool>,
    /// The call.
    pub call: Arc<ToolCall>,
    /// Its run and batch.
    pub place: BatchPlace,
    /// The validated arguments: the same that the executor gets.
    pub arguments: SharedJson,
    /// What the host said about the run when it opened it.
    pub context: Arc<Json>,
}

/// What a hook says before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Allow,
    /// Do not run it.
    Deny {
        /// What the model reads.
        reason: String,
        /// Whether the run may end all the same.
        terminate: bool,
    },
    /// Run it with other arguments, after they are validated.
    Rewrite(Json),
}

/// What a hook changes in a result, field by field; `None` keeps the field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Override {
    /// New content.
    pub content: Option<Vec<Content>>,
    /// New structured result; the inner `None` removes it.
    pub structured: Option<Option<SharedJson>>,
    /// New details; the inner `None` removes them.
    pub details: Option<Option<SharedJson>>,
    /// Whether the model should read an error.
    pub is_error: Option<bool>,
    /// Whether the result agrees that the run may end.
    pub terminate: Option<bool>,
}

/// A hook gave no usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Judges calls (rules P6 and P8). A hook that fails denies, and never undoes what ran.
#[async_trait]
pub trait Hook: Debug + Send + Sync {
    /// Before the call runs.
    async fn before(&self, call: &HookCall) -> Result<Decision, HookError>;

    /// After it ran, before its result is delivered.
    async fn after(&self, call: &HookCall, result: &CallResult) -> Result<Override, HookError>;
}

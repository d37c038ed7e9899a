//! The one terminal result of a call, and what is kept beside it (mission 2 and 3).

use std::{sync::Arc, time::Duration};

use crate::{
    call::ToolCall,
    content::{Content, Warning},
    json::SharedJson,
    refusal::{Refusal, Repair},
};

/// What became of the arguments on their way; filled by the stages as far as they come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// What the model's text says, once it is parsed.
    pub received: Option<SharedJson>,
    /// After the prepare shim: the same value where it changed nothing.
    pub prepared: Option<SharedJson>,
    /// Validated: present if and only if validation passed.
    pub arguments: Option<SharedJson>,
    /// Every change between the model's text and the executed arguments.
    pub repairs: Vec<Repair>,
}

/// The terminal result of a call.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, as the wire has them")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The call, with what the model sent, byte for byte.
    pub call: Arc<ToolCall>,
    /// What became of its arguments.
    pub trace: Trace,
    /// Why this is an error, if the booth knows; a tool's own failure has a refusal-like record too.
    pub error: Option<Refusal>,
    /// Whether the model should read an error.
    pub is_error: bool,
    /// Whether the executor was started for this result.
    pub executed: bool,
    /// How often the booth has tried to execute it for this result, tries that did not reach the tool included.
    pub attempts: u32,
    /// Whether this result agrees that the run may end.
    pub terminate: bool,
    /// Whether this is the stored answer of an earlier call.
    pub replayed: bool,
    /// What the model reads; never empty.
    pub content: Vec<Content>,
    /// The tool's structured result.
    pub structured: Option<SharedJson>,
    /// For the host only.
    pub details: Option<SharedJson>,
    /// What the host should know though the result stands.
    pub warnings: Vec<Warning>,
    /// From preflight to result.
    pub duration: Duration,
}

impl CallResult {
    /// The result of a call that was not run, or whose run the booth had to give up.
    pub fn refused(call: Arc<ToolCall>, trace: Trace, refusal: Refusal) -> Self {
        Self {
            call,
            trace,
            is_error: true,
            executed: false,
            attempts: 0,
            terminate: refusal.terminate,
            replayed: false,
            content: vec![Content::text(refusal.text.as_str())],
            structured: None,
            details: None,
            warnings: Vec::new(),
            duration: Duration::ZERO,
            error: Some(refusal),
        }
    }

    /// All of it as text, as a person or a `pipe` reader sees it: bytes are named by kind and size, never shown.
    pub fn text(&self) -> String {
        self.content.iter().map(Content::to_text).collect::<Vec<_>>().join("\n")
    }
}

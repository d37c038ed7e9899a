//! What tools return, in the words of the Model Context Protocol.

use std::sync::Arc;

use bytes::Bytes;

use crate::json::Json;

/// One piece of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text for the model.
    Text(Arc<str>),
    /// A picture.
    Image(Blob),
    /// A sound.
    Audio(Blob),
    /// An embedded document.
    Resource(Resource),
}

/// Bytes with a media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The bytes.
    pub data: Bytes,
    /// Their media type.
    pub mime_type: Arc<str>,
}

/// An embedded document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Where it lives.
    pub uri: Arc<str>,
    /// Its media type, empty if unknown.
    pub mime_type: Arc<str>,
    /// What is in it.
    pub body: ResourceBody,
}

/// What is in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(Arc<str>),
    /// Bytes.
    Blob(Bytes),
}

impl Content {
    /// A piece of text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }
}

/// What an executor hands back, before it becomes a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// What the model reads; may be empty.
    pub content: Vec<Content>,
    /// The structured result.
    pub structured: Option<Json>,
    /// For the host only.
    pub details: Option<Json>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the run may end; `None` leaves it to the contract.
    pub terminate: Option<bool>,
    /// What the host should know although the result stands.
    pub warnings: Vec<Warning>,
}

impl ToolOutput {
    /// Plain text and nothing else.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// Text that says why the tool failed.
    pub fn error(text: impl Into<Arc<str>>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}

/// Something the host should know though the result stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable word.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

/// A sign of life of a running call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// How much is done.
    pub progress: f64,
    /// How much there is; 0 if unknown.
    pub total: f64,
    /// What a person may read.
    pub message: Arc<str>,
}

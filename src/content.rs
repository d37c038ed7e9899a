//! What tools return, in the words of the Model Context Protocol.

use std::sync::Arc;

use bytes::Bytes;

use crate::json::SharedJson;

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

    /// Bytes of what is in it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(blob) | Self::Audio(blob) => blob.data.len(),
            Self::Resource(resource) => match &resource.body {
                ResourceBody::Text(text) => text.len(),
                ResourceBody::Blob(blob) => blob.len(),
            },
        }
    }

    /// The piece as text: bytes are named by kind and size, never shown.
    pub fn to_text(&self) -> String {
        let bytes = |mime_type: &str, data: &Bytes| format!("[{mime_type}, {} bytes]", data.len());
        match self {
            Self::Text(text) => text.to_string(),
            Self::Image(blob) | Self::Audio(blob) => bytes(&blob.mime_type, &blob.data),
            Self::Resource(Resource { uri, mime_type, body }) => match body {
                ResourceBody::Text(text) if text.is_empty() => format!("[{uri}]"),
                ResourceBody::Text(text) => text.to_string(),
                ResourceBody::Blob(data) => bytes(mime_type, data),
            },
        }
    }
}

/// What an executor hands back, before it becomes a result.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// What the model reads; may be empty.
    pub content: Vec<Content>,
    /// The structured result.
    pub structured: Option<SharedJson>,
    /// For the host only.
    pub details: Option<SharedJson>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// Whether the run may end; `None` leaves it to the contract.
    pub terminate: Option<bool>,
    /// What the host should know although the result stands.
    pub warnings: Vec<Warning>,
    /// Bytes that the tool gave at least, where its executor did not keep them all.
    pub full_bytes: Option<usize>,
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

//! A record as a store keeps it: JSON text, in which numbers are exact because values are kept as their texts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    content::{Blob, Content, Resource, ResourceBody, ToolOutput, Warning},
    json::{ParseLimits, SharedJson, parse_shared},
    ports::{KeyScope, OnceKey, Record},
};

/// The warnings that an output may carry.
const WARNINGS: [&str; 4] = ["after_hook_failed", "lossy_text", "output_schema_mismatch", "output_truncated"];
/// A warning that this version does not know.
const OTHER_WARNING: &str = "other";

/// The text of a record.
pub(super) fn write(record: &Record) -> Vec<u8> {
    // Texts, numbers and lists: nothing in it can fail to be written.
    serde_json::to_vec(&Written::of(record)).unwrap_or_default()
}

/// Reads it again, or says what is wrong with it.
pub(super) fn read(text: &[u8]) -> Result<Record, String> {
    let written: Written = serde_json::from_slice(text).map_err(|error| format!("a record cannot be read: {error}"))?;
    Ok(written.record())
}

#[derive(Serialize, Deserialize)]
struct Written {
    keys: Vec<WrittenKey>,
    tool: String,
    run: String,
    call_id: String,
    raw_arguments: Binary,
    arguments: Text,
    recorded_at_ms: i64,
    content: Vec<Piece>,
    structured: Option<Text>,
    details: Option<Text>,
    is_error: bool,
    terminate: Option<bool>,
    warnings: Vec<(String, String)>,
    full_bytes: Option<usize>,
}

#[derive(Serialize, Deserialize)]
struct WrittenKey {
    task: String,
    /// `None`: the key is the host's own.
    tool: Option<String>,
    key: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece {
    Text(String),
    Image { mime_type: String, data: Binary },
    Audio { mime_type: String, data: Binary },
    Document { uri: String, mime_type: String, text: String },
    File { uri: String, mime_type: String, data: Binary },
}

/// Bytes, as base64.
struct Binary(Bytes);

/// A value, as its text.
struct Text(SharedJson);

impl Written {
    fn of(record: &Record) -> Self {
        let output = &record.output;
        let warning = |warning: &Warning| (warning.code.to_owned(), warning.message.clone());
        Self {
            keys: record.keys.iter().map(WrittenKey::of).collect(),
            tool: record.tool.to_string(),
            run: record.run.to_string(),
            call_id: record.call_id.to_string(),
            raw_arguments: Binary(record.raw_arguments.clone()),
            arguments: Text(record.arguments.clone()),
            recorded_at_ms: record.recorded_at_ms,
            content: output.content.iter().map(Piece::of).collect(),
            structured: output.structured.clone().map(Text),
            details: output.details.clone().map(Text),
            is_error: output.is_error,
            terminate: output.terminate,
            warnings: output.warnings.iter().map(warning).collect(),
            full_bytes: output.full_bytes,
        }
    }

    fn record(self) -> Record {
        let code = |code: String| WARNINGS.into_iter().find(|known| *known == code).unwrap_or(OTHER_WARNING);
        let warning = |(own, message)| Warning { code: code(own), message };
        Record {
            keys: self.keys.into_iter().map(WrittenKey::key).collect(),
            tool: self.tool.into(),
            run: self.run.into(),
            call_id: self.call_id.into(),
            raw_arguments: self.raw_arguments.0,
            arguments: self.arguments.0,
            recorded_at_ms: self.recorded_at_ms,
            output: ToolOutput {
                content: self.content.into_iter().map(Piece::content).collect(),
                structured: self.structured.map(|text| text.0),
                details: self.details.map(|text| text.0),
                is_error: self.is_error,
                terminate: self.terminate,
                warnings: self.warnings.into_iter().map(warning).collect(),
                full_bytes: self.full_bytes,
            },
        }
    }
}

impl WrittenKey {
    fn of(key: &OnceKey) -> Self {
        let tool = match &key.scope {
            KeyScope::Submission(tool) => Some(tool.to_string()),
            KeyScope::Call => None,
        };
        Self { task: key.task.to_string(), tool, key: key.key.to_string() }
    }

    fn key(self) -> OnceKey {
        let scope = self.tool.map_or(KeyScope::Call, |tool| KeyScope::Submission(tool.into()));
        OnceKey { task: self.task.into(), scope, key: self.key.into() }
    }
}

impl Piece {
    fn of(content: &Content) -> Self {
        let binary = |blob: &Blob| (blob.mime_type.to_string(), Binary(blob.data.clone()));
        match content {
            Content::Text(text) => Self::Text(text.to_string()),
            Content::Image(blob) => {
                let (mime_type, data) = binary(blob);
                Self::Image { mime_type, data }
            }
            Content::Audio(blob) => {
                let (mime_type, data) = binary(blob);
                Self::Audio { mime_type, data }
            }
            Content::Resource(Resource { uri, mime_type, body }) => {
                let (uri, mime_type) = (uri.to_string(), mime_type.to_string());
                match body {
                    ResourceBody::Text(text) => Self::Document { uri, mime_type, text: text.to_string() },
                    ResourceBody::Blob(data) => Self::File { uri, mime_type, data: Binary(data.clone()) },
                }
            }
        }
    }

    fn content(self) -> Content {
        let blob = |mime_type: String, data: Binary| Blob { data: data.0, mime_type: mime_type.into() };
        let resource = |uri: String, mime_type: String, body| {
            Content::Resource(Resource { uri: uri.into(), mime_type: mime_type.into(), body })
        };
        match self {
            Self::Text(text) => Content::Text(text.into()),
            Self::Image { mime_type, data } => Content::Image(blob(mime_type, data)),
            Self::Audio { mime_type, data } => Content::Audio(blob(mime_type, data)),
            Self::Document { uri, mime_type, text } => resource(uri, mime_type, ResourceBody::Text(text.into())),
            Self::File { uri, mime_type, data } => resource(uri, mime_type, ResourceBody::Blob(data.0)),
        }
    }
}

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&base64::display::Base64Display::new(&self.0, &STANDARD))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map(|bytes| Self(bytes.into())).map_err(D::Error::custom)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.text())
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Bytes::from(String::deserialize(deserializer)?);
        parse_shared(&text, &ParseLimits::wide()).map(Self).map_err(D::Error::custom)
    }
}

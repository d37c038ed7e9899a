//! What a line can ask for: read as strictly as contracts are, so that a typo is an error and not silence.

use std::sync::{Arc, LazyLock};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use toolbooth::{
    booth::OpenRun,
    call::{Finish, Mode, ToolCall},
    document::{Exact, ExactObject, Format, Note},
    json::{Json, ParseError, ParseErrorKind, ParseLimits, parse},
};

use crate::config::LimitsBlock;

/// The format, made once.
static FORMAT: LazyLock<Format> = LazyLock::new(Format::of::<Ask>);

/// One line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// Start a run.
    Open(Box<Open>),
    /// Take a batch of calls.
    Batch(AskBatch),
    /// Serve more tools.
    Register(Exact),
}

/// A run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Open {
    run_id: Option<String>,
    task_key: Option<String>,
    context: Option<ExactObject>,
    limits: Option<LimitsBlock>,
    mode: Option<Mode>,
}

/// A batch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AskBatch {
    pub(super) id: Option<String>,
    finish_reason: Option<String>,
    pub(super) mode: Option<Mode>,
    calls: Vec<AskCall>,
}

/// A call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AskCall {
    id: Option<String>,
    name: String,
    /// The model's text, or an object that stands for its text.
    arguments: Option<Exact>,
    arguments_base64: Option<String>,
    idempotency_key: Option<String>,
}

impl Ask {
    /// Reads a line, or says all that is wrong with it.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        let value = parse(line, &ParseLimits::wide()).map_err(|error| not_json(&error))?;
        FORMAT.read("", &value).map_err(|notes| notes.iter().map(said).collect::<Vec<_>>().join("; "))
    }
}

/// The line is the whole document: only the column tells where.
fn not_json(error: &ParseError) -> String {
    let is_unicode = error.kind != ParseErrorKind::InvalidUnicode;
    let remedy = if is_unicode { "" } else { ": arguments that are not Unicode go into `arguments_base64`" };
    format!("not JSON: {}, at column {}{remedy}", error.kind, error.column)
}

fn said(note: &Note) -> String {
    let path = note.path.to_string();
    if path.is_empty() { note.message.clone() } else { format!("{path}: {}", note.message) }
}

impl Open {
    pub(super) fn request(self) -> Result<OpenRun, String> {
        let limits = self.limits.unwrap_or_default().limits();
        Ok(OpenRun {
            id: self.run_id.map(Arc::from),
            task: self.task_key.map(Arc::from),
            context: self.context.map(|context| context.0.0),
            limits: limits.map_err(|note| format!("/open/limits{}", said(&note)))?,
            mode: self.mode.unwrap_or_default(),
            ..OpenRun::default()
        })
    }
}

impl AskBatch {
    pub(super) fn finish(&self) -> Finish {
        Finish::from_word(self.finish_reason.as_deref().unwrap_or_default())
    }

    pub(super) fn calls(self) -> Result<Vec<ToolCall>, String> {
        let call = |(index, call): (u32, AskCall)| {
            call.call(index).map_err(|message| format!("/batch/calls/{index}/{message}"))
        };
        (0..).zip(self.calls).map(call).collect()
    }
}

impl AskCall {
    fn call(self, index: u32) -> Result<ToolCall, String> {
        let arguments = match (self.arguments, self.arguments_base64) {
            (Some(_), Some(_)) => Err("arguments: `arguments_base64` says it, too: send one of them".to_owned()),
            (None, None) => Ok(Bytes::new()),
            (Some(Exact(arguments)), None) => text(arguments),
            (None, Some(base64)) => decoded(&base64),
        }?;
        Ok(ToolCall {
            index,
            id: self.id.unwrap_or_default().into(),
            name: self.name.into(),
            arguments,
            idempotency_key: self.idempotency_key.map(Arc::from),
        })
    }
}

fn text(arguments: Json) -> Result<Bytes, String> {
    match arguments {
        Json::String(text) => Ok(Bytes::copy_from_slice(text.as_bytes())),
        Json::Object(_) => Ok(arguments.to_text().into()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => {
            Err(format!("arguments: expected the model's text as a string, or an object, got {}", arguments.kind()))
        }
    }
}

fn decoded(base64: &str) -> Result<Bytes, String> {
    let bytes = BASE64_STANDARD.decode(base64).map_err(|error| format!("arguments_base64: not Base64: {error}"))?;
    Ok(bytes.into())
}

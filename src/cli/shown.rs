//! Results, verdicts and reports as JSON, for scripts. The shape is stable: keys are added, never renamed or moved.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;

use toolbooth::{
    json::Json,
    ports::Submission,
    refusal::{Repair, Violation},
    result::CallResult,
    run::{Budget, Limit, Verdict},
    tools::{ContractReport, Note},
};

/// What is shown of a result, whether it comes from this process or over the wire.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that hosts read")]
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) index: u32,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) is_error: bool,
    pub(super) code: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) executed: bool,
    /// Shown if there was more than one.
    pub(super) attempts: u32,
    pub(super) terminate: bool,
    pub(super) replayed: bool,
    pub(super) text: String,
    pub(super) structured: Option<Json>,
    pub(super) raw_arguments: Bytes,
    pub(super) arguments: Option<Json>,
    /// Each made by [`repair`].
    pub(super) repairs: Vec<Json>,
    /// Each made by [`violation`].
    pub(super) violations: Vec<Json>,
}

impl Shown {
    /// The result as JSON.
    pub(super) fn json(self) -> Json {
        let head = [
            ("index", Json::from(self.index)),
            ("id", Json::from(self.id.as_str())),
            ("name", Json::from(self.name.as_str())),
            ("outcome", Json::from(if self.is_error { "error" } else { "ok" })),
            ("code", self.code.as_deref().into()),
            ("reason", self.reason.as_deref().into()),
            ("executed", Json::from(self.executed)),
            ("terminate", Json::from(self.terminate)),
            ("replayed", Json::from(self.replayed)),
            ("text", Json::from(self.text.as_str())),
            ("structured", self.structured.into()),
            raw_arguments(&self.raw_arguments),
        ];
        let attempts = (self.attempts > 1).then(|| ("attempts", Json::from(self.attempts)));
        let arguments = self.arguments.map(|arguments| ("arguments", arguments));
        let tail = [("repairs", Json::from(self.repairs)), ("violations", Json::from(self.violations))];
        Json::object(head.into_iter().chain(arguments).chain(tail).chain(attempts))
    }
}

/// A result of this process.
pub(super) fn result(result: &CallResult) -> Shown {
    let error = result.error.as_ref();
    let violations = error.map(|error| error.violations.as_slice()).unwrap_or_default();
    Shown {
        index: result.call.index,
        id: result.call.id.to_string(),
        name: result.call.name.to_string(),
        is_error: result.is_error,
        code: error.map(|error| error.code.as_str().to_owned()),
        reason: error.and_then(|error| error.reason).map(|reason| reason.as_str().to_owned()),
        executed: result.executed,
        attempts: result.attempts,
        terminate: result.terminate,
        replayed: result.replayed,
        text: result.text(),
        structured: result.structured.as_deref().cloned(),
        raw_arguments: result.call.arguments.clone(),
        arguments: result.trace.arguments.as_deref().cloned(),
        repairs: result.trace.repairs.iter().map(own_repair).collect(),
        violations: violations.iter().map(own_violation).collect(),
    }
}

/// What the model sent, byte for byte.
/// As text, or else as base64.
pub(super) fn raw_arguments(bytes: &[u8]) -> (&'static str, Json) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("raw_arguments", Json::from(text)),
        Err(_) => ("raw_arguments_base64", Json::from(BASE64_STANDARD.encode(bytes).as_str())),
    }
}

fn own_repair(own: &Repair) -> Json {
    repair([own.target.as_str(), &own.path.to_string(), own.op, &own.from, &own.to], own.lossy)
}

/// A change: target, path, operation, before, after.
pub(super) fn repair([target, path, op, from, to]: [&str; 5], lossy: bool) -> Json {
    Json::object([
        ("target", Json::from(target)),
        ("path", Json::from(path)),
        ("op", Json::from(op)),
        ("from", Json::from(from)),
        ("to", Json::from(to)),
        ("lossy", Json::from(lossy)),
    ])
}

fn own_violation(own: &Violation) -> Json {
    let [path, property] = [own.path.to_string(), own.property.clone().unwrap_or_default()];
    violation([&path, &property, own.keyword, &own.message, own.hint.as_deref().unwrap_or_default()])
}

/// A violation: path, property, keyword, message, hint; what is empty of property, keyword and hint is not known.
pub(super) fn violation([path, property, keyword, message, hint]: [&str; 5]) -> Json {
    let known = |word: &str| if word.is_empty() { Json::Null } else { Json::from(word) };
    Json::object([
        ("path", Json::from(path)),
        ("property", known(property)),
        ("keyword", known(keyword)),
        ("message", Json::from(message)),
        ("hint", known(hint)),
    ])
}

/// A batch: its results and what they mean.
pub(super) fn batch(id: &str, results: &[Arc<CallResult>], verdict: &Verdict) -> Json {
    let batch = Json::object([
        ("id", Json::from(id)),
        ("results", Json::from(results.iter().map(|one| result(one).json()).collect::<Vec<_>>())),
        ("verdict", self::verdict(verdict)),
    ]);
    Json::object([("batch", batch)])
}

fn verdict(verdict: &Verdict) -> Json {
    Json::object([
        ("terminate", Json::from(verdict.terminate)),
        ("reason", Json::from(verdict.reason.as_str())),
        ("stop", Json::from(verdict.stop)),
        ("blocking", Json::from(verdict.blocking.iter().copied().map(Json::from).collect::<Vec<_>>())),
        ("accepted", Json::from(verdict.accepted.iter().map(accepted).collect::<Vec<_>>())),
        ("limit", verdict.limit.map(Limit::as_str).into()),
        ("remaining", remaining(&verdict.remaining)),
        ("tool_choice", verdict.tool_choice.as_deref().into()),
    ])
}

fn accepted(submission: &Submission) -> Json {
    Json::object([
        ("tool", Json::from(&*submission.tool)),
        ("key", Json::from(&*submission.key)),
        ("call_id", Json::from(&*submission.call_id)),
        ("arguments", (*submission.arguments).clone()),
    ])
}

/// Of the limits that are set only.
fn remaining(budget: &Budget) -> Json {
    let counts =
        [("turns", budget.turns), ("calls", budget.calls), ("consecutive_invalid", budget.consecutive_invalid)];
    let counts = counts.into_iter().filter_map(|(name, left)| Some((name, Json::from(left?))));
    let wall = budget.wall.map(|wall| ("wall", Json::from(in_milliseconds(wall).as_str())));
    let tools = budget.tool_calls.iter().map(|(tool, left)| (&**tool, Json::from(*left)));
    let tools = (!budget.tool_calls.is_empty()).then(|| ("tool_calls", Json::object(tools)));
    Json::object(counts.chain(wall).chain(tools))
}

/// Whoever plans by this does not count in nanoseconds.
fn in_milliseconds(time: Duration) -> String {
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_millis(milliseconds)).to_string()
}

/// What became of a contract.
pub(super) fn registered(report: &ContractReport) -> Json {
    let registered = Json::object([
        ("name", Json::from(&*report.name)),
        ("status", Json::from(report.status.as_str())),
        ("dialect", report.dialect.into()),
        ("notes", Json::from(report.notes.iter().map(note).collect::<Vec<_>>())),
    ]);
    Json::object([("registered", registered)])
}

fn note(note: &Note) -> Json {
    Json::object([
        ("code", Json::from(note.code)),
        ("path", Json::from(note.path.to_string().as_str())),
        ("message", Json::from(note.message.as_str())),
    ])
}

/// Remarks for people, each with its file and line.
pub(super) fn notes(notes: &[Note]) -> String {
    let line = |note: &Note| {
        let place = note.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}{}", note.message)
    };
    notes.iter().map(line).collect::<Vec<_>>().join("\n")
}

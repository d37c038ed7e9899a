//! Results, verdicts and reports as JSON, for scripts. The shape is stable: keys are added, never renamed or moved.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use toolbooth::{
    json::Json,
    ports::Submission,
    refusal::{Reason, Repair, Violation},
    result::CallResult,
    run::{Budget, Limit, Verdict},
    tools::{ContractReport, Note},
};

/// A result.
pub(super) fn result(result: &CallResult) -> Json {
    let error = result.error.as_ref();
    let violations = error.map(|error| error.violations.as_slice()).unwrap_or_default();
    let head = [
        ("index", Json::from(result.call.index)),
        ("id", Json::from(&*result.call.id)),
        ("name", Json::from(&*result.call.name)),
        ("outcome", Json::from(if result.is_error { "error" } else { "ok" })),
        ("code", error.map(|error| error.code.as_str()).into()),
        ("reason", error.and_then(|error| error.reason).map(Reason::as_str).into()),
        ("executed", Json::from(result.executed)),
        ("terminate", Json::from(result.terminate)),
        ("replayed", Json::from(result.replayed)),
        ("text", Json::from(result.text().as_str())),
        ("structured", result.structured.clone().into()),
        raw_arguments(&result.call.arguments),
    ];
    let arguments = result.trace.arguments.as_deref().map(|arguments| ("arguments", arguments.clone()));
    let tail = [
        ("repairs", Json::from(result.trace.repairs.iter().map(repair).collect::<Vec<_>>())),
        ("violations", Json::from(violations.iter().map(violation).collect::<Vec<_>>())),
    ];
    Json::object(head.into_iter().chain(arguments).chain(tail))
}

/// What the model sent, byte for byte.
fn raw_arguments(bytes: &[u8]) -> (&'static str, Json) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("raw_arguments", Json::from(text)),
        Err(_) => ("raw_arguments_base64", Json::from(BASE64_STANDARD.encode(bytes).as_str())),
    }
}

fn repair(repair: &Repair) -> Json {
    Json::object([
        ("path", Json::from(repair.path.to_string().as_str())),
        ("op", Json::from(repair.op)),
        ("from", Json::from(repair.from.as_str())),
        ("to", Json::from(repair.to.as_str())),
        ("lossy", Json::from(repair.lossy)),
    ])
}

fn violation(violation: &Violation) -> Json {
    Json::object([
        ("path", Json::from(violation.path.to_string().as_str())),
        ("property", violation.property.as_deref().into()),
        ("keyword", Json::from(violation.keyword)),
        ("message", Json::from(violation.message.as_str())),
        ("hint", violation.hint.as_deref().into()),
    ])
}

/// A batch: its results and what they mean.
pub(super) fn batch(id: &str, results: &[Arc<CallResult>], verdict: &Verdict) -> Json {
    let batch = Json::object([
        ("id", Json::from(id)),
        ("results", Json::from(results.iter().map(|one| result(one)).collect::<Vec<_>>())),
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
        ("tool", Json::from(&*submission.key.tool)),
        ("key", Json::from(&*submission.key.key)),
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
    Json::object(counts.chain(wall))
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

//! From the booth's own words to the wire.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;

use tokio::time::Instant;

use super::proto;
use crate::{
    booth::HeldRun,
    content::{Blob, Content, Resource, ResourceBody, Warning},
    host::Asked,
    json::{Json, SharedJson},
    ports::{Execution, HookCall, Submission},
    refusal::{Code, Reason, Refusal, Repair, Retry, Violation},
    result::{CallResult, Trace},
    run::{Budget, Limits, Verdict, VerdictReason},
    tools::{ContractReport, Note, Status, Tool},
};

pub(super) fn json(value: &Json) -> Bytes {
    value.to_text().into()
}

/// The text of a value that may have been written before; empty for none.
pub(super) fn shared_json(value: Option<&SharedJson>) -> Bytes {
    value.map(|value| value.bytes().clone()).unwrap_or_default()
}

fn optional_json(value: Option<&Json>) -> Bytes {
    value.map(json).unwrap_or_default()
}

pub(super) fn duration(duration: Duration) -> Option<prost_types::Duration> {
    // A time of more than 292 billion years is none.
    duration.try_into().ok()
}

pub(super) fn result(result: &CallResult) -> proto::CallResult {
    // What was too large to be read is too large to be sent back, and its host has it.
    let is_too_large = result.error.as_ref().is_some_and(|error| error.reason == Some(Reason::TooLarge));
    proto::CallResult {
        index: result.call.index,
        call_id: result.call.id.to_string(),
        tool: result.call.name.to_string(),
        is_error: result.is_error,
        error: result.error.as_ref().map(|refusal| error_of(refusal, result.executed || result.replayed)),
        executed: result.executed,
        terminate: result.terminate,
        replayed: result.replayed,
        content: result.content.iter().map(content).collect(),
        structured: shared_json(result.structured.as_ref()),
        details: shared_json(result.details.as_ref()),
        raw_arguments: if is_too_large { Bytes::new() } else { result.call.arguments.clone() },
        prepared_arguments: prepared(&result.trace),
        arguments: shared_json(result.trace.arguments.as_ref()),
        repairs: result.trace.repairs.iter().map(repair).collect(),
        warnings: warnings(&result.warnings),
        duration: duration(result.duration),
        attempts: result.attempts,
    }
}

/// What the shim made of the arguments; nothing where it changed nothing.
pub(super) fn prepared(trace: &Trace) -> Bytes {
    let is_changed =
        |prepared: &&SharedJson| trace.received.as_ref().is_none_or(|received| !received.is_same(prepared));
    shared_json(trace.prepared.as_ref().filter(is_changed))
}

pub(super) fn warnings(warnings: &[Warning]) -> Vec<proto::Warning> {
    let warning =
        |warning: &Warning| proto::Warning { code: warning.code.to_owned(), message: warning.message.clone() };
    warnings.iter().map(warning).collect()
}

pub(super) fn content(content: &Content) -> proto::Content {
    let blob = |blob: &Blob| proto::Blob { data: blob.data.clone(), mime_type: blob.mime_type.to_string() };
    let kind = match content {
        Content::Text(text) => proto::content::Kind::Text(text.to_string()),
        Content::Image(image) => proto::content::Kind::Image(blob(image)),
        Content::Audio(audio) => proto::content::Kind::Audio(blob(audio)),
        Content::Resource(document) => proto::content::Kind::Resource(resource(document)),
    };
    proto::Content { kind: Some(kind) }
}

fn resource(resource: &Resource) -> proto::Resource {
    let (text, blob) = match &resource.body {
        ResourceBody::Text(text) => (Some(text.to_string()), Bytes::new()),
        ResourceBody::Blob(blob) => (None, blob.clone()),
    };
    proto::Resource { uri: resource.uri.to_string(), mime_type: resource.mime_type.to_string(), text, blob }
}

pub(super) fn repair(repair: &Repair) -> proto::Repair {
    proto::Repair {
        path: repair.path.to_string(),
        op: repair.op.to_owned(),
        from: repair.from.clone(),
        to: repair.to.clone(),
        lossy: repair.lossy,
        target: repair.target.as_str().to_owned(),
    }
}

/// What may have taken effect is looked into first, before it is repeated.
fn error_of(refusal: &Refusal, executed: bool) -> proto::Error {
    let was_stopped = executed && refusal.code == Code::Cancelled;
    let retry = if was_stopped { Retry::CheckFirst } else { refusal.code.retry() };
    proto::Error { retry: self::retry(retry).into(), ..error(refusal) }
}

pub(super) fn error(refusal: &Refusal) -> proto::Error {
    proto::Error {
        code: code(refusal.code).into(),
        reason: refusal.reason.map(|reason| reason.as_str().to_owned()).unwrap_or_default(),
        violations: refusal.violations.iter().map(violation).collect(),
        violation_count: u32::try_from(refusal.violation_count).unwrap_or(u32::MAX),
        retry: retry(refusal.code.retry()).into(),
        message: refusal.text.clone(),
        developer_message: refusal.developer.clone().unwrap_or_default(),
    }
}

fn violation(violation: &Violation) -> proto::Violation {
    proto::Violation {
        instance_path: violation.path.to_string(),
        property: violation.property.clone().unwrap_or_default(),
        schema_path: violation.schema_path.to_string(),
        keyword: violation.keyword.to_owned(),
        message: violation.message.clone(),
        expected: violation.expected.clone(),
        actual_kind: violation.actual.map(|kind| kind.name().to_owned()).unwrap_or_default(),
        hint: violation.hint.clone().unwrap_or_default(),
    }
}

fn code(code: Code) -> proto::ErrorCode {
    match code {
        Code::ToolNotFound => proto::ErrorCode::ToolNotFound,
        Code::MalformedArguments => proto::ErrorCode::MalformedArguments,
        Code::InvalidArguments => proto::ErrorCode::InvalidArguments,
        Code::Denied => proto::ErrorCode::Denied,
        Code::PolicyUnavailable => proto::ErrorCode::PolicyUnavailable,
        Code::HookInvalidArguments => proto::ErrorCode::HookInvalidArguments,
        Code::ExecutionFailed => proto::ErrorCode::ExecutionFailed,
        Code::TimedOut => proto::ErrorCode::TimedOut,
        Code::Cancelled => proto::ErrorCode::Cancelled,
        Code::Truncated => proto::ErrorCode::Truncated,
        Code::DuplicateCallId => proto::ErrorCode::DuplicateCallId,
        Code::AlreadyAccepted => proto::ErrorCode::AlreadyAccepted,
        Code::IdempotencyConflict => proto::ErrorCode::IdempotencyConflict,
        Code::OutcomeUnknown => proto::ErrorCode::OutcomeUnknown,
        Code::LimitReached => proto::ErrorCode::LimitReached,
        Code::Overloaded => proto::ErrorCode::Overloaded,
        Code::ToolQuarantined => proto::ErrorCode::ToolQuarantined,
        Code::ResultInvalid => proto::ErrorCode::ResultInvalid,
    }
}

fn retry(retry: Retry) -> proto::RetryClass {
    match retry {
        Retry::Correct => proto::RetryClass::Correct,
        Retry::Repeat => proto::RetryClass::Repeat,
        Retry::CheckFirst => proto::RetryClass::CheckFirst,
        Retry::Stop => proto::RetryClass::Stop,
    }
}

/// The verdict, and a warning if it does not hold all that was accepted: that has a quarter of the message.
pub(super) fn verdict(verdict: &Verdict, max_message_bytes: usize) -> (proto::Verdict, Option<Warning>) {
    let (accepted, cut) = accepted(&verdict.accepted, max_message_bytes / 4);
    let message = || {
        format!(
            "{cut} accepted submissions are too large for a verdict and came without arguments, or not at all; list them with SubmissionService"
        )
    };
    let warning = (cut > 0).then(|| Warning { code: "accepted_truncated", message: message() });
    let verdict = proto::Verdict {
        terminate: verdict.terminate,
        reason: verdict_reason(verdict.reason).into(),
        stop: verdict.stop,
        blocking: verdict.blocking.clone(),
        accepted,
        limit: verdict.limit.map(|limit| limit.as_str().to_owned()).unwrap_or_default(),
        remaining: Some(budget(&verdict.remaining)),
        tool_choice: verdict.tool_choice.as_deref().unwrap_or_default().to_owned(),
    };
    (verdict, warning)
}

/// What was accepted, as far as it fits, the newest first of all; and how many are not whole. A task may accept without end,
/// and its verdicts must still cross the wire.
fn accepted(accepted: &[Submission], max_bytes: usize) -> (Vec<proto::Submission>, usize) {
    let (mut kept, mut cut, mut left) = (Vec::new(), 0, max_bytes);
    for accepted in accepted.iter().rev() {
        let mut submission = submission(accepted);
        if submission.encoded_len() > left {
            cut += 1;
            submission = proto::Submission { raw_arguments: Bytes::new(), arguments: Bytes::new(), ..submission };
        }
        if let Some(less) = left.checked_sub(submission.encoded_len()) {
            left = less;
            kept.push(submission);
        }
    }
    kept.reverse();
    (kept, cut)
}

pub(super) fn verdict_reason(reason: VerdictReason) -> proto::VerdictReason {
    match reason {
        VerdictReason::AllTerminate => proto::VerdictReason::AllTerminate,
        VerdictReason::NotAll => proto::VerdictReason::NotAll,
        VerdictReason::Empty => proto::VerdictReason::Empty,
        VerdictReason::Truncated => proto::VerdictReason::Truncated,
        VerdictReason::LimitReached => proto::VerdictReason::LimitReached,
        VerdictReason::Cancelled => proto::VerdictReason::Cancelled,
    }
}

fn budget(budget: &Budget) -> proto::Budget {
    proto::Budget {
        turns: budget.turns,
        calls: budget.calls,
        consecutive_invalid: budget.consecutive_invalid,
        wall: budget.wall.and_then(duration),
        tool_calls: budget.tool_calls.iter().map(|(tool, left)| (tool.to_string(), *left)).collect(),
    }
}

pub(super) fn run(held: &HeldRun) -> proto::RunState {
    let HeldRun { run, waits_until } = held;
    let running = run.running();
    let left = waits_until.map(|until| until.saturating_duration_since(Instant::now()));
    proto::RunState {
        run_id: run.id().to_string(),
        task: run.task().to_string(),
        is_led: waits_until.is_none(),
        waits: left.and_then(duration),
        running_batch_id: running.as_ref().map(|running| running.batch.to_string()).unwrap_or_default(),
        running_calls: running.map_or(0, |running| u32::try_from(running.calls.len()).unwrap_or(u32::MAX)),
        last_batch_id: run.last_batch().as_deref().unwrap_or_default().to_owned(),
        limits: Some(limits(run.limits())),
        remaining: Some(budget(&run.remaining())),
    }
}

pub(super) fn limits(limits: &Limits) -> proto::Limits {
    proto::Limits {
        max_turns: limits.max_turns,
        max_calls: limits.max_calls,
        max_calls_per_batch: limits.max_calls_per_batch,
        max_consecutive_invalid: limits.max_consecutive_invalid,
        max_wall: limits.max_wall.and_then(duration),
        reserve_delivery: limits.reserve_delivery,
    }
}

pub(super) fn submission(submission: &Submission) -> proto::Submission {
    proto::Submission {
        task: submission.task.to_string(),
        tool: submission.tool.to_string(),
        key: submission.key.to_string(),
        run_id: submission.run.to_string(),
        call_id: submission.call_id.to_string(),
        raw_arguments: submission.raw_arguments.clone(),
        arguments: submission.arguments.bytes().clone(),
        accepted_at_ms: submission.accepted_at_ms,
        sequence: submission.sequence,
    }
}

pub(super) fn reports(reports: &[ContractReport]) -> Vec<proto::ContractReport> {
    reports.iter().map(report).collect()
}

pub(super) fn report(report: &ContractReport) -> proto::ContractReport {
    let status = match report.status {
        Status::Accepted => proto::ContractStatus::Accepted,
        Status::AcceptedWithWarning => proto::ContractStatus::AcceptedWithWarning,
        Status::Quarantined => proto::ContractStatus::Quarantined,
    };
    let note = |note: &Note| proto::Note {
        code: note.code.to_owned(),
        path: note.path.to_string(),
        message: note.message.clone(),
        place: note.place.as_ref().map(ToString::to_string).unwrap_or_default(),
    };
    proto::ContractReport {
        name: report.name.to_string(),
        status: status.into(),
        dialect: report.dialect.unwrap_or_default().to_owned(),
        notes: report.notes.iter().map(note).collect(),
    }
}

pub(super) fn tool(tool: &Tool) -> proto::Tool {
    proto::Tool {
        name: tool.name.to_string(),
        title: tool.title.clone().unwrap_or_default(),
        description: tool.description.clone().unwrap_or_default(),
        input_schema: tool.input.bytes().clone(),
        output_schema: tool.output.as_ref().map(|schema| schema.bytes().clone()).unwrap_or_default(),
        annotations: optional_json(tool.kept.get("annotations")),
        extra: optional_json(extra(&tool.kept).as_ref()),
        executor: tool.executor.name().to_owned(),
        report: Some(report(&tool.report)),
    }
}

/// What is kept beside the annotations.
fn extra(kept: &Json) -> Option<Json> {
    let mut extra = kept.as_object()?.clone();
    extra.shift_remove("annotations");
    if extra.is_empty() { None } else { Some(extra.into()) }
}

pub(super) fn execute(execution: &Execution, asked: Asked) -> proto::Execute {
    proto::Execute {
        call_id: execution.call.id.to_string(),
        tool: execution.tool.name.to_string(),
        arguments: execution.arguments.bytes().clone(),
        attempt: execution.attempt,
        idempotency_key: execution.idempotency_key().into_owned(),
        timeout: execution.timeout.and_then(duration),
        deadline: execution.deadline.and_then(duration),
        again: asked == Asked::Again,
    }
}

pub(super) fn ask_policy(
    stage: proto::PolicyStage,
    call: &HookCall,
    after: Option<proto::CallResult>,
) -> proto::AskPolicy {
    proto::AskPolicy {
        stage: stage.into(),
        call_id: call.call.id.to_string(),
        tool: call.tool.name.to_string(),
        arguments: call.arguments.bytes().clone(),
        // The arguments stand beside it already.
        result: after.map(|after| proto::CallResult {
            raw_arguments: Bytes::new(),
            prepared_arguments: Bytes::new(),
            arguments: Bytes::new(),
            ..after
        }),
    }
}

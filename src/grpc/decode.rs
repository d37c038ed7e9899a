//! From the wire to the booth's own words.

use std::{sync::Arc, time::Duration};

use super::{Fault, proto};
use uuid::Uuid;

use crate::{
    booth::OpenRun,
    call::{Batch, Finish, Mode, ToolCall},
    content::{Blob, Content, Progress, Resource, ResourceBody, ToolOutput},
    json::{self, Json, ParseLimits, SharedJson},
    ports::{Decision, ExecutorError, HookError, Override},
    run::{Keep, Limits},
    tools::Profile,
};

/// The calls of a batch; a call's index is its position.
pub(super) fn batch(id: Arc<str>, batch: proto::Batch) -> Batch {
    let mode = mode(batch.mode());
    Batch { id, mode, finish: finish(batch.finish), calls: calls(batch.calls) }
}

/// Calls in the model's order.
pub(super) fn calls(calls: Vec<proto::ToolCall>) -> Vec<ToolCall> {
    let call = |(index, call): (u32, proto::ToolCall)| ToolCall {
        index,
        id: call.id.into(),
        name: call.name.into(),
        arguments: call.arguments,
        idempotency_key: named(call.idempotency_key),
    };
    (0..).zip(calls).map(call).collect()
}

/// Bytes of the id of a run, a task or a batch: enough for any id, too few to fill the memory with.
pub(super) const MAX_ID_BYTES: usize = 256;

/// An id for a batch that has none; no other batch of any run has it, so that no two calls share an idempotency key.
pub(super) fn assigned_batch_id() -> Arc<str> {
    Uuid::now_v7().to_string().into()
}

/// The id of a run, a task or a batch; `None` if it is empty.
pub(super) fn id(field: &'static str, id: String) -> Result<Option<Arc<str>>, Fault> {
    if id.len() > MAX_ID_BYTES {
        return Err(malformed(field, format!("it has more than {MAX_ID_BYTES} bytes")));
    }
    Ok(named(id))
}

/// `None` for an empty text, which means "not said" in proto3.
pub(super) fn named(text: String) -> Option<Arc<str>> {
    if text.is_empty() { None } else { Some(text.into()) }
}

/// How the response ended: the enum if it says something, else the provider's word.
pub(super) fn finish(finish: Option<proto::Finish>) -> Finish {
    let finish = finish.unwrap_or_default();
    match finish.reason() {
        proto::FinishReason::Length => Finish::CutOff,
        proto::FinishReason::Stop | proto::FinishReason::ToolCalls => Finish::Complete,
        proto::FinishReason::Unspecified => Finish::from_word(&finish.raw),
    }
}

pub(super) fn mode(mode: proto::ExecutionMode) -> Option<Mode> {
    match mode {
        proto::ExecutionMode::Unspecified => None,
        proto::ExecutionMode::Parallel => Some(Mode::Parallel),
        proto::ExecutionMode::Sequential => Some(Mode::Sequential),
    }
}

/// What a run is opened with; its host is the caller's to add.
pub(super) fn open(open: proto::Open) -> Result<OpenRun, Fault> {
    let context = optional_json(&open.context).map_err(|problem| malformed("open.context", problem))?;
    if !matches!(context, None | Some(Json::Object(_))) {
        return Err(malformed("open.context", "it must be a JSON object".to_owned()));
    }
    // A word that this booth does not know must not be read as the default.
    known::<proto::Profile>("open.profile", open.profile)?;
    known::<proto::ExecutionMode>("open.mode", open.mode)?;
    known::<proto::Delivery>("open.delivery", open.delivery)?;
    known::<proto::OnDisconnect>("open.on_disconnect", open.on_disconnect)?;
    let grace = open.resume_grace.map(|grace| duration("open.resume_grace", grace)).transpose()?;
    Ok(OpenRun {
        keep: Keep { grace: grace.unwrap_or_default(), calls_go_on: open.on_disconnect() == proto::OnDisconnect::Keep },
        mode: mode(open.mode()).unwrap_or_default(),
        profile: profile(open.profile()),
        id: id("open.run_id", open.run_id)?,
        task: id("open.task_key", open.task_key)?,
        contracts: open.contracts.iter().map(|contract| contract.to_vec()).collect(),
        context,
        limits: limits(open.limits.unwrap_or_default())?,
        host: None,
    })
}

/// The profile of contracts that name none, if one is said.
pub(super) fn profile(profile: proto::Profile) -> Option<Profile> {
    match profile {
        proto::Profile::Unspecified => None,
        proto::Profile::Strict => Some(Profile::Strict),
        proto::Profile::Safe => Some(Profile::Safe),
        proto::Profile::Pi => Some(Profile::Pi),
    }
}

/// Refuses a word of an enum that this booth does not know.
pub(super) fn known<Words: TryFrom<i32>>(field: &'static str, word: i32) -> Result<(), Fault> {
    let unknown = |_| malformed(field, format!("this booth does not know the value {word}"));
    Words::try_from(word).map(drop).map_err(unknown)
}

pub(super) fn malformed(field: &'static str, problem: String) -> Fault {
    Fault::Malformed { field, problem }
}

fn limits(limits: proto::Limits) -> Result<Limits, Fault> {
    Ok(Limits {
        max_turns: limits.max_turns,
        max_calls: limits.max_calls,
        max_calls_per_batch: limits.max_calls_per_batch,
        max_consecutive_invalid: limits.max_consecutive_invalid,
        max_wall: limits.max_wall.map(|wall| duration("open.limits.max_wall", wall)).transpose()?,
        reserve_delivery: limits.reserve_delivery,
    })
}

pub(super) fn duration(field: &'static str, duration: prost_types::Duration) -> Result<Duration, Fault> {
    // Asked first: the conversion of the smallest numbers overflows.
    if duration.seconds < 0 || duration.nanos < 0 {
        return Err(malformed(field, "a time cannot be negative".to_owned()));
    }
    duration.try_into().map_err(|error: prost_types::DurationError| malformed(field, error.to_string()))
}

/// The same, for a value that goes on to others.
fn shared_json(text: &[u8]) -> Result<Option<SharedJson>, String> {
    Ok(optional_json(text)?.map(SharedJson::from))
}

/// JSON text; empty for none.
fn optional_json(text: &[u8]) -> Result<Option<Json>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    // A host may nest and write more than a model; the size is bounded by the message.
    let limits = ParseLimits { max_keys: 1_000_000, ..ParseLimits::wide() };
    json::parse(text, &limits).map(Some).map_err(|error| format!("not JSON: {error}"))
}

/// What executing a call brought; an outcome that cannot be read is no result.
pub(super) fn outcome(outcome: proto::ToolOutcome) -> Result<ToolOutput, ExecutorError> {
    let invalid = |field: &str, problem: String| ExecutorError::InvalidResult(format!("{field}: {problem}"));
    Ok(ToolOutput {
        content: content(outcome.content).map_err(|problem| invalid("content", problem))?,
        structured: shared_json(&outcome.structured).map_err(|problem| invalid("structured", problem))?,
        details: shared_json(&outcome.details).map_err(|problem| invalid("details", problem))?,
        is_error: outcome.is_error,
        terminate: outcome.terminate,
        warnings: Vec::new(),
        full_bytes: None,
    })
}

fn content(content: Vec<proto::Content>) -> Result<Vec<Content>, String> {
    let blob = |blob: proto::Blob| Blob { data: blob.data, mime_type: blob.mime_type.into() };
    let piece = |content: proto::Content| match content.kind {
        Some(proto::content::Kind::Text(text)) => Ok(Content::text(text)),
        Some(proto::content::Kind::Image(image)) => Ok(Content::Image(blob(image))),
        Some(proto::content::Kind::Audio(audio)) => Ok(Content::Audio(blob(audio))),
        Some(proto::content::Kind::Resource(resource)) => Ok(Content::Resource(Resource {
            uri: resource.uri.into(),
            mime_type: resource.mime_type.into(),
            body: resource.text.map_or(ResourceBody::Blob(resource.blob), |text| ResourceBody::Text(text.into())),
        })),
        None => Err("a piece has no kind that this booth knows".to_owned()),
    };
    content.into_iter().map(piece).collect()
}

pub(super) fn progress(progress: proto::ToolProgress) -> Progress {
    Progress { progress: progress.progress, total: progress.total, message: progress.message.into() }
}

/// What the host says before a call.
pub(super) fn decision(decision: Option<proto::policy_decision::Decision>) -> Result<Decision, HookError> {
    use proto::policy_decision::Decision as Wire;
    match decision {
        Some(Wire::Allow(proto::Allow {})) => Ok(Decision::Allow),
        Some(Wire::Deny(deny)) => Ok(Decision::Deny { reason: deny.reason, terminate: deny.terminate }),
        Some(Wire::Rewrite(rewrite)) => match optional_json(&rewrite.arguments) {
            Ok(Some(arguments)) => Ok(Decision::Rewrite(arguments)),
            Ok(None) => Err(HookError("the rewrite has no arguments".to_owned())),
            Err(problem) => Err(HookError(format!("the rewritten arguments are {problem}"))),
        },
        Some(Wire::Override(_)) => Err(HookError("a result was overridden before there was one".to_owned())),
        None => Err(HookError("the decision says nothing that this booth knows".to_owned())),
    }
}

/// What the host changes after a call.
pub(super) fn changes(decision: Option<proto::policy_decision::Decision>) -> Result<Override, HookError> {
    use proto::policy_decision::Decision as Wire;
    match decision {
        Some(Wire::Allow(proto::Allow {})) => Ok(Override::default()),
        Some(Wire::Override(change)) => {
            let json = |text: Option<bytes::Bytes>| text.map(|text| shared_json(&text)).transpose().map_err(HookError);
            Ok(Override {
                content: change.content.map(|list| content(list.items)).transpose().map_err(HookError)?,
                structured: json(change.structured)?,
                details: json(change.details)?,
                is_error: change.is_error,
                terminate: change.terminate,
            })
        }
        Some(Wire::Deny(_) | Wire::Rewrite(_)) => {
            Err(HookError("a call that has run can be neither denied nor rewritten".to_owned()))
        }
        None => Err(HookError("the decision says nothing that this booth knows".to_owned())),
    }
}

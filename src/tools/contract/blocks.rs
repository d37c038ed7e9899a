//! The smaller blocks of a contract: arguments, acceptance, times, caps.

use std::time::Duration;

use super::{
    format::{AcceptBlock, Arguments, OncePerName, Output, Submit},
    remarks::Remarks,
};
use crate::{
    document::Note,
    excerpt::excerpt,
    json::{Json, Pointer},
    tools::{Accept, ArgumentRules, ExecutorSpec, OncePer, Profile},
};

/// Most bytes of text that a result keeps where the contract says nothing.
const DEFAULT_OUTPUT_BYTES: usize = 1 << 18;

/// Hard time of what the booth itself starts, where the contract sets no time: a service that hangs must not hold its batch.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(5);
/// No time is longer; beyond it, it is a slip of the pen.
const MAX_TIME: Duration = Duration::from_hours(30 * 24);

fn at(block: &str, key: &str) -> Pointer {
    Pointer::root().join(block).join(key)
}

/// How arguments are read. `default` is what holds where the contract names no profile.
pub(super) fn argument_rules(block: Arguments, default: Profile, remarks: &mut Remarks<'_>) -> ArgumentRules {
    if block.defaults == Some(true) && block.profile.unwrap_or(default) == Profile::Strict {
        let message = "`defaults: true` does nothing under the profile `strict`: write a step of `prepare` instead, or another profile";
        remarks.add(Note::info("no_effect", at("arguments", "defaults"), message));
    }
    let mut sensitive = Vec::new();
    for (index, text) in block.sensitive.unwrap_or_default().iter().enumerate() {
        sensitive.extend(pointer(text, at("arguments", "sensitive").join(index), remarks));
    }
    ArgumentRules {
        profile: block.profile,
        formats: block.formats.unwrap_or(true),
        defaults: block.defaults.unwrap_or(false),
        drop_empty: block.drop_empty.unwrap_or(true),
        allow_nul: block.allow_nul.unwrap_or(false),
        allow_markup: block.allow_markup.unwrap_or(false),
        sensitive,
        received: block.received.unwrap_or_default(),
    }
}

fn pointer(text: &str, path: Pointer, remarks: &mut Remarks<'_>) -> Option<Pointer> {
    let pointer = Pointer::parse(text).filter(|pointer| *pointer != Pointer::root());
    if pointer.is_none() {
        let message = format!("`{}` is no JSON Pointer to an argument: write it like `/id`", excerpt(text));
        remarks.add(Note::error("wrong_value", path, message));
    }
    pointer
}

/// What is accepted once. A submission is, even where the contract has no `accept`.
pub(super) fn acceptance(
    block: Option<AcceptBlock>,
    submission: Option<Submit>,
    remarks: &mut Remarks<'_>,
) -> Option<Accept> {
    let block = match (block, submission.is_some()) {
        (Some(block), _) => block,
        (None, true) => AcceptBlock { once_per: None, in_doubt: None },
        (None, false) => return None,
    };
    let of_submission = submission.and_then(|submit| submit.once_per);
    if block.once_per.is_some() && of_submission.is_some() {
        let message = "`once_per` stands in `submit` and in `accept`: remove one of them";
        remarks.add(Note::error("conflicting_keys", at("accept", "once_per"), message));
    }
    let once_per = match block.once_per.or(of_submission) {
        None | Some(OncePerName::Run) => OncePer::Run,
        Some(OncePerName::Task) => OncePer::Task,
        Some(OncePerName::Argument(text)) => {
            OncePer::Argument(pointer(&text, at("accept", "once_per").join("argument"), remarks)?)
        }
    };
    Some(Accept { once_per, in_doubt: block.in_doubt.unwrap_or_default() })
}

/// An argument that may be missing is no good key: all calls without it share one.
pub(super) fn check_key(accept: &Accept, input: &Json, remarks: &mut Remarks<'_>) {
    let OncePer::Argument(place) = &accept.once_per else { return };
    let required = input.get("required").and_then(Json::as_array).unwrap_or_default();
    if place.steps().first().is_some_and(|name| !required.contains(&Json::from(*name))) {
        let message = format!(
            "`{}` may be missing, and all submissions without it share one key: make it required",
            place.dotted()
        );
        remarks.add(Note::warning("optional_key", at("accept", "once_per").join("argument"), message));
    }
}

/// The idle time and the hard time.
pub(super) fn times(
    timeout: Option<&str>,
    deadline: Option<&str>,
    remarks: &mut Remarks<'_>,
) -> (Option<Duration>, Option<Duration>) {
    let timeout = timeout.and_then(|text| time("timeout", text, remarks));
    let deadline = deadline.and_then(|text| time("deadline", text, remarks));
    if timeout.zip(deadline).is_some_and(|(timeout, deadline)| deadline < timeout) {
        let message = "`deadline` is shorter than `timeout`, so that `timeout` never happens: lengthen the one or shorten the other";
        remarks.add(Note::warning("deadline_before_timeout", Pointer::root().join("deadline"), message));
    }
    (timeout, deadline)
}

/// The hard time of a contract that sets no time.
pub(super) fn default_deadline(executor: &ExecutorSpec) -> Option<Duration> {
    match executor {
        ExecutorSpec::Http(_) | ExecutorSpec::Command(_) => Some(DEFAULT_DEADLINE),
        // How long the host's own functions take is the host's affair; the others take no time.
        ExecutorSpec::Host | ExecutorSpec::Submit | ExecutorSpec::Echo => None,
    }
}

fn time(key: &str, text: &str, remarks: &mut Remarks<'_>) -> Option<Duration> {
    let why = match humantime::parse_duration(text) {
        Ok(time) if time.is_zero() => "is no time at all: write a longer one, or remove the key",
        Ok(time) if time > MAX_TIME => "is longer than 30 days: write a shorter one, or remove the key",
        Ok(time) => return Some(time),
        Err(_) => "is no duration: write it like `30s`, `100ms` or `2m`",
    };
    remarks.add(Note::error("wrong_value", Pointer::root().join(key), format!("`{}` {why}", excerpt(text))));
    None
}

/// Most bytes of text that a result keeps.
pub(super) fn output_cap(block: Option<&Output>, remarks: &mut Remarks<'_>) -> usize {
    let bytes = block.and_then(|output| output.max_bytes).unwrap_or(DEFAULT_OUTPUT_BYTES);
    if bytes == 0 {
        let message = "no result could say anything: write at least 1";
        remarks.add(Note::error("wrong_value", at("output", "max_bytes"), message));
    }
    bytes
}

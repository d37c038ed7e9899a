//! The smaller blocks of a contract: arguments, acceptance, times, caps.

use std::time::Duration;

use super::{
    format::{AcceptBlock, Arguments, Contract, LimitsOfTool as LimitsBlock, OncePerName, Output, Submit},
    remarks::Remarks,
};
use crate::{
    document::Note,
    excerpt::excerpt,
    json::{Json, Pointer},
    tools::{Accept, ArgumentRules, ExecutorSpec, LimitsOfTool, OncePer, Profile},
};

/// Most bytes of text that a result keeps where the contract says nothing.
const DEFAULT_OUTPUT_BYTES: usize = 1 << 18;

/// Hard time of what the booth itself starts, where the contract sets no time: a service that hangs must not hold its batch.
const DEFAULT_DEADLINE: Duration = Duration::from_mins(5);
/// No time is longer; beyond it, it is a slip of the pen.
const MAX_TIME: Duration = Duration::from_hours(30 * 24);

/// How often an idempotent tool is tried again where the contract does not say.
const DEFAULT_RETRIES: u32 = 2;
/// A tool that fails more often in a row will fail once more.
const MAX_RETRIES: u32 = 10;

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

/// How often the tool is tried again.
pub(super) fn retries(contract: &Contract, remarks: &mut Remarks<'_>) -> u32 {
    let is_idempotent = contract.idempotent == Some(true);
    let retries = contract.retries.unwrap_or(if is_idempotent { DEFAULT_RETRIES } else { 0 });
    let why = if retries > MAX_RETRIES {
        format!("{retries} is more often than helps: write 0 to {MAX_RETRIES}")
    } else if retries > 0 && !is_idempotent {
        "the same call could take effect twice: write `idempotent: true` if that does no harm, or remove the key"
            .to_owned()
    } else {
        return retries;
    };
    remarks.add(Note::error("wrong_value", Pointer::root().join("retries"), why));
    retries
}

/// How much of the tool a run may use.
pub(super) fn limits(block: &LimitsBlock, remarks: &mut Remarks<'_>) -> LimitsOfTool {
    let LimitsBlock { max_calls, max_calls_in_flight, max_bytes_in_flight } = *block;
    let zeros = [
        ("max_calls", max_calls == Some(0)),
        ("max_calls_in_flight", max_calls_in_flight == Some(0)),
        ("max_bytes_in_flight", max_bytes_in_flight == Some(0)),
    ];
    for (key, _) in zeros.into_iter().filter(|(_, is_zero)| *is_zero) {
        let message = "no call of the tool could ever run: write at least 1, or remove the key";
        remarks.add(Note::error("wrong_value", at("limits", key), message));
    }
    LimitsOfTool { max_calls, max_calls_in_flight, max_bytes_in_flight }
}

#[cfg(test)]
mod tests {
    use crate::tools::{ContractReport, LimitsOfTool, LoadOptions, Loaded, Status, load_document};

    fn load(keys: &str) -> Loaded {
        let contract = format!(r#"{{"name":"t","parameters":{{"type":"object"}},{keys}}}"#);
        load_document(contract.as_bytes(), &LoadOptions::default())
    }

    fn notes(report: &ContractReport) -> Vec<String> {
        report.notes.iter().map(|note| format!("{} {}: {}", note.code, note.path, note.message)).collect()
    }

    #[test]
    fn p7_what_the_booth_itself_starts_has_a_deadline() {
        let deadline = |keys: &str| {
            let loaded = load(keys);
            let tool = loaded.catalog.served().next().unwrap();
            (tool.timeout.map(|time| time.as_secs()), tool.deadline.map(|time| time.as_secs()))
        };
        let command = r#""execute":{"command":{"argv":["true"]}}"#;
        assert_eq!(deadline(command), (None, Some(300)));
        assert_eq!(deadline(&format!(r#"{command},"timeout":"1h""#)), (Some(3600), None));
        assert_eq!(deadline(&format!(r#"{command},"deadline":"1h""#)), (None, Some(3600)));
        assert_eq!(deadline(r#""title":"T""#), (None, None));
    }

    #[test]
    fn a_deadline_that_defeats_the_timeout_is_a_warning() {
        let report = &load(r#""timeout":"2s","deadline":"1s""#).reports[0];
        assert_eq!((report.status, report.notes[0].code), (Status::AcceptedWithWarning, "deadline_before_timeout"));
    }

    #[test]
    fn p7_only_an_idempotent_tool_is_tried_again() {
        let retries = |keys: &str| load(keys).catalog.served().next().map(|tool| tool.retries);
        for (keys, expected) in [
            (r#""idempotent":true"#, 2),
            (r#""idempotent":false"#, 0),
            (r#""idempotent":true,"retries":0"#, 0),
            (r#""idempotent":true,"retries":10"#, 10),
            (r#""retries":0"#, 0),
        ] {
            assert_eq!(retries(keys), Some(expected), "{keys}");
        }
        let twice = "wrong_value /retries: the same call could take effect twice: write `idempotent: true` if that does no harm, \
                     or remove the key";
        assert_eq!(notes(&load(r#""retries":1"#).reports[0]), [twice]);
        assert_eq!(notes(&load(r#""idempotent":false,"retries":1"#).reports[0]), [twice]);
        let many = load(r#""idempotent":true,"retries":11"#);
        assert_eq!(notes(&many.reports[0]), ["wrong_value /retries: 11 is more often than helps: write 0 to 10"]);
    }

    #[test]
    fn b7_the_limits_of_a_tool_are_kept_and_none_of_them_is_zero() {
        let loaded = load(r#""limits":{"max_calls":3,"max_calls_in_flight":2,"max_bytes_in_flight":100}"#);
        let limits = LimitsOfTool { max_calls: Some(3), max_calls_in_flight: Some(2), max_bytes_in_flight: Some(100) };
        assert_eq!(loaded.catalog.served().next().map(|tool| tool.limits), Some(limits));
        assert_eq!(
            load(r#""limits":{}"#).catalog.served().next().map(|tool| tool.limits),
            Some(LimitsOfTool::default())
        );
        for key in ["max_calls", "max_calls_in_flight", "max_bytes_in_flight"] {
            let said = format!(
                "wrong_value /limits/{key}: no call of the tool could ever run: write at least 1, or remove the key"
            );
            assert_eq!(notes(&load(&format!(r#""limits":{{"{key}":0}}"#)).reports[0]), [said]);
        }
        let typo = notes(&load(r#""limits":{"max_call":1}"#).reports[0]);
        assert_eq!(typo, ["unknown_key /limits/max_call: unknown key `max_call`; did you mean `max_calls`?"]);
    }
}

//! Everything else that the booth says to a model: one function for each kind of refusal.

use std::time::Duration;

use super::{on_one_line, quoted};
use crate::json::{Kind, ParseError, ParseErrorKind, Pointer};

/// What an empty result says (rule P9).
pub const NO_OUTPUT: &str = "(no output)";
/// What an empty error says (rule P9).
pub const NO_ERROR_TEXT: &str = "The tool failed without saying why.";
/// What the built-in `submit` executor says.
pub const SUBMITTED: &str = "Result accepted.";

/// No tool has the name; the nearest declared names help to find the right one (rule P2).
pub fn tool_not_found(name: &str, nearest: &[&str], declared: usize) -> String {
    let listed: Vec<String> = nearest.iter().map(|name| on_one_line(name)).collect();
    let hint = match declared.saturating_sub(nearest.len()) {
        _ if nearest.is_empty() => "No tools are declared.".to_owned(),
        0 => format!("Declared tools: {}", listed.join(", ")),
        more => format!("Declared tools: {} and {more} more", listed.join(", ")),
    };
    format!("Tool {} not found\n\n{hint}", on_one_line(name))
}

/// The tool's own contract is broken.
pub fn tool_quarantined(name: &str) -> String {
    format!(
        "Tool {} is not available: its contract is broken. Nothing was executed. Calling it again cannot help; go on without it.",
        on_one_line(name)
    )
}

/// The text is not one JSON object.
pub fn malformed_arguments(tool: &str, error: &ParseError) -> String {
    let remedy = match &error.kind {
        ParseErrorKind::Truncated => {
            "The text is incomplete. Send the whole object again; if it was cut for its length, make it smaller."
        }
        ParseErrorKind::Trailing | ParseErrorKind::MultipleObjects => {
            "Send exactly one JSON object: one call per object."
        }
        ParseErrorKind::DuplicateKey(_) => "Send each key once.",
        ParseErrorKind::InvalidUnicode => "Send valid Unicode: no half of a surrogate pair.",
        ParseErrorKind::ForbiddenNul => "Send it without that character.",
        ParseErrorKind::TooDeep(_) | ParseErrorKind::TooLarge(_) | ParseErrorKind::TooManyKeys(_) => {
            "Send a smaller object, or several calls."
        }
        ParseErrorKind::Backslash => "Write every backslash in a string as `\\\\`.",
        ParseErrorKind::Syntax(_) => "Send one valid JSON object and nothing else.",
    };
    format!("Arguments for tool {} could not be read: {}. Nothing was executed. {remedy}", quoted(tool), error)
}

/// The text is JSON and not an object.
pub fn not_an_object(tool: &str, kind: Kind) -> String {
    format!(
        "Arguments for tool {} must be a JSON object, got {kind}. Nothing was executed. Send one JSON object.",
        quoted(tool)
    )
}

/// A text has swallowed another parameter (rule C1).
pub fn suspect_markup(tool: &str, path: &Pointer, parameter: &str) -> String {
    let (path, parameter) = (on_one_line(&path.dotted()), on_one_line(parameter));
    format!(
        "Arguments for tool {}: {path} holds the markup of the parameter `{parameter}`, which is missing. Nothing was executed. \
         Send `{parameter}` as an argument of its own, and end {path} before its tag.",
        quoted(tool)
    )
}

/// The contract would bring the arguments into a shape that is nested too deep.
pub fn shaped_too_deep(tool: &str, at: &Pointer) -> String {
    format!(
        "Arguments for tool {} are nested too deep at {}. Nothing was executed. Send a flatter object.",
        quoted(tool),
        on_one_line(&at.to_string()),
    )
}

/// A policy said no.
pub fn denied(tool: &str, reason: &str) -> String {
    let reason = if reason.trim().is_empty() { "no reason given" } else { reason };
    format!("Tool {} was not executed: {reason}", quoted(tool))
}

/// A policy could not be asked.
pub fn policy_unavailable(tool: &str) -> String {
    format!(
        "Tool {} was not executed: its policy could not be asked. This is not a decision; it may work later.",
        quoted(tool)
    )
}

/// A policy rewrote the arguments into something invalid.
pub fn hook_invalid_arguments(tool: &str) -> String {
    format!(
        "Tool {} was not executed: a policy changed the arguments into something that its schema does not allow. Calling again cannot help.",
        quoted(tool)
    )
}

/// The response was cut off (rule B4).
pub fn truncated(tool: &str) -> String {
    format!(
        "Tool {} was not executed: the response ended before this call was complete, at its output limit or by a lost stream. Re-issue the call complete, or make it smaller.",
        quoted(tool)
    )
}

/// A tool without side effects did not answer in time.
pub fn timed_out(tool: &str, after: Duration) -> String {
    format!(
        "Tool {} did not answer within {}. It may be called again.",
        quoted(tool),
        humantime::format_duration(after)
    )
}

/// The tool may or may not have had its effect.
pub fn outcome_unknown(tool: &str, cause: &str) -> String {
    format!(
        "Tool {}: the outcome is unknown ({cause}). It may have taken effect. Check before you call it again.",
        quoted(tool)
    )
}

/// The call was cancelled.
pub fn cancelled(tool: &str, executed: bool) -> String {
    let what =
        if executed { "was cancelled while it ran; it may have taken effect" } else { "was cancelled before it ran" };
    format!("Tool {} {what}.", quoted(tool))
}

/// Two different calls with one id.
pub fn duplicate_call_id(tool: &str, id: &str) -> String {
    format!(
        "Tool {} was not executed: another call of this response has the id {} and is a different call. Give each call its own id.",
        quoted(tool),
        quoted(id)
    )
}

/// Something else was accepted under the key.
pub fn already_accepted(tool: &str) -> String {
    format!(
        "Tool {} was not executed: another result was already accepted, and only one is. The accepted result stands.",
        quoted(tool)
    )
}

/// The host's key was used for another call.
pub fn idempotency_conflict(tool: &str, key: &str) -> String {
    format!(
        "Tool {} was not executed: its idempotency key {} belongs to an earlier call that was a different one. Nothing was executed.",
        quoted(tool),
        quoted(key)
    )
}

/// A batch was sent again with another call where one has its result already.
pub fn other_call_at_this_place(tool: &str) -> String {
    format!(
        "Tool {} was not executed: this batch was sent before, and had a different call at this place, which has its result.",
        quoted(tool)
    )
}

/// A limit is reached.
pub fn limit_reached(tool: &str, limit: &str) -> String {
    format!("Tool {} was not executed: the limit {limit} is reached.", quoted(tool))
}

/// What is left of the run is kept for a submission (rule B7).
pub fn reserved_for_delivery(tool: &str, submissions: &[&str]) -> String {
    let named: Vec<String> = submissions.iter().map(|name| quoted(name)).collect();
    format!(
        "Tool {} was not executed: what is left of this run is kept for its result. Only {} may still be called.",
        quoted(tool),
        named.join(", ")
    )
}

/// Goes below the error of the call before the one that reaches `max_consecutive_invalid` (rule B7).
pub fn last_but_one_invalid(count: u32) -> String {
    format!("\n\nThis was invalid call {count} in a row. One more invalid call in a row ends this run.")
}

/// Goes below the error of the call that reaches `max_consecutive_invalid` (rule B7).
pub fn last_invalid(count: u32) -> String {
    format!("\n\nThis was invalid call {count} in a row, and the last one allowed: the run stops here.")
}

/// The executor could not start, or lost its tool.
pub fn execution_failed(tool: &str, cause: &str) -> String {
    format!("Tool {} failed: {cause}", quoted(tool))
}

/// The tool's answer is no result.
pub fn result_invalid(tool: &str, cause: &str) -> String {
    format!("Tool {} answered with something that is no result: {cause}. It may have taken effect.", quoted(tool))
}

/// More in flight than was announced.
pub fn overloaded(tool: &str) -> String {
    format!(
        "Tool {} was not executed: too much is in flight. It may be called again later; if nothing else is running, make it smaller.",
        quoted(tool)
    )
}

/// The marker below a text that was cut (rule P9).
pub fn cut_marker(full: usize) -> String {
    format!("\n[output cut: {full} bytes in all]")
}

/// The marker below a text that was not read to its end.
pub fn cut_marker_at_least(full: usize) -> String {
    format!("\n[output cut: at least {full} bytes in all]")
}

//! The error that a model reads when its arguments break the schema: the layout of rule E1.

use std::sync::Arc;

use super::{MAX_SHOWN, on_one_line, quoted};
use crate::{
    json::{Json, Object, Pointer},
    refusal::Violation,
    tools::{Explanation, HIDDEN, Received, Tool},
};

/// Lines for violations.
const MAX_LINES: usize = 20;
/// Bytes of the whole text, more or less.
const MAX_BYTES: usize = 4096;
/// Characters of one line.
const MAX_LINE: usize = 300;

/// `Validation failed for tool "NAME":`, a line for each violation, and what was received. `prepared` is what the contract's
/// shim made of it.
pub fn invalid_arguments(tool: &Tool, explanation: &Explanation, received: &Json, prepared: &Json) -> String {
    let mut text = format!("Validation failed for tool {}:\n", quoted(&tool.name));
    text.push_str(&violation_lines(explanation));
    if tool.arguments.received == Received::Omit {
        text.truncate(text.trim_end().len());
    } else {
        let left = MAX_BYTES.saturating_sub(text.len());
        let shown = without_secrets(tool, received, prepared);
        let block = match tool.arguments.received {
            Received::Full => first_lines(shown.to_pretty_lines(tool.max_output_bytes)),
            Received::Short | Received::Omit => first_lines(shorten(&shown).to_pretty_lines(left)),
        };
        text.push_str("\nReceived arguments:\n");
        text.push_str(&block);
    }
    text
}

fn violation_lines(explanation: &Explanation) -> String {
    let mut folded: Vec<(String, usize)> = Vec::new();
    for line in explanation.violations.iter().map(line) {
        if let Some((_, times)) = folded.iter_mut().find(|(known, _)| *known == line) {
            *times += 1;
        } else if folded.len() < MAX_LINES {
            folded.push((line, 1));
        } else {
            break;
        }
    }
    let shown: usize = folded.iter().map(|(_, times)| times).sum();
    let more = explanation.count.saturating_sub(shown);
    let more = (more > 0).then(|| format!("  - and {more} more\n"));
    let line = |(line, times): (String, usize)| {
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        format!("  - {line}{times}\n")
    };
    folded.into_iter().map(line).chain(more).collect()
}

/// `path: message (hint)`.
fn line(violation: &Violation) -> String {
    let hint = violation.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let line = format!("{}: {}{hint}", dotted(violation), violation.message);
    let line: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if line.chars().count() <= MAX_LINE { line } else { line.chars().take(MAX_LINE).chain("...".chars()).collect() }
}

/// The property's own path in dotted form; `root` for the whole.
fn dotted(violation: &Violation) -> String {
    let steps = violation.path.steps().iter().chain(&violation.property);
    let steps: Vec<String> = steps.map(|step| on_one_line(step)).collect();
    if steps.is_empty() { "root".to_owned() } else { steps.join(".") }
}

/// What was received, without what must not be shown. A secret is known by its new name and place only: if there is one, and
/// the shim changed something, what the shim made is shown instead.
pub(super) fn without_secrets(tool: &Tool, received: &Json, prepared: &Json) -> Json {
    let shown = |value: &Json| hide(tool.input.without_secrets(value), &tool.arguments.sensitive);
    if received != prepared {
        let reshaped = shown(prepared);
        if reshaped != *prepared {
            return reshaped;
        }
    }
    shown(received)
}

/// The value with the listed places replaced.
fn hide(mut shown: Json, places: &[Pointer]) -> Json {
    for place in places {
        if let Some(secret) = find_or_ancestor(place, &mut shown) {
            *secret = Json::from(HIDDEN);
        }
    }
    shown
}

/// The value at the place; or the value on the way to it that should hold it and cannot, such as JSON text in the place of an
/// object: the secret may be in it.
fn find_or_ancestor<'a>(place: &Pointer, value: &'a mut Json) -> Option<&'a mut Json> {
    let mut value = value;
    for step in place.steps() {
        if !matches!(value, Json::Object(_) | Json::Array(_)) {
            return Some(value);
        }
        value = Pointer::root().join(step).find_mut(value)?;
    }
    Some(value)
}

/// Long strings by their length, never by their beginning; long keys alike.
fn shorten(value: &Json) -> Json {
    match value {
        Json::String(text) if text.chars().count() > MAX_SHOWN => Json::from(on_one_line(text).as_str()),
        Json::Array(items) => Json::Array(items.iter().map(shorten).collect()),
        Json::Object(members) => {
            let shown = members.iter().map(|(name, value)| {
                let name = if name.chars().count() > MAX_SHOWN { on_one_line(name).into() } else { Arc::clone(name) };
                (name, shorten(value))
            });
            shown.collect::<Object>().into()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    }
}

/// As many whole lines as fit; the rest is counted.
pub(super) fn first_lines(fitting: (String, usize)) -> String {
    match fitting {
        (lines, 0) => lines,
        (lines, more) => format!("{lines}... and {more} more lines"),
    }
}

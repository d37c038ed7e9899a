//! The error that a model reads when its arguments break the schema: the layout of rule E1.

use std::borrow::Cow;

use super::{MAX_SHOWN, on_one_line, quoted};
use crate::{
    json::Json,
    refusal::Violation,
    tools::{Explanation, Received, Tool},
};

/// Lines of the whole text, unless the contract asks for all that was received.
const MAX_LINES: usize = 20;
/// Bytes of the whole text.
const MAX_BYTES: usize = 4096;
/// Of these, what is left for the words between: a count of violations, a title, a count of lines.
const WORDS: usize = 100;
/// Characters of one line.
const MAX_LINE: usize = 300;
/// So few lines of a value, and that there are more, say nothing.
const TOO_FEW: usize = 2;

/// `Validation failed for tool "NAME":`, a line for each violation, and what was received. `prepared` is what the contract's
/// shim made of it.
pub fn invalid_arguments(tool: &Tool, explanation: &Explanation, received: &Json, prepared: &Json) -> String {
    let mut lines = vec![format!("Validation failed for tool {}:", quoted(&tool.name))];
    add_violations(&mut lines, explanation);
    let used: usize = lines.iter().map(|line| line.len() + 1).sum();
    let shown = || without_secrets(tool, received, prepared);
    let block = match tool.arguments.received {
        Received::Omit => None,
        Received::Full => first_lines(shown().to_pretty_lines(tool.max_output_bytes), usize::MAX),
        Received::Short => {
            // What is wrong comes first; of what was received there is what fits below a blank line and a title.
            let (left, bytes_left) =
                (MAX_LINES.saturating_sub(lines.len() + 2), MAX_BYTES.saturating_sub(used + WORDS));
            first_lines(shown().to_pretty_lines_with(bytes_left, shortened), left)
        }
    };
    let block = block.map(|block| format!("\n\nReceived arguments:\n{block}"));
    lines.join("\n") + &block.unwrap_or_default()
}

/// Adds a line for each violation; equal ones are one, and those that do not fit are counted.
fn add_violations(lines: &mut Vec<String>, explanation: &Explanation) {
    let mut folded: Vec<(String, usize)> = Vec::new();
    for line in explanation.violations.iter().map(line) {
        match folded.iter_mut().find(|(known, _)| *known == line) {
            Some((_, times)) => *times += 1,
            None => folded.push((line, 1)),
        }
    }
    let used: usize = lines.iter().map(|line| line.len() + 1).sum();
    let (mut room, mut bytes_left) = (MAX_LINES - lines.len(), MAX_BYTES.saturating_sub(used + WORDS));
    let kept: usize = folded.iter().map(|(_, times)| times).sum();
    if folded.len() > room || explanation.count > kept {
        // One of them is for the count.
        room -= 1;
    }
    let mut left = explanation.count;
    for (line, times) in folded.into_iter().take(room) {
        let repeated = if times > 1 { format!(" ({times} times)") } else { String::new() };
        let line = format!("  - {line}{repeated}");
        let Some(rest) = bytes_left.checked_sub(line.len() + 1) else { break };
        bytes_left = rest;
        left = left.saturating_sub(times);
        lines.push(line);
    }
    if left > 0 {
        lines.push(format!("  - and {left} more"));
    }
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
    let steps = violation.path.steps().into_iter().chain(violation.property.as_deref());
    let steps: Vec<String> = steps.map(on_one_line).collect();
    if steps.is_empty() { "root".to_owned() } else { steps.join(".") }
}

/// What was received, without what must not be shown. A secret is known by its new name and place only: if there is one, and
/// the shim changed something, what the shim made is shown instead.
pub(super) fn without_secrets<'a>(tool: &Tool, received: &'a Json, prepared: &'a Json) -> Cow<'a, Json> {
    if tool.has_secrets() && received != prepared {
        let reshaped = tool.without_secrets(prepared);
        if *reshaped != *prepared {
            return reshaped;
        }
    }
    tool.without_secrets(received)
}

/// Long strings by their length, never by their beginning; long keys alike.
fn shortened(text: &str) -> Option<String> {
    (text.chars().count() > MAX_SHOWN).then(|| on_one_line(text))
}

/// As many whole lines as fit; the rest is counted. `None`: that would say nothing.
pub(super) fn first_lines((text, mut more): (String, usize), max_lines: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    if more == 0 && lines.len() <= max_lines {
        return Some(text);
    }
    let shown = lines.get(..max_lines.saturating_sub(1).min(lines.len())).unwrap_or_default();
    more += lines.len() - shown.len();
    (shown.len() >= TOO_FEW).then(|| format!("{}\n... and {more} more lines", shown.join("\n")))
}

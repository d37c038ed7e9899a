//! What pi 1.6.0 says of arguments that it refuses, to the letter (rule E6): nothing is shortened, folded or escaped. Only
//! what a contract hides stays hidden.

use super::invalid::{first_lines, without_secrets};
use crate::{
    excerpt::beginning,
    json::Json,
    refusal::Violation,
    tools::{Explanation, HIDDEN, Received, Tool},
};

/// The arguments break the schema. `prepared` is what the contract's shim made of what was received.
pub fn invalid_arguments_as_pi(tool: &Tool, explanation: &Explanation, received: &Json, prepared: &Json) -> String {
    let mut lines: Vec<String> = explanation.violations.iter().map(line).collect();
    let more = explanation.count.saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("  - and {more} more"));
    }
    let mut text = format!("Validation failed for tool \"{}\":\n{}", tool.name, lines.join("\n"));
    if tool.arguments.received != Received::Omit {
        let shown = without_secrets(tool, received, prepared);
        let block = first_lines(shown.to_javascript_lines(tool.max_output_bytes), usize::MAX);
        text.push_str(&block.map(|block| received_block(&block)).unwrap_or_default());
    }
    text
}

/// The text is not a JSON object. What stands in a text that cannot be read, nobody can hide a part of.
pub fn malformed_arguments_as_pi(tool: &Tool, problem: &str, sent: &[u8]) -> String {
    let mut text = format!("Invalid arguments for tool \"{}\": {problem}", tool.name);
    if tool.arguments.received != Received::Omit {
        let sent = String::from_utf8_lossy(sent);
        let shown = beginning(&sent, tool.max_output_bytes);
        text.push_str(&match sent.len() - shown.len() {
            _ if tool.has_secrets() => received_block(HIDDEN),
            0 => received_block(shown),
            more => received_block(&format!("{shown}... and {more} more bytes")),
        });
    }
    text
}

fn line(violation: &Violation) -> String {
    let steps: Vec<&str> = violation.path.steps().into_iter().chain(violation.property.as_deref()).collect();
    let path = if steps.is_empty() { "root".to_owned() } else { steps.join(".") };
    format!("  - {path}: {}", violation.message)
}

fn received_block(block: &str) -> String {
    format!("\n\nReceived arguments:\n{block}")
}

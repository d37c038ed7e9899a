//! The last step of stage 8: a result is brought into the shape that hosts and models can use (rules P8 and P9). Nothing that
//! goes wrong here undoes what was executed.

use crate::{
    content::{Content, Warning},
    excerpt::beginning,
    json::SharedJson,
    refusal::{Code, Refusal},
    result::CallResult,
    tools::Tool,
    wording,
};

/// What is new in a result, and so has no shape yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fresh {
    /// Bytes of content at least, where the executor did not keep them all.
    pub(super) full_bytes: Option<usize>,
    pub(super) content: bool,
    pub(super) structured: bool,
    pub(super) details: bool,
}

impl Fresh {
    /// Straight from the executor.
    pub(super) fn executed(full_bytes: Option<usize>) -> Self {
        Self { full_bytes, content: true, structured: true, details: true }
    }
}

/// Brings what is new in a result into shape.
pub(super) fn shape(tool: &Tool, result: &mut CallResult, fresh: Fresh) {
    let most = tool.max_output_bytes;
    if fresh.structured {
        check_output(tool, result);
        result.structured = capped("structured", most, result.structured.take(), &mut result.warnings);
    }
    if fresh.content {
        cap_content(most, fresh.full_bytes, result);
    }
    if fresh.details {
        result.details = capped("details", most, result.details.take(), &mut result.warnings);
    }
    let is_empty = |content: &Content| matches!(content, Content::Text(text) if text.is_empty());
    if result.content.iter().all(is_empty) {
        let text = match (&result.structured, result.is_error) {
            (Some(structured), _) => structured.text().to_owned(),
            (None, true) => wording::NO_ERROR_TEXT.to_owned(),
            (None, false) => wording::NO_OUTPUT.to_owned(),
        };
        result.content = vec![Content::text(text)];
    }
    result.error = result.is_error.then(|| Refusal::new(Code::ExecutionFailed, None, result.text()));
}

/// The output schema: a mismatch is told, never turned into a retry, because the side effect has happened.
fn check_output(tool: &Tool, result: &mut CallResult) {
    let Some(schema) = &tool.output else { return };
    let problem = match &result.structured {
        Some(structured) if schema.is_valid(structured) => return,
        // An error need not have the shape of a success; what does not fit is left out.
        _ if result.is_error => {
            result.structured = None;
            return;
        }
        None => "the contract has an output schema, and the tool gave no structured result".to_owned(),
        Some(structured) => {
            let explanation = schema.explain(structured);
            let first = explanation.violations.first();
            let first = first.map(|first| format!(": {} {}", first.path, first.message)).unwrap_or_default();
            format!("the structured result breaks the output schema in {} places{first}", explanation.count)
        }
    };
    result.warnings.push(Warning { code: "output_schema_mismatch", message: problem });
}

/// Content over the cap: a text keeps its beginning, with a marker that tells the full size; of anything else only the marker
/// is left, because half a picture is none.
fn cap_content(most: usize, mut full_bytes: Option<usize>, result: &mut CallResult) {
    let mut left = most;
    let mut cut = 0;
    for content in &mut result.content {
        let size = content.bytes();
        let text = if let Content::Text(text) = content { text } else { "" };
        let unread = if text.is_empty() { None } else { full_bytes.take() };
        if size <= left && unread.is_none() {
            left -= size;
            continue;
        }
        cut += unread.unwrap_or(size);
        let kept = beginning(text, left);
        left -= kept.len();
        let marker = unread.map_or_else(|| wording::cut_marker(size), wording::cut_marker_at_least);
        *content = Content::text(format!("{kept}{marker}"));
    }
    if cut > 0 {
        let message = format!("content of {cut} bytes was cut; at most {most} are kept");
        result.warnings.push(Warning { code: "output_truncated", message });
    }
}

/// JSON over the cap is left out: half of it is none.
fn capped(what: &str, most: usize, value: Option<SharedJson>, warnings: &mut Vec<Warning>) -> Option<SharedJson> {
    let value = value?;
    let size = value.bytes().len();
    if size <= most {
        return Some(value);
    }
    let message = format!("`{what}` has {size} bytes and was left out; at most {most} are kept");
    warnings.push(Warning { code: "output_truncated", message });
    None
}

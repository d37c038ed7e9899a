//! Stage 8: hooks may change the result field by field; then it is brought into the shape that hosts and models can use
//! (rules P8 and P9). Nothing that goes wrong here undoes what was executed.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{AdmittedCall, Attempt, Scope, execute::Ran};
use crate::{
    content::{Content, Warning},
    ports::{HookError, Override},
    refusal::{Code, Refusal},
    result::CallResult,
    tools::Tool,
    wording,
};

/// From what the executor gave to the result.
pub(super) async fn finish(
    scope: &Scope,
    admitted: AdmittedCall,
    (ran, attempt): (Ran, Attempt),
    cancel: &CancellationToken,
) -> CallResult {
    let seen = admitted.hook_call(scope);
    let (call, tool, trace) = admitted.into_parts();
    let mut result = match ran {
        Ok(output) => {
            let is_error = output.is_error;
            CallResult {
                call,
                trace,
                error: None,
                is_error,
                executed: true,
                // A failure never ends the run by itself; only the executor can say so.
                terminate: output.terminate.unwrap_or(tool.terminate && !is_error),
                replayed: false,
                content: output.content,
                structured: output.structured,
                details: output.details,
                warnings: output.warnings,
                duration: Duration::ZERO,
            }
        }
        Err(refusal) => {
            let executed = attempt != Attempt::NotStarted;
            return CallResult { executed, ..CallResult::refused(call, trace, refusal) };
        }
    };
    for hook in &scope.hooks {
        let judged = tokio::select! {
            biased;
            judged = hook.after(&seen, &result) => judged,
            () = cancel.cancelled() => Err(HookError("the call was cancelled before it was judged".to_owned())),
        };
        match judged {
            Ok(change) => apply(&mut result, change),
            Err(error) => result.warnings.push(Warning { code: "after_hook_failed", message: error.0 }),
        }
    }
    shape(&tool, &mut result);
    result
}

fn apply(result: &mut CallResult, change: Override) {
    if let Some(content) = change.content {
        result.content = content;
    }
    if let Some(structured) = change.structured {
        result.structured = structured;
    }
    if let Some(details) = change.details {
        result.details = details;
    }
    result.is_error = change.is_error.unwrap_or(result.is_error);
    result.terminate = change.terminate.unwrap_or(result.terminate);
}

/// Brings a result into shape.
fn shape(tool: &Tool, result: &mut CallResult) {
    check_output(tool, result);
    cut_oversize(tool.max_output_bytes, result);
    let is_empty = |content: &Content| matches!(content, Content::Text(text) if text.is_empty());
    if result.content.iter().all(is_empty) {
        let text = match (&result.structured, result.is_error) {
            (Some(structured), _) => structured.to_text(),
            (None, true) => wording::NO_ERROR_TEXT.to_owned(),
            (None, false) => wording::NO_OUTPUT.to_owned(),
        };
        result.content = vec![Content::text(text)];
    }
    if result.is_error && result.error.is_none() {
        result.error = Some(Refusal::new(Code::ExecutionFailed, None, result.text()));
    }
}

/// The output schema: a mismatch is told, never turned into a retry, because the side effect has happened.
fn check_output(tool: &Tool, result: &mut CallResult) {
    let Some(schema) = &tool.output else { return };
    let Some(structured) = &result.structured else {
        if !result.is_error {
            let message = "the contract has an output schema, and the tool gave no structured result".to_owned();
            result.warnings.push(Warning { code: "output_schema_mismatch", message });
        }
        return;
    };
    if schema.is_valid(structured) {
        return;
    }
    if result.is_error {
        // An error need not have the shape of a success; what does not fit is left out.
        result.structured = None;
        return;
    }
    let explanation = schema.explain(structured);
    let first = explanation.violations.first();
    let first = first.map(|violation| format!(": {} {}", violation.path, violation.message)).unwrap_or_default();
    let message = format!("the structured result breaks the output schema in {} places{first}", explanation.count);
    result.warnings.push(Warning { code: "output_schema_mismatch", message });
}

/// Texts over the cap keep their beginning, with a marker that tells the full size.
fn cut_oversize(max_bytes: usize, result: &mut CallResult) {
    let mut left = max_bytes;
    let mut cut = 0;
    for content in &mut result.content {
        let Content::Text(text) = content else { continue };
        if text.len() > left {
            cut += text.len();
            *content = Content::text(format!("{}{}", beginning(text, left), wording::cut_marker(text.len())));
            left = 0;
        } else {
            left -= text.len();
        }
    }
    if cut > 0 {
        let message = format!("text of {cut} bytes was cut to {max_bytes} bytes");
        result.warnings.push(Warning { code: "output_truncated", message });
    }
    if let Some(structured) = &result.structured {
        let size = structured.to_text().len();
        if size > max_bytes {
            let message =
                format!("the structured result has {size} bytes and was left out; at most {max_bytes} are kept");
            result.warnings.push(Warning { code: "structured_dropped", message });
            result.structured = None;
        }
    }
}

/// As many bytes of the text as allowed, in whole characters.
fn beginning(text: &str, max_bytes: usize) -> &str {
    let end = (0..=max_bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

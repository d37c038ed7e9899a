//! Stage 8: hooks may change the result field by field (rule P8). One that fails flags the result, and undoes nothing.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    AdmittedCall, Attempt, Scope,
    execute::Executed,
    shape::{self, Fresh},
};
use crate::{
    content::Warning,
    ports::{HookCall, HookError, Override},
    result::CallResult,
    tools::Tool,
};

/// From what the executor gave to the result.
pub(super) async fn finish(
    scope: &Scope,
    admitted: AdmittedCall,
    executed: Executed,
    cancel: &CancellationToken,
) -> CallResult {
    let seen = (executed.attempt == Attempt::Answered && !scope.hooks.is_empty()).then(|| admitted.hook_call(scope));
    let tool = Arc::clone(admitted.tool());
    let mut result = result(admitted, executed);
    if let Some(seen) = seen {
        // Boxed: few runs have such hooks, and every call would be as large as if it had.
        Box::pin(judge(scope, &tool, &seen, &mut result, cancel)).await;
    }
    result
}

/// What the tool gave, in shape, or why there is nothing.
fn result(admitted: AdmittedCall, Executed { ran, attempt, attempts }: Executed) -> CallResult {
    let (call, tool, trace) = admitted.into_parts();
    let output = match ran {
        Ok(output) => output,
        Err(refusal) => {
            let executed = attempt != Attempt::NotStarted;
            return CallResult { executed, attempts, ..CallResult::refused(call, trace, refusal) };
        }
    };
    let is_error = output.is_error;
    let mut result = CallResult {
        call,
        trace,
        error: None,
        is_error,
        executed: true,
        attempts,
        // A failure never ends the run by itself; only the executor can say so.
        terminate: output.terminate.unwrap_or(tool.terminate && !is_error),
        replayed: false,
        content: output.content,
        structured: output.structured,
        details: output.details,
        warnings: output.warnings,
        duration: Duration::ZERO,
    };
    shape::shape(&tool, &mut result, Fresh::executed(output.full_bytes));
    result
}

/// Hooks see what the model would read; what they change is shaped again.
async fn judge(scope: &Scope, tool: &Tool, seen: &HookCall, result: &mut CallResult, cancel: &CancellationToken) {
    for hook in &scope.hooks {
        let judged = tokio::select! {
            biased;
            judged = hook.after(seen, result) => judged,
            () = cancel.cancelled() => Err(HookError("the call was cancelled before it was judged".to_owned())),
        };
        match judged {
            Ok(change) => apply(tool, result, change),
            Err(error) => result.warnings.push(Warning { code: "after_hook_failed", message: error.0 }),
        }
    }
}

fn apply(tool: &Tool, result: &mut CallResult, change: Override) {
    let fresh = Fresh {
        full_bytes: None,
        content: change.content.is_some(),
        structured: change.structured.is_some(),
        details: change.details.is_some(),
    };
    if let Some(content) = change.content {
        result.content = content;
    }
    if let Some(structured) = change.structured {
        result.structured = structured;
    }
    if let Some(details) = change.details {
        result.details = details;
    }
    // A failure never ends the run by itself, and a hook that makes one is no exception.
    let became_error = change.is_error == Some(true) && !result.is_error;
    result.is_error = change.is_error.unwrap_or(result.is_error);
    result.terminate = change.terminate.unwrap_or(result.terminate && !became_error);
    shape::shape(tool, result, fresh);
}

//! Accepted once (rules S1 to S4): reserve, execute, finalize; and only then is the answer sent.

use std::{
    panic::{AssertUnwindSafe, resume_unwind},
    sync::Arc,
};

use bytes::Bytes;
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::Run;
use crate::{
    content::ToolOutput,
    json::{Json, SharedJson},
    pipeline::{AdmittedCall, Attempt, Watch},
    ports::{AcceptKey, Accepted, LedgerError, Reservation, Reserved, Submission},
    refusal::{Code, Reason, Refusal},
    result::CallResult,
    tools::{Accept, OncePer, Tool},
    wording,
};

/// The key of a submission; `None` for a tool that accepts any number of calls.
pub(super) fn key(run: &Run, admitted: &AdmittedCall) -> Option<AcceptKey> {
    let accept = admitted.tool().accept.as_ref()?;
    let key = match &accept.once_per {
        OncePer::Run => format!("run {}", run.options.id).into(),
        OncePer::Task => "task".into(),
        OncePer::Argument(place) => {
            let value = place.find(admitted.arguments()).unwrap_or(&Json::Null);
            format!("{place} {}", value.to_canonical_text()).into()
        }
    };
    Some(AcceptKey { task: Arc::clone(&run.options.task), tool: Arc::clone(&admitted.tool().name), key })
}

/// Executes the call if nothing was accepted under its key; else answers with what was.
pub(super) async fn once(
    run: &Run,
    key: AcceptKey,
    admitted: AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> CallResult {
    let in_doubt = admitted.tool().accept.as_ref().map(|accept: &Accept| accept.in_doubt).unwrap_or_default();
    let reserved = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            let text = wording::cancelled(&admitted.tool().name, false);
            return admitted.refuse(Refusal::new(Code::Cancelled, None, text));
        }
        reserved = run.options.ledger.reserve(&key, in_doubt) => reserved,
        // Whoever holds the key has the same time for its execution.
        () = over(admitted.tool()) => {
            let cause = "an earlier submission is still being executed";
            let text = wording::execution_failed(&admitted.tool().name, cause);
            return admitted.refuse(Refusal::new(Code::TimedOut, Some(Reason::Deadline), text));
        }
    };
    match reserved {
        Ok(Reserved::Free(reservation)) => execute(run, reservation, admitted, watch, cancel).await,
        Ok(Reserved::Taken(accepted)) if *accepted.submission.arguments == **admitted.arguments() => {
            replay(admitted, *accepted)
        }
        Ok(Reserved::Taken(_)) => {
            let text = wording::already_accepted(&admitted.tool().name);
            admitted.refuse(Refusal::new(Code::AlreadyAccepted, None, text))
        }
        Ok(Reserved::InDoubt) => {
            let cause = "an earlier submission was started, and its end was never recorded";
            let text = wording::outcome_unknown(&admitted.tool().name, cause);
            admitted.refuse(Refusal::new(Code::OutcomeUnknown, None, text))
        }
        Err(error) => {
            let text = wording::execution_failed(&admitted.tool().name, "submissions cannot be recorded at the moment");
            let refusal = Refusal::new(Code::ExecutionFailed, Some(Reason::Ledger), text);
            admitted.refuse(Refusal { developer: Some(error.0), ..refusal })
        }
    }
}

/// Returns when the time of a call to the tool is over; never, if its contract sets none.
async fn over(tool: &Tool) {
    match tool.deadline.or(tool.timeout) {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

async fn execute(
    run: &Run,
    reservation: Reservation,
    admitted: AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> CallResult {
    let name = Arc::clone(&admitted.tool().name);
    let arguments = admitted.arguments().clone();
    let ledger = &run.options.ledger;
    let running = run.complete(admitted, watch, cancel);
    let (result, attempt) = match AssertUnwindSafe(running).catch_unwind().await {
        Ok(completed) => completed,
        Err(panic) => {
            // A key that stayed held would let every later submission wait for ever.
            drop(ledger.doubt(reservation).await);
            resume_unwind(panic);
        }
    };
    let recorded = match attempt {
        Attempt::Answered if !result.is_error => {
            ledger.accept(reservation.clone(), accepted(run, &reservation.key, &result, arguments)).await
        }
        Attempt::Answered | Attempt::NotStarted => ledger.release(reservation).await,
        Attempt::Unknown => ledger.doubt(reservation).await,
    };
    match recorded {
        Ok(()) => result,
        Err(error) => unrecorded(&name, result, error),
    }
}

/// What happened is known, but could not be written down: nobody may be told that it was accepted.
fn unrecorded(name: &str, result: CallResult, error: LedgerError) -> CallResult {
    let text = wording::outcome_unknown(name, "it could not be recorded");
    let refusal = Refusal::new(Code::OutcomeUnknown, Some(Reason::Ledger), text);
    let refusal = Refusal { developer: Some(error.0), ..refusal };
    CallResult { executed: result.executed, ..CallResult::refused(result.call, result.trace, refusal) }
}

fn accepted(run: &Run, key: &AcceptKey, result: &CallResult, arguments: SharedJson) -> Accepted {
    Accepted {
        submission: Submission {
            key: key.clone(),
            run: Arc::clone(&run.options.id),
            call_id: Arc::clone(&result.call.id),
            // A copy: the bytes as they came would keep the whole message that they came in.
            raw_arguments: Bytes::copy_from_slice(&result.call.arguments),
            arguments,
            accepted_at_ms: run.options.clock.unix_ms(),
            sequence: 0,
        },
        output: ToolOutput {
            content: result.content.clone(),
            structured: result.structured.clone(),
            details: result.details.clone(),
            is_error: false,
            terminate: Some(result.terminate),
            warnings: result.warnings.clone(),
            full_bytes: None,
        },
    }
}

/// The stored answer (rule S3).
fn replay(admitted: AdmittedCall, accepted: Accepted) -> CallResult {
    let output = accepted.output;
    CallResult {
        error: None,
        is_error: output.is_error,
        terminate: output.terminate.unwrap_or_default(),
        replayed: true,
        content: output.content,
        structured: output.structured,
        details: output.details,
        warnings: output.warnings,
        // The texts of this refusal are replaced; what it keeps is the call and its trace.
        ..admitted.refuse(Refusal::new(Code::AlreadyAccepted, None, String::new()))
    }
}

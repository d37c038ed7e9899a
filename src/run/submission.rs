//! Executed once (rules S1 to S4): reserve, execute, finalize; and only then is the answer sent. So are submissions, and calls
//! under an idempotency key of their host's.

use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{Run, RunOptions};
use crate::{
    content::ToolOutput,
    json::{Json, SharedJson},
    pipeline::{AdmittedCall, Attempt, Watch},
    ports::{Claim, KeyScope, Ledger, LedgerError, OnceKey, Record, Reservation, Reserved, Selection, Submission},
    refusal::{Code, Reason, Refusal},
    result::CallResult,
    tools::{Accept, ExecutorSpec, InDoubt, OncePer, Tool},
    wording,
};

/// Submissions that a verdict lists at most; `SubmissionService` has them all.
pub(super) const MOST_ACCEPTED: usize = 1000;

/// What the run's task has accepted so far, the newest [`MOST_ACCEPTED`] of it. Nobody is asked if it cannot have accepted anything.
pub(super) async fn accepted(run: &Run) -> Result<Vec<Submission>, LedgerError> {
    let RunOptions { task, id, ledger, .. } = &run.options;
    if task == id && run.scope().catalog.submissions().is_empty() {
        return Ok(Vec::new());
    }
    let task = Some(Arc::clone(task));
    let newest = Selection { task, limit: MOST_ACCEPTED, newest_first: true, ..Selection::default() };
    let mut accepted = ledger.submissions(&newest).await?;
    accepted.reverse();
    Ok(accepted)
}

/// What a call must hold before it is executed; `None` for one that may be executed any number of times.
pub(super) fn claim(run: &Run, admitted: &AdmittedCall) -> Option<Claim> {
    let tool = admitted.tool();
    let of_host = admitted.call().idempotency_key.as_ref().map(|key| (KeyScope::Call, Arc::clone(key)));
    let of_submission = tool.accept.as_ref().map(|accept| {
        let key = submission_key(run, accept, admitted.arguments());
        (KeyScope::Submission(Arc::clone(&tool.name)), key)
    });
    let key = |(scope, key)| OnceKey { task: Arc::clone(&run.options.task), scope, key };
    let keys: Vec<OnceKey> = of_host.into_iter().chain(of_submission).map(key).collect();
    if keys.is_empty() {
        return None;
    }
    let idempotency_key = admitted.idempotency_key().into();
    Some(Claim { keys, in_doubt: in_doubt(tool), idempotency_key })
}

fn submission_key(run: &Run, accept: &Accept, arguments: &SharedJson) -> Arc<str> {
    match &accept.once_per {
        OncePer::Run => format!("run {}", run.options.id).into(),
        OncePer::Task => "task".into(),
        OncePer::Argument(place) => {
            let value = place.find(arguments).unwrap_or(&Json::Null);
            format!("{place} {}", value.to_canonical_text()).into()
        }
    }
}

/// What an unknown outcome means for the next call under the key.
fn in_doubt(tool: &Tool) -> InDoubt {
    match &tool.accept {
        // Nothing happens outside of the ledger: what it does not know did not happen.
        Some(_) if matches!(tool.executor, ExecutorSpec::Submit) => InDoubt::Retry,
        Some(accept) => accept.in_doubt,
        None if tool.has_effect() && !tool.idempotent => InDoubt::Refuse,
        None => InDoubt::Retry,
    }
}

/// Executes the call if nothing was executed under its keys; else answers with what was.
pub(super) async fn once(
    run: &Run,
    claim: Claim,
    admitted: AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> CallResult {
    let name = Arc::clone(&admitted.tool().name);
    let reserved = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            return admitted.refuse(Refusal::new(Code::Cancelled, None, wording::cancelled(&name, false)));
        }
        reserved = run.options.ledger.reserve(&claim) => reserved,
        // Whoever holds the key has the same time for its execution.
        () = over(admitted.tool()) => {
            let text = wording::execution_failed(&name, "an earlier call under the same key is still being executed");
            return admitted.refuse(Refusal::new(Code::TimedOut, Some(Reason::Deadline), text));
        }
    };
    match reserved {
        Ok(Reserved::Free(reservation)) => execute(run, reservation, admitted, watch, cancel).await,
        Ok(Reserved::Taken(_, record)) if record.tool == name && *record.arguments == **admitted.arguments() => {
            replay(admitted, *record)
        }
        Ok(Reserved::Taken(OnceKey { scope: KeyScope::Call, key, .. }, _)) => {
            let text = wording::idempotency_conflict(&name, &key);
            admitted.refuse(Refusal::new(Code::IdempotencyConflict, None, text))
        }
        Ok(Reserved::Taken(OnceKey { scope: KeyScope::Submission(_), .. }, _)) => {
            admitted.refuse(Refusal::new(Code::AlreadyAccepted, None, wording::already_accepted(&name)))
        }
        Ok(Reserved::InDoubt(_)) => {
            let cause = "an earlier call under the same key was started, and its end was never recorded";
            admitted.refuse(Refusal::new(Code::OutcomeUnknown, None, wording::outcome_unknown(&name, cause)))
        }
        Err(error) => {
            let text = wording::execution_failed(
                &name,
                "what is executed once cannot be recorded at the moment; nothing was executed",
            );
            let refusal = Refusal::new(Code::ExecutionFailed, Some(Reason::Ledger), text);
            admitted.refuse(Refusal { developer: Some(error.to_string()), ..refusal })
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
    let tool = Arc::clone(admitted.tool());
    let arguments = admitted.arguments().clone();
    let ledger = &run.options.ledger;
    let admitted = admitted.under(Arc::clone(&reservation.idempotency_key));
    let held = Held { ledger: Arc::clone(ledger), reservation: Some(reservation) };
    let (result, attempt) = run.complete(admitted, watch, cancel).await;
    let Some(reservation) = held.end() else { return result };
    let settled = match attempt {
        Attempt::Answered if !result.is_error => {
            let record = record(run, &reservation, &result, (Arc::clone(&tool.name), arguments));
            return match ledger.record(reservation, record).await {
                Ok(()) => result,
                Err(error) => unrecorded(&tool.name, result, &error),
            };
        }
        Attempt::Unknown if tool.has_effect() => ledger.doubt(reservation).await,
        Attempt::NotStarted => ledger.withdraw(reservation).await,
        Attempt::Answered | Attempt::Unknown => ledger.release(reservation).await,
    };
    if let Err(error) = settled {
        // The result is known all the same. The key stays held, and then in doubt.
        warn!(%error, "the end of a call that failed could not be recorded");
    }
    result
}

/// A reservation while its call is executed. If it is dropped before the end, because nobody runs the batch any more or the booth
/// fails on it, its keys are in doubt: keys that stayed held would let every later call wait for ever.
struct Held {
    ledger: Arc<dyn Ledger>,
    /// `None` from the end on.
    reservation: Option<Reservation>,
}

impl Held {
    fn end(mut self) -> Option<Reservation> {
        self.reservation.take()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take()
            && let Ok(runtime) = Handle::try_current()
        {
            let ledger = Arc::clone(&self.ledger);
            runtime.spawn(async move {
                if let Err(error) = ledger.doubt(reservation).await {
                    warn!(%error, "that a call was lost could not be recorded");
                }
            });
        }
    }
}

/// What happened is known, but could not be written down: nobody may be told that it was accepted.
fn unrecorded(name: &str, result: CallResult, error: &LedgerError) -> CallResult {
    let text = wording::outcome_unknown(name, "it could not be recorded");
    let refusal = Refusal::new(Code::OutcomeUnknown, Some(Reason::Ledger), text);
    let refusal = Refusal { developer: Some(error.to_string()), ..refusal };
    CallResult {
        executed: result.executed,
        attempts: result.attempts,
        ..CallResult::refused(result.call, result.trace, refusal)
    }
}

fn record(
    run: &Run,
    reservation: &Reservation,
    result: &CallResult,
    (tool, arguments): (Arc<str>, SharedJson),
) -> Record {
    Record {
        keys: reservation.keys.clone(),
        tool,
        run: Arc::clone(&run.options.id),
        call_id: Arc::clone(&result.call.id),
        // A copy: the bytes as they came would keep the whole message that they came in.
        raw_arguments: Bytes::copy_from_slice(&result.call.arguments),
        arguments,
        recorded_at_ms: run.options.clock.unix_ms(),
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
fn replay(admitted: AdmittedCall, record: Record) -> CallResult {
    let output = record.output;
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

//! The execution service: runs over a stream, and the unary twins for hosts that need no call-back.

use std::{pin::Pin, sync::Arc};

use futures::FutureExt as _;
use prost::Message as _;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::{
    Fault, Stopping, decode, encode, fit,
    proto::{self, tool_execution_service_server::ToolExecutionServiceServer},
    session,
};
use crate::{
    booth::{Booth, Lease, NotBegun, Opened},
    call::{Batch, Finish, ToolCall, is_blank_id},
    json::Json,
    pipeline::{self, Scope},
    result::{CallResult, Trace},
    run::{self, BatchOutcome, Feed, Known, Unobserved, VerdictReason},
    tools::ContractReport,
};

/// Serves the execution of calls.
#[derive(Debug)]
struct Execution {
    booth: Arc<Booth>,
    stopping: Stopping,
    max_message_bytes: usize,
}

pub(super) fn service(
    booth: Arc<Booth>,
    stopping: Stopping,
    max_message_bytes: usize,
) -> ToolExecutionServiceServer<impl Service> {
    ToolExecutionServiceServer::new(Execution { booth, stopping, max_message_bytes })
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(usize::MAX)
}

/// The generated trait, under the name that says what it is.
pub(super) use proto::tool_execution_service_server::ToolExecutionService as Service;

#[tonic::async_trait]
impl Service for Execution {
    type RunStream = Pin<Box<dyn Stream<Item = Result<proto::RunResponse, Status>> + Send>>;

    async fn run(&self, request: Request<Streaming<proto::RunRequest>>) -> Result<Response<Self::RunStream>, Status> {
        let (out, frames) = session::Out::new(self.max_message_bytes);
        let (booth, stopping) = (Arc::clone(&self.booth), self.stopping.clone());
        let session = tokio::spawn(session::serve(booth, stopping, request.into_inner(), out.clone()));
        tokio::spawn(async move {
            // Without a status, a session that is lost would look like one that ended well.
            if session.await.is_err() {
                out.fail(Fault::Lost.into());
            }
        });
        Ok(Response::new(Box::pin(frames)))
    }

    async fn execute_batch(
        &self,
        request: Request<proto::ExecuteBatchRequest>,
    ) -> Result<Response<proto::ExecuteBatchResponse>, Status> {
        if self.stopping.drain.is_cancelled() {
            return Err(Fault::Draining.into());
        }
        let request = request.into_inner();
        let id = decode::id("batch_id", request.batch_id)?.unwrap_or_else(decode::assigned_batch_id);
        let (lease, reports) = self.lead(request.open.unwrap_or_default())?;
        // If its caller goes away, this is dropped, and the run waits for the next one.
        let lease = lease.then_wait();
        let batch = decode::batch(Arc::clone(&id), request.batch.unwrap_or_default());
        let outcome = self.outcome(&lease, &batch).await?;
        let (verdict, warning) = encode::verdict(&outcome.verdict, self.max_message_bytes);
        let mut warnings = encode::warnings(&outcome.warnings);
        warnings.extend(encode::warnings(warning.as_slice()));
        Ok(Response::new(proto::ExecuteBatchResponse {
            run_id: lease.run().id().to_string(),
            batch_id: id.to_string(),
            results: fit::all(&outcome.results, verdict.encoded_len(), self.max_message_bytes),
            verdict: Some(verdict),
            warnings,
            contracts: encode::reports(&reports),
        }))
    }

    async fn get_run(&self, request: Request<proto::GetRunRequest>) -> Result<Response<proto::GetRunResponse>, Status> {
        let id = request.into_inner().run_id;
        let held = self.booth.runs.get(&id).ok_or(Fault::RunNotFound(id))?;
        Ok(Response::new(proto::GetRunResponse { run: Some(encode::run(&held)) }))
    }

    async fn validate(
        &self,
        request: Request<proto::ValidateRequest>,
    ) -> Result<Response<proto::ValidateResponse>, Status> {
        let request = request.into_inner();
        decode::known::<proto::Profile>("profile", request.profile)?;
        let profile = decode::profile(request.profile());
        let contracts: Vec<Vec<u8>> = request.contracts.iter().map(|contract| contract.to_vec()).collect();
        let (catalog, reports) = self.booth.with_contracts(&contracts);
        let scope = Scope {
            catalog,
            executor: Arc::new(self.booth.executors.clone()),
            hooks: Vec::new(),
            context: Arc::new(Json::empty_object()),
            parse_limits: self.booth.parse_limits.clone(),
            profile: profile.unwrap_or(self.booth.load.profile),
        };
        let most = self.booth.capacity.max_calls_in_flight;
        if request.calls.len() > most {
            return Err(
                decode::malformed("calls", format!("more than {most}; validate them in several requests")).into()
            );
        }
        let mut validations = Vec::with_capacity(request.calls.len());
        for call in decode::calls(request.calls) {
            validations.push(validation(&scope, &call));
            // Other hosts are served meanwhile.
            tokio::task::yield_now().await;
        }
        Ok(Response::new(proto::ValidateResponse { validations, contracts: encode::reports(&reports) }))
    }

    async fn conclude_batch(
        &self,
        request: Request<proto::ConcludeBatchRequest>,
    ) -> Result<Response<proto::ConcludeBatchResponse>, Status> {
        let request = request.into_inner();
        let cut_off = decode::finish(request.finish) == Finish::CutOff;
        let (terminate, reason, blocking) = run::agree(request.calls.iter().map(|call| call.terminate), cut_off);
        debug_assert_eq!(terminate, reason == VerdictReason::AllTerminate);
        let verdict = proto::Verdict {
            terminate,
            reason: encode::verdict_reason(reason).into(),
            blocking,
            ..proto::Verdict::default()
        };
        Ok(Response::new(proto::ConcludeBatchResponse { verdict: Some(verdict) }))
    }
}

fn validation(scope: &Scope, call: &ToolCall) -> proto::CallValidation {
    let mut trace = Trace::default();
    let checked = pipeline::check(scope, call, &mut trace);
    proto::CallValidation {
        index: call.index,
        call_id: if is_blank_id(&call.id) { format!("call-{}", call.index) } else { call.id.to_string() },
        tool: call.name.to_string(),
        valid: checked.is_ok(),
        arguments: trace.arguments.as_deref().map(encode::json).unwrap_or_default(),
        prepared_arguments: encode::prepared(&trace),
        repairs: trace.repairs.iter().map(encode::repair).collect(),
        error: checked.err().map(|refusal| encode::error(&refusal)),
    }
}

impl Execution {
    /// Opens the run of a batch, or goes on with one that is held.
    fn lead(&self, open: proto::Open) -> Result<(Lease, Vec<ContractReport>), Fault> {
        if open.resume {
            return Ok((self.booth.runs.resume(&open.run_id, false)?, Vec::new()));
        }
        let Opened { lease, reports } = self.booth.open(decode::open(open)?)?;
        Ok((lease, reports))
    }

    /// What the batch brings, within the grace of a booth that stops.
    async fn outcome(&self, lease: &Lease, batch: &Batch) -> Result<Arc<BatchOutcome>, Fault> {
        let outcome = brought(lease, batch);
        tokio::pin!(outcome);
        tokio::select! {
            biased;
            outcome = &mut outcome => outcome,
            () = self.stopping.cancel.cancelled() => {
                lease.run().cancel();
                outcome.await
            }
        }
    }
}

/// What the batch brings; a batch that is sent again is waited for, or answered from its record.
async fn brought(lease: &Lease, batch: &Batch) -> Result<Arc<BatchOutcome>, Fault> {
    let run = lease.run();
    loop {
        if run.knows(&batch.id) == Known::Forgotten {
            return Err(Fault::BatchForgotten(Arc::clone(&batch.id)));
        }
        match lease.begin(Feed::from(batch.clone()), Arc::new(Unobserved)) {
            Ok(running) => return to_end(running).await,
            Err(NotBegun::Running(running)) if running == batch.id => {
                let outcome = run.outcome_of(&running).await;
                if let Some(outcome) = outcome.filter(|outcome| answers(outcome, batch)) {
                    return Ok(outcome);
                }
                // It has ended just now, or had other calls: it is recorded, or lost.
            }
            Err(NotBegun::Running(running)) => return Err(Fault::BatchRunning(running)),
            Err(NotBegun::TakenOver) => return Err(Fault::TakenOver(Arc::clone(run.id()))),
        }
    }
}

/// Whether the results are those of these calls.
fn answers(outcome: &BatchOutcome, batch: &Batch) -> bool {
    let is_of = |(result, call): (&Arc<CallResult>, &ToolCall)| {
        result.call.name == call.name && result.call.arguments == call.arguments
    };
    outcome.results.len() == batch.calls.len() && outcome.results.iter().zip(&batch.calls).all(is_of)
}

/// Runs a batch to its end: at once as far as it comes, and then on a task of its own, so that what has started is answered and
/// recorded even if its caller goes away.
async fn to_end(running: impl Future<Output = Arc<BatchOutcome>> + Send + 'static) -> Result<Arc<BatchOutcome>, Fault> {
    let mut running = running.boxed();
    match (&mut running).now_or_never() {
        Some(outcome) => Ok(outcome),
        None => tokio::spawn(running).await.map_err(|_lost| Fault::Lost),
    }
}

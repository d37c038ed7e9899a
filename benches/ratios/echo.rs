//! The baseline: a bare tonic server that hands the bytes of each call back. No task, no channel and no pipeline of its own.

use std::{path::Path, time::Duration};

use anyhow::Result;
use futures::{StreamExt as _, stream::Map};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status, Streaming, transport::Server};
use toolbooth::grpc::proto::{
    Batch, BatchResults, CallResult, ConcludeBatchRequest, ConcludeBatchResponse, ExecuteBatchRequest,
    ExecuteBatchResponse, GetRunRequest, GetRunResponse, Opened, RunRequest, RunResponse, ToolCall, ValidateRequest,
    ValidateResponse, run_request,
    run_response::Frame,
    tool_execution_service_server::{ToolExecutionService, ToolExecutionServiceServer},
};

/// Serves until the process is killed. What the booth sets on its connections and what can cost time is set here, too.
pub(crate) async fn serve(socket: &Path) -> Result<()> {
    let connections = UnixListenerStream::new(UnixListener::bind(socket)?);
    let mut server = Server::builder()
        .max_concurrent_streams(100)
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)));
    println!("listening on unix://{}", socket.display());
    server.add_service(ToolExecutionServiceServer::new(Echo)).serve_with_incoming(connections).await?;
    Ok(())
}

struct Echo;

type Answer = Result<RunResponse, Status>;

#[tonic::async_trait]
impl ToolExecutionService for Echo {
    type RunStream = Map<Streaming<RunRequest>, fn(Result<RunRequest, Status>) -> Answer>;

    async fn run(&self, request: Request<Streaming<RunRequest>>) -> Result<Response<Self::RunStream>, Status> {
        Ok(Response::new(request.into_inner().map(answer)))
    }

    async fn execute_batch(
        &self,
        request: Request<ExecuteBatchRequest>,
    ) -> Result<Response<ExecuteBatchResponse>, Status> {
        let results = results(request.into_inner().batch.unwrap_or_default());
        Ok(Response::new(ExecuteBatchResponse { results, ..ExecuteBatchResponse::default() }))
    }

    async fn validate(&self, _: Request<ValidateRequest>) -> Result<Response<ValidateResponse>, Status> {
        Err(Status::unimplemented("the echo executes only"))
    }

    async fn get_run(&self, _: Request<GetRunRequest>) -> Result<Response<GetRunResponse>, Status> {
        Err(Status::unimplemented("the echo executes only"))
    }

    async fn conclude_batch(
        &self,
        _: Request<ConcludeBatchRequest>,
    ) -> Result<Response<ConcludeBatchResponse>, Status> {
        Err(Status::unimplemented("the echo executes only"))
    }
}

/// One message in, one message out.
fn answer(request: Result<RunRequest, Status>) -> Answer {
    let RunRequest { batch_id, frame, .. } = request?;
    let frame = if let Some(run_request::Frame::Batch(batch)) = frame {
        Frame::BatchResults(BatchResults { results: results(batch) })
    } else {
        Frame::Opened(Opened::default())
    };
    Ok(RunResponse { batch_id, frame: Some(frame), ..RunResponse::default() })
}

/// The bytes that came, once.
fn results(batch: Batch) -> Vec<CallResult> {
    let result = |call: ToolCall| CallResult { arguments: call.arguments, ..CallResult::default() };
    batch.calls.into_iter().map(result).collect()
}

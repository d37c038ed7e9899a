//! The submission service: what was accepted, for whoever consumes it (rule S5).

use std::{pin::Pin, sync::Arc};

use tokio::sync::mpsc;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::{
    Fault, decode, encode, page,
    proto::{self, submission_service_server::SubmissionServiceServer},
};
use crate::{booth::Booth, ports::Submission};

#[derive(Debug, Clone)]
struct Submissions {
    booth: Arc<Booth>,
    /// The booth is about to stop: watches end.
    drain: CancellationToken,
    max_message_bytes: usize,
}

pub(super) fn service(
    booth: Arc<Booth>,
    drain: CancellationToken,
    max_message_bytes: usize,
) -> SubmissionServiceServer<impl Service> {
    SubmissionServiceServer::new(Submissions { booth, drain, max_message_bytes })
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(usize::MAX)
}

/// The generated trait, under the name that says what it is.
pub(super) use proto::submission_service_server::SubmissionService as Service;

impl Submissions {
    async fn accepted(&self, task: &str, after: u64) -> Result<Vec<Submission>, Fault> {
        let task = if task.is_empty() { None } else { Some(task) };
        Ok(self.booth.ledger.accepted(task, after).await?)
    }
}

#[tonic::async_trait]
impl Service for Submissions {
    type WatchSubmissionsStream = Pin<Box<dyn Stream<Item = Result<proto::WatchSubmissionsResponse, Status>> + Send>>;

    async fn get_submission(
        &self,
        request: Request<proto::GetSubmissionRequest>,
    ) -> Result<Response<proto::GetSubmissionResponse>, Status> {
        let request = request.into_inner();
        if request.task.is_empty() {
            return Err(decode::malformed("task", "it must name the task".to_owned()).into());
        }
        let is_asked = |asked: &str, is: &str| asked.is_empty() || asked == is;
        let accepted = self.accepted(&request.task, 0).await?;
        let found = accepted.iter().rev().find(|submission| {
            is_asked(&request.tool, &submission.key.tool) && is_asked(&request.key, &submission.key.key)
        });
        let Some(found) = found else { return Err(Fault::SubmissionNotFound(request.task).into()) };
        Ok(Response::new(proto::GetSubmissionResponse { submission: Some(encode::submission(found)) }))
    }

    async fn list_submissions(
        &self,
        request: Request<proto::ListSubmissionsRequest>,
    ) -> Result<Response<proto::ListSubmissionsResponse>, Status> {
        let request = request.into_inner();
        // The token is the sequence number of the last submission of the page before.
        let after = match request.page_token.as_str() {
            "" => 0,
            token => token.parse().map_err(|error| {
                let problem = format!("it must be the `next_page_token` of an earlier answer ({error})");
                decode::malformed("page_token", problem)
            })?,
        };
        let accepted = self.accepted(&request.task, after).await?;
        let encoded = accepted.iter().map(encode::submission);
        let (submissions, is_last) = page::of(encoded, request.page_size, self.max_message_bytes);
        let last = submissions.last().filter(|_| !is_last);
        let next_page_token = last.map(|last| last.sequence.to_string()).unwrap_or_default();
        Ok(Response::new(proto::ListSubmissionsResponse { submissions, next_page_token }))
    }

    async fn watch_submissions(
        &self,
        request: Request<proto::WatchSubmissionsRequest>,
    ) -> Result<Response<Self::WatchSubmissionsStream>, Status> {
        let request = request.into_inner();
        let (out, submissions) = mpsc::channel(16);
        tokio::spawn(watch(self.clone(), request, out));
        Ok(Response::new(Box::pin(ReceiverStream::new(submissions))))
    }
}

type Out = mpsc::Sender<Result<proto::WatchSubmissionsResponse, Status>>;

/// Sends what was accepted, and then each as it is accepted, until the caller goes away.
async fn watch(submissions: Submissions, request: proto::WatchSubmissionsRequest, out: Out) {
    let mut after = request.after_sequence;
    // The newest submission of any task, so that those of others wake this watch once and not for ever.
    let mut newest = 0;
    loop {
        let accepted = match submissions.accepted(&request.task, after).await {
            Ok(accepted) => accepted,
            Err(fault) => return drop(out.send(Err(fault.into())).await),
        };
        for submission in accepted {
            after = submission.sequence;
            let submission = Some(encode::submission(&submission));
            if out.send(Ok(proto::WatchSubmissionsResponse { submission })).await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = out.closed() => return,
            () = submissions.drain.cancelled() => return drop(out.send(Err(Fault::Draining.into())).await),
            changed = submissions.booth.ledger.changed(newest) => match changed {
                Ok(sequence) => newest = sequence,
                Err(error) => return drop(out.send(Err(Fault::from(error).into())).await),
            },
        }
    }
}

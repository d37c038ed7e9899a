//! The submission service: what was accepted, for whoever consumes it (rule S5).

use std::{pin::Pin, sync::Arc};

use prost::Message as _;
use tokio::sync::mpsc;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

use super::{
    Fault, decode, encode, page,
    proto::{self, submission_service_server::SubmissionServiceServer},
};
use crate::{
    booth::Booth,
    ports::{Selection, Submission},
};

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
    async fn select(&self, selection: &Selection) -> Result<Vec<Submission>, Fault> {
        Ok(self.booth.ledger.submissions(selection).await?)
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
        let selection = Selection {
            task: decode::named(request.task.clone()),
            tool: decode::named(request.tool),
            key: decode::named(request.key),
            limit: 1,
            newest_first: true,
            ..Selection::default()
        };
        let found = self.select(&selection).await?.pop();
        let Some(found) = found else { return Err(Fault::SubmissionNotFound(request.task).into()) };
        Ok(Response::new(proto::GetSubmissionResponse { submission: Some(encode::submission(&found)) }))
    }

    async fn list_submissions(
        &self,
        request: Request<proto::ListSubmissionsRequest>,
    ) -> Result<Response<proto::ListSubmissionsResponse>, Status> {
        let request = request.into_inner();
        // The token is the sequence number of the last submission of the page before.
        let mut after = match request.page_token.as_str() {
            "" => request.after_sequence,
            token => token.parse().map_err(|error| {
                let problem = format!("it must be the `next_page_token` of an earlier answer ({error})");
                decode::malformed("page_token", problem)
            })?,
        };
        let asked = Selection {
            task: decode::named(request.task),
            tool: decode::named(request.tool),
            key: decode::named(request.key),
            limit: AT_ONCE,
            ..Selection::default()
        };
        // A little at a time, and no more than tells where the page ends: many that are large must not be in memory at once.
        let (mut read, mut bytes) = (Vec::new(), 0);
        while read.len() <= page::most(request.page_size) && (read.len() < 2 || bytes <= self.max_message_bytes / 2) {
            let accepted = self.select(&Selection { after, ..asked.clone() }).await?;
            after = accepted.last().map_or(after, |last| last.sequence);
            let is_end = accepted.len() < AT_ONCE;
            for submission in accepted.iter().map(encode::submission) {
                bytes += submission.encoded_len();
                read.push(submission);
            }
            if is_end {
                break;
            }
        }
        let (submissions, is_last) = page::of(read.into_iter(), request.page_size, self.max_message_bytes);
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

/// Submissions that are read at once.
const AT_ONCE: usize = 32;

/// Sends what was accepted, and then each as it is accepted, until the caller goes away.
async fn watch(submissions: Submissions, request: proto::WatchSubmissionsRequest, out: Out) {
    let (tool, key) = (decode::named(request.tool), decode::named(request.key));
    let (task, mut after) = (decode::named(request.task), request.after_sequence);
    let asked = Selection { task, tool, key, limit: AT_ONCE, ..Selection::default() };
    // The newest submission of any task, so that those of others wake this watch once and not for ever.
    let mut newest = 0;
    loop {
        let accepted = match submissions.select(&Selection { after, ..asked.clone() }).await {
            Ok(accepted) => accepted,
            Err(fault) => return drop(out.send(Err(fault.into())).await),
        };
        let is_all = accepted.len() < AT_ONCE;
        for submission in accepted {
            after = submission.sequence;
            let submission = Some(encode::submission(&submission));
            if out.send(Ok(proto::WatchSubmissionsResponse { submission })).await.is_err() {
                return;
            }
        }
        if !is_all {
            continue;
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

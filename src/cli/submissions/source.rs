//! Where submissions are read: from a booth that runs, or from its ledger.

use std::sync::Arc;

use anyhow::Result;
use tonic::{Streaming, transport::Channel};
use toolbooth::{
    grpc::proto::{self, submission_service_client::SubmissionServiceClient},
    ports::{Ledger, Selection},
};

use super::shown::Accepted;
use crate::cli::remote;

/// What is read at once.
const PAGE: u32 = 32;

/// Which submissions.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) task: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) key: Option<String>,
    pub(super) after: u64,
}

/// Submissions, page by page.
pub(super) enum Source {
    /// Pages of a booth.
    Booth(SubmissionServiceClient<Channel>, Option<proto::ListSubmissionsRequest>),
    /// What a booth accepts, as it does.
    Watch(Streaming<proto::WatchSubmissionsResponse>),
    /// A ledger, and whether to wait at its end.
    Ledger { ledger: Arc<dyn Ledger>, selection: Selection, follow: bool, is_end: bool },
}

impl Source {
    pub(super) async fn booth(address: &str, asked: Asked, follow: bool) -> Result<Self> {
        let client = SubmissionServiceClient::new(remote::connect(address).await?);
        // What the booth has accepted was its own to limit.
        let mut client = client.max_decoding_message_size(usize::MAX);
        let Asked { task, tool, key, after } = asked;
        let [task, tool, key] = [task, tool, key].map(Option::unwrap_or_default);
        if follow {
            let request = proto::WatchSubmissionsRequest { task, tool, key, after_sequence: after };
            return Ok(Self::Watch(client.watch_submissions(request).await?.into_inner()));
        }
        let page_token = String::new();
        let request =
            proto::ListSubmissionsRequest { task, tool, key, after_sequence: after, page_size: PAGE, page_token };
        Ok(Self::Booth(client, Some(request)))
    }

    pub(super) fn ledger(ledger: Arc<dyn Ledger>, asked: Asked, follow: bool) -> Self {
        let Asked { task, tool, key, after } = asked;
        let [task, tool, key] = [task, tool, key].map(|text| text.map(Arc::from));
        let limit = usize::try_from(PAGE).unwrap_or(usize::MAX);
        let selection = Selection { task, tool, key, after, limit, newest_first: false };
        Self::Ledger { ledger, selection, follow, is_end: false }
    }

    /// The next page; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Accepted>>> {
        match self {
            Self::Booth(client, request) => {
                let Some(asked) = request.take() else { return Ok(None) };
                let page = client.list_submissions(asked.clone()).await?.into_inner();
                let page_token = page.next_page_token;
                *request = (!page_token.is_empty()).then_some(proto::ListSubmissionsRequest { page_token, ..asked });
                Ok(Some(page.submissions.into_iter().map(Accepted::from).collect()))
            }
            Self::Watch(watch) => {
                let next = watch.message().await?;
                Ok(next.map(|next| next.submission.into_iter().map(Accepted::from).collect()))
            }
            Self::Ledger { ledger, selection, follow, is_end } => {
                if *is_end && !*follow {
                    return Ok(None);
                }
                if *is_end {
                    ledger.changed(selection.after).await?;
                }
                let page = ledger.submissions(selection).await?;
                selection.after = page.last().map_or(selection.after, |last| last.sequence);
                *is_end = page.len() < selection.limit;
                Ok(Some(page.into_iter().map(Accepted::from).collect()))
            }
        }
    }
}

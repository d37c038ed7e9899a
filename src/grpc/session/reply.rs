//! What goes to the host, frame by frame.

use std::{sync::Arc, time::Duration};

use prost::Message as _;
use tracing::info;

use super::Out;
use crate::{
    excerpt::excerpt,
    grpc::{
        encode, fit,
        proto::{self, PolicyStage, RejectReason, run_response::Frame},
    },
    host::Signal,
    result::CallResult,
    run::BatchOutcome,
};

/// Bytes of results that go into one frame under batch delivery.
const RESULTS_BYTES: usize = 1 << 20;

/// The way to the host.
pub(super) struct Replies {
    out: Out,
    delivery: proto::Delivery,
}

/// The ids of a frame of the host that is answered.
pub(super) struct Answered<'a> {
    pub(super) frame_id: u64,
    pub(super) batch: &'a str,
    pub(super) index: Option<u32>,
}

impl Replies {
    pub(super) fn new(out: Out, delivery: proto::Delivery) -> Self {
        Self { out, delivery }
    }

    /// Returns when the host has gone away.
    pub(super) async fn closed(&self) {
        self.out.closed().await;
    }

    async fn send(&self, reply_to: u64, batch: &str, index: Option<u32>, frame: Frame) {
        let response = proto::RunResponse { reply_to, batch_id: batch.to_owned(), index, frame: Some(frame) };
        self.out.send(response).await;
    }

    pub(super) async fn opened(&self, reply_to: u64, opened: proto::Opened) {
        self.send(reply_to, "", None, Frame::Opened(opened)).await;
    }

    pub(super) async fn rejected(&self, frame: &Answered<'_>, reason: RejectReason, message: String) {
        let Answered { frame_id, batch, index } = *frame;
        info!(batch = excerpt(batch), index, reason = reason.as_str_name(), message, "a frame was rejected");
        let rejected = proto::FrameRejected { reason: reason.into(), message };
        self.send(frame_id, batch, index, Frame::FrameRejected(rejected)).await;
    }

    pub(super) async fn draining(&self, grace: Duration) {
        let draining = proto::Draining { grace: encode::duration(grace) };
        self.send(0, "", None, Frame::Draining(draining)).await;
    }

    /// Passes on what the run says about a batch.
    pub(super) async fn signal(&self, batch: &str, signal: Signal) {
        let (index, frame) = match signal {
            Signal::Started { index, call_id, tool } => {
                let started = proto::CallStarted { call_id: call_id.to_string(), tool: tool.to_string() };
                (index, Frame::CallStarted(started))
            }
            Signal::Progress(index, progress) => {
                let progress = proto::Progress {
                    progress: progress.progress,
                    total: progress.total,
                    message: progress.message.to_string(),
                };
                (index, Frame::Progress(progress))
            }
            Signal::Finished(_) if self.delivery == proto::Delivery::Batch => return,
            Signal::Finished(result) => {
                (result.call.index, Frame::CallFinished(fit::one(&result, self.out.max_message_bytes())))
            }
            Signal::Execute(execution) => (execution.call.index, Frame::Execute(encode::execute(&execution))),
            Signal::Cancel { index, call_id } => {
                let cancel = proto::CancelExecution {
                    call_id: call_id.to_string(),
                    reason: "the result of this call is given".to_owned(),
                };
                (index, Frame::CancelExecution(cancel))
            }
            Signal::JudgeBefore(call) => {
                (call.call.index, Frame::AskPolicy(encode::ask_policy(PolicyStage::Before, &call, None)))
            }
            Signal::JudgeAfter(call, result) => {
                (call.call.index, Frame::AskPolicy(encode::ask_policy(PolicyStage::After, &call, Some(&result))))
            }
            Signal::BatchFinished(outcome) => return self.batch_finished(batch, *outcome).await,
        };
        self.send(0, batch, Some(index), frame).await;
    }

    async fn batch_finished(&self, batch: &str, outcome: BatchOutcome) {
        if self.delivery == proto::Delivery::Batch {
            self.results(batch, &outcome.results).await;
        }
        let (verdict, warning) = encode::verdict(&outcome.verdict);
        let mut warnings = encode::warnings(&outcome.warnings);
        warnings.extend(encode::warnings(warning.as_slice()));
        let finished = proto::BatchFinished {
            call_ids: outcome.results.iter().map(|result| result.call.id.to_string()).collect(),
            verdict: Some(verdict),
            warnings,
        };
        self.send(0, batch, None, Frame::BatchFinished(finished)).await;
    }

    /// All results in call order, in as many frames as it takes.
    async fn results(&self, batch: &str, results: &[Arc<CallResult>]) {
        let (mut part, mut size) = (Vec::new(), 0);
        for result in results.iter().map(|result| fit::one(result, self.out.max_message_bytes())) {
            let more = result.encoded_len();
            if size + more > RESULTS_BYTES && !part.is_empty() {
                let results = std::mem::take(&mut part);
                self.send(0, batch, None, Frame::BatchResults(proto::BatchResults { results })).await;
                size = 0;
            }
            size += more;
            part.push(result);
        }
        if !part.is_empty() {
            self.send(0, batch, None, Frame::BatchResults(proto::BatchResults { results: part })).await;
        }
    }
}

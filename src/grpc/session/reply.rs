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

/// Bytes that a result takes in a frame beside its own.
const ITEM_BYTES: usize = 8;

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

    /// The way out of the booth.
    pub(super) fn out(&self) -> &Out {
        &self.out
    }

    async fn send(&self, reply_to: u64, batch: &str, index: Option<u32>, frame: Frame) {
        self.out.send(vec![response(reply_to, batch, index, frame)]).await;
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

    /// Passes on what the run says about a batch, all of it together: the fewer pieces, the fewer hand-overs.
    pub(super) async fn signals(&self, batch: &str, signals: impl Iterator<Item = Signal>) {
        let mut frames = Vec::new();
        for signal in signals {
            if let Signal::BatchFinished(outcome) = signal {
                if self.delivery == proto::Delivery::Batch {
                    self.out.send(std::mem::take(&mut frames)).await;
                    self.results(batch, &outcome.results).await;
                }
                frames.push(response(0, batch, None, Frame::BatchFinished(self.batch_finished(&outcome))));
            } else if let Some((index, frame)) = self.frame(signal) {
                frames.push(response(0, batch, Some(index), frame));
            }
        }
        self.out.send(frames).await;
    }

    /// What is said about one call.
    fn frame(&self, signal: Signal) -> Option<(u32, Frame)> {
        Some(match signal {
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
            Signal::Finished(_) if self.delivery == proto::Delivery::Batch => return None,
            Signal::Finished(result) => {
                (result.call.index, Frame::CallFinished(fit::one(&result, self.out.max_message_bytes())))
            }
            Signal::Execute(execution, asked) => {
                (execution.call.index, Frame::Execute(encode::execute(&execution, asked)))
            }
            Signal::Cancel { index, call_id } => {
                let cancel = proto::CancelExecution {
                    call_id: call_id.to_string(),
                    reason: "nobody waits for this try any more".to_owned(),
                };
                (index, Frame::CancelExecution(cancel))
            }
            Signal::JudgeBefore(call) => {
                (call.call.index, Frame::AskPolicy(encode::ask_policy(PolicyStage::Before, &call, None)))
            }
            Signal::JudgeAfter(call, result) => {
                let result = fit::one(&result, self.out.max_message_bytes());
                (call.call.index, Frame::AskPolicy(encode::ask_policy(PolicyStage::After, &call, Some(result))))
            }
            Signal::BatchFinished(_) | Signal::BatchLost => return None,
        })
    }

    fn batch_finished(&self, outcome: &BatchOutcome) -> proto::BatchFinished {
        let (verdict, warning) = encode::verdict(&outcome.verdict, self.out.max_message_bytes());
        let mut warnings = encode::warnings(&outcome.warnings);
        warnings.extend(encode::warnings(warning.as_slice()));
        proto::BatchFinished {
            call_ids: outcome.results.iter().map(|result| result.call.id.to_string()).collect(),
            verdict: Some(verdict),
            warnings,
        }
    }

    /// All results in call order, in as many frames as it takes, each sent before the next is made.
    async fn results(&self, batch: &str, results: &[Arc<CallResult>]) {
        let most = self.out.max_message_bytes() / 4;
        let (mut part, mut size) = (Vec::new(), 0);
        for result in results.iter().map(|result| fit::one(result, self.out.max_message_bytes())) {
            let more = result.encoded_len() + ITEM_BYTES;
            if size + more > most && !part.is_empty() {
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

fn response(reply_to: u64, batch: &str, index: Option<u32>, frame: Frame) -> proto::RunResponse {
    proto::RunResponse { reply_to, batch_id: batch.to_owned(), index, frame: Some(frame) }
}

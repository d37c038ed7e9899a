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
                self.batch_finished(batch, &outcome, &mut frames);
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
            Signal::BatchFinished(_) => return None,
        })
    }

    fn batch_finished(&self, batch: &str, outcome: &BatchOutcome, frames: &mut Vec<proto::RunResponse>) {
        if self.delivery == proto::Delivery::Batch {
            frames.extend(self.results(&outcome.results).map(|frame| response(0, batch, None, frame)));
        }
        let (verdict, warning) = encode::verdict(&outcome.verdict);
        let mut warnings = encode::warnings(&outcome.warnings);
        warnings.extend(encode::warnings(warning.as_slice()));
        let finished = proto::BatchFinished {
            call_ids: outcome.results.iter().map(|result| result.call.id.to_string()).collect(),
            verdict: Some(verdict),
            warnings,
        };
        frames.push(response(0, batch, None, Frame::BatchFinished(finished)));
    }

    /// All results in call order, in as many frames as it takes.
    fn results(&self, results: &[Arc<CallResult>]) -> impl Iterator<Item = Frame> {
        let mut parts: Vec<Vec<proto::CallResult>> = Vec::new();
        let mut room = 0;
        for result in results.iter().map(|result| fit::one(result, self.out.max_message_bytes())) {
            let size = result.encoded_len();
            if let Some(part) = parts.last_mut().filter(|_| size <= room) {
                part.push(result);
            } else {
                parts.push(vec![result]);
                room = RESULTS_BYTES;
            }
            room = room.saturating_sub(size);
        }
        parts.into_iter().map(|results| Frame::BatchResults(proto::BatchResults { results }))
    }
}

fn response(reply_to: u64, batch: &str, index: Option<u32>, frame: Frame) -> proto::RunResponse {
    proto::RunResponse { reply_to, batch_id: batch.to_owned(), index, frame: Some(frame) }
}

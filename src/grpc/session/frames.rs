//! What each frame of the host does, and when it cannot be used.

use std::sync::Arc;

use tracing::info;

use super::{
    Phase, Session,
    assembly::{Assembly, Misfit},
    reply::Answered,
};
use crate::{
    call::{Finish, ToolCall},
    excerpt::excerpt,
    grpc::{
        Fault,
        decode::{self, MAX_ID_BYTES, assigned_batch_id},
        proto::{self, RejectReason, run_request::Frame},
    },
    host::{Delivery, UnknownCall},
    run::{Feed, Known},
};

/// Why a frame is rejected, and what to do.
type Rejection = (RejectReason, String);

impl Session {
    /// Takes a frame. Only what the stream cannot survive is an error.
    pub(super) async fn take(&mut self, request: proto::RunRequest) -> Result<(), Fault> {
        let proto::RunRequest { frame_id, batch_id, index, frame } = request;
        let rejected = match frame {
            None => Err(reject(RejectReason::Unimplemented, "this booth does not know this kind of frame")),
            Some(Frame::Open(_)) => Err(reject(RejectReason::AlreadyOpen, "the run is already open")),
            Some(Frame::Batch(batch)) if self.is_running(&batch_id, &batch) => Ok(()),
            Some(Frame::Batch(batch)) => self.begin(&batch_id).map(|id| {
                self.calls = batch.calls.len();
                self.batch = Phase::Running(Arc::clone(&id));
                self.start(Feed::from(decode::batch(id, batch)));
            }),
            Some(Frame::BatchStart(start)) => self.begin(&batch_id).map(|id| self.assemble(id, start)),
            Some(Frame::CallStart(start)) => self.piece(&batch_id, |assembly| assembly.start(index, start)),
            Some(Frame::ArgumentsDelta(delta)) => self.piece(&batch_id, |assembly| assembly.delta(index, &delta.data)),
            Some(Frame::CallEnd(proto::CallEnd {})) => self.piece(&batch_id, |assembly| assembly.end(index)),
            Some(Frame::BatchEnd(end)) => self.end_batch(&batch_id, decode::finish(end.finish)),
            Some(Frame::ToolOutcome(outcome)) => self.outcome((&batch_id, index), outcome),
            Some(Frame::ToolProgress(progress)) => {
                self.with_call((&batch_id, index), |host, place| host.sign_of_life(place, decode::progress(progress)))
            }
            Some(Frame::PolicyDecision(decision)) => self.decision((&batch_id, index), decision),
            Some(Frame::Cancel(cancel)) => self.cancel(&batch_id, index, &cancel.reason),
            Some(Frame::EndRun(end)) => {
                info!(run = ?self.run.id(), reason = excerpt(&end.reason), "the host ends the run");
                self.run_ended = true;
                self.end();
                Ok(())
            }
        };
        if let Err((reason, message)) = rejected {
            let answered = Answered { frame_id, batch: &batch_id, index };
            self.replies.rejected(&answered, reason, message).await;
        }
        self.check_size()
    }

    /// A batch may begin: its id, given or assigned.
    fn begin(&mut self, id: &str) -> Result<Arc<str>, Rejection> {
        if self.ending || self.draining {
            return Err(reject(RejectReason::Closing, "the run is ending; no new batch is taken"));
        }
        if !matches!(self.batch, Phase::Idle) {
            return Err(reject(RejectReason::BatchInProgress, "wait for `batch_finished` of the running batch"));
        }
        if id.len() > MAX_ID_BYTES {
            return Err((RejectReason::Malformed, format!("a batch id has at most {MAX_ID_BYTES} bytes")));
        }
        let id: Arc<str> = if id.is_empty() { assigned_batch_id() } else { id.into() };
        match self.run.knows(&id) {
            // One that is sent again is answered from its record.
            Known::New | Known::Recorded => Ok(id),
            Known::Running | Known::Forgotten => {
                let message = "this batch id was used before in this run, and its results are not kept; take another";
                Err(reject(RejectReason::BatchIdReused, message))
            }
        }
    }

    /// Whether this is the batch that runs, sent again by a host that has come back: what comes of it comes by itself.
    fn is_running(&self, id: &str, batch: &proto::Batch) -> bool {
        let Phase::Running(running) = &self.batch else { return false };
        let is_same =
            |(own, sent): (&Arc<ToolCall>, &proto::ToolCall)| *own.name == sent.name && own.arguments == sent.arguments;
        **running == *id
            // Over but for its last word: what comes of it comes all the same.
            && self.run.running().is_none_or(|running| {
                // One that was cut while it came does not become whole: it is sent again when it is over.
                running.expected == Some(batch.calls.len()) && running.calls.iter().zip(&batch.calls).all(is_same)
            })
    }

    fn assemble(&mut self, id: Arc<str>, start: proto::BatchStart) {
        let mode = decode::mode(start.mode());
        if start.eager {
            let (assembly, feed) = Assembly::eager(id, mode, &self.run);
            self.batch = Phase::Assembling(assembly);
            self.start(feed);
        } else {
            self.batch = Phase::Assembling(Assembly::patient(id, mode, &self.run));
        }
    }

    /// A piece of the batch that is coming.
    fn piece(
        &mut self,
        batch_id: &str,
        take: impl FnOnce(&mut Assembly) -> Result<(), Misfit>,
    ) -> Result<(), Rejection> {
        match &mut self.batch {
            Phase::Assembling(assembly) if is_batch(&assembly.id, batch_id) => take(assembly).map_err(|misfit| {
                let reason = match misfit {
                    Misfit::UnknownCall(_) => RejectReason::UnknownCall,
                    Misfit::Malformed(_) => RejectReason::Malformed,
                };
                (reason, misfit.to_string())
            }),
            Phase::Assembling(_) | Phase::Idle | Phase::Running(_) => Err(no_such_batch()),
        }
    }

    fn end_batch(&mut self, batch_id: &str, finish: Finish) -> Result<(), Rejection> {
        match std::mem::replace(&mut self.batch, Phase::Idle) {
            Phase::Assembling(assembly) if is_batch(&assembly.id, batch_id) => {
                self.complete(assembly, finish);
                Ok(())
            }
            other @ (Phase::Assembling(_) | Phase::Idle | Phase::Running(_)) => {
                self.batch = other;
                Err(no_such_batch())
            }
        }
    }

    /// Whether the running batch has a call of this index.
    fn has_call(&self, index: u32) -> bool {
        let taken = || self.run.running().map_or(0, |running| running.calls.len());
        usize::try_from(index).is_ok_and(|index| index < self.calls || index < taken())
    }

    /// A batch that came in pieces is complete, or will not become more complete.
    pub(super) fn complete(&mut self, assembly: Assembly, finish: Finish) {
        self.calls = assembly.calls();
        self.batch = Phase::Running(Arc::clone(&assembly.id));
        if let Some(feed) = assembly.finish(finish) {
            self.start(feed);
        }
    }

    fn outcome(&self, place: (&str, Option<u32>), outcome: proto::ToolOutcome) -> Result<(), Rejection> {
        let call_id = decode::named(outcome.call_id.clone());
        let outcome = decode::outcome(outcome);
        self.with_call(place, |host, place| host.outcome(place, call_id.as_deref(), outcome))
    }

    fn decision(&self, place: (&str, Option<u32>), decision: proto::PolicyDecision) -> Result<(), Rejection> {
        let stage = decision.stage();
        self.with_call(place, |host, place| match stage {
            proto::PolicyStage::Before => host.decision(place, decode::decision(decision.decision)),
            proto::PolicyStage::After => host.changes(place, decode::changes(decision.decision)),
            proto::PolicyStage::Unspecified => Err(UnknownCall::NotAsked),
        })
    }

    /// Something about a call that the host was asked about.
    fn with_call(
        &self,
        (batch_id, index): (&str, Option<u32>),
        answer: impl FnOnce(&crate::host::Host, (&str, u32)) -> Result<Delivery, UnknownCall>,
    ) -> Result<(), Rejection> {
        let Some(index) = index else {
            return Err(reject(RejectReason::Malformed, "the frame must name the index of its call"));
        };
        let batch = match (&self.batch, batch_id) {
            (Phase::Running(id), "") => Arc::clone(id),
            (Phase::Assembling(assembly), "") => Arc::clone(&assembly.id),
            (_, id) => id.into(),
        };
        match answer(&self.host, (&batch, index)) {
            Ok(Delivery::InTime) => Ok(()),
            Ok(Delivery::Late) => {
                info!(run = ?self.run.id(), ?batch, index, "what the host says of this call came late; it is recorded here and not delivered");
                Ok(())
            }
            Err(unknown) => Err((RejectReason::UnknownCall, unknown.to_string())),
        }
    }

    fn cancel(&mut self, batch_id: &str, index: Option<u32>, reason: &str) -> Result<(), Rejection> {
        info!(run = ?self.run.id(), batch = excerpt(batch_id), index, reason = excerpt(reason), "the host cancels");
        if batch_id.is_empty() && index.is_none() {
            self.run.cancel();
            if let Some(assembly) = self.take_assembly() {
                self.complete(assembly, Finish::Complete);
            }
            return Ok(());
        }
        match (&self.batch, index) {
            (Phase::Assembling(assembly), None) if is_batch(&assembly.id, batch_id) => {
                self.cancel_assembly();
                Ok(())
            }
            (Phase::Assembling(assembly), Some(_)) if !assembly.is_eager() => {
                Err(reject(RejectReason::UnknownCall, "nothing of this batch runs yet; cancel the batch"))
            }
            (Phase::Running(id), Some(index)) if is_batch(id, batch_id) && !self.has_call(index) => Err(no_such_call()),
            (Phase::Assembling(assembly), Some(index))
                if is_batch(&assembly.id, batch_id) && !assembly.has_call(index) =>
            {
                Err(no_such_call())
            }
            (Phase::Running(id) | Phase::Assembling(Assembly { id, .. }), _) if is_batch(id, batch_id) => {
                self.run.cancel_in_batch(&Arc::clone(id), index);
                Ok(())
            }
            (Phase::Idle | Phase::Running(_) | Phase::Assembling(_), _) => Err(no_such_batch()),
        }
    }

    /// What is still coming is cancelled as it stands: nothing more of it starts, and what has come is answered.
    fn cancel_assembly(&mut self) {
        let Some(assembly) = self.take_assembly() else { return };
        // Only an eager batch runs already.
        self.run.cancel_in_batch(&assembly.id, None);
        self.calls = assembly.calls();
        self.batch = Phase::Running(Arc::clone(&assembly.id));
        if let Some(feed) = assembly.finish(Finish::Complete) {
            self.start(feed.cancelled());
        }
    }

    /// A batch that goes on and on is no batch.
    fn check_size(&self) -> Result<(), Fault> {
        match &self.batch {
            Phase::Assembling(assembly) if assembly.is_absurd() => {
                self.run.cancel();
                Err(Fault::BatchTooLarge)
            }
            Phase::Assembling(_) | Phase::Idle | Phase::Running(_) => Ok(()),
        }
    }
}

fn is_batch(id: &str, named: &str) -> bool {
    named.is_empty() || named == id
}

fn no_such_call() -> Rejection {
    reject(RejectReason::UnknownCall, "the batch has no call of this index")
}

fn no_such_batch() -> Rejection {
    reject(RejectReason::UnknownBatch, "no such batch is being streamed or running")
}

fn reject(reason: RejectReason, message: &str) -> Rejection {
    (reason, message.to_owned())
}

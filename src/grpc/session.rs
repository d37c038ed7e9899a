//! One `Run` stream: frames of the host in, signals of the run out, until the host has no more to say.
//!
//! Everything about one call is in-band. A frame that cannot be used is rejected by its own ids and has no effect; only what
//! concerns the stream as a whole ends it with a status.

mod assembly;
mod frames;
mod opening;
mod out;
mod reply;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt as _;
use tokio::sync::mpsc;
use tonic::Streaming;
use tracing::{debug, info};

pub(super) use self::out::Out;
use self::{assembly::Assembly, reply::Replies};
use super::{Fault, Stopping, proto, resets::is_reset};
use crate::{
    booth::{Booth, Lease},
    excerpt::excerpt,
    host::{Host, Signal},
    run::{Feed, Run},
};

/// Serves a stream to its end.
pub(super) async fn serve(booth: Arc<Booth>, stopping: Stopping, mut inbound: Streaming<proto::RunRequest>, out: Out) {
    let served = match opening::open(&booth, &stopping, &mut inbound, &out).await {
        Ok((session, signals)) => session.serve(inbound, signals).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = served {
        info!(fault = excerpt(&fault.to_string()), "run stream ended by a fault");
        // A host that is gone does not read it.
        out.fail(fault.into());
    }
}

/// Signals that are passed on before anybody looks for frames again.
const SIGNALS_AT_ONCE: usize = 64;

/// Whether the host, which is gone, has reset its stream. What it has said before that is not taken any more.
fn ends_with_reset(inbound: &mut Streaming<proto::RunRequest>) -> bool {
    loop {
        match inbound.message().now_or_never() {
            Some(Ok(Some(_))) => {}
            Some(Err(status)) => return is_reset(&status),
            Some(Ok(None)) | None => return false,
        }
    }
}

/// An open run and its stream.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of how a stream ends")]
struct Session {
    lease: Lease,
    run: Arc<Run>,
    host: Arc<Host>,
    /// The number of this way to the host.
    way: u64,
    replies: Replies,
    stopping: Stopping,
    batch: Phase,
    /// Calls of the running batch.
    calls: usize,
    /// Batches that this stream has begun.
    batches: usize,
    /// The host has no more to say, or is not listened to any more: running calls are finished, then the stream ends.
    ending: bool,
    /// Half-closed: nothing more can come in.
    half_closed: bool,
    /// Nobody reads any more: the run is cancelled.
    gone: bool,
    draining: bool,
    /// The grace is over, and what was left is cancelled.
    expired: bool,
    /// The host said that its run is over.
    run_ended: bool,
    /// The host is gone, and its run waits for it.
    leaves: bool,
    /// Why the host's frames could not be read on.
    unreadable: Option<Fault>,
}

/// What the run is doing. Batches come one after the other.
enum Phase {
    /// Nothing.
    Idle,
    /// A batch comes in pieces; nothing of it runs yet, or, if it is eager, what is complete does.
    Assembling(Assembly),
    /// A batch is complete and runs.
    Running(Arc<str>),
}

impl Session {
    async fn serve(
        mut self,
        mut inbound: Streaming<proto::RunRequest>,
        mut signals: mpsc::UnboundedReceiver<Signal>,
    ) -> Result<(), Fault> {
        let (stopping, out) = (self.stopping.clone(), self.replies.out().clone());
        // Made once: each of them stands in a list of waiters, and a frame must not cost a change of three lists.
        let (drained, expired, gone) = (stopping.drain.cancelled(), stopping.cancel.cancelled(), out.closed());
        let taken_over = self.lease.taken_over();
        tokio::pin!(drained, expired, gone, taken_over);
        let mut heard = Vec::new();
        while !(self.leaves || self.ending && matches!(self.batch, Phase::Idle)) {
            tokio::select! {
                biased;
                () = &mut taken_over => {
                    info!(run = ?self.run.id(), "another stream has taken over the run");
                    self.cut();
                    return Err(Fault::TakenOver(Arc::clone(self.run.id())));
                }
                1.. = signals.recv_many(&mut heard, SIGNALS_AT_ONCE) => self.forward(&mut heard).await?,
                // Watched to the end: a host may half-close, and go away before its last call is over.
                () = &mut gone, if !self.gone => {
                    let is_reset = !self.half_closed && ends_with_reset(&mut inbound);
                    self.lost(is_reset);
                }
                frame = inbound.message(), if !self.half_closed => match frame {
                    Ok(Some(frame)) => self.take(frame).await?,
                    Ok(None) => self.half_close(),
                    Err(status) if is_reset(&status) => self.lost(true),
                    Err(status) => {
                        self.unreadable = Some(Fault::Unreadable(status.message().to_owned()));
                        self.lost(false);
                    }
                },
                () = &mut drained, if !self.draining => self.drain().await,
                () = &mut expired, if self.draining && !self.expired => self.cancel_rest(),
            }
        }
        info!(run = ?self.run.id(), batches = self.batches, "run stream closed");
        let ended = match self.unreadable.take() {
            Some(fault) => Err(fault),
            None if self.draining && !self.half_closed => Err(Fault::Draining),
            None => Ok(()),
        };
        // A run whose host is lost while the booth drains finishes what runs, too.
        if self.leaves || !(self.run_ended || self.draining) {
            self.host.go_away(self.way);
            self.lease.wait();
        }
        ended
    }

    /// Passes on what the run says. After the end of a batch nothing more comes of it.
    async fn forward(&mut self, heard: &mut Vec<Signal>) -> Result<(), Fault> {
        let batch = match &self.batch {
            Phase::Running(id) => Arc::clone(id),
            Phase::Assembling(assembly) => Arc::clone(&assembly.id),
            Phase::Idle => {
                heard.clear();
                return Ok(());
            }
        };
        let is_over = matches!(heard.last(), Some(Signal::BatchFinished(_)));
        let is_lost = matches!(heard.last(), Some(Signal::BatchLost));
        self.replies.signals(&batch, heard.drain(..)).await;
        if is_over {
            self.batch = Phase::Idle;
            if self.draining {
                self.ending = true;
            }
        }
        if is_lost { Err(Fault::Lost) } else { Ok(()) }
    }

    /// Runs a batch to its end: at once as far as it comes, and then on a task of its own, so that a host that reads slowly
    /// holds up no time-out.
    fn start(&mut self, feed: Feed) {
        let host = Arc::clone(&self.host);
        if !host.begin(self.way, &feed.id) {
            return;
        }
        debug!(run = ?self.run.id(), batch = ?feed.id, "batch started");
        self.batches += 1;
        let running = self.run.batch(feed, Arc::<Host>::clone(&host));
        let ended = AssertUnwindSafe(running).catch_unwind();
        let mut running = async move {
            host.tell(match ended.await {
                Ok(outcome) => Signal::BatchFinished(outcome),
                Err(_) => Signal::BatchLost,
            });
        }
        .boxed();
        if (&mut running).now_or_never().is_none() {
            tokio::spawn(running);
        }
    }

    /// The host says no more: what is running is finished and flushed, what was not complete is answered as truncated. The
    /// host cannot answer either, so nobody waits for it any more.
    fn half_close(&mut self) {
        self.half_closed = true;
        self.end();
        self.host.close(self.way);
    }

    /// No new batch; one that was still coming ends here.
    fn end(&mut self) {
        self.ending = true;
        if let Some(assembly) = self.take_assembly() {
            self.complete(assembly, crate::call::Finish::CutOff);
        }
    }

    /// The batch that is coming in pieces, if there is one; a batch that runs is left alone.
    fn take_assembly(&mut self) -> Option<Assembly> {
        match std::mem::replace(&mut self.batch, Phase::Idle) {
            Phase::Assembling(assembly) => Some(assembly),
            other @ (Phase::Idle | Phase::Running(_)) => {
                self.batch = other;
                None
            }
        }
    }

    /// The host is gone, or cannot be understood: its run waits for it, if it asked for that, or is cancelled. A stream that the
    /// host has reset cancels what runs in any case (rule B8).
    fn lost(&mut self, is_reset: bool) {
        self.gone = true;
        self.half_closed = true;
        info!(run = ?self.run.id(), is_reset, "the host is gone or not understood");
        if self.run_ended || self.run.keep().grace.is_zero() {
            self.run.cancel();
            return self.end();
        }
        self.leaves = true;
        if self.host.go_away(self.way) && is_reset {
            self.run.cancel_running();
        }
        self.cut();
    }

    /// Nothing more comes over this stream of a batch in pieces. What was to run only when it is complete never began: it can be
    /// sent again.
    fn cut(&mut self) {
        if let Some(assembly) = self.take_assembly().filter(Assembly::is_eager) {
            self.complete(assembly, crate::call::Finish::CutOff);
        }
    }

    async fn drain(&mut self) {
        self.draining = true;
        self.replies.draining(self.stopping.grace).await;
        if matches!(self.batch, Phase::Idle) {
            self.ending = true;
        }
    }

    /// The grace is over.
    fn cancel_rest(&mut self) {
        self.expired = true;
        self.run.cancel();
        self.end();
    }
}

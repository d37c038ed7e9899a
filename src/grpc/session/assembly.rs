//! A batch that comes in pieces: calls by index, arguments joined as bytes, nothing guessed.

use std::sync::Arc;

use crate::{
    call::{Finish, Mode, ToolCall},
    grpc::{decode, proto},
    refusal::Reason,
    run::{Capacity, Fed, Feed, Feeder, HeldBytes, Run},
};

/// So many times the calls that may be in flight, and the batch is absurd: the excess is refused call by call only up to here.
const ABSURD: usize = 4;

/// A batch that is coming.
pub(super) struct Assembly {
    pub(super) id: Arc<str>,
    mode: Option<Mode>,
    calls: Vec<Draft>,
    /// Calls that were handed on already.
    fed: usize,
    /// Where calls of an eager batch go as soon as they and all before them are complete.
    eager: Option<Feeder>,
    capacity: Capacity,
    /// Bytes of arguments.
    bytes: usize,
    /// The same, as the booth counts them over all runs.
    held: Arc<HeldBytes>,
    /// Bytes of ids, names and keys.
    start_bytes: usize,
}

/// A call that is coming.
struct Draft {
    start: proto::CallStart,
    arguments: Vec<u8>,
    ended: bool,
    /// By which bound its arguments are more than may be in flight; then they were dropped.
    overloaded: Option<Reason>,
}

/// Why a piece does not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Misfit {
    #[error("{0}")]
    UnknownCall(&'static str),
    #[error("{0}")]
    Malformed(&'static str),
}

impl Assembly {
    /// A batch of which nothing runs before it is complete.
    pub(super) fn patient(id: Arc<str>, mode: Option<Mode>, run: &Run) -> Self {
        let (capacity, held) = (run.capacity(), Arc::new(run.hold_bytes()));
        Self { id, mode, calls: Vec::new(), fed: 0, eager: None, capacity, bytes: 0, held, start_bytes: 0 }
    }

    /// A batch of which each call runs as soon as it is complete.
    pub(super) fn eager(id: Arc<str>, mode: Option<Mode>, run: &Run) -> (Self, Feed) {
        let (feeder, feed) = Feed::eager(Arc::clone(&id), mode);
        let assembly = Self { eager: Some(feeder), ..Self::patient(id, mode, run) };
        let feed = feed.holding(Arc::clone(&assembly.held));
        (assembly, feed)
    }

    pub(super) fn is_eager(&self) -> bool {
        self.eager.is_some()
    }

    pub(super) fn calls(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn has_call(&self, index: u32) -> bool {
        usize::try_from(index).is_ok_and(|index| index < self.calls.len())
    }

    /// Whether the host starts calls without end.
    pub(super) fn is_absurd(&self) -> bool {
        self.calls.len() > self.capacity.max_calls_in_flight.saturating_mul(ABSURD)
            || self.start_bytes > self.capacity.max_bytes_in_flight
    }

    /// A call starts: the next one.
    pub(super) fn start(&mut self, index: Option<u32>, start: proto::CallStart) -> Result<(), Misfit> {
        if index.is_some_and(|index| usize::try_from(index) != Ok(self.calls.len())) {
            return Err(Misfit::Malformed("calls start in the order of their indexes, from 0, each once"));
        }
        let bytes = start.id.len() + start.name.len() + start.idempotency_key.len();
        self.start_bytes = self.start_bytes.saturating_add(bytes);
        self.calls.push(Draft { start, arguments: Vec::new(), ended: false, overloaded: None });
        Ok(())
    }

    /// The next bytes of an open call's arguments.
    pub(super) fn delta(&mut self, index: Option<u32>, bytes: &[u8]) -> Result<(), Misfit> {
        let left = self.capacity.max_bytes_in_flight.saturating_sub(self.bytes);
        let held = Arc::clone(&self.held);
        let draft = self.open_call(index)?;
        let overloaded = if draft.overloaded.is_some() {
            return Ok(());
        } else if bytes.len() > left {
            Reason::MaxBytesInFlight
        } else if !held.take(bytes.len()) {
            Reason::MaxBytesInFlightInAll
        } else {
            draft.arguments.extend_from_slice(bytes);
            self.bytes += bytes.len();
            return Ok(());
        };
        draft.overloaded = Some(overloaded);
        let freed = std::mem::take(&mut draft.arguments).len();
        // What was dropped takes no room from the calls that follow.
        self.bytes -= freed;
        held.give_back(freed);
        Ok(())
    }

    /// The arguments of a call are complete.
    pub(super) fn end(&mut self, index: Option<u32>) -> Result<(), Misfit> {
        self.open_call(index)?.ended = true;
        self.feed_complete();
        Ok(())
    }

    /// The call that a piece belongs to; without an index, the only open one.
    fn open_call(&mut self, index: Option<u32>) -> Result<&mut Draft, Misfit> {
        let found = if let Some(index) = index {
            usize::try_from(index).ok().and_then(|index| self.calls.get_mut(index))
        } else {
            let mut open = self.calls.iter_mut().filter(|draft| !draft.ended);
            let first = open.next();
            if open.next().is_some() {
                return Err(Misfit::Malformed("several calls are open: the frame must name the index of its call"));
            }
            first
        };
        let draft = found.ok_or(Misfit::UnknownCall("no such call has started"))?;
        if draft.ended {
            return Err(Misfit::UnknownCall("this call has ended"));
        }
        Ok(draft)
    }

    /// Hands on the calls of an eager batch that are complete, in order.
    fn feed_complete(&mut self) {
        let Some(feeder) = &self.eager else { return };
        while let Some(draft) = self.calls.get_mut(self.fed).filter(|draft| draft.ended) {
            feeder.feed(draft.take());
            self.fed += 1;
        }
    }

    /// The batch is over. An eager one is already running; the feed of another one is returned.
    pub(super) fn finish(mut self, finish: Finish) -> Option<Feed> {
        if finish == Finish::CutOff && self.eager.is_some() {
            // What waited for a call before it was not handed on in time: nothing more of a cut-off response runs (rule B4).
            self.calls.iter_mut().skip(self.fed).for_each(|draft| draft.ended = false);
        }
        let rest = self.calls.iter_mut().skip(self.fed).map(Draft::take);
        let Some(feeder) = self.eager else {
            return Some(Feed::whole(self.id, self.mode, rest.collect(), finish).holding(self.held));
        };
        for fed in rest {
            feeder.feed(fed);
        }
        feeder.feed(Fed::End(finish));
        None
    }
}

impl Draft {
    fn take(&mut self) -> Fed {
        let start = std::mem::take(&mut self.start);
        let call = ToolCall {
            // The run numbers the calls of a batch by their order.
            index: 0,
            id: start.id.into(),
            name: start.name.into(),
            arguments: std::mem::take(&mut self.arguments).into(),
            idempotency_key: decode::named(start.idempotency_key),
        };
        match (self.overloaded, self.ended) {
            (Some(reason), _) => Fed::Overloaded(call, reason),
            (None, true) => Fed::Call(call),
            (None, false) => Fed::Unfinished(call),
        }
    }
}

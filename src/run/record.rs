//! What a run keeps of its batches, so that one that is sent again after a lost connection is answered and not run again.
//!
//! Run, batch and index name a call (rule B5), so they are its key: the same call there gets its recorded result, and another one
//! is refused. Results are kept for the grace of the run, within a room that all runs of the booth share.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use ahash::AHashSet;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use super::{duplicates::is_same_call, lock};
use crate::{
    call::ToolCall,
    json::SharedJson,
    refusal::{Code, Refusal},
    result::{CallResult, Trace},
    run::Run,
    wording,
};

/// Room for recorded results, in bytes, which the runs of a booth share.
#[derive(Debug, Clone)]
pub struct RecordRoom(Arc<Semaphore>);

/// Bytes that recorded results may take, unless somebody says otherwise.
pub const MAX_RECORDED_BYTES: usize = 64 << 20;
/// What a result takes beside its texts, about.
const RESULT_BYTES: usize = 1 << 10;

impl Default for RecordRoom {
    fn default() -> Self {
        Self::of(MAX_RECORDED_BYTES)
    }
}

impl RecordRoom {
    /// Room for so many bytes.
    pub fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes.min(Semaphore::MAX_PERMITS))))
    }
}

/// What a run knows of a batch id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Nothing: a new batch.
    New,
    /// It is running.
    Running,
    /// It is over, and its results are kept.
    Recorded,
    /// It is over, and its results are not kept any more.
    Forgotten,
}

/// The batches of a run that are over.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// Ids of all batches so far.
    ids: AHashSet<Arc<str>>,
    /// The oldest first.
    kept: VecDeque<Recorded>,
}

/// What was recorded of a batch when it was sent before.
#[derive(Debug, Clone)]
pub(super) struct Earlier {
    /// Its results, in call order.
    pub(super) results: Arc<[Arc<CallResult>]>,
    /// Which of its calls were counted against the limits of the run.
    pub(super) counted: Arc<AHashSet<u32>>,
}

#[derive(Debug)]
struct Recorded {
    batch: Arc<str>,
    earlier: Earlier,
    at: Instant,
    _room: OwnedSemaphorePermit,
}

impl Run {
    /// What is known of a batch id.
    pub fn knows(&self, batch: &str) -> Known {
        if lock(&self.current).as_ref().is_some_and(|current| &*current.batch == batch) {
            return Known::Running;
        }
        let mut records = lock(&self.records);
        records.expire(self.options.keep.grace);
        match records.find(batch) {
            Some(_) => Known::Recorded,
            None if records.ids.contains(batch) => Known::Forgotten,
            None => Known::New,
        }
    }

    /// The batch that ended last, if any has.
    pub fn last_batch(&self) -> Option<Arc<str>> {
        lock(&self.records).kept.back().map(|last| Arc::clone(&last.batch))
    }

    /// A batch begins: what was recorded of it, if it is one that is sent again.
    pub(super) fn begin_record(&self, batch: &Arc<str>) -> Option<Earlier> {
        let mut records = lock(&self.records);
        records.ids.insert(Arc::clone(batch));
        records.find(batch).map(|recorded| recorded.earlier.clone())
    }

    /// A batch is over, of which these calls were counted. What was recorded of it before stands, however old it has grown while the
    /// batch was sent again.
    pub(super) fn keep_record(
        &self,
        batch: &Arc<str>,
        earlier: Option<&Earlier>,
        results: &[Arc<CallResult>],
        mut counted: AHashSet<u32>,
    ) {
        let grace = self.options.keep.grace;
        if grace.is_zero() {
            return;
        }
        let mut records = lock(&self.records);
        records.expire(grace);
        // Its room is free again.
        drop(records.take(batch));
        counted.extend(earlier.iter().flat_map(|earlier| earlier.counted.iter()));
        // An answer that was given again must not take the place of the original.
        let mut merged: Vec<Arc<CallResult>> = earlier.map(|earlier| earlier.results.to_vec()).unwrap_or_default();
        for (index, result) in results.iter().enumerate() {
            match merged.get_mut(index) {
                Some(kept) if !says_nothing(kept) => {}
                Some(kept) => kept.clone_from(result),
                None => merged.push(Arc::clone(result)),
            }
        }
        let bytes = merged.iter().map(|result| weight(result)).sum::<usize>();
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        loop {
            if let Ok(room) = Arc::clone(&self.options.record_room.0).try_acquire_many_owned(bytes) {
                let earlier = Earlier { results: merged.into(), counted: counted.into() };
                records.kept.push_back(Recorded { batch: Arc::clone(batch), earlier, at: Instant::now(), _room: room });
                return;
            }
            if records.kept.pop_front().is_none() {
                return;
            }
        }
    }
}

impl Records {
    /// The newest is kept as long as its run is: it is the one whose end a lost connection leaves open.
    fn expire(&mut self, grace: Duration) {
        while self.kept.len() > 1 && self.kept.front().is_some_and(|oldest| oldest.at.elapsed() > grace) {
            self.kept.pop_front();
        }
    }

    fn find(&self, batch: &str) -> Option<&Recorded> {
        self.kept.iter().find(|recorded| &*recorded.batch == batch)
    }

    fn take(&mut self, batch: &str) -> Option<Recorded> {
        let position = self.kept.iter().position(|recorded| &*recorded.batch == batch)?;
        self.kept.remove(position)
    }
}

/// The answer to a call that was sent again; `None` if it was never judged, so that it may run now.
pub(super) fn answer(earlier: &CallResult, call: Arc<ToolCall>) -> Option<CallResult> {
    if says_nothing(earlier) {
        return None;
    }
    if is_same_call(&earlier.call, &call) {
        return Some(CallResult { call, executed: false, attempts: 0, replayed: true, ..earlier.clone() });
    }
    let text = wording::other_call_at_this_place(&call.name);
    Some(CallResult::refused(call, Trace::default(), Refusal::new(Code::IdempotencyConflict, None, text)))
}

/// Whether the result is about the batch and not about the call: it was lost, cut off or cancelled before anybody looked at it.
fn says_nothing(result: &CallResult) -> bool {
    let code = result.error.as_ref().map(|error| error.code);
    !result.executed && matches!(code, Some(Code::Cancelled | Code::Truncated | Code::Overloaded))
}

/// About how many bytes it takes.
fn weight(result: &CallResult) -> usize {
    let CallResult { call, trace, .. } = result;
    // Mostly they are one value.
    let is_other = |value: &&SharedJson| Some(*value) != trace.arguments.as_ref();
    let earlier = [&trace.received, &trace.prepared].into_iter().flatten().filter(is_other);
    let json = [&result.structured, &result.details, &trace.arguments].into_iter().flatten().chain(earlier);
    let json = json.map(|value| 2 * value.bytes().len()).sum::<usize>();
    let content = result.content.iter().map(crate::content::Content::bytes).sum::<usize>();
    let named = call.id.len() + call.name.len() + call.idempotency_key.as_ref().map_or(0, |key| key.len());
    let error =
        result.error.as_ref().map_or(0, |error| error.text.len() + error.developer.as_ref().map_or(0, String::len));
    RESULT_BYTES + named + call.arguments.len() + content + error + json
}

//! The calls of one batch: those that run, those that are over, and who waits for whom.

use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc};

use futures::{FutureExt as _, StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use tokio::sync::oneshot;
use tracing::Instrument as _;

use crate::result::CallResult;

/// The calls of a batch, by their index.
#[derive(Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// They run beside each other on the task of their batch, each woken by itself.
    running: FuturesUnordered<BoxFuture<'static, (usize, Arc<CallResult>)>>,
}

enum Slot {
    /// It runs, and these wait for its result.
    Running(Vec<oneshot::Sender<Arc<CallResult>>>),
    Done(Arc<CallResult>),
}

impl Calls {
    /// How many there are, and so the index of the next one.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Adds a call that is over.
    pub(super) fn settle(&mut self, result: Arc<CallResult>) {
        self.slots.push(Slot::Done(result));
    }

    /// Adds a call, and starts it at once: many a tool has answered before the next call is looked at. What panics is a
    /// fault of the booth and concerns this call only: `lost` makes its result.
    pub(super) fn start(
        &mut self,
        call: impl Future<Output = Arc<CallResult>> + Send + 'static,
        lost: impl FnOnce(String) -> Arc<CallResult> + Send + 'static,
    ) {
        let index = self.slots.len();
        let ended = AssertUnwindSafe(call).catch_unwind();
        let call = ended.map(move |ended| (index, ended.unwrap_or_else(|panic| lost(message(&*panic)))));
        let mut call = call.in_current_span().boxed();
        self.slots.push(Slot::Running(Vec::new()));
        match (&mut call).now_or_never() {
            Some((index, result)) => self.finish(index, &result),
            None => self.running.push(call),
        }
    }

    /// The result of an earlier call, now or later; `None` if there is no such call.
    pub(super) fn result(&mut self, index: u32) -> impl Future<Output = Option<Arc<CallResult>>> + Send + use<> {
        let (told, result) = oneshot::channel();
        match usize::try_from(index).ok().and_then(|index| self.slots.get_mut(index)) {
            // Whoever does not wait any more does not want to know.
            Some(Slot::Done(result)) => drop(told.send(Arc::clone(result))),
            Some(Slot::Running(waiting)) => waiting.push(told),
            None => {}
        }
        async { result.await.ok() }
    }

    /// Waits for something else, while the calls run on.
    pub(super) async fn beside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        loop {
            tokio::select! {
                biased;
                done = &mut other => return done,
                Some((index, result)) = self.running.next() => self.finish(index, &result),
            }
        }
    }

    /// Waits until none runs any more.
    pub(super) async fn all_over(&mut self) {
        while let Some((index, result)) = self.running.next().await {
            self.finish(index, &result);
        }
    }

    /// The results, in call order, of calls that are all over.
    pub(super) fn into_results(self) -> Vec<Arc<CallResult>> {
        let done = |slot| if let Slot::Done(result) = slot { Some(result) } else { None };
        self.slots.into_iter().filter_map(done).collect()
    }

    fn finish(&mut self, index: usize, result: &Arc<CallResult>) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        if let Slot::Running(waiting) = std::mem::replace(slot, Slot::Done(Arc::clone(result))) {
            for told in waiting {
                drop(told.send(Arc::clone(result)));
            }
        }
    }
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

//! Group commit: whoever changes something waits in a queue, and a task takes all who wait to the store at once.
//!
//! The task lives while somebody waits. It reserves for nobody who is gone, and carries an end to the store until it arrives there.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{oneshot, watch};
use tracing::{info, warn};

use super::{
    operation::{Operation, What},
    place::Place,
    slot::Answer,
    store::{Applied, Store},
};
use crate::ports::{LedgerError, Record};

/// What is committed at once.
const MOST_OPERATIONS: usize = 512;
const MOST_BYTES: usize = 16 << 20;

/// How soon a store that failed is tried again, at first and in the end.
const SOON: Duration = Duration::from_millis(10);
const LATER: Duration = Duration::from_millis(500);

/// Keys are told of changes in so many groups: who waits for a key seldom wakes for another.
const GROUPS: usize = 64;

/// What waits for its turn.
#[derive(Debug)]
pub(super) struct Queue<S: Store> {
    pub(super) store: S,
    state: Mutex<State<S>>,
    /// Told when a key of the group was decided.
    groups: [watch::Sender<()>; GROUPS],
    /// The newest sequence number that is known.
    pub(super) newest: watch::Sender<u64>,
}

#[derive(Debug)]
struct State<S: Store> {
    waiting: VecDeque<Waiting<S>>,
    /// Whether a task takes them to the store.
    is_carried: bool,
}

#[derive(Debug)]
struct Waiting<S: Store> {
    operation: Operation,
    /// Whether it may have been applied, and nobody knows.
    is_undecided: bool,
    /// Who asked; `None`: nobody waits.
    out: Option<oneshot::Sender<Answered<S>>>,
}

/// What whoever asked is told.
pub(super) type Answered<S> = Result<Told<S>, LedgerError>;

/// An answer on its way. If it is dropped there, what was reserved is put back.
#[derive(Debug)]
pub(super) struct Told<S: Store> {
    pub(super) answer: Answer,
    /// What holds the key that is taken.
    pub(super) record: Option<Arc<Record>>,
    undo: Option<(Arc<Queue<S>>, Operation)>,
}

impl<S: Store> Told<S> {
    /// It has arrived.
    pub(super) fn keep(&mut self) {
        self.undo = None;
    }
}

impl<S: Store> Drop for Told<S> {
    fn drop(&mut self) {
        if let Some((queue, operation)) = self.undo.take() {
            queue.push(Waiting { operation, is_undecided: false, out: None });
        }
    }
}

impl<S: Store> Queue<S> {
    pub(super) fn over(store: S, newest: u64) -> Arc<Self> {
        Arc::new(Self {
            store,
            state: Mutex::new(State { waiting: VecDeque::new(), is_carried: false }),
            groups: std::array::from_fn(|_| watch::Sender::new(())),
            newest: watch::Sender::new(newest),
        })
    }

    /// Puts an operation into the queue.
    pub(super) fn ask(self: &Arc<Self>, operation: Operation) -> oneshot::Receiver<Answered<S>> {
        let (out, answer) = oneshot::channel();
        self.push(Waiting { operation, is_undecided: false, out: Some(out) });
        answer
    }

    /// Hears of every decision on a key, and on some others.
    pub(super) fn decisions(&self, places: &[Place]) -> Vec<watch::Receiver<()>> {
        places.iter().filter_map(|place| Some(self.group(place)?.subscribe())).collect()
    }

    fn group(&self, place: &Place) -> Option<&watch::Sender<()>> {
        let [first, ..] = place.0;
        self.groups.get(usize::from(first) % GROUPS)
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        // What the lock guards is never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(self: &Arc<Self>, waiting: Waiting<S>) {
        let mut state = self.state();
        state.waiting.push_back(waiting);
        // Outside of a runtime the next who asks carries it.
        if !state.is_carried
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            state.is_carried = true;
            drop(runtime.spawn(Carrier(Arc::clone(self)).carry()));
        }
    }

    /// The next who go together.
    fn take(&self, most: usize) -> Vec<Waiting<S>> {
        let mut state = self.state();
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < most
            && bytes < MOST_BYTES
            && let Some(mut waiting) = state.waiting.pop_front()
        {
            // Nobody waits for this reservation any more.
            if matches!(waiting.operation.what, What::Reserve(_))
                && waiting.out.as_ref().is_none_or(oneshot::Sender::is_closed)
            {
                if !waiting.is_undecided {
                    continue;
                }
                waiting.operation = waiting.operation.undo();
            }
            bytes += waiting.operation.weight();
            group.push(waiting);
        }
        state.is_carried = !group.is_empty();
        group
    }

    /// Tells everybody what became of his operation.
    fn tell(self: &Arc<Self>, group: Vec<Waiting<S>>, applied: Applied) {
        self.newest.send_if_modified(|newest| applied.newest > mem::replace(newest, applied.newest.max(*newest)));
        for (waiting, answer) in group.into_iter().zip(applied.answers) {
            let Waiting { operation, out, is_undecided } = waiting;
            if !matches!(operation.what, What::Reserve(_)) {
                operation.places.iter().filter_map(|place| self.group(place)).for_each(|group| {
                    group.send_replace(());
                });
            }
            let Some(out) = out else { continue };
            let record = answer.record().and_then(|sequence| applied.records.get(&sequence).cloned()).transpose();
            let told = record.map_err(LedgerError::Unavailable).map(|record| {
                let undo = matches!(answer, Answer::Free(_)).then(|| (Arc::clone(self), operation.undo()));
                // It was released the first time, when its answer was lost.
                let is_done = is_undecided && matches!((&operation.what, &answer), (What::Release, Answer::NotHeld));
                Told { answer: if is_done { Answer::Done } else { answer }, record, undo }
            });
            // If nobody listens, it is dropped, and undone.
            drop(out.send(told));
        }
    }

    /// Those who go again come after those who have not gone yet.
    fn put_back(&self, group: Vec<Waiting<S>>, is_undecided: bool) {
        let again =
            group.into_iter().map(|waiting| Waiting { is_undecided: waiting.is_undecided || is_undecided, ..waiting });
        self.state().waiting.extend(again);
    }
}

/// The task that carries operations to the store.
struct Carrier<S: Store>(Arc<Queue<S>>);

impl<S: Store> Carrier<S> {
    async fn carry(self) {
        let queue = &self.0;
        let (mut most, mut pause) = (MOST_OPERATIONS, SOON);
        loop {
            let group = queue.take(most);
            if group.is_empty() {
                return;
            }
            let operations: Arc<[Operation]> = group.iter().map(|waiting| waiting.operation.clone()).collect();
            match queue.store.apply(operations).await {
                Ok(applied) => {
                    if pause > SOON {
                        info!("the ledger is available again");
                    }
                    (most, pause) = ((most * 2).min(MOST_OPERATIONS), SOON);
                    queue.tell(group, applied);
                }
                Err(failure) => {
                    if pause == SOON {
                        warn!(error = %failure, "the ledger is not available; it is tried again");
                    }
                    // One that the store cannot take must not keep the others from it.
                    most = 1;
                    queue.put_back(group, failure.is_undecided);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LATER);
                }
            }
        }
    }
}

impl<S: Store> Drop for Carrier<S> {
    fn drop(&mut self) {
        // The runtime may end before the work does; then the next who asks goes on with it.
        self.0.state().is_carried = false;
    }
}

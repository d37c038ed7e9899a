//! A ledger over a store: waits for keys that others hold, and bounds every other wait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::future::select_all;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    operation::Operation,
    queue::{Answered, Queue, Told},
    slot::Answer,
    store::{Failure, Older, Store},
};
use crate::ports::{Claim, Ledger, LedgerError, Record, Reservation, Reserved, Retention, Selection, Submission};

/// How long the store may take before a call is refused, or a reader is told.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long it may take to hear of the end of an execution. Longer: the call was executed, and its host wants to know.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(10);

/// How often a store that others change is asked again, at first and in the end.
const SOON: Duration = Duration::from_millis(20);
const LATER: Duration = Duration::from_millis(250);

/// Keeps what was executed once in a store.
#[derive(Debug)]
pub struct StoredLedger<S: Store> {
    queue: Arc<Queue<S>>,
}

impl<S: Store> StoredLedger<S> {
    /// A ledger over the store, whose newest record has this sequence number.
    pub(super) fn over(store: S, newest: u64) -> Self {
        Self { queue: Queue::over(store, newest) }
    }

    async fn ask(&self, operation: Operation, patience: Duration) -> Answered<S> {
        let until = Instant::now() + patience;
        match timeout_at(until, self.queue.ask(operation)).await {
            Ok(Ok(answered)) => answered,
            Ok(Err(_)) => Err(LedgerError::Unavailable("whoever writes to it has ended".to_owned())),
            Err(_) => Err(LedgerError::Unavailable(slow(patience))),
        }
    }

    /// The end of an execution, which is carried to the store even if nobody waits for it any more.
    async fn settle(&self, operation: Operation) -> Result<(), LedgerError> {
        let told = self.ask(operation, PATIENCE_AT_THE_END).await?;
        match &told.answer {
            Answer::Done => Ok(()),
            Answer::Unreadable(problem) => Err(LedgerError::Unavailable(problem.clone())),
            Answer::NotHeld | Answer::Free(_) | Answer::Busy { .. } | Answer::Taken(..) | Answer::InDoubt(_) => {
                Err(LedgerError::NotHeld)
            }
        }
    }

    async fn newest(&self) -> Result<u64, LedgerError> {
        let mut attempts = Attempts::begin();
        loop {
            match attempts.attempt(self.queue.store.newest()).await {
                Ok(newest) => return Ok(newest),
                Err(failure) => attempts.again(failure).await?,
            }
        }
    }
}

/// Attempts to read, while the store does not answer.
struct Attempts {
    until: Instant,
    pause: Duration,
}

impl Attempts {
    fn begin() -> Self {
        Self { until: Instant::now() + PATIENCE, pause: SOON }
    }

    async fn attempt<T>(&self, read: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        timeout_at(self.until, read).await.unwrap_or_else(|_| Err(Failure::before(&slow(PATIENCE))))
    }

    /// Returns when it is time for another attempt.
    async fn again(&mut self, failure: Failure) -> Result<(), LedgerError> {
        if Instant::now() + self.pause >= self.until {
            return Err(LedgerError::Unavailable(failure.message));
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LATER);
        Ok(())
    }
}

fn slow(patience: Duration) -> String {
    format!("its store has not answered within {}", humantime::format_duration(patience))
}

#[async_trait]
impl<S: Store> Ledger for StoredLedger<S> {
    async fn reserve(&self, claim: &Claim) -> Result<Reserved, LedgerError> {
        let mut pause = SOON;
        loop {
            let operation = Operation::reserve(claim);
            let holder = operation.holder;
            // Before the question: a decision must not fall between the answer and the wait.
            let mut decisions = self.queue.decisions(&operation.places);
            let mut told = self.ask(operation, PATIENCE).await?;
            let key = |at: usize| claim.keys.get(at).cloned().ok_or(LedgerError::NotHeld);
            let elsewhere = match &told.answer {
                Answer::Free(idempotency_key) => {
                    let idempotency_key = Arc::clone(idempotency_key);
                    told.keep();
                    return Ok(Reserved::Free(Reservation { keys: claim.keys.clone(), holder, idempotency_key }));
                }
                Answer::Taken(at, _) => return Ok(Reserved::Taken(key(*at)?, recorded(&told)?)),
                Answer::InDoubt(at) => return Ok(Reserved::InDoubt(key(*at)?)),
                Answer::Unreadable(problem) => return Err(LedgerError::Unavailable(problem.clone())),
                Answer::Done | Answer::NotHeld => return Err(LedgerError::NotHeld),
                Answer::Busy { elsewhere } => *elsewhere,
            };
            let decided = select_all(decisions.iter_mut().map(|decision| Box::pin(decision.changed())));
            tokio::select! {
                _ = decided => pause = SOON,
                () = sleep(pause), if elsewhere => pause = (pause * 2).min(LATER),
            }
        }
    }

    async fn record(&self, reservation: Reservation, record: Record) -> Result<(), LedgerError> {
        self.settle(Operation::record(&reservation, record)).await
    }

    async fn withdraw(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(Operation::withdraw(&reservation)).await
    }

    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(Operation::release(&reservation)).await
    }

    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(Operation::doubt(&reservation)).await
    }

    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, LedgerError> {
        let mut attempts = Attempts::begin();
        loop {
            match attempts.attempt(self.queue.store.submissions(selection)).await {
                Ok(submissions) => return Ok(submissions),
                Err(failure) => attempts.again(failure).await?,
            }
        }
    }

    async fn changed(&self, after: u64) -> Result<u64, LedgerError> {
        let mut newest = self.queue.newest.subscribe();
        let mut pause = SOON;
        loop {
            let known = *newest.borrow_and_update();
            if known > after {
                return Ok(known);
            }
            if !self.queue.store.is_shared() {
                newest.changed().await.map_err(|closed| LedgerError::Unavailable(closed.to_string()))?;
                continue;
            }
            tokio::select! {
                _ = newest.changed() => {}
                () = sleep(pause) => {
                    pause = (pause * 2).min(LATER);
                    let read = self.newest().await?;
                    if read > after {
                        return Ok(read);
                    }
                }
            }
        }
    }

    async fn forget(&self, retention: Retention, now_ms: i64) -> Result<u64, LedgerError> {
        let older = Older::of(retention, now_ms);
        self.queue.store.forget(older).await.map_err(|failure| LedgerError::Unavailable(failure.message))
    }
}

/// The record that holds a key.
fn recorded<S: Store>(told: &Told<S>) -> Result<Box<Record>, LedgerError> {
    let record = told.record.as_ref().map(|record| Box::new(Record::clone(record)));
    record.ok_or_else(|| LedgerError::Unavailable("a record is missing in its store".to_owned()))
}

//! A ledger that lasts as long as the process.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    ports::{Claim, Ledger, LedgerError, OnceKey, Record, Reservation, Reserved, Retention, Selection, Submission},
    tools::InDoubt,
};

/// Keeps what was executed once in memory.
#[derive(Debug)]
pub struct MemoryLedger {
    state: Mutex<State>,
    /// Counts the changes, so that whoever waits for one looks again.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<OnceKey, Slot>,
    records: BTreeMap<u64, Record>,
    last: u64,
}

#[derive(Debug)]
enum Slot {
    Held(Uuid),
    Taken(u64),
    InDoubt(Arc<str>),
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self { state: Mutex::default(), changes: watch::Sender::new(0) }
    }
}

impl MemoryLedger {
    fn state(&self) -> MutexGuard<'_, State> {
        // What the lock guards is never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the slots that a reservation holds.
    fn settle(
        &self,
        reservation: &Reservation,
        change: impl FnOnce(&mut State, &[OnceKey]),
    ) -> Result<(), LedgerError> {
        let mut state = self.state();
        let held = |key| matches!(state.slots.get(key), Some(Slot::Held(holder)) if *holder == reservation.holder);
        if !reservation.keys.iter().all(held) {
            return Err(LedgerError::NotHeld);
        }
        change(&mut state, &reservation.keys);
        drop(state);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}

impl State {
    /// What the slots say; `None` while another holder is undecided.
    fn reserve(&mut self, claim: &Claim) -> Option<Reserved> {
        let mut idempotency_key = Arc::clone(&claim.idempotency_key);
        for key in &claim.keys {
            match self.slots.get(key) {
                Some(Slot::Held(_)) => return None,
                Some(Slot::Taken(sequence)) => {
                    let record = self.records.get(sequence)?;
                    return Some(Reserved::Taken(key.clone(), Box::new(record.clone())));
                }
                Some(Slot::InDoubt(_)) if claim.in_doubt == InDoubt::Refuse => {
                    return Some(Reserved::InDoubt(key.clone()));
                }
                Some(Slot::InDoubt(earlier)) => idempotency_key = Arc::clone(earlier),
                None => {}
            }
        }
        let holder = Uuid::new_v4();
        let held = |key: &OnceKey| (key.clone(), Slot::Held(holder));
        self.slots.extend(claim.keys.iter().map(held));
        Some(Reserved::Free(Reservation { keys: claim.keys.clone(), holder, idempotency_key }))
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn reserve(&self, claim: &Claim) -> Result<Reserved, LedgerError> {
        let mut changes = self.changes.subscribe();
        loop {
            let reserved = self.state().reserve(claim);
            if let Some(reserved) = reserved {
                return Ok(reserved);
            }
            changes.changed().await.map_err(|closed| LedgerError::Unavailable(closed.to_string()))?;
        }
    }

    async fn record(&self, reservation: Reservation, record: Record) -> Result<(), LedgerError> {
        self.settle(&reservation, |state, keys| {
            state.last += 1;
            state.records.insert(state.last, record);
            state.slots.extend(keys.iter().map(|key| (key.clone(), Slot::Taken(state.last))));
        })
    }

    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(&reservation, |state, keys| keys.iter().for_each(|key| drop(state.slots.remove(key))))
    }

    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(&reservation, |state, keys| {
            let doubt = |key: &OnceKey| (key.clone(), Slot::InDoubt(Arc::clone(&reservation.idempotency_key)));
            state.slots.extend(keys.iter().map(doubt));
        })
    }

    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, LedgerError> {
        let state = self.state();
        let found = state.records.range(selection.after.saturating_add(1)..);
        let is_meant = |submission: &Submission| {
            let is = |wanted: &Option<Arc<str>>, own: &Arc<str>| wanted.as_ref().is_none_or(|wanted| wanted == own);
            is(&selection.task, &submission.task)
                && is(&selection.tool, &submission.tool)
                && is(&selection.key, &submission.key)
        };
        let found = found.filter_map(|(sequence, record)| record.submission(*sequence)).filter(is_meant);
        Ok(if selection.newest_first {
            found.rev().take(selection.limit).collect()
        } else {
            found.take(selection.limit).collect()
        })
    }

    async fn changed(&self, after: u64) -> Result<u64, LedgerError> {
        let mut changes = self.changes.subscribe();
        loop {
            let last = self.state().last;
            if last > after {
                return Ok(last);
            }
            changes.changed().await.map_err(|closed| LedgerError::Unavailable(closed.to_string()))?;
        }
    }

    async fn forget(&self, _retention: Retention, _now_ms: i64) -> Result<u64, LedgerError> {
        Ok(0)
    }
}

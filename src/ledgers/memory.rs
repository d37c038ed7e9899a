//! A ledger that lasts as long as the process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::{
    ports::{AcceptKey, Accepted, Ledger, LedgerError, Reservation, Reserved, Submission},
    tools::InDoubt,
};

/// Keeps submissions in memory.
#[derive(Debug)]
pub struct MemoryLedger {
    state: Mutex<State>,
    /// Counts the changes, so that whoever waits for one looks again.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    slots: HashMap<AcceptKey, Slot>,
    /// In the order of acceptance: the one with the sequence number n is at n - 1.
    log: Vec<Submission>,
    /// Where in the log a task's submissions are.
    by_task: HashMap<Arc<str>, Vec<usize>>,
    holders: u64,
}

#[derive(Debug)]
enum Slot {
    Held(u64),
    Taken(Box<Accepted>),
    InDoubt,
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

    /// Changes the slot that a reservation holds.
    fn settle(&self, reservation: &Reservation, change: impl FnOnce(&mut State)) -> Result<(), LedgerError> {
        let mut state = self.state();
        if !matches!(state.slots.get(&reservation.key), Some(Slot::Held(holder)) if *holder == reservation.holder) {
            return Err(LedgerError("the reservation is not held any more".to_owned()));
        }
        change(&mut state);
        drop(state);
        self.changes.send_modify(|changes| *changes += 1);
        Ok(())
    }
}

impl State {
    /// What the key's slot says; `None` while another holder is undecided.
    fn reserve(&mut self, key: &AcceptKey, in_doubt: InDoubt) -> Option<Reserved> {
        match self.slots.get(key) {
            Some(Slot::Held(_)) => return None,
            Some(Slot::Taken(accepted)) => return Some(Reserved::Taken(accepted.clone())),
            Some(Slot::InDoubt) if in_doubt == InDoubt::Refuse => return Some(Reserved::InDoubt),
            Some(Slot::InDoubt) | None => {}
        }
        self.holders += 1;
        self.slots.insert(key.clone(), Slot::Held(self.holders));
        Some(Reserved::Free(Reservation { key: key.clone(), holder: self.holders }))
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn reserve(&self, key: &AcceptKey, in_doubt: InDoubt) -> Result<Reserved, LedgerError> {
        let mut changes = self.changes.subscribe();
        loop {
            let reserved = self.state().reserve(key, in_doubt);
            if let Some(reserved) = reserved {
                return Ok(reserved);
            }
            changes.changed().await.map_err(|closed| LedgerError(closed.to_string()))?;
        }
    }

    async fn accept(&self, reservation: Reservation, mut accepted: Accepted) -> Result<(), LedgerError> {
        self.settle(&reservation, |state| {
            accepted.submission.sequence = state.log.last().map_or(1, |last| last.sequence + 1);
            let position = state.log.len();
            state.by_task.entry(Arc::clone(&reservation.key.task)).or_default().push(position);
            state.log.push(accepted.submission.clone());
            state.slots.insert(reservation.key.clone(), Slot::Taken(Box::new(accepted)));
        })
    }

    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(&reservation, |state| drop(state.slots.remove(&reservation.key)))
    }

    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.settle(&reservation, |state| drop(state.slots.insert(reservation.key.clone(), Slot::InDoubt)))
    }

    async fn accepted(&self, task: Option<&str>, after: u64) -> Result<Vec<Submission>, LedgerError> {
        let state = self.state();
        let first = usize::try_from(after).unwrap_or(usize::MAX);
        let Some(task) = task else { return Ok(state.log.iter().skip(first).cloned().collect()) };
        let positions = state.by_task.get(task).map(Vec::as_slice).unwrap_or_default();
        let fresh = positions.iter().filter(|position| **position >= first);
        Ok(fresh.filter_map(|position| state.log.get(*position)).cloned().collect())
    }

    async fn changed(&self, after: u64) -> Result<u64, LedgerError> {
        let mut changes = self.changes.subscribe();
        loop {
            let last = self.state().log.last().map_or(0, |submission| submission.sequence);
            if last > after {
                return Ok(last);
            }
            changes.changed().await.map_err(|closed| LedgerError(closed.to_string()))?;
        }
    }
}

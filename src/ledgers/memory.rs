//! A store that lasts as long as the process.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    operation::Operation,
    place::Place,
    slot::{Answer, Kind, Slot, Slots, State},
    store::{Applied, Failure, Older, Store},
    stored::StoredLedger,
};
use crate::ports::{Clock as _, Record, Selection, Submission, SystemClock};

/// Keeps what was executed once in memory.
pub type MemoryLedger = StoredLedger<MemoryStore>;

/// What a [`MemoryLedger`] keeps.
#[derive(Debug)]
pub struct MemoryStore {
    booth: Uuid,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    slots: HashMap<Place, Slot>,
    records: BTreeMap<u64, Arc<Record>>,
    /// The submissions of each task, by the place of the task.
    tasks: BTreeSet<(Place, u64)>,
    last: u64,
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::over(MemoryStore { booth: Uuid::new_v4(), kept: Mutex::default() }, 0)
    }
}

impl MemoryStore {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What the lock guards is never left half changed.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn apply(&mut self, booth: Uuid, operations: &[Operation]) -> Applied {
        let places = operations.iter().flat_map(|operation| &operation.places);
        let found = places.filter_map(|place| Some((*place, Ok(self.slots.get(place)?.clone()))));
        let mut slots = Slots::new(booth, SystemClock.unix_ms(), self.last, found.collect());
        let answers: Vec<Answer> = operations.iter().map(|operation| slots.apply(operation)).collect();
        for (place, slot) in slots.changes() {
            match slot {
                Some(slot) => drop(self.slots.insert(place, slot.clone())),
                None => drop(self.slots.remove(&place)),
            }
        }
        for (sequence, record) in slots.records() {
            self.tasks.extend(task_of(record).map(|task| (task, *sequence)));
            self.records.insert(*sequence, Arc::clone(record));
        }
        self.last = slots.last();
        let named = answers.iter().filter_map(Answer::record);
        let named = named.filter_map(|sequence| Some((sequence, Ok(Arc::clone(self.records.get(&sequence)?)))));
        Applied { records: named.collect(), newest: self.last, answers }
    }

    fn select(&self, selection: &Selection) -> Vec<Submission> {
        let after = selection.after.saturating_add(1);
        let found: Box<dyn DoubleEndedIterator<Item = (u64, &Record)>> = match &selection.task {
            Some(task) => {
                let task = Place::of_task(task);
                let found = self.tasks.range((task, after)..=(task, u64::MAX));
                Box::new(found.filter_map(|(_, sequence)| Some((*sequence, &**self.records.get(sequence)?))))
            }
            None => Box::new(self.records.range(after..).map(|(sequence, record)| (*sequence, &**record))),
        };
        let found = found.filter_map(|(sequence, record)| record.submission(sequence));
        let found = found.filter(|submission| selection.includes(submission));
        if selection.newest_first {
            found.rev().take(selection.limit).collect()
        } else {
            found.take(selection.limit).collect()
        }
    }

    fn forget(&mut self, older: Older) -> usize {
        let before = self.records.len();
        self.records.retain(|_, record| !older.is(Kind::of_record(record), record.recorded_at_ms));
        let mut forgotten = before - self.records.len();
        let records = &self.records;
        self.tasks.retain(|(_, sequence)| records.contains_key(sequence));
        self.slots.retain(|_, slot| match &slot.state {
            State::Taken(sequence) => records.contains_key(sequence),
            State::InDoubt(execution) => {
                let is_old = older.is(execution.kind, execution.since_ms);
                forgotten += usize::from(is_old);
                !is_old
            }
            State::Held { .. } => true,
        });
        forgotten
    }
}

/// The place of its task, if it is a submission.
fn task_of(record: &Record) -> Option<Place> {
    let task = &record.keys.first()?.task;
    (Kind::of_record(record) == Kind::Submission).then(|| Place::of_task(task))
}

#[async_trait]
impl Store for MemoryStore {
    async fn apply(&self, operations: Arc<[Operation]>) -> Result<Applied, Failure> {
        Ok(self.kept().apply(self.booth, &operations))
    }

    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, Failure> {
        Ok(self.kept().select(selection))
    }

    async fn newest(&self) -> Result<u64, Failure> {
        Ok(self.kept().last)
    }

    async fn forget(&self, older: Older) -> Result<u64, Failure> {
        let forgotten = self.kept().forget(older);
        Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
    }
}

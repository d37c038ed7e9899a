//! The rules of a key, without any store: what its slot says, an operation, and what the slot says then (rules S1 to S4).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    operation::{Operation, What},
    place::Place,
};
use crate::{
    ports::{Claim, KeyScope, OnceKey, Record},
    tools::InDoubt,
};

/// What is known of a key; a key without a slot is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slot {
    /// Whoever holds it, or was the last to hold it.
    pub(super) holder: Uuid,
    pub(super) state: State,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It is being executed. Whether an earlier execution was in doubt is remembered, for an undo.
    Held { booth: Uuid, after_doubt: bool, execution: Execution },
    /// It was executed, and nobody knows with what effect. The holder may still say.
    InDoubt(Execution),
    /// It was executed, and the record has this number.
    Taken(u64),
}

/// An execution of which the end is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Execution {
    pub(super) idempotency_key: String,
    /// Since when: milliseconds since 1970-01-01T00:00:00Z.
    pub(super) since_ms: i64,
    pub(super) kind: Kind,
}

/// What is remembered for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Submission,
    Call,
}

impl Kind {
    pub(super) fn of(key: &OnceKey) -> Self {
        match key.scope {
            KeyScope::Submission(_) => Self::Submission,
            KeyScope::Call => Self::Call,
        }
    }

    /// A record that holds any key of a submission is one.
    pub(super) fn of_record(record: &Record) -> Self {
        let is_submission = record.keys.iter().any(|key| Self::of(key) == Self::Submission);
        if is_submission { Self::Submission } else { Self::Call }
    }
}

impl Slot {
    /// Reads it as a store keeps it.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| format!("what the ledger says of a key cannot be read: {error}"))
    }

    /// The text that a store keeps.
    pub(super) fn write(&self) -> Vec<u8> {
        // Texts and numbers: nothing in it can fail to be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What it says once its booth is gone.
    pub(super) fn abandoned(self) -> Self {
        match self.state {
            State::Held { execution, .. } => Self { state: State::InDoubt(execution), ..self },
            State::InDoubt(_) | State::Taken(_) => self,
        }
    }

    fn is_held_by(&self, holder: Uuid) -> bool {
        self.holder == holder && !matches!(self.state, State::Taken(_))
    }

    fn is_taken_by(&self, holder: Uuid) -> bool {
        self.holder == holder && matches!(self.state, State::Taken(_))
    }
}

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The claim is held, with this idempotency key.
    Free(Arc<str>),
    /// Another holder is undecided: in this booth, or elsewhere.
    Busy {
        /// In another booth, which does not say when it is done.
        elsewhere: bool,
    },
    /// The key at this position of the claim is taken, by the record of this number.
    Taken(usize, u64),
    /// The key at this position of the claim is in doubt.
    InDoubt(usize),
    /// It was done.
    Done,
    /// Somebody else was given a key.
    NotHeld,
    /// What the store says of a key makes no sense.
    Unreadable(String),
}

impl Answer {
    /// The number of the record that it names.
    pub(super) fn record(&self) -> Option<u64> {
        if let Self::Taken(_, sequence) = self { Some(*sequence) } else { None }
    }
}

/// The slots that a group of operations looks at, and what the group makes of them.
#[derive(Debug)]
pub(super) struct Slots {
    booth: Uuid,
    now_ms: i64,
    found: HashMap<Place, Result<Slot, String>>,
    changed: BTreeSet<Place>,
    records: BTreeMap<u64, Arc<Record>>,
    last: u64,
}

impl Slots {
    /// The slots as a store has them, and its last sequence number. `booth` is whoever asks.
    pub(super) fn new(booth: Uuid, now_ms: i64, last: u64, found: HashMap<Place, Result<Slot, String>>) -> Self {
        Self { booth, now_ms, found, changed: BTreeSet::new(), records: BTreeMap::new(), last }
    }

    /// Applies one operation.
    pub(super) fn apply(&mut self, operation: &Operation) -> Answer {
        let unreadable = operation.places.iter().find_map(|place| self.found.get(place)?.as_ref().err());
        if let Some(problem) = unreadable {
            return Answer::Unreadable(problem.clone());
        }
        match &operation.what {
            What::Reserve(claim) => self.reserve(operation, claim),
            What::Record(record) => self.record(operation, record),
            What::Release => self.settle(operation, |_| None),
            What::Doubt => self.settle(operation, |slot| Some(slot.abandoned())),
            What::Undo => self.settle(operation, |slot| match slot.state {
                State::Held { after_doubt: false, .. } => None,
                State::Held { .. } | State::InDoubt(_) | State::Taken(_) => Some(slot.abandoned()),
            }),
        }
    }

    /// Each place that says something else now: its slot, or that it is free.
    pub(super) fn changes(&self) -> impl Iterator<Item = (Place, Option<&Slot>)> {
        self.changed.iter().map(|place| (*place, self.get(place)))
    }

    /// What was recorded, by its sequence number.
    pub(super) fn records(&self) -> &BTreeMap<u64, Arc<Record>> {
        &self.records
    }

    /// The last sequence number.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    fn get(&self, place: &Place) -> Option<&Slot> {
        self.found.get(place)?.as_ref().ok()
    }

    fn set(&mut self, place: Place, slot: Option<Slot>) {
        self.changed.insert(place);
        match slot {
            Some(slot) => drop(self.found.insert(place, Ok(slot))),
            None => drop(self.found.remove(&place)),
        }
    }

    fn reserve(&mut self, operation: &Operation, claim: &Claim) -> Answer {
        let holder = operation.holder;
        let mut idempotency_key = claim.idempotency_key.to_string();
        let mut after_doubt = Vec::with_capacity(operation.places.len());
        for (at, place) in operation.places.iter().enumerate() {
            after_doubt.push(match self.get(place) {
                // Its answer was lost, and it asks again.
                Some(Slot { holder: own, state: State::Held { execution, after_doubt, .. } }) if *own == holder => {
                    idempotency_key.clone_from(&execution.idempotency_key);
                    *after_doubt
                }
                Some(Slot { state: State::Held { booth, .. }, .. }) => {
                    return Answer::Busy { elsewhere: *booth != self.booth };
                }
                Some(Slot { state: State::Taken(sequence), .. }) => return Answer::Taken(at, *sequence),
                Some(Slot { state: State::InDoubt(_), .. }) if claim.in_doubt == InDoubt::Refuse => {
                    return Answer::InDoubt(at);
                }
                Some(Slot { state: State::InDoubt(earlier), .. }) => {
                    idempotency_key.clone_from(&earlier.idempotency_key);
                    true
                }
                None => false,
            });
        }
        for ((place, key), after_doubt) in operation.places.iter().zip(&claim.keys).zip(after_doubt) {
            let execution =
                Execution { idempotency_key: idempotency_key.clone(), since_ms: self.now_ms, kind: Kind::of(key) };
            let state = State::Held { booth: self.booth, after_doubt, execution };
            self.set(*place, Some(Slot { holder, state }));
        }
        Answer::Free(idempotency_key.into())
    }

    fn record(&mut self, operation: &Operation, record: &Arc<Record>) -> Answer {
        let holder = operation.holder;
        let is = |is: fn(&Slot, Uuid) -> bool| {
            operation.places.iter().all(|place| self.get(place).is_some_and(|slot| is(slot, holder)))
        };
        if is(Slot::is_taken_by) {
            // Its answer was lost, and it asks again.
            return Answer::Done;
        }
        if !is(Slot::is_held_by) {
            return self.settle(operation, |slot| Some(slot.abandoned()));
        }
        self.last += 1;
        self.records.insert(self.last, Arc::clone(record));
        for place in &operation.places {
            self.set(*place, Some(Slot { holder, state: State::Taken(self.last) }));
        }
        Answer::Done
    }

    /// Changes what the holder still holds. If that is not all, somebody else was given the rest after a doubt.
    fn settle(&mut self, operation: &Operation, change: impl Fn(Slot) -> Option<Slot>) -> Answer {
        let mut is_held = true;
        for place in &operation.places {
            match self.get(place).filter(|slot| slot.is_held_by(operation.holder)).cloned() {
                Some(slot) => self.set(*place, change(slot)),
                None => is_held = false,
            }
        }
        if is_held { Answer::Done } else { Answer::NotHeld }
    }
}

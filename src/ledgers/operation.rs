//! What a ledger is asked to change.

use std::sync::Arc;

use uuid::Uuid;

use super::place::Place;
use crate::{
    content::{Content, ToolOutput},
    ports::{Claim, OnceKey, Record, Reservation},
};

/// One change, and the places that it looks at. It may be applied twice: what was done already stays done.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Whoever holds, or wants to hold.
    pub(super) holder: Uuid,
    /// The places of its keys, in their order.
    pub(super) places: Vec<Place>,
    /// What to do.
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    /// Hold all places, or none.
    Reserve(Claim),
    /// The execution succeeded.
    Record(Arc<Record>),
    /// It failed without effect.
    Release,
    /// Nobody knows.
    Doubt,
    /// Nothing was executed: put back what the reservation found.
    Undo,
}

impl Operation {
    pub(super) fn reserve(claim: &Claim) -> Self {
        Self { holder: Uuid::new_v4(), places: places(&claim.keys), what: What::Reserve(claim.clone()) }
    }

    pub(super) fn record(reservation: &Reservation, record: Record) -> Self {
        Self { holder: reservation.holder, places: places(&reservation.keys), what: What::Record(Arc::new(record)) }
    }

    pub(super) fn withdraw(reservation: &Reservation) -> Self {
        Self { what: What::Undo, ..Self::release(reservation) }
    }

    pub(super) fn release(reservation: &Reservation) -> Self {
        Self { holder: reservation.holder, places: places(&reservation.keys), what: What::Release }
    }

    pub(super) fn doubt(reservation: &Reservation) -> Self {
        Self { holder: reservation.holder, places: places(&reservation.keys), what: What::Doubt }
    }

    /// What takes a reservation back that nobody has heard of.
    pub(super) fn undo(&self) -> Self {
        Self { what: What::Undo, places: self.places.clone(), ..*self }
    }

    /// About how many bytes a store writes for it.
    pub(super) fn weight(&self) -> usize {
        match &self.what {
            What::Record(record) => {
                let keys: usize = record.keys.iter().map(|key| key.task.len() + key.key.len()).sum();
                keys + record.raw_arguments.len() + record.arguments.bytes().len() + weight(&record.output)
            }
            What::Reserve(_) | What::Release | What::Doubt | What::Undo => 0,
        }
    }
}

fn places(keys: &[OnceKey]) -> Vec<Place> {
    keys.iter().map(Place::of).collect()
}

fn weight(output: &ToolOutput) -> usize {
    let json = output.structured.iter().chain(&output.details).map(|json| json.bytes().len());
    output.content.iter().map(Content::bytes).chain(json).sum()
}

//! A value and the schemas that it should satisfy: inside out, and only one reading is taken (rule C2).

use super::{
    Coercion, Trail,
    applying::{Applying, Spot},
    conversion::{self, Asked},
    decode::MAX_DEPTH,
    kinds::Kinds,
};
use crate::{json::Json, refusal::Repair};

/// What may still be done to a value itself; what is in it is always looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Allow {
    /// Its shape may change, too: into an array of one, or out of one.
    Reshape,
    /// Another kind of the same shape: a text into what it says, and back.
    Convert,
    /// It was changed before: each value is changed once.
    Nothing,
}

/// A value that satisfies its schemas, and how it came to be.
pub(super) struct Reading {
    pub(super) value: Json,
    pub(super) repairs: Vec<Repair>,
}

impl<'a> Coercion<'a> {
    /// Makes the arguments satisfy their schema.
    pub(super) fn fit_root(&mut self, value: &mut Json) -> bool {
        let spot = Spot::of(vec![self.schema.source()]);
        self.fit(&spot, value, &Trail::Root, Allow::Nothing)
    }

    /// Makes a value satisfy its schemas; false if they refuse it still.
    pub(super) fn fit(&mut self, spot: &Spot<'a>, value: &mut Json, trail: &Trail<'_>, allow: Allow) -> bool {
        // A schema that is its own items would have an array around an array without end.
        if trail.depth() > MAX_DEPTH || !self.budget.pay_for(value) {
            return false;
        }
        if self.accepts(&spot.schemas, value) {
            return true;
        }
        let mut applying = self.applying(spot, value);
        if self.inside(spot, &mut applying, value, trail) && self.accepts(&spot.schemas, value) {
            return true;
        }
        let found = match applying.union {
            Some(union) => self.branches(spot, union, value, (trail, allow)),
            None => self.conversions(spot, &applying, value, (trail, allow)),
        };
        match found.settled() {
            Settled::Valid(reading) => {
                self.take(reading, value);
                true
            }
            // The error speaks of what is left.
            Settled::Partial(reading) => {
                self.take(reading, value);
                false
            }
            Settled::Open => false,
        }
    }

    /// The readings under each branch of a union. The shape of the value changes only if it has no reading in its own shape.
    fn branches(
        &mut self,
        spot: &Spot<'a>,
        union: &'a Json,
        value: &Json,
        (trail, allow): (&Trail<'_>, Allow),
    ) -> Readings {
        let branches = union.as_array().unwrap_or_default();
        let mut spots = Vec::with_capacity(branches.len());
        let mut offered = spot.offered;
        for branch in branches {
            let spot = spot.with_branch(union, branch);
            offered = offered.or(Kinds::offered_by(&self.applying(&spot, value).keywords));
            spots.push(spot);
        }
        let mut found = Readings::default();
        let steps: &[Allow] = if allow == Allow::Reshape { &[Allow::Convert, Allow::Reshape] } else { &[allow] };
        for step in steps {
            for spot in &mut spots {
                spot.offered = offered;
                let mut reading = Reading { value: value.clone(), repairs: Vec::new() };
                if self.try_reading(spot, &mut reading, trail, *step) {
                    found.add(reading);
                }
            }
            if found.is_any() || self.budget.is_spent() {
                break;
            }
        }
        found
    }

    /// The readings by what the place itself asks for.
    fn conversions(
        &mut self,
        spot: &Spot<'a>,
        applying: &Applying<'a>,
        value: &Json,
        (trail, allow): (&Trail<'_>, Allow),
    ) -> Readings {
        let mut found = Readings::default();
        let asked = Asked::of(&applying.keywords, spot.offered, self.rules, trail.depth());
        let may_convert = allow != Allow::Nothing && self.budget.pay(asked.choices());
        let direct = if may_convert { conversion::conversions(&asked, value) } else { Vec::new() };
        for candidate in direct {
            let (speaks_for_itself, mut reading) = (candidate.speaks_for_itself, candidate.reading(value, trail));
            if self.try_reading(spot, &mut reading, trail, Allow::Nothing) {
                found.add(reading);
            } else if speaks_for_itself {
                found.add_partial(reading);
            }
        }
        let reshaping =
            if found.is_any() || allow != Allow::Reshape { None } else { conversion::reshaping(&asked, value) };
        if let Some(candidate) = reshaping {
            let mut reading = candidate.reading(value, trail);
            if self.try_reading(spot, &mut reading, trail, Allow::Convert) && reading.is_reshaped_once(trail) {
                found.add(reading);
            }
        }
        found
    }

    /// Makes a reading satisfy its schemas, and adds to it what that took.
    fn try_reading(&mut self, spot: &Spot<'a>, reading: &mut Reading, trail: &Trail<'_>, allow: Allow) -> bool {
        let before = self.repairs.len();
        let fits = self.fit(spot, &mut reading.value, trail, allow);
        reading.repairs.extend(self.repairs.split_off(before));
        fits
    }

    fn take(&mut self, reading: Reading, value: &mut Json) {
        *value = reading.value;
        self.repairs.extend(reading.repairs);
    }
}

/// What a value may be read as.
#[derive(Default)]
struct Readings {
    valid: Vec<Reading>,
    /// Of the right kind, and refused for another reason.
    partial: Vec<Reading>,
}

enum Settled {
    Valid(Reading),
    Partial(Reading),
    /// There is no reading, or more than one.
    Open,
}

impl Readings {
    fn is_any(&self) -> bool {
        !self.valid.is_empty()
    }

    /// Equal values are one reading: the one with the least changes, whatever the order in which they were found.
    fn add(&mut self, reading: Reading) {
        match self.valid.iter_mut().find(|known| known.value == reading.value) {
            Some(known) if reading.rank() < known.rank() => *known = reading,
            Some(_) => {}
            None => self.valid.push(reading),
        }
    }

    fn add_partial(&mut self, reading: Reading) {
        self.partial.push(reading);
    }

    fn settled(mut self) -> Settled {
        match (self.valid.pop(), self.valid.is_empty(), self.partial.pop(), self.partial.is_empty()) {
            (Some(reading), true, ..) => Settled::Valid(reading),
            (None, _, Some(reading), true) => Settled::Partial(reading),
            _ => Settled::Open,
        }
    }
}

impl Reading {
    /// An array in an array of one is a guess. What is deeper in it has a shape of its own.
    fn is_reshaped_once(&self, trail: &Trail<'_>) -> bool {
        let item = Trail::Item(trail, 0).pointer();
        let is_again = |repair: &Repair| conversion::RESHAPINGS.contains(&repair.op) && repair.path == item;
        !self.repairs.iter().any(is_again)
    }

    fn rank(&self) -> (usize, String, Vec<&'static str>) {
        (self.repairs.len(), self.value.to_text(), self.repairs.iter().map(|repair| repair.op).collect())
    }
}

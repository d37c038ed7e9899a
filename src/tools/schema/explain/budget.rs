//! What an explanation may still spend (rule V3).

use std::cell::Cell;

/// Items of a list that cost as much as one step: comparing is cheaper than explaining.
const LOOKED_THROUGH: usize = 64;

/// A number of steps that are left.
pub(super) struct Budget(Cell<usize>);

impl Budget {
    pub(super) fn of(amount: usize) -> Self {
        Self(Cell::new(amount))
    }

    /// Takes one; false if there is none left.
    pub(super) fn take(&self) -> bool {
        let left = self.0.get().checked_sub(1);
        self.0.set(left.unwrap_or_default());
        left.is_some()
    }

    /// Takes one for every few of a list that is only looked through; false if there is none left.
    pub(super) fn take_for(&self, length: usize) -> bool {
        let left = self.0.get().checked_sub(length / LOOKED_THROUGH);
        self.0.set(left.unwrap_or_default());
        left.is_some()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

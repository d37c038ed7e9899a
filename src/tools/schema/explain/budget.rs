//! What an explanation may still spend (rule V3).

use std::cell::Cell;

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

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

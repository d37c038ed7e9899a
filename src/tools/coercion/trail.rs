//! The way to a place in the arguments: most are only passed, and pointers are made of those that are changed.

use crate::json::Pointer;

#[derive(Clone, Copy)]
pub(super) enum Trail<'t> {
    Root,
    Member(&'t Trail<'t>, &'t str),
    Item(&'t Trail<'t>, usize),
}

impl Trail<'_> {
    /// Levels above the place.
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Root => 0,
            Self::Member(above, _) | Self::Item(above, _) => above.depth() + 1,
        }
    }

    pub(super) fn pointer(&self) -> Pointer {
        match self {
            Self::Root => Pointer::root(),
            Self::Member(above, name) => above.pointer().join(name),
            Self::Item(above, position) => above.pointer().join(position),
        }
    }
}

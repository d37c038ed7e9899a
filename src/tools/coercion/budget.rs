//! What one coercion may cost (rule V3).

use crate::json::Json;

/// Nodes of values that may be looked at, each time that they are.
const FULL: usize = 200_000;
/// What it costs to look at a place at all.
const VISIT: usize = 8;
/// Bytes of text that cost as much as a node.
const TEXT: usize = 64;

/// What is left of it.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn full() -> Self {
        Self(FULL)
    }

    /// Pays for a look at a value and all that is in it; false if that is too much.
    pub(super) fn pay_for(&mut self, value: &Json) -> bool {
        self.0 = self.0.saturating_sub(VISIT);
        weigh(value, &mut self.0);
        !self.is_spent()
    }

    /// Pays for so many looks at something small; false if that is too much.
    pub(super) fn pay(&mut self, looks: usize) -> bool {
        self.0 = self.0.saturating_sub(looks);
        !self.is_spent()
    }

    /// Leaves nothing: where something goes too deep, for example.
    pub(super) fn spend(&mut self) {
        self.0 = 0;
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

fn weigh(value: &Json, left: &mut usize) {
    let own = value.as_str().map_or(1, |text| 1 + text.len() / TEXT);
    *left = left.saturating_sub(own);
    if *left == 0 {
        return;
    }
    match value {
        Json::Array(items) => items.iter().for_each(|item| weigh(item, left)),
        Json::Object(members) => members.values().for_each(|member| weigh(member, left)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

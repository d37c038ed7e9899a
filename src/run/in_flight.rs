//! What is in flight: bytes of arguments over all runs of a booth, and calls of one tool in one run. Each is given back when
//! whoever holds it is dropped.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Run, lock};
use crate::{
    refusal::{Code, Reason},
    tools::{LimitsOfTool, Tool},
};

/// Bytes of arguments that all runs of a booth hold at this moment.
#[derive(Debug, Clone, Default)]
pub struct BytesInFlight(Arc<Mutex<usize>>);

/// Bytes of arguments that one batch holds.
#[derive(Debug)]
pub struct HeldBytes {
    of_all: BytesInFlight,
    most_of_all: usize,
    held: Mutex<usize>,
}

impl HeldBytes {
    /// Takes so many more, or none if all runs together would hold too many.
    pub fn take(&self, bytes: usize) -> bool {
        let mut of_all = lock(&self.of_all.0);
        let Some(more) = of_all.checked_add(bytes).filter(|more| *more <= self.most_of_all) else { return false };
        *of_all = more;
        *lock(&self.held) += bytes;
        true
    }

    /// Gives back some of those that were taken.
    pub fn give_back(&self, bytes: usize) {
        *lock(&self.of_all.0) -= bytes;
        *lock(&self.held) -= bytes;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        *lock(&self.of_all.0) -= *self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
    }
}

/// One call of a tool that has limits of its own, from before its preflight to its result.
#[derive(Debug)]
pub(super) struct CallInFlight {
    run: Arc<Run>,
    tool: Arc<str>,
    bytes: usize,
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.run.counters().give_back_of_tool(&self.tool, self.bytes);
    }
}

impl Run {
    /// Holds the bytes of one more batch; none yet.
    pub fn hold_bytes(&self) -> HeldBytes {
        HeldBytes {
            of_all: self.options.bytes_in_flight.clone(),
            most_of_all: self.options.capacity.max_bytes_in_flight_in_all,
            held: Mutex::default(),
        }
    }

    /// Takes a call to a tool, if the tool's own limits allow one more (rule B7); nothing to hold where it has none.
    pub(super) fn take_of_tool(
        self: &Arc<Self>,
        tool: &Tool,
        bytes: usize,
    ) -> Result<Option<CallInFlight>, (Code, Reason)> {
        if tool.limits == LimitsOfTool::default() {
            return Ok(None);
        }
        self.counters().take_of_tool(tool, bytes)?;
        Ok(Some(CallInFlight { run: Arc::clone(self), tool: Arc::clone(&tool.name), bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b7_what_all_hold_together_is_bounded_and_given_back_when_a_holder_is_dropped() {
        let all = BytesInFlight::default();
        let held = || HeldBytes { of_all: all.clone(), most_of_all: 10, held: Mutex::default() };
        let (one, two) = (held(), held());
        assert!(one.take(6) && two.take(4));
        assert!(!two.take(1) && !one.take(usize::MAX), "what does not fit takes nothing");
        one.give_back(2);
        assert!(two.take(2));
        drop(two);
        assert!(one.take(6));
        drop(one);
        assert_eq!(*lock(&all.0), 0);
    }
}

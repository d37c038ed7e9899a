//! How the calls of a batch come: all at once, or one after the other while the model still speaks.

use std::sync::Arc;

use ahash::AHashSet;
use tokio::{sync::mpsc, task::coop::consume_budget};

use super::HeldBytes;
use crate::{
    call::{Batch, Finish, Mode, ToolCall},
    refusal::Reason,
};

/// What comes next of a batch.
#[derive(Debug)]
pub enum Fed {
    /// A complete call.
    Call(ToolCall),
    /// A call whose end never came: it is answered as `truncated`.
    Unfinished(ToolCall),
    /// A call whose arguments are more than may be in flight, by the bound that the reason names: it is answered as `overloaded`.
    Overloaded(ToolCall, Reason),
    /// The response is over.
    End(Finish),
}

/// Feeds a batch that is still coming. Dropping it without an end means that the rest was lost.
#[derive(Debug, Clone)]
pub struct Feeder(mpsc::UnboundedSender<Fed>);

impl Feeder {
    /// Hands on what came. A batch that is already over does not want it.
    pub fn feed(&self, fed: Fed) {
        drop(self.0.send(fed));
    }
}

/// A batch, from the side that runs it.
#[derive(Debug)]
pub struct Feed {
    /// The batch's id.
    pub id: Arc<str>,
    /// Whether its calls may overlap; `None` takes the run's mode.
    pub mode: Option<Mode>,
    /// Known from the start only of a batch that came whole.
    pub(super) whole: Option<Whole>,
    /// Nothing of it may start.
    pub(super) cancelled: bool,
    /// What its calls hold, where somebody counted them as they came.
    held: Option<Arc<HeldBytes>>,
    calls: Calls,
}

/// Where the calls are.
#[derive(Debug)]
enum Calls {
    /// All here, and the end.
    Here(std::vec::IntoIter<Fed>),
    /// Still to come.
    Coming(mpsc::UnboundedReceiver<Fed>),
}

/// What can be known of a batch that came whole.
#[derive(Debug)]
pub(super) struct Whole {
    /// The response was cut off: nothing runs.
    pub(super) cut_off: bool,
    /// The names of its tools.
    pub(super) tools: Vec<Arc<str>>,
    /// The ids that its calls have.
    pub(super) ids: AHashSet<Arc<str>>,
}

impl Feed {
    /// A batch that comes call by call; each runs as it comes.
    pub fn eager(id: Arc<str>, mode: Option<Mode>) -> (Feeder, Self) {
        let (sender, calls) = mpsc::unbounded_channel();
        (Feeder(sender), Self { id, mode, whole: None, cancelled: false, held: None, calls: Calls::Coming(calls) })
    }

    /// A batch that came in pieces and is complete.
    pub fn whole(id: Arc<str>, mode: Option<Mode>, mut calls: Vec<Fed>, finish: Finish) -> Self {
        let tools = calls.iter().filter_map(Fed::call).map(|call| Arc::clone(&call.name)).collect();
        let ids = calls.iter().filter_map(Fed::call).map(|call| Arc::clone(&call.id)).collect();
        let whole = Whole { cut_off: finish == Finish::CutOff, tools, ids };
        calls.push(Fed::End(finish));
        Self { id, mode, whole: Some(whole), cancelled: false, held: None, calls: Calls::Here(calls.into_iter()) }
    }

    /// The same batch, whose calls were counted as they came. What they hold is given back when the batch is over.
    #[must_use]
    pub fn holding(self, held: Arc<HeldBytes>) -> Self {
        Self { held: Some(held), ..self }
    }

    /// Counts the calls of a batch that came whole, if nobody has, and refuses those that are too much.
    pub(super) fn hold(&mut self, held: HeldBytes) {
        let Calls::Here(calls) = &mut self.calls else { return };
        // Nothing of a response that was cut off is kept.
        let is_counted = self.held.is_some() || self.whole.as_ref().is_some_and(|whole| whole.cut_off);
        let bytes = |fed: &Fed| fed.call().map_or(0, |call| call.arguments.len());
        // Nearly always all of them fit.
        if !is_counted && !held.take(calls.as_slice().iter().map(bytes).sum()) {
            for fed in calls.as_mut_slice() {
                if let Fed::Call(call) = fed
                    && !held.take(call.arguments.len())
                {
                    *fed = Fed::Overloaded(call.clone(), Reason::MaxBytesInFlightInAll);
                }
            }
        }
        self.held.get_or_insert_with(|| Arc::new(held));
    }

    /// The same batch, cancelled before its first call: each call is only answered.
    #[must_use]
    pub fn cancelled(self) -> Self {
        Self { cancelled: true, ..self }
    }

    pub(super) async fn next(&mut self) -> Option<Fed> {
        match &mut self.calls {
            Calls::Here(calls) => {
                // Thousands of calls must not keep everybody else waiting.
                consume_budget().await;
                calls.next()
            }
            Calls::Coming(calls) => calls.recv().await,
        }
    }
}

impl From<Batch> for Feed {
    fn from(batch: Batch) -> Self {
        let calls = batch.calls.into_iter().map(Fed::Call).collect();
        Self::whole(batch.id, batch.mode, calls, batch.finish)
    }
}

impl Fed {
    fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::Call(call) | Self::Unfinished(call) | Self::Overloaded(call, _) => Some(call),
            Self::End(_) => None,
        }
    }
}

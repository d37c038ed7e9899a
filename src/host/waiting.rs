//! Questions that wait for an answer, by the place of their call.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ahash::{AHashMap, AHashSet};
use tokio::sync::oneshot;

use super::Signal;
use crate::{content::Progress, excerpt::excerpt, ports::ProgressSender};

/// Places of questions that are over, for answers that come late; older ones are forgotten.
const MAX_OVER: usize = 16_384;

type Place = (Arc<str>, u32);

/// The answer answers nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownCall {
    /// Nobody asked about this call.
    #[error("no such call is waiting for this")]
    NotAsked,
    /// The answer names another call than the one at its place.
    #[error("the call at this place has the id {0:?}, not the one that is named")]
    OtherId(String),
}

/// What became of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// Somebody waited for it.
    InTime,
    /// The question is over: the answer is recorded, not delivered.
    Late,
}

/// The questions of one kind.
#[derive(Debug)]
pub(super) struct Waiting<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    open: AHashMap<Place, Open<T>>,
    over: AHashSet<Place>,
    over_in_order: VecDeque<Place>,
    closed: bool,
}

#[derive(Debug)]
struct Open<T> {
    /// How it is asked once more.
    again: Option<Signal>,
    answer: oneshot::Sender<T>,
    /// The id of the call that is executed, and where its signs of life go.
    running: Option<(Arc<str>, ProgressSender)>,
}

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        let (open, over, over_in_order) = (AHashMap::new(), AHashSet::new(), VecDeque::new());
        Self(Mutex::new(State { open, over, over_in_order, closed: false }))
    }
}

impl<T> Waiting<T> {
    /// Opens a question; `None` once nobody can answer any more.
    pub(super) fn question(
        &self,
        (batch, index): (&Arc<str>, u32),
        again: Option<Signal>,
        running: Option<(&Arc<str>, ProgressSender)>,
    ) -> Option<Question<'_, T>> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        let place = (Arc::clone(batch), index);
        let (sender, receiver) = oneshot::channel();
        let running = running.map(|(call_id, progress)| (Arc::clone(call_id), progress));
        state.open.insert(place.clone(), Open { again, answer: sender, running });
        drop(state);
        Some(Question { waiting: self, place, receiver, tell: None })
    }

    /// Delivers an answer.
    pub(super) fn answer(
        &self,
        (batch, index): (&str, u32),
        call_id: Option<&str>,
        answer: T,
    ) -> Result<Delivery, UnknownCall> {
        let mut state = self.state();
        let place = (Arc::from(batch), index);
        let Some(open) = state.open.get(&place) else { return state.late(&place) };
        let own = open.running.as_ref().map(|(id, _)| &**id);
        if call_id.is_some_and(|id| own != Some(id)) {
            return Err(UnknownCall::OtherId(excerpt(own.unwrap_or_default())));
        }
        let Some(open) = state.open.remove(&place) else { return Err(UnknownCall::NotAsked) };
        state.end(place);
        Ok(if open.answer.send(answer).is_ok() { Delivery::InTime } else { Delivery::Late })
    }

    /// Delivers a sign of life.
    pub(super) fn sign_of_life(
        &self,
        (batch, index): (&str, u32),
        progress: Progress,
    ) -> Result<Delivery, UnknownCall> {
        let state = self.state();
        let place = (Arc::from(batch), index);
        match state.open.get(&place).map(|open| &open.running) {
            Some(Some((_, sender))) => {
                sender.send(progress);
                Ok(Delivery::InTime)
            }
            Some(None) => Err(UnknownCall::NotAsked),
            None => state.late(&place),
        }
    }

    /// Questions can be answered again: those that are open, as they are asked once more.
    pub(super) fn reopen(&self) -> Vec<Signal> {
        let mut state = self.state();
        state.closed = false;
        state.open.values().filter_map(|open| open.again.clone()).collect()
    }

    /// Answers every open question, and opens no other.
    pub(super) fn close(&self, answer: impl Fn() -> T) {
        let mut state = self.state();
        state.closed = true;
        for (_, open) in state.open.drain() {
            drop(open.answer.send(answer()));
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // What the lock guards is never left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> State<T> {
    fn late(&self, place: &Place) -> Result<Delivery, UnknownCall> {
        if self.over.contains(place) { Ok(Delivery::Late) } else { Err(UnknownCall::NotAsked) }
    }

    fn end(&mut self, place: Place) {
        if self.over.insert(place.clone()) {
            self.over_in_order.push_back(place);
        }
        while self.over_in_order.len() > MAX_OVER {
            if let Some(oldest) = self.over_in_order.pop_front() {
                self.over.remove(&oldest);
            }
        }
    }
}

/// An open question. Dropping it closes it: an answer that comes then is late.
pub(super) struct Question<'a, T> {
    waiting: &'a Waiting<T>,
    place: Place,
    receiver: oneshot::Receiver<T>,
    /// Called if nobody waits any more before the answer came.
    tell: Option<Box<dyn FnOnce() + Send + 'a>>,
}

impl<'a, T> Question<'a, T> {
    /// Whom to tell when the question is given up.
    pub(super) fn or_when_given_up(mut self, tell: impl FnOnce() + Send + 'a) -> Self {
        self.tell = Some(Box::new(tell));
        self
    }

    /// Waits for the answer; `None` if none can come.
    pub(super) async fn answer(mut self) -> Option<T> {
        let answer = (&mut self.receiver).await.ok();
        self.tell = None;
        answer
    }
}

impl<T> Drop for Question<'_, T> {
    fn drop(&mut self) {
        let mut state = self.waiting.state();
        if state.open.remove(&self.place).is_some() {
            state.end(self.place.clone());
        }
        drop(state);
        if let Some(tell) = self.tell.take() {
            tell();
        }
    }
}

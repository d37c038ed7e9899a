//! The runs that the booth holds: each has a stream or a request that leads it, or waits for its host to come back.
//!
//! The rule of takeover: whoever resumes a run leads it from then on, and the one that led it before is told so and ends. Whoever
//! opens a run by an id that is held, without resuming it, is refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::Notify, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::{host::Host, run::Run};

/// Runs that wait at once; one more ends instead.
const MOST_WAITING: usize = 4096;

/// The runs that are held.
#[derive(Debug, Clone, Default)]
pub struct Runs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    held: Mutex<HashMap<Arc<str>, Held>>,
    changed: Notify,
}

#[derive(Debug)]
struct Held {
    run: Arc<Run>,
    host: Option<Arc<Host>>,
    /// Counts who has led the run: an earlier one has no say any more.
    leader: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// It is led; the token tells its leader that another one has taken over.
    Led(CancellationToken),
    /// It waits for its host, until then.
    Waits(Instant),
}

/// A run that is held, as others see it.
#[derive(Debug, Clone)]
pub struct HeldRun {
    /// The run.
    pub run: Arc<Run>,
    /// Until when it waits for its host; `None`: it is led.
    pub waits_until: Option<Instant>,
}

/// The run is held already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run `{0}` is open elsewhere; resume it to take it over, end it there first, or take another run id")]
pub struct RunInUse(pub Arc<str>);

/// The run cannot be gone on with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotResume {
    /// It is not there.
    #[error("there is no run `{0}` to resume; open it without `resume`")]
    NotHeld(Arc<str>),
    /// It was opened in another way.
    #[error("the run `{0}` was opened by {1}; go on with it there")]
    OpenedOtherwise(Arc<str>, &'static str),
}

/// Leads a run. Dropping it ends the run: whatever of it still goes on is cancelled.
#[derive(Debug)]
pub struct Lease {
    run: Arc<Run>,
    host: Option<Arc<Host>>,
    runs: Runs,
    leader: u64,
    taken_over: CancellationToken,
}

impl Runs {
    /// Holds a new run.
    pub(super) fn hold(&self, run: Arc<Run>, host: Option<Arc<Host>>) -> Result<Lease, RunInUse> {
        let mut held = self.0.held();
        if held.contains_key(run.id()) {
            return Err(RunInUse(Arc::clone(run.id())));
        }
        let lease = Lease { run, host, runs: self.clone(), leader: 0, taken_over: CancellationToken::new() };
        let state = State::Led(lease.taken_over.clone());
        let new = Held { run: Arc::clone(&lease.run), host: lease.host.clone(), leader: 0, state };
        held.insert(Arc::clone(lease.run.id()), new);
        Ok(lease)
    }

    /// Leads a run from now on. A run that was opened with a host is resumed by one, and no other.
    pub fn resume(&self, id: &str, with_host: bool) -> Result<Lease, CannotResume> {
        let mut all = self.0.held();
        let held = all.get_mut(id).ok_or_else(|| CannotResume::NotHeld(id.into()))?;
        if held.host.is_some() != with_host {
            let opened_by = if with_host { "`ExecuteBatch`" } else { "a stream" };
            return Err(CannotResume::OpenedOtherwise(id.into(), opened_by));
        }
        let taken_over = CancellationToken::new();
        held.leader += 1;
        if let State::Led(earlier) = std::mem::replace(&mut held.state, State::Led(taken_over.clone())) {
            earlier.cancel();
        }
        let (run, host) = (Arc::clone(&held.run), held.host.clone());
        Ok(Lease { run, host, runs: self.clone(), leader: held.leader, taken_over })
    }

    /// A run as it stands.
    pub fn get(&self, id: &str) -> Option<HeldRun> {
        let held = self.0.held();
        held.get(id).map(|held| {
            let waits_until = if let State::Waits(until) = held.state { Some(until) } else { None };
            HeldRun { run: Arc::clone(&held.run), waits_until }
        })
    }

    /// Returns when no run is led any more, and no batch runs of one that waits.
    pub async fn none(&self) {
        loop {
            let changed = self.0.changed.notified();
            let running = {
                let held = self.0.held();
                let is_led = |held: &Held| matches!(held.state, State::Led(_));
                let busy = held.values().find(|held| is_led(held) || held.run.running().is_some());
                let Some(busy) = busy else { return };
                (!is_led(busy)).then(|| Arc::clone(&busy.run))
            };
            match running {
                Some(run) => run.idle().await,
                None => changed.await,
            }
        }
    }

    /// Cancels the runs that wait for their hosts.
    pub fn cancel_waiting(&self) {
        let waits = |held: &&Held| matches!(held.state, State::Waits(_));
        self.0.held().values().filter(waits).for_each(|held| held.run.cancel());
    }

    /// Ends a run, if it is still led by this leader.
    fn end(&self, id: &str, leader: u64) {
        let mut all = self.0.held();
        if all.get(id).is_some_and(|held| held.leader == leader)
            && let Some(held) = all.remove(id)
        {
            held.run.cancel();
        }
        drop(all);
        self.0.changed.notify_waiters();
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, HashMap<Arc<str>, Held>> {
        // What the lock guards is never left half changed.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// The run.
    pub fn run(&self) -> &Arc<Run> {
        &self.run
    }

    /// The host of the run's stream, if it was opened with one.
    pub fn host(&self) -> Option<&Arc<Host>> {
        self.host.as_ref()
    }

    /// Returns when another one has taken over the run.
    pub fn taken_over(&self) -> impl Future<Output = ()> + Send + use<> {
        self.taken_over.clone().cancelled_owned()
    }

    /// Gives up the lead without an end: the run waits for its host as long as it was asked to, and then ends.
    pub fn wait(self) {
        let keep = self.run.keep();
        let mut all = self.runs.0.held();
        let is_full = all.values().filter(|held| matches!(held.state, State::Waits(_))).count() >= MOST_WAITING;
        let held = all.get_mut(self.run.id()).filter(|held| held.leader == self.leader);
        let Some(held) = held.filter(|_| !keep.grace.is_zero() && !is_full) else { return };
        info!(run = ?self.run.id(), grace = ?keep.grace, "the run waits for its host");
        if !keep.calls_go_on {
            self.run.cancel_running();
        }
        let until = Instant::now() + keep.grace;
        held.state = State::Waits(until);
        // Another leader than the one that is dropped here, so that the run goes on.
        held.leader += 1;
        let (leader, runs, id) = (held.leader, self.runs.clone(), Arc::clone(self.run.id()));
        drop(all);
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            runs.end(&id, leader);
        });
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.runs.end(self.run.id(), self.leader);
    }
}

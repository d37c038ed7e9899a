//! The runs that the booth holds: each has a stream or a request that leads it, or waits for its host to come back.
//!
//! The rule of takeover: a stream that resumes a run leads it from then on, and the one that led it before is told so and ends.
//! Requests lead their run together, as long as there is one. Whoever opens a run by an id that is held, without resuming it, is
//! refused.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{runtime::Handle, sync::Notify, time::Instant};
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::info;

use crate::{
    host::Host,
    run::{BatchOutcome, Feed, Observer, Run},
};

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
    /// It is led by so many; the token tells them that another one has taken over.
    Led(usize, CancellationToken),
    /// It waits for its host, until then. Whoever sees to that is told when it does not wait any more.
    Waits(Instant, #[expect(dead_code, reason = "it works when it is dropped")] DropGuard),
    /// It is held until its last batch is over, so that nobody opens it once more meanwhile.
    Ends,
}

impl State {
    /// Until when it waits; `None`: it is led.
    fn waits_until(&self) -> Option<Instant> {
        match self {
            Self::Led(..) => None,
            Self::Waits(until, _) => Some(*until),
            Self::Ends => Some(Instant::now()),
        }
    }
}

/// A run that is held, as others see it.
#[derive(Debug, Clone)]
pub struct HeldRun {
    /// The run.
    pub run: Arc<Run>,
    /// Until when it waits for its host; a moment ago: it ends; `None`: it is led.
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
    /// It keeps nothing for whoever comes back.
    #[error("the run `{0}` was opened without `resume_grace`: nobody but the one who opened it can go on with it")]
    WithoutGrace(Arc<str>),
}

/// Leads a run. Dropping it ends the run: whatever of it still goes on is cancelled.
#[derive(Debug)]
pub struct Lease {
    run: Arc<Run>,
    host: Option<Arc<Host>>,
    runs: Runs,
    leader: u64,
    taken_over: CancellationToken,
    /// Dropping it makes the run wait.
    waits: bool,
}

impl Runs {
    /// Holds a new run.
    pub(super) fn hold(&self, run: Arc<Run>, host: Option<Arc<Host>>) -> Result<Lease, RunInUse> {
        let mut held = self.0.held();
        if held.contains_key(run.id()) {
            return Err(RunInUse(Arc::clone(run.id())));
        }
        let taken_over = CancellationToken::new();
        let lease = Lease { run, host, runs: self.clone(), leader: 0, taken_over, waits: false };
        let state = State::Led(1, lease.taken_over.clone());
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
        if held.run.keep().grace.is_zero() {
            return Err(CannotResume::WithoutGrace(id.into()));
        }
        let taken_over = match &mut held.state {
            State::Led(by, taken_over) if !with_host => {
                *by += 1;
                taken_over.clone()
            }
            State::Ends => return Err(CannotResume::NotHeld(id.into())),
            State::Led(..) | State::Waits(..) => {
                held.leader += 1;
                let taken_over = CancellationToken::new();
                let earlier = std::mem::replace(&mut held.state, State::Led(1, taken_over.clone()));
                if let State::Led(_, earlier) = earlier {
                    earlier.cancel();
                }
                taken_over
            }
        };
        let (run, host) = (Arc::clone(&held.run), held.host.clone());
        Ok(Lease { run, host, runs: self.clone(), leader: held.leader, taken_over, waits: false })
    }

    /// A run as it stands.
    pub fn get(&self, id: &str) -> Option<HeldRun> {
        let held = self.0.held();
        held.get(id).map(|held| HeldRun { run: Arc::clone(&held.run), waits_until: held.state.waits_until() })
    }

    /// Returns when no run is led any more, and no batch runs of one that waits.
    pub async fn none(&self) {
        loop {
            let changed = self.0.changed.notified();
            let running = {
                let held = self.0.held();
                let is_led = |held: &Held| matches!(held.state, State::Led(..));
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
        let waits = |held: &&Held| matches!(held.state, State::Waits(..));
        self.0.held().values().filter(waits).for_each(|held| held.run.cancel());
    }

    /// Nobody leads the run any more by this lease: it is led by the others, waits for its host, or ends.
    fn leave(&self, lease: &Lease) {
        let mut all = self.0.held();
        let is_full = all.values().filter(|held| matches!(held.state, State::Waits(..))).count() >= MOST_WAITING;
        let Some(held) = all.get_mut(lease.run.id()).filter(|held| held.leader == lease.leader) else { return };
        if let State::Led(by @ 2.., _) = &mut held.state {
            *by -= 1;
            return;
        }
        match Handle::try_current() {
            Ok(runtime) if lease.waits && !held.run.keep().grace.is_zero() && !is_full => self.wait(held, &runtime),
            Ok(_) | Err(_) => self.end(&mut all, lease.run.id()),
        }
        drop(all);
        self.0.changed.notify_waiters();
    }

    /// The run waits for its host, and then ends.
    fn wait(&self, held: &mut Held, runtime: &Handle) {
        let keep = held.run.keep();
        info!(run = ?held.run.id(), grace = ?keep.grace, "the run waits for its host");
        if !keep.calls_go_on {
            held.run.cancel_running();
        }
        held.leader += 1;
        let (until, resumed) = (Instant::now() + keep.grace, CancellationToken::new());
        held.state = State::Waits(until, resumed.clone().drop_guard());
        let (runs, id, leader) = (self.clone(), Arc::clone(held.run.id()), held.leader);
        runtime.spawn(async move {
            tokio::select! {
                biased;
                () = resumed.cancelled() => {}
                () = tokio::time::sleep_until(until) => {
                    let mut all = runs.0.held();
                    if all.get(&id).is_some_and(|held| held.leader == leader) {
                        runs.end(&mut all, &id);
                    }
                }
            }
        });
    }

    /// The run ends: whatever of it still goes on is cancelled, and it is forgotten.
    fn end(&self, all: &mut HashMap<Arc<str>, Held>, id: &str) {
        let Some(held) = all.get_mut(id) else { return };
        held.run.cancel();
        match Handle::try_current() {
            Ok(runtime) if held.run.running().is_some() => {
                held.leader += 1;
                held.state = State::Ends;
                let (runs, run) = (self.clone(), Arc::clone(&held.run));
                runtime.spawn(async move {
                    run.idle().await;
                    drop(runs.0.held().remove(run.id()));
                    runs.0.changed.notify_waiters();
                });
            }
            Ok(_) | Err(_) => drop(all.remove(id)),
        }
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

    /// Begins a batch, if none of the run is running. Whoever else leads it cannot begin one at the same time.
    pub fn begin(
        &self,
        feed: Feed,
        observer: Arc<dyn Observer>,
    ) -> Result<impl Future<Output = Arc<BatchOutcome>> + Send + use<>, Arc<str>> {
        let _held = self.runs.0.held();
        match self.run.running() {
            Some(running) => Err(running.batch),
            None => Ok(self.run.batch(feed, observer)),
        }
    }

    /// Gives up the lead without an end: the run waits for its host as long as it was asked to, and then ends.
    pub fn wait(self) {
        drop(self.then_wait());
    }

    /// The same, once this is dropped.
    #[must_use]
    pub fn then_wait(mut self) -> Self {
        self.waits = true;
        self
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.runs.leave(self);
    }
}

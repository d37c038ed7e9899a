//! The booth: everything that its runs share, and the door through which a run is opened.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    call::Mode,
    executors::Executors,
    host::Host,
    json::{Json, ParseLimits},
    pipeline::Scope,
    ports::{Clock, Hook, Ledger},
    run::{BytesInFlight, Capacity, Limits, Run, RunOptions},
    tools::{Catalog, ContractReport, LoadOptions, Loaded, Profile, load_document},
};

/// What the runs of a booth share.
#[derive(Debug)]
pub struct Booth {
    /// Its tools.
    pub catalog: Catalog,
    /// What runs them.
    pub executors: Executors,
    /// Where submissions are kept.
    pub ledger: Arc<dyn Ledger>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Limits of runs that name none.
    pub limits: Limits,
    /// What each run is granted, and all of them together.
    pub capacity: Capacity,
    /// What all of them hold.
    pub bytes_in_flight: BytesInFlight,
    /// What the parser refuses.
    pub parse_limits: ParseLimits,
    /// How contracts are read that come over the wire.
    pub load: LoadOptions,
    /// The runs that are open.
    pub open_runs: OpenRuns,
}

/// The ids of the runs that are open.
#[derive(Debug, Clone, Default)]
pub struct OpenRuns(Arc<Ids>);

#[derive(Debug, Default)]
struct Ids {
    open: Mutex<HashSet<Arc<str>>>,
    closed: Notify,
}

/// What a run is asked for with.
#[derive(Debug, Default)]
pub struct OpenRun {
    /// The run's id; `None` takes a fresh one.
    pub id: Option<Arc<str>>,
    /// The task; `None`: the run is the task.
    pub task: Option<Arc<str>>,
    /// Contracts that the host adds.
    pub contracts: Vec<Vec<u8>>,
    /// What policies may look at.
    pub context: Option<Json>,
    /// Limits; the booth's hold where these say nothing.
    pub limits: Limits,
    /// The mode of batches that name none.
    pub mode: Mode,
    /// The profile of contracts that name none; `None`: the booth's.
    pub profile: Option<Profile>,
    /// Who executes host tools and judges calls; `None`: nobody.
    pub host: Option<Arc<Host>>,
}

/// A run that was opened.
#[derive(Debug)]
pub struct Opened {
    /// The run.
    pub run: Arc<Run>,
    /// What became of the contracts that the host added.
    pub reports: Vec<ContractReport>,
    /// Keeps the run's id taken.
    pub lease: Lease,
}

/// Another stream holds the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("run `{0}` is open on another stream; end that one first, or take another run id")]
pub struct RunInUse(pub Arc<str>);

/// Frees a run's id when it is dropped.
#[derive(Debug)]
pub struct Lease {
    id: Arc<str>,
    runs: OpenRuns,
}

impl Booth {
    /// Opens a run.
    pub fn open(&self, request: OpenRun) -> Result<Opened, RunInUse> {
        let id = request.id.unwrap_or_else(fresh_id);
        let lease = self.open_runs.take(&id)?;
        let (catalog, reports) = self.with_contracts(&request.contracts);
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        let mut executors = self.executors.clone();
        if let Some(host) = request.host {
            if host.asks.before || host.asks.after {
                hooks.push(Arc::<Host>::clone(&host));
            }
            executors = executors.with_host(host);
        }
        let run = Run::open(RunOptions {
            task: request.task.unwrap_or_else(|| Arc::clone(&id)),
            id,
            scope: Scope {
                catalog,
                executor: Arc::new(executors),
                hooks,
                context: Arc::new(request.context.unwrap_or_else(Json::empty_object)),
                parse_limits: self.parse_limits.clone(),
                profile: request.profile.unwrap_or(self.load.profile),
            },
            limits: request.limits.or(&self.limits),
            mode: request.mode,
            capacity: self.capacity,
            bytes_in_flight: self.bytes_in_flight.clone(),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
        });
        Ok(Opened { run, reports, lease })
    }

    /// The booth's tools with contracts added, and what became of these.
    pub fn with_contracts(&self, contracts: &[Vec<u8>]) -> (Catalog, Vec<ContractReport>) {
        if contracts.is_empty() {
            return (self.catalog.clone(), Vec::new());
        }
        let loaded = contracts.iter().map(|contract| load_document(contract, &self.load));
        let Loaded { catalog, reports } = self.catalog.overlay(loaded);
        (catalog, reports)
    }
}

impl OpenRuns {
    /// Returns when none is open.
    pub async fn none(&self) {
        loop {
            let closed = self.0.closed.notified();
            if self.0.open().is_empty() {
                return;
            }
            closed.await;
        }
    }

    fn take(&self, id: &Arc<str>) -> Result<Lease, RunInUse> {
        let is_new = self.0.open().insert(Arc::clone(id));
        if is_new { Ok(Lease { id: Arc::clone(id), runs: self.clone() }) } else { Err(RunInUse(Arc::clone(id))) }
    }
}

impl Ids {
    fn open(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        // What the lock guards is never left half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.runs.0.open().remove(&self.id);
        self.runs.0.closed.notify_waiters();
    }
}

/// An id that nobody else has, in the order of time.
fn fresh_id() -> Arc<str> {
    Uuid::now_v7().to_string().into()
}

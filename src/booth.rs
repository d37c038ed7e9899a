//! The booth: everything that its runs share, and the door through which a run is opened.

mod runs;

use std::{sync::Arc, time::Duration};

use uuid::Uuid;

use crate::{
    call::Mode,
    executors::Executors,
    host::Host,
    json::{Json, ParseLimits},
    pipeline::Scope,
    ports::{Clock, Hook, Ledger},
    run::{BytesInFlight, Capacity, Keep, Limits, RecordRoom, Run, RunOptions},
    tools::{Catalog, ContractReport, LoadOptions, Loaded, Profile, load_document},
};

pub use runs::{CannotResume, HeldRun, Lease, NotBegun, RunInUse, Runs};

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
    /// The runs that are held.
    pub runs: Runs,
    /// Room for the results that runs keep for hosts that come back.
    pub record_room: RecordRoom,
    /// The longest that a run may wait for its host to come back.
    pub max_grace: Duration,
}

/// The longest wait for a host, unless somebody says otherwise.
pub const MAX_GRACE: Duration = Duration::from_mins(10);

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
    /// What becomes of it without its host; the booth caps the time.
    pub keep: Keep,
    /// Who executes host tools and judges calls; `None`: nobody.
    pub host: Option<Arc<Host>>,
}

/// A run that was opened.
#[derive(Debug)]
pub struct Opened {
    /// Leads the run.
    pub lease: Lease,
    /// What became of the contracts that the host added.
    pub reports: Vec<ContractReport>,
}

impl Booth {
    /// Opens a run.
    pub fn open(&self, request: OpenRun) -> Result<Opened, RunInUse> {
        let id = request.id.unwrap_or_else(fresh_id);
        let (catalog, reports) = self.with_contracts(&request.contracts);
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        let mut executors = self.executors.clone();
        if let Some(host) = &request.host {
            if host.asks.before || host.asks.after {
                hooks.push(Arc::<Host>::clone(host));
            }
            executors = executors.with_host(Arc::<Host>::clone(host));
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
            keep: Keep { grace: request.keep.grace.min(self.max_grace), ..request.keep },
            record_room: self.record_room.clone(),
            bytes_in_flight: self.bytes_in_flight.clone(),
            ledger: Arc::clone(&self.ledger),
            clock: Arc::clone(&self.clock),
        });
        Ok(Opened { lease: self.runs.hold(run, request.host)?, reports })
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

/// An id that nobody else has, in the order of time.
fn fresh_id() -> Arc<str> {
    Uuid::now_v7().to_string().into()
}

//! A run: many calls in batches, with limits over all of them, and a verdict after each batch.

mod batch;
mod calls;
mod counters;
mod delivery;
mod duplicates;
mod feed;
mod in_flight;
mod limits;
mod record;
mod submission;
mod verdict;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ahash::AHashMap;
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    call::{Mode, ToolCall},
    content::{Progress, Warning},
    pipeline::{self, AdmittedCall, Attempt, Scope, Watch},
    ports::{Clock, Ledger},
    result::CallResult,
    tools::{Catalog, ExecutorSpec},
};

use counters::Counters;
pub use feed::{Fed, Feed, Feeder};
pub use in_flight::{BytesInFlight, HeldBytes};
pub use limits::{Budget, Limit, Limits};
use record::Records;
pub use record::{Known, MAX_RECORDED_BYTES, RecordRoom};
pub use verdict::{Verdict, VerdictReason, agree};

/// What a run is opened with.
#[derive(Debug)]
pub struct RunOptions {
    /// The run's id.
    pub id: Arc<str>,
    /// The task that it works on: the run itself, unless the host named one.
    pub task: Arc<str>,
    /// What all its calls share.
    pub scope: Scope,
    /// Its limits.
    pub limits: Limits,
    /// The mode of batches that name none.
    pub mode: Mode,
    /// What the booth grants it.
    pub capacity: Capacity,
    /// What becomes of it without its host.
    pub keep: Keep,
    /// Room for the results that are kept for a host that comes back.
    pub record_room: RecordRoom,
    /// What all runs of the booth hold.
    pub bytes_in_flight: BytesInFlight,
    /// Where submissions are kept.
    pub ledger: Arc<dyn Ledger>,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
}

/// What becomes of a run that has lost its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keep {
    /// How long it waits for its host to come back; zero: it ends at once. So long, too, results are kept.
    pub grace: Duration,
    /// Whether calls that run go on meanwhile, or are cancelled.
    pub calls_go_on: bool,
}

/// What the booth grants one run, and all of them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Calls in flight; the excess is refused as `overloaded`.
    pub max_calls_in_flight: usize,
    /// Bytes of arguments in flight; the excess is refused as `overloaded`.
    pub max_bytes_in_flight: usize,
    /// Bytes of arguments in flight in all runs of the booth together; the excess is refused as `overloaded`.
    pub max_bytes_in_flight_in_all: usize,
    /// Calls that the booth itself executes at once, those that wait for their next try included. Calls of the host are the host's
    /// to pace.
    pub max_parallel: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self {
            max_calls_in_flight: 16_384,
            max_bytes_in_flight: 64 << 20,
            max_bytes_in_flight_in_all: 256 << 20,
            max_parallel: 64,
        }
    }
}

/// A run of an agent. Its batches come one after the other.
#[derive(Debug)]
pub struct Run {
    options: RunOptions,
    /// What its calls share from now on; a call keeps what it started with.
    scope: Mutex<Arc<Scope>>,
    opened: Instant,
    counters: Mutex<Counters>,
    permits: Semaphore,
    cancel: CancellationToken,
    /// The batch that is running, for whoever cancels it or waits for it.
    current: Mutex<Option<Current>>,
    records: Mutex<Records>,
}

/// The running batch, as cancellation sees it.
#[derive(Debug)]
struct Current {
    batch: Arc<str>,
    cancel: CancellationToken,
    /// Tokens of its calls, made when somebody first asks for one.
    calls: AHashMap<u32, CancellationToken>,
    /// The calls that were taken so far.
    taken: Vec<Arc<ToolCall>>,
    /// How many they will be; `None` while it is still coming.
    expected: Option<usize>,
    /// What it will have brought.
    outcome: watch::Receiver<Option<Arc<BatchOutcome>>>,
}

/// The running batch, as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its id.
    pub batch: Arc<str>,
    /// Its calls so far.
    pub calls: Vec<Arc<ToolCall>>,
    /// How many they will be; `None` while it is still coming.
    pub expected: Option<usize>,
}

/// What a batch brought.
#[derive(Debug)]
pub struct BatchOutcome {
    /// Its id.
    pub batch: Arc<str>,
    /// One result for each call, in call order.
    pub results: Vec<Arc<CallResult>>,
    /// What it means for the run.
    pub verdict: Verdict,
    /// What the host should know of the batch itself.
    pub warnings: Vec<Warning>,
}

/// Hears of what happens in a batch, as it happens.
pub trait Observer: Send + Sync {
    /// A call passed its preflight, and its executor starts.
    fn started(&self, index: u32, call_id: &Arc<str>, tool: &Arc<str>);
    /// A sign of life of a running call.
    fn progress(&self, index: u32, progress: Progress);
    /// The one terminal result of a call.
    fn finished(&self, result: &Arc<CallResult>);
}

/// Nobody listens.
#[derive(Debug, Clone, Copy)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn started(&self, _index: u32, _call_id: &Arc<str>, _tool: &Arc<str>) {}
    fn progress(&self, _index: u32, _progress: Progress) {}
    fn finished(&self, _result: &Arc<CallResult>) {}
}

impl Run {
    /// Opens a run.
    pub fn open(options: RunOptions) -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            counters: Mutex::default(),
            permits: Semaphore::new(options.capacity.max_parallel.min(Semaphore::MAX_PERMITS)),
            cancel: CancellationToken::new(),
            current: Mutex::default(),
            records: Mutex::default(),
            scope: Mutex::new(Arc::new(options.scope.clone())),
            options,
        })
    }

    /// The run's id.
    pub fn id(&self) -> &Arc<str> {
        &self.options.id
    }

    /// The task that it works on.
    pub fn task(&self) -> &Arc<str> {
        &self.options.task
    }

    /// What becomes of it without its host.
    pub fn keep(&self) -> Keep {
        self.options.keep
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// What the booth grants it.
    pub fn capacity(&self) -> Capacity {
        self.options.capacity
    }

    /// Serves these tools from the next call on.
    pub fn serve(&self, catalog: Catalog) {
        let mut scope = lock(&self.scope);
        *scope = Arc::new(Scope { catalog, ..(**scope).clone() });
    }

    /// What calls share at this moment.
    fn scope(&self) -> Arc<Scope> {
        Arc::clone(&lock(&self.scope))
    }

    /// Cancels everything that runs and everything that is still to come (rule B8).
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Cancels the running batch, if one is running.
    pub fn cancel_running(&self) {
        if let Some(current) = &*lock(&self.current) {
            current.cancel.cancel();
        }
    }

    /// The batch that is running.
    pub fn running(&self) -> Option<Running> {
        let current = lock(&self.current);
        current.as_ref().map(|current| Running {
            batch: Arc::clone(&current.batch),
            calls: current.taken.clone(),
            expected: current.expected,
        })
    }

    /// Waits for the end of the running batch, if it is this one; `None`: it is not, or the booth failed on it.
    pub async fn outcome_of(&self, batch: &str) -> Option<Arc<BatchOutcome>> {
        let mut outcome = {
            let current = lock(&self.current);
            current.as_ref().filter(|current| &*current.batch == batch)?.outcome.clone()
        };
        outcome.wait_for(Option::is_some).await.ok()?.clone()
    }

    /// Returns when no batch is running.
    pub async fn idle(&self) {
        while let Some(running) = self.running() {
            self.outcome_of(&running.batch).await;
        }
    }

    /// What is left of its limits.
    pub fn remaining(&self) -> Budget {
        self.counters().remaining(self.limits(), self.opened.elapsed(), &self.scope().catalog)
    }

    /// A batch begins: the limit that lets nothing of it run, if there is one.
    fn begin_turn(&self) -> Option<Limit> {
        self.counters().begin_batch(self.limits(), self.opened.elapsed(), &self.scope().catalog)
    }

    /// A batch is sent again, which is no other turn: the limit that lets nothing of the run run any more, if there is one.
    fn ended_by(&self) -> Option<Limit> {
        self.counters().ended_by(self.limits(), self.opened.elapsed())
    }

    /// Cancels the running batch, or one call of it. False if that batch is not running.
    pub fn cancel_in_batch(&self, batch: &str, index: Option<u32>) -> bool {
        let mut current = lock(&self.current);
        let Some(current) = current.as_mut().filter(|current| &*current.batch == batch) else { return false };
        match index {
            None => current.cancel.cancel(),
            Some(index) => current.call_token(index).cancel(),
        }
        true
    }

    /// Executes an admitted call, within the cap on what the booth itself executes at once.
    async fn complete(
        &self,
        admitted: AdmittedCall,
        watch: &dyn Watch,
        cancel: &CancellationToken,
    ) -> (CallResult, Attempt) {
        let _permit = match admitted.tool().executor {
            // The host paces its own calls; the others do nothing that takes time.
            ExecutorSpec::Host | ExecutorSpec::Submit | ExecutorSpec::Echo => None,
            ExecutorSpec::Http(_) | ExecutorSpec::Command(_) => tokio::select! {
                permit = self.permits.acquire() => permit.ok(),
                () = cancel.cancelled() => None,
            },
        };
        pipeline::complete(&self.scope(), admitted, watch, cancel).await
    }

    /// The token of a call of the running batch.
    fn call_token(&self, index: u32) -> CancellationToken {
        lock(&self.current).as_mut().map_or_else(|| self.cancel.child_token(), |current| current.call_token(index))
    }

    fn counters(&self) -> std::sync::MutexGuard<'_, Counters> {
        lock(&self.counters)
    }
}

impl Current {
    fn call_token(&mut self, index: u32) -> CancellationToken {
        self.calls.entry(index).or_insert_with(|| self.cancel.child_token()).clone()
    }
}

/// A lock that a panic elsewhere cannot poison: what it guards is never left half changed.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

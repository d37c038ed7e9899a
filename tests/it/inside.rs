//! A run in this process, whose tools do what a test says: no sockets, so that time can be paused.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use tokio::{sync::Notify, time::Instant};
use toolbooth::{
    call::{Batch, Finish, Mode, ToolCall},
    content::{Progress, ToolOutput},
    json::{Json, ParseLimits},
    ledgers::MemoryLedger,
    pipeline::Scope,
    ports::{Execution, Executor, ExecutorError, Hook, ProgressSender, SystemClock},
    refusal::{Code, Reason},
    result::CallResult,
    run::{BatchOutcome, BytesInFlight, Capacity, Feed, Keep, Limits, Observer, RecordRoom, Run, RunOptions},
    tools::{LoadOptions, Profile, load_document},
};

/// What a tool does when it is tried.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// It answers.
    Answer,
    /// It answers after so long.
    AnswerAfter(Duration),
    /// It answers that it failed.
    Refuse,
    /// It answers with nothing that is a result.
    Nonsense,
    /// It was started and is lost.
    Fail,
    /// It cannot be started.
    NotStart,
    /// It needs a host, and there is none.
    MissHost,
    /// It never answers.
    Hang,
    /// It never answers, and says so again and again.
    Talk(Duration),
}

/// One try, as the tool saw it.
#[derive(Debug, Clone)]
pub(crate) struct Try {
    pub(crate) attempt: u32,
    pub(crate) key: String,
    /// Since the run was opened.
    pub(crate) at: Duration,
    pub(crate) deadline: Option<Duration>,
    /// Tries that were still there when this one began.
    pub(crate) beside: usize,
}

/// What a tool does at a try.
pub(crate) type Script = fn(tool: &str, attempt: u32) -> Does;

/// Plays the script, and keeps what it saw.
pub(crate) struct Player {
    script: Script,
    opened: Instant,
    tries: Mutex<Vec<Try>>,
    running: Arc<AtomicUsize>,
    /// Something began or ended.
    news: Notify,
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").finish_non_exhaustive()
    }
}

/// Counts a try for as long as it is there.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Executor for Player {
    async fn execute(&self, execution: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError> {
        let beside = self.running.fetch_add(1, Ordering::Relaxed);
        let _running = Running(Arc::clone(&self.running));
        self.tries.lock().unwrap().push(Try {
            attempt: execution.attempt,
            key: execution.idempotency_key().into_owned(),
            at: self.opened.elapsed(),
            deadline: execution.deadline,
            beside,
        });
        self.news.notify_waiters();
        match (self.script)(&execution.tool.name, execution.attempt) {
            Does::Answer => Ok(ToolOutput::text("done")),
            Does::AnswerAfter(time) => {
                tokio::time::sleep(time).await;
                Ok(ToolOutput::text("done"))
            }
            Does::Refuse => Ok(ToolOutput::error("no")),
            Does::Nonsense => Err(ExecutorError::InvalidResult("not a result".into())),
            Does::Fail => Err(ExecutorError::Failed("it broke".into())),
            Does::NotStart => Err(ExecutorError::NotStarted("it is not there".into())),
            Does::MissHost => Err(ExecutorError::NoHost),
            Does::Hang => std::future::pending().await,
            Does::Talk(every) => loop {
                tokio::time::sleep(every).await;
                progress.send(Progress { progress: 1.0, total: 0.0, message: "still here".into() });
            },
        }
    }
}

impl Player {
    pub(crate) fn new(script: Script) -> Arc<Self> {
        let (tries, running, news) = (Mutex::default(), Arc::default(), Notify::new());
        Arc::new(Self { script, opened: Instant::now(), tries, running, news })
    }

    /// All tries so far.
    pub(crate) fn tries(&self) -> Vec<Try> {
        self.tries.lock().unwrap().clone()
    }

    /// Tries that are there now.
    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns when there were so many tries.
    pub(crate) async fn tried(&self, count: usize) {
        loop {
            let news = self.news.notified();
            if self.tries.lock().unwrap().len() >= count {
                return;
            }
            news.await;
        }
    }
}

/// Keeps what it hears.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) started: AtomicUsize,
    pub(crate) finished: Mutex<Vec<u32>>,
}

impl Observer for Heard {
    fn started(&self, _: u32, _: &Arc<str>, _: &Arc<str>) {
        self.started.fetch_add(1, Ordering::Relaxed);
    }
    fn progress(&self, _: u32, _: Progress) {}
    fn finished(&self, result: &Arc<CallResult>) {
        self.finished.lock().unwrap().push(result.call.index);
    }
}

/// A run over these contracts (JSON).
pub(crate) fn options(contracts: &str, executor: Arc<dyn Executor>) -> RunOptions {
    let loaded = load_document(contracts.as_bytes(), &LoadOptions::default());
    assert!(loaded.reports.iter().all(|report| report.notes.is_empty()), "{:?}", loaded.reports);
    RunOptions {
        id: "r".into(),
        task: "t".into(),
        scope: Scope {
            catalog: loaded.catalog,
            executor,
            hooks: Vec::<Arc<dyn Hook>>::new(),
            context: Arc::new(Json::empty_object()),
            parse_limits: ParseLimits::default(),
            profile: Profile::Strict,
        },
        limits: Limits::default(),
        mode: Mode::Parallel,
        capacity: Capacity::default(),
        keep: Keep::default(),
        record_room: RecordRoom::default(),
        bytes_in_flight: BytesInFlight::default(),
        ledger: Arc::new(MemoryLedger::default()),
        clock: Arc::new(SystemClock),
    }
}

/// A run over these contracts whose tools play the script.
pub(crate) fn run(contracts: &str, script: Script) -> (Arc<Run>, Arc<Player>) {
    let player = Player::new(script);
    (Run::open(options(contracts, Arc::<Player>::clone(&player))), player)
}

/// A batch of calls, each a tool and its arguments. Each call has an id of its own.
pub(crate) fn feed(id: &str, calls: &[(&str, &str)]) -> Feed {
    let call = |(index, (name, arguments)): (u32, &(&str, &str))| ToolCall {
        index,
        id: format!("c{index}").into(),
        name: (*name).into(),
        arguments: (*arguments).to_owned().into(),
        idempotency_key: None,
    };
    let calls = (0..).zip(calls).map(call).collect();
    Batch { id: id.into(), calls, finish: Finish::Complete, mode: None }.into()
}

/// Plays a batch to its end.
pub(crate) async fn play(run: &Arc<Run>, id: &str, calls: &[(&str, &str)]) -> Arc<BatchOutcome> {
    run.batch(feed(id, calls), Arc::new(Heard::default())).await
}

/// The code and the reason of each result.
pub(crate) fn refusals(outcome: &Arc<BatchOutcome>) -> Vec<Option<(Code, Option<Reason>)>> {
    outcome.results.iter().map(|result| result.error.as_ref().map(|error| (error.code, error.reason))).collect()
}

//! A booth within the command: no server, no host, and nothing outlives the process.

use std::{path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};

use toolbooth::{
    booth::{Booth, Runs},
    executors::Executors,
    ledgers::MemoryLedger,
    ports::SystemClock,
    result::CallResult,
    run::{BytesInFlight, Feed, RecordRoom, Run, Unobserved, Verdict},
    tools::{Author, Catalog, ContractReport, ExecutorSpec, LoadOptions, Loaded, Severity, load_paths},
};

use crate::config::{self, ProfileName, Settings};

/// Which tools there are, and what holds where their contracts say nothing.
#[derive(Debug, Args)]
pub(super) struct Tools {
    /// Contract files, and folders of them
    #[arg(long = "tools", value_name = "PATH", num_args = 1..)]
    paths: Vec<PathBuf>,
    /// What may be done to arguments, for contracts that name no profile
    #[arg(long, value_enum, default_value_t)]
    profile: ProfileName,
    /// What runs tools whose contracts do not say
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    execute: ExecuteName,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum ExecuteName {
    /// The agent's own function: there is none here, so that such a call is an error
    #[default]
    Host,
    /// Hands the arguments back
    Echo,
    /// Keeps the arguments as a submission that is accepted once
    Submit,
}

impl Tools {
    /// Reads the contracts and builds a booth of them. What is wrong with a contract is logged, and the others serve.
    pub(super) fn booth(self) -> anyhow::Result<Booth> {
        let load = LoadOptions {
            profile: self.profile.into(),
            execute: match self.execute {
                ExecuteName::Host => ExecutorSpec::Host,
                ExecuteName::Echo => ExecutorSpec::Echo,
                ExecuteName::Submit => ExecutorSpec::Submit,
            },
            // Whoever writes the lines of `pipe` runs it, too.
            author: Author::Operator,
            ..LoadOptions::default()
        };
        let Loaded { catalog, reports } = load_paths(&self.paths, &load)?;
        reports.iter().for_each(log_report);
        booth(&Settings::default(), catalog, load)
    }
}

/// A booth of these tools. Contracts that are added to it are read as `load` says.
pub(super) fn booth(settings: &Settings, catalog: Catalog, load: LoadOptions) -> anyhow::Result<Booth> {
    let executors = Executors::new(config::environment());
    executors.provide(catalog.served())?;
    Ok(Booth {
        catalog,
        executors,
        ledger: Arc::new(MemoryLedger::default()),
        clock: Arc::new(SystemClock),
        limits: settings.limits.clone(),
        capacity: settings.capacity,
        bytes_in_flight: BytesInFlight::default(),
        parse_limits: settings.arguments.clone(),
        load,
        runs: Runs::default(),
        record_room: RecordRoom::of(settings.max_recorded_bytes),
        max_grace: settings.max_grace,
    })
}

/// Runs a batch to its end, with nobody watching.
pub(super) async fn run_batch(run: &Arc<Run>, batch: impl Into<Feed>) -> (Vec<Arc<CallResult>>, Verdict) {
    let outcome = run.batch(batch.into(), Arc::new(Unobserved)).await;
    for warning in &outcome.warnings {
        tracing::warn!(code = warning.code, "{}", warning.message);
    }
    (outcome.results.clone(), outcome.verdict.clone())
}

/// Logs what is remarked on a contract: file and line first.
pub(super) fn log_report(report: &ContractReport) {
    for note in &report.notes {
        let place = note.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let (tool, code, message) = (&*report.name, note.code, &note.message);
        match note.severity {
            Severity::Error => tracing::error!(tool, code, "{place}{message}"),
            Severity::Warning => tracing::warn!(tool, code, "{place}{message}"),
            Severity::Info => tracing::info!(tool, code, "{place}{message}"),
        }
    }
}

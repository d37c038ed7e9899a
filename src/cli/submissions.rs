//! `toolbooth submissions`: what was accepted, for people and for scripts (rule S5).

mod shown;
mod source;

use std::{io::Write, process::ExitCode};

use anyhow::{Result, bail};
use clap::Args;

use self::source::{Asked, Source};
use super::ledger::StateFlags;
use crate::config::{DEFAULT_TCP, Store};

/// Show what was accepted: of a running booth, or out of a ledger that no booth has open.
///
/// It is read a page at a time, in the order of acceptance, whatever the size of the ledger.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolbooth submissions --task issue-17
  toolbooth submissions --to unix:///run/toolbooth/booth.sock --jsonl --follow
  toolbooth submissions --state /var/lib/toolbooth --jsonl > accepted.jsonl

Each line of --jsonl is an object: sequence, task, tool, key, run, call_id, accepted_at, accepted_at_ms, arguments, and
raw_arguments, the model's own text (raw_arguments_base64 where it is not Unicode).")]
pub(super) struct Submissions {
    /// A running booth: `unix:///path/to/socket` or `host:port` [default: 127.0.0.1:7155, if no ledger is named]
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["state", "postgres"])]
    to: Option<String>,
    #[command(flatten)]
    state: StateFlags,
    /// Only those of this task; of runs without a task key the run id
    #[arg(long, value_name = "KEY")]
    task: Option<String>,
    /// Only those of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only those under this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Only those after this sequence number
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Print JSON lines
    #[arg(long)]
    jsonl: bool,
    /// Go on with each as it is accepted
    #[arg(long)]
    follow: bool,
}

impl Submissions {
    /// Shows them.
    pub(super) async fn run(self, out: &mut dyn Write) -> Result<ExitCode> {
        let asked = Asked { task: self.task, tool: self.tool, key: self.key, after: self.after };
        let mut source = match (self.to, self.state.state()?) {
            (Some(address), _) => Source::booth(&address, asked, self.follow).await?,
            (None, state) if state.store == Store::Memory => {
                Source::booth(&DEFAULT_TCP.to_string(), asked, self.follow).await?
            }
            (None, state) if self.follow && matches!(state.store, Store::Folder(_)) => {
                bail!("nothing is accepted into a ledger that no booth has open: follow a running booth, with `--to`")
            }
            (None, state) => Source::ledger(state.existing_ledger().await?, asked, self.follow),
        };
        while let Some(page) = source.next().await? {
            for submission in page {
                let shown = if self.jsonl { submission.line()? } else { submission.block() };
                writeln!(out, "{shown}")?;
            }
            out.flush()?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

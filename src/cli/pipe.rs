//! `toolbooth pipe`: the booth as a Unix filter, JSON lines in and JSON lines out.

mod ask;
mod lines;
mod session;

use std::{io::Write, process::ExitCode};

use clap::Args;
use tokio::io::BufReader;

use toolbooth::{booth::Booth, json::Json};

use super::{code, in_process::Tools, ledger::StateFlags};
use lines::Lines;
use session::Session;

/// What the lines say.
const HELP: &str = "\
Each line of the input is one of these; a key that is not listed is an error:
  {\"open\": {run_id, task_key, context, limits, mode}}
      starts a new run and prints nothing; without it, a run is started by the first batch
      limits: max_turns, max_calls, max_calls_per_batch, max_consecutive_invalid, max_wall (\"10m\"), reserve_delivery
  {\"batch\": {id, finish_reason, mode, calls: [{id, name, arguments, idempotency_key}]}}
      prints {\"batch\": {id, results, verdict}}; arguments is the model's text as a string, or an object;
      text that is not Unicode goes into arguments_base64
  {\"register\": {a contract, or several as tools}}
      prints {\"registered\": {name, status, dialect, notes}} for each; it serves from then on
A line that is not understood prints {\"error\": {line, message}}, and the next one is read.

Example:
  echo '{\"batch\": {\"calls\": [{\"name\": \"add\", \"arguments\": \"{\\\"a\\\": 1}\"}]}}' |
    toolbooth pipe --tools contracts/ --execute echo

The exit code is 1 if a line was not understood.";

/// Read batches of calls as JSON lines, and answer each with its results and the verdict.
///
/// It is the same pipeline as behind `serve`, as a Unix filter: answers come in the order of the lines, and each is flushed.
/// Without --state and --postgres nothing outlives the process.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct Pipe {
    #[command(flatten)]
    tools: Tools,
    #[command(flatten)]
    state: StateFlags,
}

impl Pipe {
    pub(super) async fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let ledger = self.state.state()?.ledger().await?;
        let mut session = Session::new(Booth { ledger, ..self.tools.booth()? });
        let mut lines = Lines::of(BufReader::new(tokio::io::stdin()));
        let mut misunderstood = false;
        while let Some((number, line)) = lines.next().await? {
            let answers = match line {
                Ok(line) => session.answer(&line).await,
                Err(too_long) => Err(too_long.to_string()),
            };
            misunderstood |= answers.is_err();
            for answer in answers.unwrap_or_else(|message| vec![error(number, &message)]) {
                writeln!(out, "{}", answer.to_text())?;
                out.flush()?;
            }
        }
        Ok(code(misunderstood))
    }
}

fn error(line: u32, message: &str) -> Json {
    let error = Json::object([("line", Json::from(line)), ("message", Json::from(message))]);
    Json::object([("error", error)])
}

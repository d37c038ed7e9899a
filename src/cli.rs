//! The commands: each has a file with its arguments and what it does. A new one is a file, a variant of [`Command`], and an arm
//! of [`Cli::run`].

mod call;
mod check;
mod demo;
mod in_process;
mod interrupt;
mod ledger;
mod pipe;
mod probe;
mod remote;
mod schema;
mod serve;
mod shown;
mod submissions;

use std::{io::Write, process::ExitCode};

use clap::{Args, Parser, Subcommand};

use crate::config::{self, Level, Log, LogFormat};

/// Something was found: an error in a contract, an error as a result, a line that was not understood.
const FOUND: u8 = 1;
/// The command could not do its work, or was not understood.
pub(crate) const CANNOT_START: u8 = 2;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  done, and errors were found: in a contract, in a line, or as the result
  2  not done: the command line was not understood, or a file is missing";

/// The booth that every tool call of an agent must pass.
///
/// It validates what a model sends against the contract of the tool, runs the tool, answers with a result that the model can
/// read and act on, and gives a verdict after each batch: go on, or stop.
#[derive(Debug, Parser)]
#[command(name = "toolbooth", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    log: LogFlags,
    #[command(subcommand)]
    command: Command,
}

/// What is logged, and how.
#[derive(Debug, Args)]
struct LogFlags {
    /// How log lines are written.
    #[arg(
        help = "How log lines are written [default: text] [env: TOOLBOOTH_LOG_FORMAT]",
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        help_heading = "Logging, to standard error"
    )]
    log_format: Option<LogFormat>,
    /// How much is logged.
    #[arg(
        help = "How much is logged [default: warn; for serve: info] [env: TOOLBOOTH_LOG, which also takes filters]",
        long,
        global = true,
        value_enum,
        value_name = "LEVEL",
        hide_possible_values = true
    )]
    #[arg(help_heading = "Logging, to standard error")]
    log_level: Option<Level>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    Check(check::Check),
    Call(call::Call),
    Pipe(pipe::Pipe),
    Probe(probe::Probe),
    Schema(schema::Schema),
    Submissions(submissions::Submissions),
}

impl Cli {
    /// What is said of logging: by flags, by the environment, by the settings of `serve`, in this order.
    pub(crate) fn log(&self) -> anyhow::Result<Log> {
        let flags = Log { format: self.log.log_format, filter: self.log.log_level.map(Level::filter) };
        let settings = if let Command::Serve(serve) = &self.command { serve.settings()?.log } else { Log::default() };
        Ok(flags.or(config::log_of_environment()).or(settings))
    }

    /// How much the command logs if nobody says.
    pub(crate) fn default_level(&self) -> Level {
        match self.command {
            Command::Serve(_) => Level::Info,
            Command::Demo(_)
            | Command::Check(_)
            | Command::Call(_)
            | Command::Pipe(_)
            | Command::Probe(_)
            | Command::Schema(_)
            | Command::Submissions(_) => Level::Warn,
        }
    }

    /// Does what was asked for. `out` is standard output.
    pub(crate) async fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        match self.command {
            // Signals end it gracefully, by itself.
            Command::Serve(serve) => serve.run(out).await,
            Command::Demo(demo) => interrupt::or_interrupted(demo.run(out)).await,
            Command::Probe(probe) => interrupt::or_interrupted(probe.run(out)).await,
            Command::Check(check) => check.run(out),
            Command::Call(call) => interrupt::or_interrupted(call.run(out)).await,
            Command::Pipe(pipe) => interrupt::or_interrupted(pipe.run(out)).await,
            Command::Schema(schema) => schema.run(out),
            Command::Submissions(submissions) => interrupt::or_interrupted(submissions.run(out)).await,
        }
    }
}

/// The exit code of a command that did its work.
fn code(found_errors: bool) -> ExitCode {
    if found_errors { ExitCode::from(FOUND) } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_has_no_contradictions() {
        super::Cli::command().debug_assert();
    }
}

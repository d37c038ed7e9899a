//! `toolbooth check`: proves contracts and settings before anybody depends on them.

mod findings;
mod human;
mod machine;

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};

use super::code;
use findings::Findings;

/// Compile contracts and settings, and say what is wrong with them: file, line, and what to do.
///
/// A folder stands for the files in it. A settings file also stands for the tools that it names. Nothing is run.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolbooth check contracts/
  toolbooth check booth.yaml --format json

The exit code is 1 if there are errors; warnings do not count.")]
pub(super) struct Check {
    /// Contract files, settings files, and folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// For people, or one JSON document for programs
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum OutputFormat {
    #[default]
    Human,
    Json,
}

impl Check {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let findings = Findings::of(&self.paths);
        match self.format {
            OutputFormat::Human => human::print(&findings, out)?,
            OutputFormat::Json => writeln!(out, "{}", machine::document(&findings).to_pretty_text())?,
        }
        Ok(code(findings.totals().errors > 0))
    }
}

//! `toolbooth check`: proves contracts and settings before anybody depends on them.

mod findings;
mod human;
mod machine;

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Args, ValueEnum};

use super::code;
use crate::config::ProfileName;
use findings::Findings;

/// Compile contracts and settings, and say what is wrong with them: file, line, and what to do.
///
/// A folder stands for the files in it. A settings file also stands for the tools that it names. Nothing is run.
///
/// Contracts that serve are linted, too: for what models trip over, what providers refuse, and what is not checked as was meant.
/// `docs/lints.md` tells every lint, and what to do about it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Check {
    /// Contract files, settings files, and folders of them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// What may be done to arguments, for contracts that name no profile [default: what the settings say, or safe]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// For people, or one JSON document for programs
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// Let warnings count as errors for the exit code
    #[arg(long)]
    deny_warnings: bool,
}

const EXAMPLES: &str = "\
Examples:
  toolbooth check contracts/
  toolbooth check booth.yaml --format json --deny-warnings

A finding for people has its line, how bad it is, a code, the places in the parameters, and what to do:
  tools/search.yaml:7: warning[array_without_items] /properties/tags: OpenAI and Gemini refuse every request with ...
  tools/search.yaml:5: note[no_property_description] /properties/q, /properties/n and 3 more: the model knows no ...

For programs: errors and warnings of loading under `notes`, lints under `lints`, one entry a place:
  {\"files\": [{\"file\": \"tools/search.yaml\", \"kind\": \"contracts\", \"notes\": [], \"contracts\": [{\"name\": \"search\",
    \"status\": \"accepted\", \"line\": 1, \"executor\": \"host\", \"dialect\": \"2020-12\", \"notes\": [], \"lints\": [{\"severity\":
    \"warning\", \"code\": \"array_without_items\", \"file\": \"tools/search.yaml\", \"line\": 7, \"path\": \"/properties/tags\",
    \"message\": \"OpenAI and Gemini ...\"}]}]}], \"summary\": {\"tools\": 1, ..., \"errors\": 0, \"warnings\": 1, \"infos\": 0}}

The exit code is 1 if there are errors; warnings count with --deny-warnings only, and notes never.";

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum OutputFormat {
    #[default]
    Human,
    Json,
}

impl Check {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let findings = Findings::of(&self.paths, self.profile);
        match self.format {
            OutputFormat::Human => human::print(&findings, out)?,
            OutputFormat::Json => writeln!(out, "{}", machine::document(&findings).to_pretty_text())?,
        }
        let totals = findings.totals();
        Ok(code(totals.errors > 0 || self.deny_warnings && totals.warnings > 0))
    }
}

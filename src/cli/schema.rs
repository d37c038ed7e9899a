//! `toolbooth schema`: the formats, for editors.

use std::{io::Write, process::ExitCode};

use clap::{Args, ValueEnum};

use toolbooth::tools::contract_schema;

use crate::config::settings_schema;

/// Print the JSON Schema of contracts or of the settings of `serve`.
///
/// With it, an editor completes the keys of a file and marks what is wrong while it is written.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  toolbooth schema > contract.schema.json
  then, as the first line of a contract:
  # yaml-language-server: $schema=contract.schema.json")]
pub(super) struct Schema {
    /// What the schema is of
    #[arg(value_enum, default_value_t)]
    of: Of,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Of {
    /// Files with one tool, or with several as `tools`
    #[default]
    Contract,
    /// The settings file of `serve`
    Config,
}

impl Schema {
    pub(super) fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let text = match self.of {
            Of::Contract => contract_schema().to_pretty_text(),
            Of::Config => settings_schema().to_pretty_text(),
        };
        writeln!(out, "{text}")?;
        Ok(ExitCode::SUCCESS)
    }
}

//! `toolbooth call`: one call, for trying a contract.

use std::{
    io::{Read as _, Write},
    process::ExitCode,
};

use anyhow::Context as _;
use bytes::Bytes;
use clap::{ArgGroup, Args};

use toolbooth::{
    booth::OpenRun,
    call::{Batch, Finish, ToolCall},
};

use super::{code, in_process, in_process::Tools, remote, shown, shown::Shown};

/// Make one call, and print the text that the model would read.
///
/// The call takes the way of every call: the arguments are validated, the tool is run, and what comes out is its result or an
/// error that says what to correct.
#[derive(Debug, Args)]
#[command(
    // Where the call goes has to be said.
    group(ArgGroup::new("where").required(true).args(["paths", "to"])),
    after_help = "\
Examples:
  toolbooth call add --args '{\"a\": 1, \"b\": 2}' --tools contracts/
  toolbooth call add --args - --tools contracts/ --execute echo --json < arguments.json
  toolbooth call word_count --args '{\"text\": \"x\"}' --to 127.0.0.1:7155

The exit code is 1 if the result is an error."
)]
pub(super) struct Call {
    /// The name of the tool, exactly
    tool: String,
    /// The arguments, as a model would write them; `-` reads standard input, `@FILE` a file
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Print the whole result as JSON, as `pipe` does
    #[arg(long)]
    json: bool,
    /// A running booth instead: `unix:///path/to/socket` or `host:port`
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,
    #[command(flatten)]
    tools: Tools,
}

impl Call {
    pub(super) async fn run(self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        let arguments = arguments(self.args)?;
        let shown = match &self.to {
            Some(address) => remote::shown(&remote::call(address, self.tool, arguments).await?)?,
            None => in_this_process(self.tools, self.tool, arguments).await?,
        };
        let is_error = shown.is_error;
        let text = if self.json { shown.json().to_text() } else { shown.text };
        writeln!(out, "{text}")?;
        Ok(code(is_error))
    }
}

async fn in_this_process(tools: Tools, tool: String, arguments: Bytes) -> anyhow::Result<Shown> {
    let opened = tools.booth()?.open(OpenRun::default())?;
    let call = ToolCall { index: 0, id: "call".into(), name: tool.into(), arguments, idempotency_key: None };
    let batch = Batch { id: "call".into(), calls: vec![call], finish: Finish::Complete, mode: None };
    let (results, _) = in_process::run_batch(opened.lease.run(), batch).await;
    let result = results.first().context("the batch of one call has no result")?;
    Ok(shown::result(result))
}

fn arguments(said: String) -> anyhow::Result<Bytes> {
    if said == "-" {
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text).context("standard input cannot be read")?;
        return Ok(text.into());
    }
    match said.strip_prefix('@') {
        Some(file) => Ok(std::fs::read(file).with_context(|| format!("{file} cannot be read"))?.into()),
        None => Ok(said.into()),
    }
}

//! What is called, and with what: the same in every measurement.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use toolbooth::{
    grpc::proto::{Batch, ToolCall},
    tools::{Entry, LoadOptions, load_paths},
};

const CONTRACT: &str = include_str!("../case/report_bug.yaml");
const UNION: &str = include_str!("../case/draw.yaml");
const ARGUMENTS: &str = include_str!("../case/arguments.json");
/// What the goals were set with.
const ARGUMENT_BYTES: usize = 391;

/// What a contract calls its tool, and where those of one catalogue differ.
const NAME: &str = "report_bug";
const MAX_LENGTH: u32 = 4000;

/// Executors, as the contract names them.
pub(crate) const ECHO: &str = "{echo: {}}";
pub(crate) const HOST: &str = "{host: {}}";

/// The name of a tool.
pub(crate) fn tool(number: u32) -> String {
    format!("t{number}")
}

/// No two tools share a schema, as those of a real catalogue do not.
fn distinct(schema: &str, number: u32) -> String {
    schema.replace(&MAX_LENGTH.to_string(), &(MAX_LENGTH + number).to_string())
}

/// Writes a folder of contracts, one file for each tool.
pub(crate) fn write_folder(folder: &Path, count: u32, executor: &str) -> Result<()> {
    for number in 0..count {
        let contract = distinct(CONTRACT, number).replace(NAME, &tool(number)).replace(ECHO, executor);
        fs::write(folder.join(format!("{}.yaml", tool(number))), contract)?;
    }
    Ok(())
}

/// Writes the contract of a tool with a union.
pub(crate) fn write_union(folder: &Path) -> Result<()> {
    Ok(fs::write(folder.join("draw.yaml"), UNION)?)
}

/// Writes one file of tools, in JSON, as a server of the Model Context Protocol lists them.
pub(crate) fn write_listing(file: &Path, count: u32) -> Result<()> {
    let folder = tempfile::tempdir()?;
    write_folder(folder.path(), 1, ECHO)?;
    let loaded = load_paths(&[folder.path().to_owned()], &LoadOptions::default())?;
    let Some(Entry::Served(first)) = loaded.catalog.get(&tool(0)) else { bail!("report_bug.yaml does not serve") };
    let description = first.description.as_deref().context("report_bug.yaml has a description")?;
    let schema = first.input.text();
    let mut listing = String::from(r#"{"defaults":{"execute":{"echo":{}}},"tools":["#);
    for number in 0..count {
        let (comma, name, schema) = (if number > 0 { "," } else { "" }, tool(number), distinct(schema, number));
        write!(listing, r#"{comma}{{"name":"{name}","description":"{description}","inputSchema":{schema}}}"#)?;
    }
    Ok(fs::write(file, listing + "]}")?)
}

/// The arguments, byte for byte.
pub(crate) fn arguments() -> Result<Bytes> {
    let arguments = Bytes::from_static(ARGUMENTS.trim_end().as_bytes());
    ensure!(arguments.len() == ARGUMENT_BYTES, "arguments.json has {} bytes", arguments.len());
    Ok(arguments)
}

/// The arguments with a part of them replaced.
pub(crate) fn arguments_with(part: &str, other: &str) -> Result<Bytes> {
    ensure!(ARGUMENTS.contains(part), "arguments.json has no {part}");
    Ok(ARGUMENTS.trim_end().replace(part, other).into())
}

/// A batch of so many calls, each to the next of so many tools.
pub(crate) fn batch(calls: u32, tools: u32) -> Result<Batch> {
    let arguments = arguments()?;
    let call = |number: u32| ToolCall {
        id: format!("c{number}"),
        name: tool(number % tools),
        arguments: arguments.clone(),
        idempotency_key: String::new(),
    };
    Ok(Batch { calls: (0..calls).map(call).collect(), ..Batch::default() })
}

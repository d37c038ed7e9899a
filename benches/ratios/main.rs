//! End-to-end ratios: the booth against a bare echo and against its peers, in turns on one machine, with the goals beside.
//!
//! `cargo bench --bench ratios` measures everything; `cargo bench --bench ratios -- memory flight` only what is named. Raw
//! figures come first, one line for each quantity: the median, and then every round. The table is last.
#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

mod arguments;
mod case;
mod cores;
mod catalogue;
mod echo;
mod figures;
mod flight;
mod hostile;
mod hosts;
mod ledger;
mod load;
mod memory;
mod server;
mod transport;

use std::{env, path::Path};

use anyhow::{Context as _, Result, bail};

use figures::{Row, table};

/// What can be measured, in the order of the table.
const SECTIONS: [&str; 8] = ["transport", "arguments", "hostile", "hosts", "memory", "catalogue", "flight", "ledger"];

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if arguments.first().is_some_and(|first| first == server::ECHO) {
        let socket = arguments.get(1).context("the echo wants a socket")?;
        return runtime.block_on(echo::serve(Path::new(socket)));
    }
    // Cargo says this when it benches. A test run that comes by must neither wait for figures nor fail for them.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let named: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--bench").collect();
    if let Some(unknown) = named.iter().find(|name| !SECTIONS.contains(name)) {
        bail!("`{unknown}` cannot be measured; name any of: {}", SECTIONS.join(", "));
    }
    let rows = runtime.block_on(measure(|section| named.is_empty() || named.contains(&section)))?;
    println!("\n{}", table(&rows));
    Ok(())
}

async fn measure(is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Row>> {
    let [transport, arguments, hostile, hosts, memory, catalogue, flight, ledger] = SECTIONS;
    let mut rows = Vec::new();
    if is_wanted(transport) {
        rows.extend(transport::rows().await?);
    }
    if is_wanted(arguments) {
        rows.extend(arguments::rows().await?);
    }
    if is_wanted(hostile) {
        rows.extend(hostile::rows()?);
    }
    if is_wanted(hosts) {
        rows.extend(hosts::rows()?);
    }
    if is_wanted(memory) {
        rows.extend(memory::rows().await?);
    }
    if is_wanted(catalogue) {
        rows.extend(catalogue::rows().await?);
    }
    if is_wanted(flight) {
        rows.extend(flight::rows().await?);
    }
    if is_wanted(ledger) {
        rows.extend(ledger::rows().await?);
    }
    Ok(rows)
}

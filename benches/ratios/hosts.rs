//! F6 and F7: hosts in Python and Node, through the booth and through what they could take instead.

use std::{collections::HashMap, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use tempfile::tempdir;

use super::{
    case,
    cores::Held,
    figures::{Goal, ROUNDS, Rounds, Row},
    server::Server,
};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const TOOLS: u32 = 10;

/// Round by round, in microseconds, for each way of a host.
type Ways = HashMap<String, Vec<f64>>;

pub(crate) fn rows() -> Result<Vec<Row>> {
    let root = Path::new(ROOT);
    let (python, node) = (root.join(".tools/bench-python"), root.join(".tools/bench-node"));
    let mut python_host = Command::new(python.join("bin/python"));
    python_host.arg(root.join("benches/hosts/python/host.py")).env("PYTHONPATH", python.join("protos"));
    let mut node_host = Command::new("node");
    node_host.arg(root.join("benches/hosts/node/host.cjs")).env("NODE_PATH", node.join("node_modules"));
    let python = measure("Python", python_host)?;
    let node = measure("Node", node_host)?;
    Ok(vec![
        python.row("F6", "1 call, over MCP (stdio)", ("booth", "mcp"), 0.11)?,
        python.row("F6", "1 call, over FastAPI + aiohttp (Unix socket)", ("booth", "http"), 0.25)?,
        python.row("F6", "8 calls in one message, over 8 messages", ("booth_batch_of_8", "booth_8_messages"), 0.35)?,
        node.row("F7", "1 call, over MCP (stdio)", ("booth", "mcp"), 0.35)?,
    ])
}

/// What a host measured.
struct Host {
    name: &'static str,
    ways: Ways,
}

/// Runs a host against a booth of its own. The host takes its ways in turns by itself.
fn measure(name: &'static str, mut host: Command) -> Result<Host> {
    let tools = tempdir()?;
    // The host, the booth and its peers, all in turns.
    let _held = Held::on_one_core()?;
    case::write_folder(tools.path(), TOOLS, case::ECHO)?;
    let booth = Server::booth(tools.path(), TOOLS)?;
    let root = Path::new(ROOT);
    host.arg(booth.socket()).arg(case::tool(0)).arg(root.join("benches/case/arguments.json"));
    host.arg(ROUNDS.to_string()).arg(root.join("proto"));
    let output =
        host.output().with_context(|| format!("the {name} host cannot be started; `make bench` sets it up"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the {name} host failed; `make bench` sets it up:\n{said}");
    let ways: Ways = serde_json::from_slice(&output.stdout).with_context(|| format!("the {name} host: {said}"))?;
    for (way, rounds) in &ways {
        println!("{name} host, {way}: p50 us: {}", Rounds(rounds.clone()));
    }
    Ok(Host { name, ways })
}

impl Host {
    fn row(&self, number: &'static str, what: &str, (way, other): (&str, &str), most: f64) -> Result<Row> {
        let rounds =
            |way| Ok::<_, anyhow::Error>(Rounds(self.ways.get(way).context("the host took this way")?.clone()));
        let (booth, peer) = (rounds(way)?, rounds(other)?);
        Ok(Row {
            number,
            what: format!("{} host, {what}: p50", self.name),
            booth: format!("{:.0} us", booth.median()),
            baseline: format!("{:.0} us", peer.median()),
            figure: booth.over(&peer).median(),
            unit: "x",
            goal: Some(Goal::AtMost(most)),
        })
    }
}

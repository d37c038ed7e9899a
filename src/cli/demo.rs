//! `toolbooth demo`: the main job on an embedded default. A booth is started, and a host plays two conversations with it over
//! real gRPC; everything that goes over the wire is printed.

mod conversation;
mod transcript;

use std::{fs, io::Write, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use tokio_util::sync::CancellationToken;
use toolbooth::{
    server::{self, Listeners, Serving, SocketAccess, Transport},
    tools::{Author, LoadOptions, load_paths},
};

use self::conversation::{Call, Conversation};
use super::{in_process, remote};
use crate::config::Settings;

/// Watch the booth work: two conversations over real gRPC.
///
/// Starts a booth with three embedded contracts on a Unix socket in a temporary folder, plays an agent's host against it, and
/// prints what went over the wire. Needs nothing and leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolbooth demo")]
pub(super) struct Demo {}

/// The contracts, as they stand in `examples/contracts`.
const CONTRACTS: [(&str, &str); 3] = [
    ("add.yaml", include_str!("../../examples/contracts/add.yaml")),
    ("read_file.yaml", include_str!("../../examples/contracts/read_file.yaml")),
    ("submit_analysis.yaml", include_str!("../../examples/contracts/submit_analysis.yaml")),
];

const NEXT: &str = "\
What to try next:
  toolbooth check examples/contracts             prove contracts, with file, line and remedy
  toolbooth call word_count --tools examples/contracts --args '{\"text\":\"one call, in this process\"}'
  toolbooth pipe --tools examples/contracts      the same pipeline as a Unix filter, JSON lines in and out
  toolbooth serve --tools examples/contracts     the sidecar itself, on a Unix socket and on loopback TCP
  toolbooth schema                               the contract format, for your editor
(from a checkout: `cargo run -- check examples/contracts`, and so on)
";

impl Demo {
    /// Plays.
    pub(super) async fn run(self, out: &mut dyn Write) -> Result<ExitCode> {
        let folder = tempfile::tempdir().context("no temporary folder can be made")?;
        for (name, contract) in CONTRACTS {
            fs::write(folder.path().join(name), contract)?;
        }
        let loaded = load_paths(&[folder.path().to_owned()], &LoadOptions::default())?;
        let load = LoadOptions { author: Author::Host, ..LoadOptions::default() };
        let booth = in_process::booth(&Settings::default(), loaded.catalog, load)?;
        let socket = folder.path().join("booth.sock");
        let unix = server::bind_unix(&socket, SocketAccess::default()).await?;
        let listeners = Listeners { unix: Some(unix), tcp: None };
        let stop = CancellationToken::new();
        let grace = Duration::from_secs(1);
        let serving = Serving { listeners, diagnostics: None, transport: Transport::default(), grace };
        let serving = tokio::spawn(server::serve(Arc::new(booth), serving, stop.clone()));
        writeln!(
            out,
            "A booth listens on {}, with the contracts add, read_file and submit_analysis.",
            socket.display()
        )?;
        writeln!(out, "An agent's host talks to it over gRPC: `>` is what the host says, `<` what the booth says.")?;
        let address = format!("unix://{}", socket.display());
        play(&address, out).await?;
        stop.cancel();
        serving.await??;
        writeln!(out, "\n{NEXT}")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Both conversations, each checked: a demo that shows something else than it says must fail.
async fn play(address: &str, out: &mut dyn Write) -> Result<()> {
    let channel = remote::connect(address).await?;
    writeln!(out, "\n1. A submission: refused, corrected, accepted; and the run may end\n")?;
    let mut run = Conversation::open(channel.clone(), out).await?;
    let wrong = run.batch("b1", &[submission("42")], out).await?;
    ensure!(!wrong.terminate && wrong.accepted.is_empty(), "an invalid submission was accepted");
    let right = run.batch("b2", &[submission(r#""if not rows: return None""#)], out).await?;
    ensure!(right.terminate && right.accepted.len() == 1, "a valid submission was not accepted");
    run.end(out).await?;

    writeln!(
        out,
        "\n2. Two calls of the host's own functions: a string where a number belongs, and an old argument name; both are repaired\n"
    )?;
    let mut run = Conversation::open(channel, out).await?;
    let calls = [
        Call { id: "call_1", name: "add", arguments: r#"{"a": "1", "b": 2}"#.to_owned() },
        Call { id: "call_2", name: "read_file", arguments: r#"{"filePath": "notes.txt"}"#.to_owned() },
    ];
    let repaired = run.batch("b1", &calls, out).await?;
    ensure!(repaired.tool_choice.is_empty(), "a call that could be repaired was refused");
    run.end(out).await
}

fn submission(evidence: &str) -> Call {
    let arguments = format!(
        r#"{{"name": "first", "parameters": ["rows"], "summary": "Returns the first row.", "emptyInputBehavior": "returns None", "evidence": {evidence}}}"#
    );
    Call { id: "call_1", name: "submit_analysis", arguments }
}

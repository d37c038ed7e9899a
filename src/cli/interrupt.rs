//! Ends a command when somebody asks it to: what it has started ends with it.

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

/// Does the work, or ends with the exit code that shells expect of a command that a signal ended.
pub(super) async fn or_interrupted(work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        code = work => code,
        _ = interrupt.recv() => Ok(ExitCode::from(128 + 2)),
        _ = terminate.recv() => Ok(ExitCode::from(128 + 15)),
    }
}

//! `toolbooth probe`: a health check for images that have no shell.

use std::{io::Write, process::ExitCode};

use anyhow::Result;
use clap::Args;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::{code, remote};
use crate::config::DEFAULT_TCP;

/// Ask a running booth whether it serves.
///
/// Exits with 0 if the booth serves, and with 1 if it is draining. A booth that does not answer is exit code 2.
#[derive(Debug, Args)]
#[command(
    after_help = "Example, as the probe of a container:\n  toolbooth probe --to unix:///run/toolbooth/booth.sock"
)]
pub(super) struct Probe {
    /// Where the booth listens: `unix:///path/to/socket` or `host:port`
    #[arg(long, value_name = "ADDRESS", default_value_t = DEFAULT_TCP.to_string())]
    to: String,
    /// One service instead of the whole booth, for example `toolbooth.v1.ToolExecutionService`
    #[arg(long, value_name = "NAME", default_value = "")]
    service: String,
}

impl Probe {
    /// Asks.
    pub(super) async fn run(self, out: &mut dyn Write) -> Result<ExitCode> {
        let mut client = HealthClient::new(remote::connect(&self.to).await?);
        let answer = client.check(HealthCheckRequest { service: self.service }).await?.into_inner();
        let is_serving = answer.status() == ServingStatus::Serving;
        writeln!(out, "{}", if is_serving { "serving" } else { "not serving" })?;
        Ok(code(!is_serving))
    }
}

//! `toolbooth probe`: a health check for images that have no shell.

use std::{io::Write, process::ExitCode};

use anyhow::{Result, bail};
use clap::Args;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use super::{code, remote};
use crate::config::DEFAULT_TCP;

/// Ask a running booth whether it serves.
///
/// Exits with 0 if the booth serves, with 1 if it says that it does not, and with 2 if nobody answers: a booth that is draining
/// takes no new connections.
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
        let request = HealthCheckRequest { service: self.service.clone() };
        let answer = match client.check(request).await {
            Ok(answer) => answer.into_inner(),
            Err(status) if status.code() == Code::NotFound => bail!("the booth has no service `{}`", self.service),
            Err(status) => return Err(status.into()),
        };
        let is_serving = answer.status() == ServingStatus::Serving;
        writeln!(out, "{}", if is_serving { "serving" } else { "not serving" })?;
        Ok(code(!is_serving))
    }
}

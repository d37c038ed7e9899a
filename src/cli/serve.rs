//! `toolbooth serve`: the sidecar.

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use clap::Args;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;
use toolbooth::{
    booth::Booth,
    server::{self, Listeners, Serving},
    tools::{Author, LoadOptions, load_paths},
};
use tracing::{field::display, info, warn};

use super::{
    in_process::{self, log_report},
    ledger::{self, StateFlags},
};
use crate::config::{DEFAULT_TCP, ProfileName, Settings, parse_mode};

/// Serve as the sidecar of an agent, on a Unix socket and on loopback TCP at once.
///
/// Without --socket and --tcp it listens on 127.0.0.1:7155. A contract that is broken is logged with file, line and remedy, and
/// the others serve. SIGTERM and Ctrl-C end it gracefully: no new batch is taken, running ones have the grace to finish.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolbooth serve --tools contracts/
  toolbooth serve --tools contracts/ --socket /run/toolbooth/booth.sock --tcp 127.0.0.1:7155
  toolbooth serve --tools contracts/ --state /var/lib/toolbooth
  toolbooth serve --config booth.yaml")]
pub(super) struct Serve {
    /// Settings file, YAML or JSON; flags go before what it says
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Contract files, and folders of them
    #[arg(long = "tools", value_name = "PATH", num_args = 1..)]
    tools: Vec<PathBuf>,
    /// What may be done to arguments, for contracts that name no profile [default: safe]
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// Unix socket to listen on
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Permissions of the socket's file, in octal [default: 0660]
    #[arg(long, value_name = "MODE", value_parser = parse_mode)]
    socket_mode: Option<u32>,
    /// Group of the socket's file, by its number
    #[arg(long, value_name = "GID")]
    socket_group: Option<u32>,
    /// Loopback address to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    tcp: Option<SocketAddr>,
    /// Address that answers /livez and /readyz over plain HTTP, for a kubelet
    #[arg(long, value_name = "ADDRESS")]
    diagnostics: Option<SocketAddr>,
    /// How long running batches have after the booth was told to end, for example 20s
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    grace: Option<Duration>,
    #[command(flatten)]
    state: StateFlags,
}

impl Serve {
    /// What the settings file and the flags say together.
    pub(super) fn settings(&self) -> Result<Settings> {
        let file = self.config.as_deref().map(Settings::read).transpose();
        let mut settings = match file {
            Ok(settings) => settings.unwrap_or_default(),
            Err(notes) => bail!(super::shown::notes(&notes)),
        };
        if !self.tools.is_empty() {
            settings.tools.clone_from(&self.tools);
        }
        if self.socket.is_some() || self.tcp.is_some() {
            settings.socket.clone_from(&self.socket);
            settings.tcp = self.tcp;
        }
        if settings.socket.is_none() && settings.tcp.is_none() {
            settings.tcp = Some(DEFAULT_TCP);
        }
        settings.access.mode = self.socket_mode.unwrap_or(settings.access.mode);
        settings.access.group = self.socket_group.or(settings.access.group);
        settings.diagnostics = self.diagnostics.or(settings.diagnostics);
        settings.profile = self.profile.unwrap_or(settings.profile);
        settings.grace = self.grace.unwrap_or(settings.grace);
        settings.state.store = self.state.store()?.unwrap_or(settings.state.store);
        Ok(settings)
    }

    /// Serves until a signal ends it.
    pub(super) async fn run(self, out: &mut dyn Write) -> Result<ExitCode> {
        let settings = self.settings()?;
        let (stop, (hurry, hurried)) = (CancellationToken::new(), oneshot::channel());
        // Before anybody can see the booth: whoever sees it may end it.
        let watching = tokio::spawn(watch_signals(stop.clone(), hurry)?);
        let load = LoadOptions { profile: settings.profile.into(), ..LoadOptions::default() };
        let loaded = load_paths(&settings.tools, &load)?;
        loaded.reports.iter().for_each(log_report);
        let served = loaded.catalog.served().count();
        let quarantined = loaded.catalog.len() - served;
        let load = LoadOptions { author: Author::Host, ..load };
        let ledger = settings.state.ledger().await?;
        let tidying = tokio::spawn(ledger::tidy(Arc::clone(&ledger), settings.state.retention));
        let booth = Booth { ledger, ..in_process::booth(&settings, loaded.catalog, load)? };
        let serving = bind(&settings, out).await?;
        writeln!(out, "tools: {served} served, {quarantined} quarantined")?;
        let socket = settings.socket.as_ref().map(|path| path.display().to_string());
        let [tcp, diagnostics] = [&serving.listeners.tcp, &serving.diagnostics]
            .map(|listener| listener.as_ref().and_then(|listener| listener.local_addr().ok()).map(display));
        info!(socket, tcp, diagnostics, served, quarantined, "serving");
        if served == 0 {
            warn!("no tool of the booth's own serves; name contracts with --tools, or let hosts add theirs");
        }
        writeln!(out, "stop with Ctrl-C; running batches have {}", humantime::format_duration(settings.grace))?;
        out.flush()?;
        let code = tokio::select! {
            served = server::serve(Arc::new(booth), serving, stop) => {
                served?;
                info!("stopped");
                ExitCode::SUCCESS
            }
            Ok(signal) = hurried => ExitCode::from(128 + signal),
        };
        watching.abort();
        tidying.abort();
        Ok(code)
    }
}

/// The first signal lets running batches finish. The second one, whose number is told, does not.
fn watch_signals(stop: CancellationToken, hurry: oneshot::Sender<u8>) -> Result<impl Future<Output = ()> + Send> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut next = async move || {
        tokio::select! {
            _ = terminate.recv() => {
                info!("SIGTERM");
                15
            }
            _ = interrupt.recv() => {
                info!("SIGINT");
                2
            }
        }
    };
    Ok(async move {
        next().await;
        stop.cancel();
        let _ended_by_itself = hurry.send(next().await);
    })
}

/// Binds the listeners, and says where.
async fn bind(settings: &Settings, out: &mut dyn Write) -> Result<Serving> {
    let (mut listeners, mut diagnostics) = (Listeners::default(), None);
    if let Some(path) = &settings.socket {
        listeners.unix = Some(server::bind_unix(path, settings.access).await?);
        writeln!(out, "listening on unix://{}", path.display())?;
    }
    if let Some(address) = settings.tcp {
        let listener = server::bind_tcp(address).await?;
        writeln!(out, "listening on {}", listener.local_addr()?)?;
        listeners.tcp = Some(listener);
    }
    if let Some(address) = settings.diagnostics {
        let listener = server::bind_diagnostics(address).await?;
        writeln!(out, "diagnostics on http://{}", listener.local_addr()?)?;
        diagnostics = Some(listener);
    }
    Ok(Serving { listeners, diagnostics, transport: settings.transport, grace: settings.grace })
}

//! A booth that runs somewhere else: how the other commands reach it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use tonic::transport::{Channel, Endpoint};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to `unix:///path`, `unix:path`, `host:port` or `http://host:port`.
pub(crate) async fn connect(address: &str) -> Result<Channel> {
    let has_scheme = address.starts_with("unix:") || address.contains("://");
    let uri = if has_scheme { address.to_owned() } else { format!("http://{address}") };
    let endpoint = Endpoint::try_from(uri)
        .with_context(|| format!("`{address}` is no address; write unix:///path/to/socket or 127.0.0.1:7733"))?;
    let connecting = endpoint.connect_timeout(PATIENCE).connect();
    connecting.await.with_context(|| format!("no booth answers on {address}; start one with `toolbooth serve`"))
}

//! The diagnostics port: plain HTTP, for those who watch a booth from outside and speak no gRPC. It tells nothing of any run.
//!
//! `/livez` answers as long as the process does, whatever becomes of tools and ledgers: a restart would mend neither. `/readyz`
//! says whether new runs are taken.

use std::{io, time::Duration};

use axum::{Router, extract::State, http::StatusCode, routing::get, serve::Listener};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{
    Listeners,
    accept::{Acceptor, Admission},
    connection::Connection,
};

/// A kubelet, and a few more. None may stay, whether it says something or not: long enough for a probe is too
/// short to starve others.
const ADMISSION: Admission =
    Admission { to: "diagnostics", most: 16, first_bytes: usize::MAX, within: Duration::from_secs(30) };

/// Serves until the process ends.
pub(super) async fn serve(listener: TcpListener, drain: CancellationToken) -> io::Result<()> {
    let routes = Router::new().route("/livez", get(async || "ok\n")).route("/readyz", get(ready)).with_state(drain);
    let listeners = Listeners { tcp: Some(listener), ..Listeners::default() };
    axum::serve(Acceptor::new(listeners, ADMISSION), routes).await
}

async fn ready(State(drain): State<CancellationToken>) -> (StatusCode, &'static str) {
    if drain.is_cancelled() { (StatusCode::SERVICE_UNAVAILABLE, "draining\n") } else { (StatusCode::OK, "ready\n") }
}

impl Listener for Acceptor {
    type Io = Connection;
    /// Nobody asks where a probe comes from.
    type Addr = ();

    async fn accept(&mut self) -> (Connection, ()) {
        (self.next().await, ())
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}

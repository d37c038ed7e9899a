//! The server: the same services on a Unix socket and on loopback TCP, within the limits of a sidecar, until it is told to stop.

mod accept;
mod authority;
mod connection;
mod diagnostics;
mod listen;

use std::{sync::Arc, time::Duration};

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::{service::Routes, transport};
use tonic_health::{ServingStatus, server::HealthReporter};
use tracing::{info, warn};

use self::accept::{Acceptor, Admission};
use crate::{
    booth::Booth,
    grpc::{self, DESCRIPTORS, MAX_MESSAGE_BYTES, SERVICES, Stopping},
};

pub use listen::{BindError, Listeners, SocketAccess, UnixSocket, bind_diagnostics, bind_tcp, bind_unix};

/// What connections may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// Connections at once, over all listeners; one more is closed at once.
    pub max_connections: usize,
    /// How soon a client must have said the preface of HTTP/2.
    pub first_bytes: Duration,
    /// Streams at once on one connection.
    pub max_streams: u32,
    /// Bytes of all headers of a request together.
    pub max_header_bytes: u32,
    /// Bytes of one message, received or sent.
    pub max_message_bytes: usize,
    /// A connection that is silent for so long is asked whether it lives,
    pub keep_alive: Duration,
    /// and is closed if it does not answer for so long.
    pub keep_alive_timeout: Duration,
}

impl Default for Transport {
    fn default() -> Self {
        Self {
            max_connections: 64,
            first_bytes: Duration::from_secs(5),
            max_streams: 100,
            max_header_bytes: 16 << 10,
            max_message_bytes: MAX_MESSAGE_BYTES,
            keep_alive: Duration::from_secs(30),
            keep_alive_timeout: Duration::from_secs(20),
        }
    }
}

/// How a booth is served.
#[derive(Debug)]
pub struct Serving {
    /// Where hosts connect to.
    pub listeners: Listeners,
    /// Where health is told over plain HTTP.
    pub diagnostics: Option<TcpListener>,
    /// What connections may take.
    pub transport: Transport,
    /// How long running batches have after the booth was told to stop.
    pub grace: Duration,
}

/// Why a booth cannot be served any more.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The gRPC server failed.
    #[error(transparent)]
    Grpc(#[from] transport::Error),
    /// The diagnostics port failed.
    #[error("diagnostics: {0}")]
    Diagnostics(#[from] std::io::Error),
}

/// Serves until `stop` is cancelled: then no new batch is taken, running ones have the grace to finish, and what is left is
/// cancelled.
pub async fn serve(booth: Arc<Booth>, serving: Serving, stop: CancellationToken) -> Result<(), ServeError> {
    let Serving { listeners, diagnostics, transport, grace } = serving;
    let stopping = Stopping { drain: stop.clone(), cancel: CancellationToken::new(), grace };
    let (health, health_service) = tonic_health::server::health_reporter();
    report(&health, ServingStatus::Serving).await;
    let routes = grpc::routes(&booth, &stopping, transport.max_message_bytes).add_service(health_service);
    let connections = Acceptor::new(listeners, transport.admission()).connections();
    let end = CancellationToken::new();
    let server = transport
        .server()
        .add_routes(with_reflection(routes))
        .serve_with_incoming_shutdown(connections, end.clone().cancelled_owned());
    // Boxed: the server is by far the largest future of the booth.
    let server = Box::pin(async {
        server.await?;
        // Of runs whose hosts are lost, no connection is left.
        booth.runs.none().await;
        Ok::<(), transport::Error>(())
    });
    let diagnostics = async {
        match diagnostics {
            Some(listener) => diagnostics::serve(listener, stop.clone()).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        ended = server => Ok(ended?),
        ended = diagnostics => Ok(ended?),
        () = drain(&booth, &stopping, &health, &end) => Ok(()),
    }
}

/// Time for answers to go out after everything was cancelled.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Returns when whoever is still there is not waited for any more.
async fn drain(booth: &Booth, stopping: &Stopping, health: &HealthReporter, end: &CancellationToken) {
    stopping.drain.cancelled().await;
    info!(grace = %humantime::format_duration(stopping.grace), "draining");
    report(health, ServingStatus::NotServing).await;
    end.cancel();
    let grace = tokio::time::sleep(stopping.grace);
    tokio::pin!(grace);
    tokio::select! {
        () = &mut grace => {}
        () = booth.runs.none() => {
            // Whoever watches the health of the booth knows by now, and must not hold it up.
            forget(health).await;
            grace.await;
        }
    }
    warn!("the grace is over; what still runs is cancelled");
    stopping.cancel.cancel();
    booth.runs.cancel_waiting();
    // Cancelled calls answer at once; whoever does not read his answer is not waited for.
    tokio::time::sleep(LAST_WORDS).await;
}

/// Tells every health check, the whole booth's (the empty name) included.
async fn report(health: &HealthReporter, status: ServingStatus) {
    for service in SERVICES.into_iter().chain([""]) {
        health.set_service_status(service, status).await;
    }
}

/// Ends the streams of those who watch.
async fn forget(health: &HealthReporter) {
    for service in SERVICES.into_iter().chain([""]) {
        health.clone().clear_service_status(service).await;
    }
}

/// Bytes that every client says by itself: the preface of HTTP/2.
const PREFACE_BYTES: usize = 24;

impl Transport {
    fn admission(&self) -> Admission {
        let Self { max_connections, first_bytes, .. } = *self;
        Admission { to: "grpc", most: max_connections, first_bytes: PREFACE_BYTES, within: first_bytes }
    }

    fn server(&self) -> transport::Server {
        transport::Server::builder()
            .http2_keepalive_interval(Some(self.keep_alive))
            .http2_keepalive_timeout(Some(self.keep_alive_timeout))
            .http2_max_header_list_size(self.max_header_bytes)
            .max_concurrent_streams(self.max_streams)
    }
}

fn with_reflection(routes: Routes) -> Routes {
    let builder = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let routes = match builder().build_v1() {
        Ok(reflection) => routes.add_service(reflection),
        Err(_) => routes,
    };
    match builder().build_v1alpha() {
        Ok(reflection) => routes.add_service(reflection),
        Err(_) => routes,
    }
}

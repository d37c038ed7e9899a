//! Listeners: a Unix socket and loopback TCP, both with the same services, until the booth is told to stop.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tokio_util::sync::CancellationToken;
use tonic::{service::Routes, transport::Server};
use tonic_health::{ServingStatus, server::HealthReporter};
use tracing::{info, warn};

use crate::{
    booth::Booth,
    grpc::{self, DESCRIPTORS, SERVICES, Stopping},
};

/// Where hosts connect to. The caller binds them, so that a test can take a free port.
#[derive(Debug, Default)]
pub struct Listeners {
    /// A Unix socket.
    pub unix: Option<UnixListener>,
    /// A TCP port.
    pub tcp: Option<TcpListener>,
}

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has the socket, or seems to.
    #[error("{}: another process has this socket; stop it, or take another path", .0.display())]
    SocketInUse(PathBuf),
    /// Something that is no socket has the path.
    #[error("{}: this is not a socket; take another path, or remove it", .0.display())]
    NotASocket(PathBuf),
    /// The system says no.
    #[error("{place}: {reason}; take another path or address")]
    Io {
        /// The path or the address.
        place: String,
        /// What the system said.
        reason: io::Error,
    },
    /// The address can be reached from outside.
    #[error(
        "{0}: this booth has neither TLS nor tokens, so it listens on loopback only; use 127.0.0.1 or a Unix socket"
    )]
    NotLoopback(SocketAddr),
}

/// Binds a Unix socket. A stale one, on which nobody answers, is replaced.
pub async fn bind_unix(path: &Path) -> Result<UnixListener, BindError> {
    let failed = |reason| BindError::Io { place: path.display().to_string(), reason };
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => return Err(BindError::NotASocket(path.to_owned())),
        Ok(_) => match UnixStream::connect(path).await {
            // Nobody listens any more; any other trouble may come from a booth that lives.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed)?,
            Ok(_) | Err(_) => return Err(BindError::SocketInUse(path.to_owned())),
        },
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    // The agent beside the booth runs as another user of the same group.
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed)?;
    Ok(listener)
}

/// Binds a TCP port on loopback; port 0 takes a free one.
pub async fn bind_tcp(address: SocketAddr) -> Result<TcpListener, BindError> {
    if !address.ip().is_loopback() {
        return Err(BindError::NotLoopback(address));
    }
    TcpListener::bind(address).await.map_err(|reason| BindError::Io { place: address.to_string(), reason })
}

/// Serves until `stop` is cancelled: then no new batch is taken, running ones have the grace to finish, and what is left is
/// cancelled.
pub async fn serve(
    booth: Arc<Booth>,
    listeners: Listeners,
    stop: CancellationToken,
    grace: Duration,
) -> Result<(), tonic::transport::Error> {
    let stopping = Stopping { drain: stop.clone(), cancel: CancellationToken::new(), grace };
    let (health, health_service) = tonic_health::server::health_reporter();
    report(&health, ServingStatus::Serving).await;
    let routes = grpc::routes(&booth, &stopping).add_service(health_service);
    let routes = with_reflection(routes);
    let end = CancellationToken::new();
    let unix = listeners.unix.map(|listener| {
        let connections = UnixListenerStream::new(listener);
        builder().add_routes(routes.clone()).serve_with_incoming_shutdown(connections, end.clone().cancelled_owned())
    });
    let tcp = listeners.tcp.map(|listener| {
        let connections = TcpListenerStream::new(listener);
        builder().add_routes(routes.clone()).serve_with_incoming_shutdown(connections, end.clone().cancelled_owned())
    });
    // Boxed: the two servers are by far the largest future of the booth.
    let servers = Box::pin(async { tokio::try_join!(optional(unix), optional(tcp)).map(|_| ()) });
    let drain = async {
        stop.cancelled().await;
        info!(grace = %humantime::format_duration(grace), "draining");
        report(&health, ServingStatus::NotServing).await;
        end.cancel();
        tokio::time::sleep(grace).await;
        warn!("the grace is over; what still runs is cancelled");
        stopping.cancel.cancel();
        // Cancelled calls answer at once; whoever does not read his answer is not waited for.
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        served = servers => served,
        () = drain => Ok(()),
    }
}

/// Time for answers to go out after everything was cancelled.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Tells every health check, the whole booth's (the empty name) included.
async fn report(health: &HealthReporter, status: ServingStatus) {
    for service in SERVICES.into_iter().chain([""]) {
        health.set_service_status(service, status).await;
    }
}

async fn optional(
    server: Option<impl Future<Output = Result<(), tonic::transport::Error>>>,
) -> Result<(), tonic::transport::Error> {
    match server {
        Some(server) => server.await,
        None => Ok(()),
    }
}

/// What one connection may take, and how long it may be silent after it has spoken.
fn builder() -> Server {
    Server::builder()
        .http2_keepalive_interval(Some(Duration::from_secs(30)))
        .http2_keepalive_timeout(Some(Duration::from_secs(20)))
        .http2_max_header_list_size(16 << 10)
        .max_concurrent_streams(100)
        .tcp_nodelay(true)
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

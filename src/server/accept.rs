//! Accepting connections: from all listeners, up to a number.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::{Stream, stream};
use tokio::{
    net::{TcpListener, UnixListener},
    sync::Semaphore,
    time::{Instant, sleep},
};
use tokio_util::either::Either;
use tracing::{debug, warn};

use super::{
    Listeners,
    connection::{Connection, Socket},
};

/// A listener that fails, as it does when there are no file descriptors left, is left alone for so long.
const PAUSE: Duration = Duration::from_millis(100);
/// What goes wrong with connections is logged so often at most.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Which connections are taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Admission {
    /// Who takes them, for the log.
    pub(super) to: &'static str,
    /// So many at once.
    pub(super) most: usize,
    /// So many bytes must come of each,
    pub(super) first_bytes: usize,
    /// so soon.
    pub(super) within: Duration,
}

/// Where connections come from.
pub(super) struct Acceptor {
    listeners: Listeners,
    admission: Admission,
    places: Arc<Semaphore>,
    /// Since the last line about them.
    refused: u64,
    logged: Option<Instant>,
}

impl Acceptor {
    pub(super) fn new(listeners: Listeners, admission: Admission) -> Self {
        let places = Arc::new(Semaphore::new(admission.most.min(Semaphore::MAX_PERMITS)));
        Self { listeners, admission, places, refused: 0, logged: None }
    }

    /// The connections, for ever.
    pub(super) fn connections(self) -> impl Stream<Item = io::Result<Connection>> {
        stream::unfold(self, |mut acceptor| async move { Some((Ok(acceptor.next().await), acceptor)) })
    }

    /// The next connection for which there is a place. The others are closed at once: their clients try again, and know why.
    pub(super) async fn next(&mut self) -> Connection {
        loop {
            let socket = match accept(&self.listeners).await {
                Ok(socket) => socket,
                // A client that has gone again must not make the others wait.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    self.log(|to| warn!(to, %error, "connections cannot be accepted"));
                    sleep(PAUSE).await;
                    continue;
                }
            };
            match Arc::clone(&self.places).try_acquire_owned() {
                Ok(place) => {
                    let Admission { first_bytes, within, .. } = self.admission;
                    return Connection::new(socket, place, first_bytes, within);
                }
                Err(_) => self.refuse(socket),
            }
        }
    }

    fn refuse(&mut self, socket: Socket) {
        drop(socket);
        self.refused += 1;
        let (refused, most) = (self.refused, self.admission.most);
        if self.log(|to| warn!(to, refused, most, "as many connections as may be are open; others are closed at once"))
        {
            self.refused = 0;
        }
    }

    /// Logs, if the last line is long enough ago.
    fn log(&mut self, line: impl FnOnce(&'static str)) -> bool {
        let is_due = self.logged.is_none_or(|logged| logged.elapsed() >= LOG_INTERVAL);
        if is_due {
            line(self.admission.to);
            self.logged = Some(Instant::now());
        }
        is_due
    }
}

/// The next connection of any listener.
async fn accept(listeners: &Listeners) -> io::Result<Socket> {
    tokio::select! {
        Some(accepted) = of_unix(listeners.unix.as_ref().map(|socket| &socket.listener)) => accepted,
        Some(accepted) = of_tcp(listeners.tcp.as_ref()) => accepted,
        else => std::future::pending().await,
    }
}

async fn of_unix(listener: Option<&UnixListener>) -> Option<io::Result<Socket>> {
    let accepted = listener?.accept().await;
    Some(accepted.map(|(stream, _unnamed)| {
        let peer = stream.peer_cred().ok();
        debug!(uid = peer.map(|peer| peer.uid()), gid = peer.map(|peer| peer.gid()), "connected over the socket");
        Either::Left(stream)
    }))
}

async fn of_tcp(listener: Option<&TcpListener>) -> Option<io::Result<Socket>> {
    let accepted: io::Result<(_, SocketAddr)> = listener?.accept().await;
    Some(accepted.map(|(stream, peer)| {
        debug!(%peer, "connected over TCP");
        // A frame is a message: it must not wait for the next one. It can fail for a client only that has gone again.
        drop(stream.set_nodelay(true));
        Either::Right(stream)
    }))
}

//! One connection: its bytes, within the limits of a connection.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
    sync::OwnedSemaphorePermit,
    time::{Sleep, sleep},
};
use tokio_util::either::Either;
use tonic::transport::server::Connected;

use super::authority::AuthorityRepair;

/// What a client connects to.
pub(super) type Socket = Either<UnixStream, TcpStream>;

/// A connection of a client.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    /// What the client must still say in time.
    awaited: Option<Awaited>,
    /// Only a Unix socket has a path that a client could send as authority.
    authority: Option<AuthorityRepair>,
    /// The connection counts as long as it lives.
    _place: OwnedSemaphorePermit,
}

/// So many more bytes must come, until then.
#[derive(Debug)]
struct Awaited {
    bytes: usize,
    until: Pin<Box<Sleep>>,
}

impl Connection {
    /// A connection that holds a place, and whose first bytes must come within `patience`.
    pub(super) fn new(socket: Socket, place: OwnedSemaphorePermit, bytes: usize, patience: Duration) -> Self {
        let authority = matches!(socket, Either::Left(_)).then(AuthorityRepair::new);
        Self { socket, awaited: Some(Awaited { bytes, until: Box::pin(sleep(patience)) }), authority, _place: place }
    }

    fn socket(self: Pin<&mut Self>) -> Pin<&mut Socket> {
        Pin::new(&mut self.get_mut().socket)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(Awaited { until, .. }) = &mut self.awaited
            && until.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the first bytes did not come in time")));
        }
        let before = buffer.filled().len();
        ready!(self.as_mut().socket().poll_read(context, buffer))?;
        let read = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        self.awaited = self.awaited.take().and_then(|awaited| awaited.after(read.len()));
        if let Some(authority) = &mut self.authority {
            authority.repair(read);
        }
        Poll::Ready(Ok(()))
    }
}

impl Awaited {
    /// What is still awaited after so many bytes came.
    fn after(self, bytes: usize) -> Option<Self> {
        let bytes = self.bytes.checked_sub(bytes).filter(|left| *left > 0)?;
        Some(Self { bytes, ..self })
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.socket().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_shutdown(context)
    }
}

impl Connected for Connection {
    /// Nobody asks who a client is: whoever reaches the socket may use it.
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

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

    /// The socket, unless the client's time is over: one that only lets others wait reads as little as it writes.
    fn socket(self: Pin<&mut Self>, context: &mut Context<'_>) -> io::Result<Pin<&mut Socket>> {
        let Self { socket, awaited, .. } = self.get_mut();
        if let Some(Awaited { until, .. }) = awaited
            && until.as_mut().poll(context).is_ready()
        {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the client did not say enough in time"));
        }
        Ok(Pin::new(socket))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.as_mut().socket(context)?.poll_read(context, buffer))?;
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
        self.socket(context)?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.socket(context)?.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket(context)?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket(context)?.poll_shutdown(context)
    }
}

impl Connected for Connection {
    /// Nobody asks who a client is: whoever reaches the socket may use it.
    type ConnectInfo = ();

    fn connect_info(&self) -> Self::ConnectInfo {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::Semaphore,
    };

    use super::*;

    async fn connection(bytes: usize) -> (Connection, UnixStream) {
        let (own, client) = UnixStream::pair().unwrap();
        let place = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        (Connection::new(Either::Left(own), place, bytes, Duration::from_secs(5)), client)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_too_little_is_given_up_whether_the_booth_reads_or_writes() {
        let (mut reading, mut client) = connection(24).await;
        client.write_all(&[b'x'; 23]).await.unwrap();
        let mut read = [0; 100];
        assert_eq!(reading.read(&mut read).await.unwrap(), 23);
        assert_eq!(reading.read(&mut read).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let (mut writing, _reads_nothing) = connection(24).await;
        let endless = vec![0; 16 << 20];
        assert_eq!(writing.write_all(&endless).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_spoken_may_take_its_time() {
        let (mut connection, mut client) = connection(24).await;
        client.write_all(&[b'x'; 24]).await.unwrap();
        let mut read = [0; 100];
        assert_eq!(connection.read(&mut read).await.unwrap(), 24);
        let late = async {
            sleep(Duration::from_mins(1)).await;
            client.write_all(b"late").await.unwrap();
        };
        let ((), bytes) = tokio::join!(late, connection.read(&mut read));
        assert_eq!(bytes.unwrap(), 4);
    }
}

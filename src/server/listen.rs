//! Where clients connect to: a Unix socket and loopback TCP, bound before anything is served.

use std::{
    fs, io,
    net::SocketAddr,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{
    net::{TcpListener, UnixListener, UnixStream},
    time::{sleep, timeout},
};

/// Where hosts connect to. The caller binds them, so that a test can take a free port.
#[derive(Debug, Default)]
pub struct Listeners {
    /// A Unix socket.
    pub unix: Option<UnixSocket>,
    /// A TCP port.
    pub tcp: Option<TcpListener>,
}

/// Who may connect to a Unix socket: whoever may write to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketAccess {
    /// The permissions of the file, for example `0o660`.
    pub mode: u32,
    /// The group of the file, by its number; `None` leaves it to the system.
    pub group: Option<u32>,
}

impl Default for SocketAccess {
    /// The agent beside the booth runs as another user of the same group.
    fn default() -> Self {
        Self { mode: 0o660, group: None }
    }
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
    /// The file of the socket cannot be given the permissions that were asked for.
    #[error("{}: cannot get mode {:04o} and group {group}: {reason}; take a group that this user is in", .path.display(), .access.mode, group = .access.group.map_or_else(|| "unchanged".to_owned(), |group| group.to_string()))]
    Access {
        /// The path.
        path: PathBuf,
        /// What was asked for.
        access: SocketAccess,
        /// What the system said.
        reason: io::Error,
    },
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

/// A Unix socket that is listened on. Its file goes with it, and goes first: as long as somebody listens, no other file can have
/// its number.
#[derive(Debug)]
pub struct UnixSocket {
    _file: SocketFile,
    pub(super) listener: UnixListener,
}

/// The file of a Unix socket. It is removed when this is dropped, unless another booth has put its own there meanwhile.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and number.
    identity: Option<(u64, u64)>,
}

impl SocketFile {
    fn of(path: &Path) -> Self {
        Self { path: path.to_owned(), identity: identity(path) }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // Somebody may be quicker.
            drop(fs::remove_file(&self.path));
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Binds a Unix socket. A stale one, on which nobody answers, is replaced.
pub async fn bind_unix(path: &Path, access: SocketAccess) -> Result<UnixSocket, BindError> {
    let failed = |reason| BindError::Io { place: path.display().to_string(), reason };
    let _turn = turn(path).await;
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
    let file = SocketFile::of(path);
    let denied = |reason| BindError::Access { path: path.to_owned(), access, reason };
    if access.group.is_some() {
        chown(path, None, access.group).map_err(denied)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(access.mode)).map_err(denied)?;
    Ok(UnixSocket { _file: file, listener })
}

/// How long a booth waits for its turn at a folder.
const PATIENCE: Duration = Duration::from_secs(2);

/// A turn at the folder of a socket: two booths that start at once must not both find the same stale one. Where the folder cannot
/// be locked, or somebody else has it locked for long, they may.
async fn turn(socket: &Path) -> Option<fs::File> {
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let folder = fs::File::open(folder).ok()?;
    let locked = async {
        while matches!(folder.try_lock(), Err(fs::TryLockError::WouldBlock)) {
            sleep(PATIENCE / 200).await;
        }
    };
    // Without it, the worst is what the turn is there to prevent.
    let _in_vain = timeout(PATIENCE, locked).await;
    Some(folder)
}

/// Binds a TCP port on loopback; port 0 takes a free one.
pub async fn bind_tcp(address: SocketAddr) -> Result<TcpListener, BindError> {
    if !address.ip().is_loopback() {
        return Err(BindError::NotLoopback(address));
    }
    bind(address).await
}

/// Binds a TCP port for diagnostics, on any address: a kubelet comes from outside, and nothing but health is told there.
pub async fn bind_diagnostics(address: SocketAddr) -> Result<TcpListener, BindError> {
    bind(address).await
}

async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|reason| BindError::Io { place: address.to_string(), reason })
}

#[cfg(test)]
mod tests {
    use std::{os::unix::net, sync::Arc};

    use futures::future::join_all;
    use tokio::sync::Barrier;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_booths_that_find_the_same_stale_socket_one_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("booth.sock");
        for _ in 0..200 {
            drop(net::UnixListener::bind(&path).unwrap());
            let start = Arc::new(Barrier::new(4));
            let booths = (0..4).map(|_| {
                let (path, start) = (path.clone(), Arc::clone(&start));
                tokio::spawn(async move {
                    start.wait().await;
                    bind_unix(&path, SocketAccess::default()).await
                })
            });
            let bound = join_all(booths).await.into_iter().map(Result::unwrap);
            let (got, refused): (Vec<_>, Vec<_>) = bound.partition(Result::is_ok);
            assert_eq!(got.len(), 1);
            assert!(refused.iter().all(|refused| matches!(refused, Err(BindError::SocketInUse(_)))), "{refused:?}");
            UnixStream::connect(&path).await.unwrap();
            drop(got);
            assert!(!path.exists());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_folder_that_somebody_keeps_locked_keeps_no_booth_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let kept = fs::File::open(folder.path()).unwrap();
        kept.lock().unwrap();
        bind_unix(&folder.path().join("booth.sock"), SocketAccess::default()).await.unwrap();
    }
}

//! Where the file of an embedded ledger lies.

use std::{
    fmt::Debug,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError, backends::FileBackend};

/// The ledger's own file.
const FILE: &str = "ledger.redb";

/// Memory for pages that are read again.
const CACHE_BYTES: usize = 16 << 20;

/// Something on which a database lies.
pub(super) trait Disk: Debug + Send + Sync + 'static {
    /// Opens the database, or begins one.
    fn open(&self) -> Result<Database, OpenError>;

    /// Makes durable what is read from it, after a failure. Whatever was written before may be readable and not durable, and will
    /// never be: some systems take a page for written when they could not write it.
    fn renew(&self) -> io::Result<()>;

    /// The error for what is in it.
    fn damaged(&self, problem: String) -> OpenError;
}

/// Why an embedded ledger cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder or the file cannot be used.
    #[error("{}: {error}: the state folder must be one that the booth may write", path.display())]
    Inaccessible {
        /// The folder or the file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is none.
    #[error("{}: no ledger is here: name the folder that a booth was given with `--state`", .0.display())]
    Missing(PathBuf),
    /// Another process has it.
    #[error(
        "{}: another process has this ledger open: ask that booth with `--to`, stop it, or name another folder with `--state`",
        .0.display()
    )]
    InUse(PathBuf),
    /// It is no ledger, or not whole.
    #[error("{}: this is no ledger that can be read ({problem}): put a copy of it back, or move it away to begin a new one", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// A folder that this process has for itself.
#[derive(Debug)]
pub(super) struct Folder {
    folder: PathBuf,
    /// Locked as long as this lives.
    _lock: File,
}

impl Folder {
    pub(super) fn lock(folder: &Path) -> Result<Self, OpenError> {
        let inaccessible = |error| OpenError::Inaccessible { path: folder.to_owned(), error };
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(inaccessible)?;
            sync(folder.parent().filter(|parent| !parent.as_os_str().is_empty())).map_err(inaccessible)?;
        }
        let path = folder.join("ledger.lock");
        let inaccessible = |error| OpenError::Inaccessible { path: path.clone(), error };
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(inaccessible)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(folder.join(FILE))),
            Err(TryLockError::Error(error)) => Err(inaccessible(error)),
        }
    }

    pub(super) fn holds_ledger(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// A new file is made aside: one with the right name is always whole.
    fn begin(&self) -> Result<(), OpenError> {
        let path = self.folder.join("ledger.new");
        let inaccessible = |error| OpenError::Inaccessible { path: path.clone(), error };
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(&path);
        let backend = FileBackend::new(file.map_err(inaccessible)?);
        let database = backend.and_then(|backend| builder().create_with_backend(backend));
        drop(database.map_err(|error| self.error(error))?);
        fs::rename(&path, self.file()).map_err(inaccessible)?;
        sync(Some(&self.folder)).map_err(inaccessible)
    }

    fn error(&self, error: DatabaseError) -> OpenError {
        let path = self.file();
        if matches!(error, DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch) {
            return OpenError::InUse(path);
        }
        if let DatabaseError::Storage(StorageError::Io(error)) = error {
            // Either the system refuses, or the content does not fit.
            return match error.raw_os_error() {
                Some(_) => OpenError::Inaccessible { path, error },
                None => self.damaged(error.to_string()),
            };
        }
        self.damaged(error.to_string())
    }
}

impl Disk for Folder {
    fn open(&self) -> Result<Database, OpenError> {
        let path = self.file();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.begin()?,
            Err(error) => return Err(OpenError::Inaccessible { path, error }),
            // It would be taken for a new one, and everything would be forgotten.
            Ok(file) if file.len() == 0 => return Err(self.damaged("it is empty".to_owned())),
            Ok(_) => {}
        }
        // On damage that it does not look for, the library may panic.
        let opened = std::panic::catch_unwind(|| builder().open(&path));
        match opened {
            Ok(opened) => opened.map_err(|error| self.error(error)),
            Err(_) => Err(self.damaged("its parts do not fit".to_owned())),
        }
    }

    fn renew(&self) -> io::Result<()> {
        match OpenOptions::new().read(true).write(true).open(self.file()) {
            Ok(file) => rewrite(&FileBackend::new(file).map_err(io::Error::other)?),
            // It was not even begun.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn damaged(&self, problem: String) -> OpenError {
        OpenError::Damaged { path: self.file(), problem }
    }
}

/// What is rewritten at once.
const CHUNK: usize = 1 << 20;

/// Writes every byte again where it stands.
pub(super) fn rewrite(backend: &dyn StorageBackend) -> io::Result<()> {
    let (mut chunk, mut at) = (vec![0; CHUNK], 0);
    let length = backend.len().map_err(io::Error::other)?;
    while at < length {
        chunk.resize(usize::try_from(length - at).map_or(CHUNK, |left| left.min(CHUNK)), 0);
        backend.read(at, &mut chunk).map_err(io::Error::other)?;
        backend.write(at, &chunk).map_err(io::Error::other)?;
        at += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
    }
    backend.sync_data().map_err(io::Error::other)
}

pub(super) fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    // Better that a damaged ledger does not start than that it forgets.
    builder.set_check_integrity_on_open(true);
    builder
}

/// The name of a file is lost with the power unless its folder is synced, too.
fn sync(folder: Option<&Path>) -> io::Result<()> {
    folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

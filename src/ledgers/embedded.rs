//! A store in a file of its own, for one booth: it outlives the process, and the machine's power.

mod disk;
mod forget;
mod tables;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use async_trait::async_trait;
use redb::Database;
use uuid::Uuid;

use self::disk::{Disk, Folder};
use super::{
    operation::Operation,
    store::{Applied, Failure, Older, Store},
    stored::StoredLedger,
};
use crate::ports::{Selection, Submission};

pub use disk::OpenError;

/// Keeps what was executed once in a file.
pub type EmbeddedLedger = StoredLedger<EmbeddedStore>;

/// What an [`EmbeddedLedger`] keeps, and where. Everything happens on threads that may block.
#[derive(Debug)]
pub struct EmbeddedStore {
    booth: Uuid,
    kept: Arc<Kept>,
}

/// The file. After a failure nobody knows what of it is durable, so it is closed, and renewed and opened again when it is needed.
struct Kept {
    disk: Box<dyn Disk>,
    state: Mutex<State>,
}

enum State {
    Open(Arc<Database>),
    /// Others may still be reading.
    Failed(Weak<Database>),
}

impl EmbeddedLedger {
    /// Opens the ledger in this folder, or begins one. What an earlier process was executing when it ended is in doubt now.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::on(Folder::lock(folder)?)
    }

    /// Opens the ledger in this folder, which must be there.
    pub fn open_existing(folder: &Path) -> Result<Self, OpenError> {
        if Folder::holds_ledger(folder) { Self::open(folder) } else { Err(OpenError::Missing(folder.to_owned())) }
    }

    fn on(disk: impl Disk) -> Result<Self, OpenError> {
        let database = disk.open()?;
        let newest = tables::begin(&database).map_err(|problem| disk.damaged(problem))?;
        let kept = Kept { disk: Box::new(disk), state: Mutex::new(State::Open(Arc::new(database))) };
        Ok(Self::over(EmbeddedStore { booth: Uuid::new_v4(), kept: Arc::new(kept) }, newest))
    }
}

impl EmbeddedStore {
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let kept = Arc::clone(&self.kept);
        let worked = tokio::task::spawn_blocking(move || work(&*kept.database()?)).await;
        let worked = worked.unwrap_or_else(|panic| Err(Failure::during(&format!("its file is damaged: {panic}"))));
        if worked.is_err() {
            self.kept.close();
        }
        worked
    }
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        // What the lock guards is never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn database(&self) -> Result<Arc<Database>, Failure> {
        let mut state = self.state();
        let earlier = match &*state {
            State::Open(database) => return Ok(Arc::clone(database)),
            State::Failed(earlier) => earlier,
        };
        if earlier.strong_count() > 0 {
            return Err(Failure::before("its file is being closed after a failure"));
        }
        self.disk.renew().map_err(|error| Failure::before(&error))?;
        let database = Arc::new(self.disk.open().map_err(|error| Failure::before(&error))?);
        *state = State::Open(Arc::clone(&database));
        Ok(database)
    }

    fn close(&self) {
        let mut state = self.state();
        if let State::Open(database) = &*state {
            *state = State::Failed(Arc::downgrade(database));
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("disk", &self.disk).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn apply(&self, operations: Arc<[Operation]>) -> Result<Applied, Failure> {
        let booth = self.booth;
        self.work(move |database| tables::apply(database, booth, &operations)).await
    }

    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, Failure> {
        let selection = selection.clone();
        self.work(move |database| tables::select(database, &selection).map_err(|error| Failure::before(&error))).await
    }

    async fn newest(&self) -> Result<u64, Failure> {
        self.work(|database| tables::newest(database).map_err(|error| Failure::before(&error))).await
    }

    async fn forget(&self, older: Older) -> Result<u64, Failure> {
        self.work(move |database| forget::forget(database, older).map_err(|error| Failure::during(&error))).await
    }
}

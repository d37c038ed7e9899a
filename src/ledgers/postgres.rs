//! A store in PostgreSQL, which many booths share.
//!
//! Every group of operations is one transaction, and all of them take the one row of `toolbooth_ledger` first. So they happen one
//! after the other, over all booths, and sequence numbers are given in the order of the commits: no watch ever misses one.

mod address;
mod forget;
mod lease;
mod schema;
mod session;
mod tables;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::PgPool;
use tokio::time::timeout;
use uuid::Uuid;

use self::{lease::Heartbeat, session::Session};
use super::{
    operation::Operation,
    store::{Applied, Failure, Older, Store},
    stored::StoredLedger,
};
use crate::ports::{Selection, Submission};

pub use address::{AddressError, PostgresAddress};
pub use schema::PostgresError;

/// Keeps what was executed once in PostgreSQL.
pub type PostgresLedger = StoredLedger<PostgresStore>;

/// After so much silence, a booth counts as gone, and what it holds is in doubt.
pub const LEASE: Duration = Duration::from_secs(15);

/// Longer than what the server itself gives a statement.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a [`PostgresLedger`] keeps.
pub struct PostgresStore {
    booth: Uuid,
    pool: PgPool,
    lease: Duration,
    /// Says that this booth lives.
    _heartbeat: Heartbeat,
}

impl PostgresLedger {
    /// Opens the ledger in this database, and makes its tables if they are missing. `lease` is after how much silence of this booth
    /// others may take what it holds for being in doubt.
    pub async fn open(address: &PostgresAddress, lease: Duration) -> Result<Self, PostgresError> {
        session::probe(address).await.map_err(|error| PostgresError::from(error).at(address))?;
        let pool = session::pool(address);
        let newest = schema::begin(&pool).await.map_err(|error| error.at(address))?;
        let booth = Uuid::new_v4();
        // Over a connection of its own: readers that are stuck must not make this booth look dead.
        let heartbeat = Heartbeat::start(session::pool_of_one(address), booth, lease);
        let heartbeat = heartbeat.await.map_err(|error| PostgresError::from(error).at(address))?;
        Ok(Self::over(PostgresStore { booth, pool, lease, _heartbeat: heartbeat }, newest))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The pool knows a password.
        f.debug_struct("PostgresStore").field("booth", &self.booth).field("lease", &self.lease).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn apply(&self, operations: Arc<[Operation]>) -> Result<Applied, Failure> {
        let applying = async {
            let mut session = Session::begin(&self.pool).await.map_err(|error| Failure::before(&error))?;
            let applied = tables::apply(self, &mut session, &operations).await;
            let (applied, has_changes) = applied.map_err(|error| Failure::before(&error))?;
            if has_changes {
                // Whatever fails here may have been committed all the same.
                session.commit().await.map_err(|error| Failure::during(&error))?;
            } else {
                session.abort().await.map_err(|error| Failure::before(&error))?;
            }
            Ok(applied)
        };
        // A server that is cut off does not even say that it is.
        timeout(PATIENCE, applying).await.unwrap_or_else(|_| Err(Failure::during("it does not answer")))
    }

    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, Failure> {
        let mut session = Session::open(&self.pool).await.map_err(|error| Failure::before(&error))?;
        let selected = tables::select(&mut session, selection).await.map_err(|error| Failure::before(&error))?;
        session.done();
        Ok(selected)
    }

    async fn newest(&self) -> Result<u64, Failure> {
        let mut session = Session::open(&self.pool).await.map_err(|error| Failure::before(&error))?;
        let newest = tables::newest(&mut session).await.map_err(|error| Failure::before(&error))?;
        session.done();
        Ok(newest)
    }

    async fn forget(&self, older: Older) -> Result<u64, Failure> {
        forget::forget(&self.pool, self.lease, older).await.map_err(|error| Failure::during(&error))
    }

    fn is_shared(&self) -> bool {
        true
    }
}

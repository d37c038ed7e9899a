//! Connections to PostgreSQL, none of which can hold the others up for long.

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use sqlx::{
    ConnectOptions as _, Connection as _, PgConnection, PgPool, Postgres,
    pool::{PoolConnection, PoolOptions},
};

use tokio::time::timeout;

use super::address::PostgresAddress;

/// One writes, the others read.
const MOST: u32 = 4;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// A booth that is frozen in the middle of a transaction loses it, and the others go on. What is acknowledged must be durable.
const MANNERS: &str = "\
SET lock_timeout = '5s'; SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '3s';
SET client_min_messages = warning;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';";

/// Connects once. The pool tries until its time is over, and then says nothing of why it could not.
pub(super) async fn probe(address: &PostgresAddress) -> Result<(), sqlx::Error> {
    let connected = timeout(PATIENCE, address.options().connect()).await;
    connected.unwrap_or(Err(sqlx::Error::PoolTimedOut))?.close().await
}

/// Connections as they are needed.
pub(super) fn pool(address: &PostgresAddress) -> PgPool {
    pool_of(MOST, address)
}

/// One connection, for what nobody else may hold up.
pub(super) fn pool_of_one(address: &PostgresAddress) -> PgPool {
    pool_of(1, address)
}

fn pool_of(most: u32, address: &PostgresAddress) -> PgPool {
    PoolOptions::<Postgres>::new()
        .max_connections(most)
        .acquire_timeout(PATIENCE)
        .idle_timeout(Duration::from_mins(5))
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(MANNERS).execute(connection).await.map(drop) })
        })
        .connect_lazy_with(address.options())
}

/// A connection that is used again only if its work was done: whatever was left in the middle is closed.
#[derive(Debug)]
pub(super) struct Session {
    connection: PoolConnection<Postgres>,
    is_done: bool,
}

impl Session {
    pub(super) async fn open(pool: &PgPool) -> Result<Self, sqlx::Error> {
        Ok(Self { connection: pool.acquire().await?, is_done: false })
    }

    /// The same, in a transaction.
    pub(super) async fn begin(pool: &PgPool) -> Result<Self, sqlx::Error> {
        let mut session = Self::open(pool).await?;
        sqlx::raw_sql("BEGIN").execute(&mut *session).await?;
        Ok(session)
    }

    pub(super) async fn commit(mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("COMMIT").execute(&mut *self).await?;
        self.done();
        Ok(())
    }

    pub(super) async fn abort(mut self) -> Result<(), sqlx::Error> {
        sqlx::raw_sql("ROLLBACK").execute(&mut *self).await?;
        self.done();
        Ok(())
    }

    /// Nothing is left in the middle.
    pub(super) fn done(mut self) {
        self.is_done = true;
    }
}

impl Deref for Session {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.connection
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.connection
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.is_done {
            self.connection.close_on_drop();
        }
    }
}

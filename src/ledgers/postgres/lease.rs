//! How other booths know that this one lives: it says so, by the database's clock.

use std::time::Duration;

use sqlx::PgPool;
use tokio::{task::AbortHandle, time::sleep};
use tracing::warn;
use uuid::Uuid;

use super::session::Session;

/// Says again and again that a booth lives, until it is dropped.
#[derive(Debug)]
pub(super) struct Heartbeat(AbortHandle);

impl Heartbeat {
    /// Returns when it was said for the first time.
    pub(super) async fn start(pool: PgPool, booth: Uuid, lease: Duration) -> Result<Self, sqlx::Error> {
        beat(&pool, booth).await?;
        let beating = tokio::spawn(async move {
            loop {
                sleep(lease / 4).await;
                if let Err(error) = beat(&pool, booth).await {
                    warn!(%error, "other booths cannot be told that this one lives");
                }
            }
        });
        Ok(Self(beating.abort_handle()))
    }
}

async fn beat(pool: &PgPool, booth: Uuid) -> Result<(), sqlx::Error> {
    let mut session = Session::open(pool).await?;
    sqlx::query(
        "INSERT INTO toolbooth_booths (booth, seen_at) VALUES ($1, clock_timestamp())
         ON CONFLICT (booth) DO UPDATE SET seen_at = clock_timestamp()",
    )
    .bind(booth.into_bytes())
    .execute(&mut *session)
    .await?;
    session.done();
    Ok(())
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

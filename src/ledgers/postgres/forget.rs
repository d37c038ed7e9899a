//! What is older than it has to be kept is removed, a little at a time: no booth waits long behind it.

use std::time::Duration;

use sqlx::PgPool;

use super::{session::Session, tables};
use crate::ledgers::{slot::Kind, store::Older};

/// What is removed in one transaction.
const AT_ONCE: i64 = 1000;

const RECORDS: &str = "
DELETE FROM toolbooth_records WHERE sequence IN (
  SELECT sequence FROM toolbooth_records WHERE is_call = $1 AND recorded_at_ms < $2 ORDER BY recorded_at_ms LIMIT $3
) RETURNING sequence";

/// A doubt is what nobody holds, and what a booth held that is gone.
const DOUBTS: &str = "
DELETE FROM toolbooth_slots WHERE place IN (
  SELECT s.place FROM toolbooth_slots s LEFT JOIN toolbooth_booths b ON b.booth = s.booth
  WHERE s.since_ms < $2 AND s.is_call = $1 AND (s.booth IS NULL OR
    coalesce(greatest(b.seen_at, pg_postmaster_start_time()) < clock_timestamp() - $4 * interval '1 millisecond', true))
  LIMIT $3
)";

/// Forgets what is older: how many records and doubts that were. Booths that are gone for long are forgotten, too.
pub(super) async fn forget(pool: &PgPool, lease: Duration, older: Older) -> Result<u64, sqlx::Error> {
    let mut forgotten = 0;
    for kind in [Kind::Submission, Kind::Call] {
        let Some(before) = older.than(kind) else { continue };
        loop {
            let records = records(pool, kind, before).await?;
            let doubts = doubts(pool, kind, before, lease).await?;
            if records + doubts == 0 {
                break;
            }
            forgotten += records + doubts;
        }
    }
    let mut session = Session::open(pool).await?;
    let gone = "DELETE FROM toolbooth_booths WHERE seen_at < clock_timestamp() - interval '1 day'";
    sqlx::query(gone).execute(&mut *session).await?;
    session.done();
    Ok(forgotten)
}

async fn records(pool: &PgPool, kind: Kind, before: i64) -> Result<u64, sqlx::Error> {
    let mut session = Session::begin(pool).await?;
    tables::turn(&mut session).await?;
    let query = sqlx::query_scalar(RECORDS).bind(kind == Kind::Call).bind(before).bind(AT_ONCE);
    let sequences: Vec<i64> = query.fetch_all(&mut *session).await?;
    let forgotten = u64::try_from(sequences.len()).unwrap_or(u64::MAX);
    sqlx::query("DELETE FROM toolbooth_slots WHERE sequence = ANY($1)").bind(sequences).execute(&mut *session).await?;
    session.commit().await?;
    Ok(forgotten)
}

async fn doubts(pool: &PgPool, kind: Kind, before: i64, lease: Duration) -> Result<u64, sqlx::Error> {
    let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
    let mut session = Session::begin(pool).await?;
    tables::turn(&mut session).await?;
    let query = sqlx::query(DOUBTS).bind(kind == Kind::Call).bind(before).bind(AT_ONCE).bind(lease);
    let forgotten = query.execute(&mut *session).await?.rows_affected();
    session.commit().await?;
    Ok(forgotten)
}

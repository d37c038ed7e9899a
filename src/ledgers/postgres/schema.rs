//! The tables of a ledger in PostgreSQL.

use sqlx::{PgPool, error::DatabaseError};

use super::{address::PostgresAddress, session::Session};

/// Made at once, and by one booth, if several begin together. Whatever may hold a NUL is bytes.
const TABLES: &str = "
SELECT pg_advisory_xact_lock(8391742305518207345);
CREATE TABLE IF NOT EXISTS toolbooth_ledger (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  version bigint NOT NULL,
  newest bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS toolbooth_booths (
  booth bytea PRIMARY KEY,
  seen_at timestamptz NOT NULL
);
-- sequence: of a slot that is taken; booth: of one that is held; since_ms: of one whose end is open.
CREATE TABLE IF NOT EXISTS toolbooth_slots (
  place bytea PRIMARY KEY,
  booth bytea,
  sequence bigint,
  since_ms bigint,
  is_call boolean,
  body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS toolbooth_slots_sequence ON toolbooth_slots (sequence) WHERE sequence IS NOT NULL;
CREATE INDEX IF NOT EXISTS toolbooth_slots_since ON toolbooth_slots (since_ms) WHERE since_ms IS NOT NULL;
-- task: of a submission; the readable one stands in the body.
CREATE TABLE IF NOT EXISTS toolbooth_records (
  sequence bigint PRIMARY KEY,
  is_call boolean NOT NULL,
  task bytea NOT NULL,
  recorded_at_ms bigint NOT NULL,
  body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS toolbooth_records_task ON toolbooth_records (task, sequence) WHERE NOT is_call;
CREATE INDEX IF NOT EXISTS toolbooth_records_time ON toolbooth_records (is_call, recorded_at_ms);
INSERT INTO toolbooth_ledger (version, newest) VALUES (1, 0) ON CONFLICT DO NOTHING;
";

const VERSION: i64 = 1;

/// Why a ledger in PostgreSQL cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PostgresError {
    place: String,
    problem: String,
}

impl PostgresError {
    fn new(problem: String) -> Self {
        Self { place: "postgres".to_owned(), problem }
    }

    pub(super) fn at(self, address: &PostgresAddress) -> Self {
        Self { place: address.to_string(), ..self }
    }
}

impl From<sqlx::Error> for PostgresError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(DatabaseError::code).unwrap_or_default().into_owned();
        Self::new(match code.as_str() {
            // insufficient_privilege
            "42501" => format!(
                "{error}: let its user create tables there (GRANT CREATE ON SCHEMA), or use the tables toolbooth_* if they are there"
            ),
            _ => format!("{error}: check that it runs, and that the address, the user and the password are right"),
        })
    }
}

/// Makes what is missing. The newest sequence number.
pub(super) async fn begin(pool: &PgPool) -> Result<u64, PostgresError> {
    let mut session = Session::begin(pool).await?;
    // Whoever only may use the tables must not be asked to make them.
    let is_made: bool =
        sqlx::query_scalar("SELECT to_regclass('toolbooth_ledger') IS NOT NULL").fetch_one(&mut *session).await?;
    if !is_made {
        sqlx::raw_sql(TABLES).execute(&mut *session).await?;
    }
    let (version, newest): (i64, i64) =
        sqlx::query_as("SELECT version, newest FROM toolbooth_ledger").fetch_one(&mut *session).await?;
    session.commit().await?;
    if version != VERSION {
        return Err(PostgresError::new(format!(
            "its tables are of version {version}, and this booth reads version {VERSION}: use another schema or the other booth"
        )));
    }
    Ok(u64::try_from(newest).unwrap_or_default())
}

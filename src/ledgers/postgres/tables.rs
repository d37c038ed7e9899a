//! What happens in the tables, a few statements for each group of operations.

use std::{collections::HashMap, sync::Arc};

use sqlx::PgConnection;

use super::PostgresStore;
use crate::{
    ledgers::{
        operation::Operation,
        payload,
        place::Place,
        slot::{Answer, Kind, Slot, Slots, State},
        store::Applied,
    },
    ports::{Clock as _, Record, Selection, Submission, SystemClock},
};

/// Takes the turn of this transaction. The newest sequence number.
pub(super) async fn turn(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let newest: i64 =
        sqlx::query_scalar("SELECT newest FROM toolbooth_ledger FOR UPDATE").fetch_one(connection).await?;
    Ok(unsigned(newest))
}

/// The newest sequence number.
pub(super) async fn newest(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let newest: i64 = sqlx::query_scalar("SELECT newest FROM toolbooth_ledger").fetch_one(connection).await?;
    Ok(unsigned(newest))
}

/// Applies a group of operations: what became of them, and whether there is something to commit.
pub(super) async fn apply(
    store: &PostgresStore,
    connection: &mut PgConnection,
    operations: &[Operation],
) -> Result<(Applied, bool), sqlx::Error> {
    let newest = turn(connection).await?;
    let mut places: Vec<Place> = operations.iter().flat_map(|operation| operation.places.iter().copied()).collect();
    places.sort_unstable();
    places.dedup();
    let found = slots(store, connection, &places).await?;
    let mut slots = Slots::new(store.booth, SystemClock.unix_ms(), newest, found);
    let answers: Vec<Answer> = operations.iter().map(|operation| slots.apply(operation)).collect();
    let has_changes = slots.changes().next().is_some();
    if has_changes {
        write_slots(connection, &slots).await?;
        write_records(connection, &slots).await?;
    }
    let records = records(connection, &answers).await?;
    Ok((Applied { answers, records, newest: slots.last() }, has_changes))
}

/// What is held by a booth that is gone is in doubt. A server that was down has heard of nobody, and waits for them.
const SLOTS: &str = "
SELECT s.place, s.body, coalesce(
  greatest(b.seen_at, pg_postmaster_start_time()) < clock_timestamp() - $2 * interval '1 millisecond', true
) FROM toolbooth_slots s LEFT JOIN toolbooth_booths b ON b.booth = s.booth WHERE s.place = ANY($1)";

async fn slots(
    store: &PostgresStore,
    connection: &mut PgConnection,
    places: &[Place],
) -> Result<HashMap<Place, Result<Slot, String>>, sqlx::Error> {
    let places: Vec<[u8; 32]> = places.iter().map(|place| place.0).collect();
    let lease = i64::try_from(store.lease.as_millis()).unwrap_or(i64::MAX);
    let rows: Vec<([u8; 32], Vec<u8>, bool)> =
        sqlx::query_as(SLOTS).bind(places).bind(lease).fetch_all(connection).await?;
    let slot = |body: &[u8], is_gone| {
        let slot = Slot::read(body)?;
        let is_own = matches!(slot.state, State::Held { booth, .. } if booth == store.booth);
        Ok(if is_gone && !is_own { slot.abandoned() } else { slot })
    };
    Ok(rows.into_iter().map(|(place, body, is_gone)| (Place(place), slot(&body, is_gone))).collect())
}

const WRITE_SLOTS: &str = "
INSERT INTO toolbooth_slots (place, booth, sequence, since_ms, is_call, body)
SELECT * FROM UNNEST($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[], $5::boolean[], $6::bytea[])
ON CONFLICT (place) DO UPDATE SET booth = excluded.booth, sequence = excluded.sequence, since_ms = excluded.since_ms,
  is_call = excluded.is_call, body = excluded.body";

/// The columns of slots.
#[derive(Default)]
struct Columns {
    places: Vec<[u8; 32]>,
    booths: Vec<Option<Vec<u8>>>,
    sequences: Vec<Option<i64>>,
    since_ms: Vec<Option<i64>>,
    are_calls: Vec<Option<bool>>,
    bodies: Vec<Vec<u8>>,
}

async fn write_slots(connection: &mut PgConnection, slots: &Slots) -> Result<(), sqlx::Error> {
    let (mut free, mut columns) = (Vec::new(), Columns::default());
    for (place, slot) in slots.changes() {
        let Some(slot) = slot else {
            free.push(place.0);
            continue;
        };
        let (booth, sequence, execution) = match &slot.state {
            State::Held { booth, execution, .. } => (Some(booth.into_bytes().to_vec()), None, Some(execution)),
            State::InDoubt(execution) => (None, None, Some(execution)),
            State::Taken(sequence) => (None, Some(signed(*sequence)), None),
        };
        columns.places.push(place.0);
        columns.booths.push(booth);
        columns.sequences.push(sequence);
        columns.since_ms.push(execution.map(|execution| execution.since_ms));
        columns.are_calls.push(execution.map(|execution| execution.kind == Kind::Call));
        columns.bodies.push(slot.write());
    }
    if !columns.places.is_empty() {
        let Columns { places, booths, sequences, since_ms, are_calls, bodies } = columns;
        let query = sqlx::query(WRITE_SLOTS).bind(places).bind(booths).bind(sequences).bind(since_ms);
        query.bind(are_calls).bind(bodies).execute(&mut *connection).await?;
    }
    if !free.is_empty() {
        sqlx::query("DELETE FROM toolbooth_slots WHERE place = ANY($1)").bind(free).execute(connection).await?;
    }
    Ok(())
}

const WRITE_RECORDS: &str = "
INSERT INTO toolbooth_records (sequence, is_call, task, recorded_at_ms, body)
SELECT * FROM UNNEST($1::bigint[], $2::boolean[], $3::bytea[], $4::bigint[], $5::bytea[])";

async fn write_records(connection: &mut PgConnection, slots: &Slots) -> Result<(), sqlx::Error> {
    let records = slots.records();
    if records.is_empty() {
        return Ok(());
    }
    let task = |record: &Arc<Record>| {
        let task = record.keys.first().map(|key| &*key.task).unwrap_or_default();
        Place::of_task(task).0
    };
    sqlx::query(WRITE_RECORDS)
        .bind(records.keys().map(|sequence| signed(*sequence)).collect::<Vec<_>>())
        .bind(records.values().map(|record| Kind::of_record(record) == Kind::Call).collect::<Vec<_>>())
        .bind(records.values().map(task).collect::<Vec<_>>())
        .bind(records.values().map(|record| record.recorded_at_ms).collect::<Vec<_>>())
        .bind(records.values().map(|record| payload::write(record)).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    sqlx::query("UPDATE toolbooth_ledger SET newest = $1").bind(signed(slots.last())).execute(connection).await?;
    Ok(())
}

/// The records that answers name.
async fn records(
    connection: &mut PgConnection,
    answers: &[Answer],
) -> Result<HashMap<u64, Result<Arc<Record>, String>>, sqlx::Error> {
    let mut sequences: Vec<i64> = answers.iter().filter_map(Answer::record).map(signed).collect();
    if sequences.is_empty() {
        return Ok(HashMap::new());
    }
    sequences.sort_unstable();
    sequences.dedup();
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT sequence, body FROM toolbooth_records WHERE sequence = ANY($1)")
            .bind(sequences)
            .fetch_all(connection)
            .await?;
    Ok(rows.into_iter().map(|(sequence, body)| (unsigned(sequence), payload::read(&body).map(Arc::new))).collect())
}

/// Reads submissions, no more than are asked for.
pub(super) async fn select(
    connection: &mut PgConnection,
    selection: &Selection,
) -> Result<Vec<Submission>, sqlx::Error> {
    let mut selected = Vec::new();
    // The bounds of what was not looked at.
    let (mut after, mut before) = (signed(selection.after), i64::MAX);
    while selected.len() < selection.limit {
        let rows = page(connection, selection, (after, before)).await?;
        let Some((last, _)) = rows.last() else { break };
        if selection.newest_first {
            before = *last;
        } else {
            after = *last;
        }
        for (sequence, body) in rows {
            let sequence = unsigned(sequence);
            match payload::read(&body) {
                Ok(record) => {
                    selected.extend(record.submission(sequence).filter(|submission| selection.includes(submission)));
                }
                Err(problem) => tracing::error!(sequence, problem, "a submission is left out"),
            }
        }
    }
    selected.truncate(selection.limit);
    Ok(selected)
}

/// What is read at once.
const PAGE: usize = 1000;

/// Submissions between two numbers, of the task if one is meant.
async fn page(
    connection: &mut PgConnection,
    selection: &Selection,
    (after, before): (i64, i64),
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let query = match (&selection.task, selection.newest_first) {
        (Some(_), false) => {
            "SELECT sequence, body FROM toolbooth_records WHERE NOT is_call AND sequence > $1 AND sequence < $2 AND task = $4
             ORDER BY sequence LIMIT $3"
        }
        (Some(_), true) => {
            "SELECT sequence, body FROM toolbooth_records WHERE NOT is_call AND sequence > $1 AND sequence < $2 AND task = $4
             ORDER BY sequence DESC LIMIT $3"
        }
        (None, false) => {
            "SELECT sequence, body FROM toolbooth_records WHERE NOT is_call AND sequence > $1 AND sequence < $2
             ORDER BY sequence LIMIT $3"
        }
        (None, true) => {
            "SELECT sequence, body FROM toolbooth_records WHERE NOT is_call AND sequence > $1 AND sequence < $2
             ORDER BY sequence DESC LIMIT $3"
        }
    };
    let limit = i64::try_from(selection.limit.min(PAGE)).unwrap_or(i64::MAX);
    let mut query = sqlx::query_as(query).bind(after).bind(before).bind(limit);
    if let Some(task) = &selection.task {
        query = query.bind(Place::of_task(task).0);
    }
    query.fetch_all(connection).await
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

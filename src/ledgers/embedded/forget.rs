//! What is older than it has to be kept is removed, a little at a time: nobody waits long behind it.

use redb::{Database, ReadableTable as _, Table, TableDefinition};

use super::tables::{CALLS, Dated, Key, OPEN, SUBMISSIONS, TAKEN, TASKS};
use crate::ledgers::{
    payload,
    place::Place,
    slot::{Kind, Slot, State},
    store::Older,
};

/// What is looked at in one transaction.
const AT_ONCE: usize = 1000;

/// Forgets what is older: how many records and doubts that were.
pub(super) fn forget(database: &Database, older: Older) -> Result<u64, redb::Error> {
    let mut forgotten = 0;
    for (kind, table) in [(Kind::Submission, SUBMISSIONS), (Kind::Call, CALLS)] {
        if older.than(kind).is_none() {
            continue;
        }
        let mut from = 0;
        loop {
            let transaction = database.begin_write()?;
            let (seen, last, removed) = records(&transaction, table, from, |at_ms| older.is(kind, at_ms))?;
            if removed > 0 {
                transaction.commit()?;
            } else {
                transaction.abort()?;
            }
            forgotten += removed;
            if seen < AT_ONCE {
                break;
            }
            from = last.saturating_add(1);
        }
    }
    let transaction = database.begin_write()?;
    let doubts = doubts(&mut transaction.open_table(OPEN)?, older)?;
    if doubts > 0 {
        transaction.commit()?;
    } else {
        transaction.abort()?;
    }
    Ok(forgotten + doubts)
}

/// Removes the old ones of a few records: how many were seen, the last of them, and how many were old.
fn records(
    transaction: &redb::WriteTransaction,
    table: TableDefinition<'_, u64, Dated>,
    from: u64,
    is_old: impl Fn(i64) -> bool,
) -> Result<(usize, u64, u64), redb::Error> {
    let mut records = transaction.open_table(table)?;
    let (mut taken, mut tasks) = (transaction.open_table(TAKEN)?, transaction.open_table(TASKS)?);
    let (mut seen, mut last, mut old) = (0, from, Vec::new());
    for found in records.range(from..)?.take(AT_ONCE) {
        let (sequence, found) = found?;
        (seen, last) = (seen + 1, sequence.value());
        let (at_ms, text) = found.value();
        if is_old(at_ms) {
            old.push((last, payload::read(text)));
        }
    }
    let mut removed = 0;
    for (sequence, record) in old {
        // One that cannot be read does not say where its keys are: they would be taken for ever.
        let Ok(record) = record else { continue };
        removed += 1;
        records.remove(sequence)?;
        for key in &record.keys {
            tasks.remove((&Place::of_task(&key.task).0, sequence))?;
            let place = Place::of(key).0;
            let slot = taken.get(&place)?.and_then(|text| Slot::read(text.value()).ok());
            if matches!(slot, Some(Slot { state: State::Taken(own), .. }) if own == sequence) {
                taken.remove(&place)?;
            }
        }
    }
    Ok((seen, last, removed))
}

/// Removes old doubts: they are few.
fn doubts(open: &mut Table<'_, Key, &'static [u8]>, older: Older) -> Result<u64, redb::Error> {
    let mut forgotten = 0;
    open.retain(|_, text| {
        let is_old = matches!(
            Slot::read(text),
            Ok(Slot { state: State::InDoubt(execution), .. }) if older.is(execution.kind, execution.since_ms)
        );
        forgotten += u64::from(is_old);
        !is_old
    })?;
    Ok(forgotten)
}

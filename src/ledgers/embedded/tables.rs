//! The tables of an embedded ledger, and what happens in them.

use std::{collections::HashMap, sync::Arc};

use redb::{Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable, Table, TableDefinition, WriteTransaction};
use uuid::Uuid;

use crate::{
    ledgers::{
        operation::Operation,
        payload,
        place::Place,
        slot::{Answer, Kind, Slot, Slots, State},
        store::{Applied, Failure},
    },
    ports::{Clock as _, Record, Selection, Submission, SystemClock},
};

/// The place of a key.
pub(super) type Key = &'static [u8; 32];
/// When something was recorded, and the record.
pub(super) type Dated = (i64, &'static [u8]);

/// Slots of which the end is open: few, so that they are found at once when a booth begins.
pub(super) const OPEN: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("open");
/// Slots that are taken.
pub(super) const TAKEN: TableDefinition<'_, Key, &[u8]> = TableDefinition::new("taken");
pub(super) const SUBMISSIONS: TableDefinition<'_, u64, Dated> = TableDefinition::new("submissions");
pub(super) const CALLS: TableDefinition<'_, u64, Dated> = TableDefinition::new("calls");
/// The submissions of each task.
pub(super) const TASKS: TableDefinition<'_, (Key, u64), ()> = TableDefinition::new("tasks");
const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

const VERSION: u64 = 1;

/// Makes what is missing; what was held is in doubt from now on. The newest sequence number.
pub(super) fn begin(database: &Database) -> Result<u64, String> {
    let made = (|| {
        let transaction = database.begin_write()?;
        let (version, newest, abandoned) = {
            let mut about = transaction.open_table(ABOUT)?;
            let version = about.get("version")?.map(|version| version.value());
            if version.is_none() {
                about.insert("version", VERSION)?;
            }
            let newest = about.get("newest")?.map_or(0, |newest| newest.value());
            for table in [SUBMISSIONS, CALLS] {
                drop(transaction.open_table(table)?);
            }
            drop((transaction.open_table(TAKEN)?, transaction.open_table(TASKS)?));
            (version.unwrap_or(VERSION), newest, abandon(&mut transaction.open_table(OPEN)?)?)
        };
        if version == VERSION {
            transaction.commit()?;
        }
        Ok::<_, redb::Error>((version, newest, abandoned))
    })();
    match made {
        Ok((VERSION, newest, abandoned)) => {
            if abandoned > 0 {
                tracing::warn!(
                    abandoned,
                    "keys were held when the booth ended: what was executed under them is in doubt"
                );
            }
            Ok(newest)
        }
        Ok((version, ..)) => Err(format!("it is of version {version}, and this booth reads version {VERSION}")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whoever held keys is gone.
fn abandon(open: &mut Table<'_, Key, &'static [u8]>) -> Result<usize, redb::Error> {
    let mut held = Vec::new();
    for slot in open.iter()? {
        let (place, text) = slot?;
        if let Ok(slot @ Slot { state: State::Held { .. }, .. }) = Slot::read(text.value()) {
            held.push((*place.value(), slot.abandoned()));
        }
    }
    for (place, slot) in &held {
        open.insert(place, &*slot.write())?;
    }
    Ok(held.len())
}

/// Applies a group of operations in one transaction.
pub(super) fn apply(database: &Database, booth: Uuid, operations: &[Operation]) -> Result<Applied, Failure> {
    let transaction = database.begin_write().map_err(|error| Failure::before(&error))?;
    let (applied, has_changes) = within(&transaction, booth, operations).map_err(|error| Failure::before(&error))?;
    if has_changes {
        // Whatever fails here may be on the disk all the same.
        transaction.commit().map_err(|error| Failure::during(&error))?;
    } else {
        transaction.abort().map_err(|error| Failure::before(&error))?;
    }
    Ok(applied)
}

fn within(
    transaction: &WriteTransaction,
    booth: Uuid,
    operations: &[Operation],
) -> Result<(Applied, bool), redb::Error> {
    let (mut open, mut taken) = (transaction.open_table(OPEN)?, transaction.open_table(TAKEN)?);
    let (mut submissions, mut calls) = (transaction.open_table(SUBMISSIONS)?, transaction.open_table(CALLS)?);
    let (mut about, mut tasks) = (transaction.open_table(ABOUT)?, transaction.open_table(TASKS)?);
    let mut found = HashMap::new();
    for place in operations.iter().flat_map(|operation| &operation.places) {
        let slot = match open.get(&place.0)? {
            Some(slot) => Some(slot),
            None => taken.get(&place.0)?,
        };
        if let Some(slot) = slot {
            found.insert(*place, Slot::read(slot.value()));
        }
    }
    let newest = about.get("newest")?.map_or(0, |newest| newest.value());
    let mut slots = Slots::new(booth, SystemClock.unix_ms(), newest, found);
    let answers: Vec<Answer> = operations.iter().map(|operation| slots.apply(operation)).collect();
    let mut has_changes = false;
    for (place, slot) in slots.changes() {
        has_changes = true;
        match slot {
            Some(slot @ Slot { state: State::Taken(_), .. }) => {
                open.remove(&place.0)?;
                taken.insert(&place.0, &*slot.write())?;
            }
            Some(slot) => drop(open.insert(&place.0, &*slot.write())?),
            None => drop(open.remove(&place.0)?),
        }
    }
    for (sequence, record) in slots.records() {
        let text = payload::write(record);
        let dated = (record.recorded_at_ms, &*text);
        match Kind::of_record(record) {
            Kind::Submission => {
                submissions.insert(sequence, dated)?;
                if let Some(key) = record.keys.first() {
                    tasks.insert((&Place::of_task(&key.task).0, *sequence), ())?;
                }
            }
            Kind::Call => drop(calls.insert(sequence, dated)?),
        }
    }
    if slots.last() > newest {
        about.insert("newest", slots.last())?;
    }
    let mut records = HashMap::new();
    for sequence in answers.iter().filter_map(Answer::record) {
        if let Some(record) = record(&submissions, sequence)?.or(record(&calls, sequence)?) {
            records.insert(sequence, record.map(Arc::new));
        }
    }
    Ok((Applied { answers, records, newest: slots.last() }, has_changes))
}

fn record(
    table: &impl ReadableTable<u64, Dated>,
    sequence: u64,
) -> Result<Option<Result<Record, String>>, redb::Error> {
    Ok(table.get(sequence)?.map(|found| payload::read(found.value().1)))
}

/// The newest sequence number.
pub(super) fn newest(database: &Database) -> Result<u64, redb::Error> {
    let about = database.begin_read()?.open_table(ABOUT)?;
    Ok(about.get("newest")?.map_or(0, |newest| newest.value()))
}

/// Reads submissions, no more than are asked for.
pub(super) fn select(database: &Database, selection: &Selection) -> Result<Vec<Submission>, redb::Error> {
    let transaction = database.begin_read()?;
    let submissions: ReadOnlyTable<u64, Dated> = transaction.open_table(SUBMISSIONS)?;
    let after = selection.after.saturating_add(1);
    let mut selected = Vec::new();
    // Whether there is room for more.
    let mut select = |sequence: u64, text: &[u8]| match payload::read(text) {
        Ok(record) => {
            selected.extend(record.submission(sequence).filter(|submission| selection.includes(submission)));
            selected.len() < selection.limit
        }
        Err(problem) => {
            tracing::error!(sequence, problem, "a submission is left out");
            true
        }
    };
    if selection.limit == 0 {
        return Ok(selected);
    }
    if let Some(task) = &selection.task {
        let task = Place::of_task(task).0;
        let tasks = transaction.open_table(TASKS)?;
        let mut listed = tasks.range((&task, after)..=(&task, u64::MAX))?;
        let mut next = || if selection.newest_first { listed.next_back() } else { listed.next() };
        while let Some(listed) = next().transpose()? {
            let sequence = listed.0.value().1;
            let found = submissions.get(sequence)?;
            if found.is_some_and(|found| !select(sequence, found.value().1)) {
                break;
            }
        }
    } else {
        let mut listed = submissions.range(after..)?;
        let mut next = || if selection.newest_first { listed.next_back() } else { listed.next() };
        while let Some((sequence, found)) = next().transpose()? {
            if !select(sequence.value(), found.value().1) {
                break;
            }
        }
    }
    Ok(selected)
}

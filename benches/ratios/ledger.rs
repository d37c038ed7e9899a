//! F13: what a durable submission costs, against the bare database that writes as much in as many commits.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use futures::future::try_join_all;
use redb::{Database, TableDefinition};
use tempfile::tempdir;
use toolbooth::{
    content::ToolOutput,
    json::{Json, SharedJson},
    ledgers::EmbeddedLedger,
    ports::{Claim, KeyScope, Ledger as _, OnceKey, Record, Reserved},
    tools::InDoubt,
};

use super::figures::{Goal, ROUNDS, Rounds, Row, milliseconds};

const IN_FLIGHT: usize = 64;
/// Submissions of a round: for each in flight.
const EACH: usize = 12;
/// Submissions of a round, one after the other.
const ALONE: usize = 24;
/// Bytes of arguments and of the answer.
const BYTES: usize = 500;

const HELD: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("held");
const TAKEN: TableDefinition<'_, &[u8; 32], &[u8]> = TableDefinition::new("taken");
const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");
const TASKS: TableDefinition<'_, (&[u8; 32], u64), ()> = TableDefinition::new("tasks");

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let folder = tempdir()?;
    let ledger = EmbeddedLedger::open(&folder.path().join("ledger"))?;
    let bare = Bare::open(&folder.path().join("bare"))?;
    let (mut own, mut other) = (Rounds::default(), Rounds::default());
    let (mut own_alone, mut other_alone) = (Rounds::default(), Rounds::default());
    let per_second =
        |time: Duration| f64::from(u32::try_from(IN_FLIGHT * EACH).unwrap_or(u32::MAX)) / time.as_secs_f64();
    let each = |time: Duration| milliseconds(time) / f64::from(u32::try_from(ALONE).unwrap_or(u32::MAX));
    for round in 0..usize::try_from(ROUNDS)? {
        let first = round * IN_FLIGHT * EACH;
        let since = Instant::now();
        try_join_all((0..IN_FLIGHT).map(|at| submit(&ledger, first + at * EACH, EACH))).await?;
        own.0.push(per_second(since.elapsed()));
        let since = Instant::now();
        (0..EACH).try_for_each(|at| bare.submit(first + at * IN_FLIGHT, IN_FLIGHT))?;
        other.0.push(per_second(since.elapsed()));
        let first = (1 << 32) + round * ALONE;
        let since = Instant::now();
        submit(&ledger, first, ALONE).await?;
        own_alone.0.push(each(since.elapsed()));
        let since = Instant::now();
        (0..ALONE).try_for_each(|at| bare.submit(first + at, 1))?;
        other_alone.0.push(each(since.elapsed()));
    }
    println!("durable submissions a second, {IN_FLIGHT} in flight: booth {own}");
    println!("the same rows in the same commits of the bare database: {other}");
    println!("ms of a durable submission alone, of two commits: booth {own_alone}");
    println!("the same two commits of the bare database: {other_alone}");
    Ok(vec![
        Row {
            number: "F13",
            what: format!("durable submissions a second at {IN_FLIGHT} in flight, over the bare database"),
            booth: format!("{:.0}/s", own.median()),
            baseline: format!("{:.0}/s", other.median()),
            figure: own.over(&other).median(),
            unit: "x",
            goal: Some(Goal::AtLeast(0.8)),
        },
        Row {
            number: "F13",
            what: "a durable submission alone (two syncs), over two bare commits".to_owned(),
            booth: format!("{:.2} ms", own_alone.median()),
            baseline: format!("{:.2} ms", other_alone.median()),
            figure: own_alone.over(&other_alone).median(),
            unit: "x",
            goal: Some(Goal::AtMost(1.25)),
        },
    ])
}

/// Submissions one after the other, each reserved and then recorded.
async fn submit(ledger: &EmbeddedLedger, first: usize, count: usize) -> Result<()> {
    for name in first..first + count {
        let key = name.to_string();
        let keys =
            vec![OnceKey { task: "t".into(), scope: KeyScope::Submission("tool".into()), key: key.as_str().into() }];
        let claim = Claim { keys: keys.clone(), in_doubt: InDoubt::Refuse, idempotency_key: key.as_str().into() };
        let Reserved::Free(reservation) = ledger.reserve(&claim).await? else { bail!("{key} is not free") };
        let record = Record {
            keys,
            tool: "tool".into(),
            run: "run".into(),
            call_id: key.into(),
            raw_arguments: vec![b'x'; BYTES].into(),
            arguments: SharedJson::from(Json::from("x".repeat(BYTES).as_str())),
            recorded_at_ms: 0,
            output: ToolOutput::text("x".repeat(BYTES)),
        };
        ledger.record(reservation, record).await?;
    }
    Ok(())
}

/// The database without anything around it.
struct Bare(Database);

impl Bare {
    fn open(path: &Path) -> Result<Self> {
        Ok(Self(Database::create(path).context("the bare database cannot be made")?))
    }

    /// So many submissions in two commits, by whoever knows them all.
    fn submit(&self, first: usize, count: usize) -> Result<()> {
        let places = (first..first + count).map(|name| {
            // Spread like digests.
            let mut place = [0; 32];
            let spread = u64::try_from(name).unwrap_or_default().wrapping_mul(0x9e37_79b9_7f4a_7c15);
            place.iter_mut().zip(spread.to_be_bytes()).for_each(|(byte, own)| *byte = own);
            (place, u64::try_from(name).unwrap_or_default())
        });
        let places: Vec<_> = places.collect();
        let slot = [b'x'; 150];
        let held = self.0.begin_write()?;
        {
            let mut table = held.open_table(HELD)?;
            for (place, _) in &places {
                table.insert(place, &slot[..])?;
            }
        }
        held.commit()?;
        let taken = self.0.begin_write()?;
        {
            let (mut held, mut table) = (taken.open_table(HELD)?, taken.open_table(TAKEN)?);
            let (mut records, mut tasks) = (taken.open_table(RECORDS)?, taken.open_table(TASKS)?);
            let record = vec![b'x'; BYTES * 3 + BYTES / 3 + 300];
            for (place, name) in &places {
                held.remove(place)?;
                table.insert(place, &slot[..80])?;
                records.insert(name, &record[..])?;
                tasks.insert((&[0; 32], *name), ())?;
            }
        }
        taken.commit()?;
        Ok(())
    }
}

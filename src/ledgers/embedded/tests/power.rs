//! The power is cut at any moment, hundreds of times: what was acknowledged is there, and nothing is accepted twice.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use futures::future::join_all;

use super::medium::{Dice, Medium};
use crate::{
    content::ToolOutput,
    json::{Json, SharedJson},
    ledgers::EmbeddedLedger,
    ports::{Claim, KeyScope, Ledger as _, OnceKey, Record, Reserved, Selection},
    tools::InDoubt,
};

/// How often the power is cut.
const CUTS: usize = 400;
/// On one disk; then a new one is taken.
const CUTS_OF_A_DISK: usize = 20;
/// At once.
const CALLS: usize = 12;
/// A disk does so many operations before the power is cut, at most.
const OPERATIONS: usize = 160;

pub(super) fn key(name: usize) -> OnceKey {
    OnceKey {
        task: format!("task {}", name % 5).into(),
        scope: KeyScope::Submission("tool".into()),
        key: name.to_string().into(),
    }
}

pub(super) fn claim(name: usize, in_doubt: InDoubt) -> Claim {
    Claim { keys: vec![key(name)], in_doubt, idempotency_key: name.to_string().into() }
}

pub(super) fn record(name: usize) -> Record {
    Record {
        keys: vec![key(name)],
        tool: "tool".into(),
        run: "run".into(),
        call_id: name.to_string().into(),
        raw_arguments: vec![b' '; name % 9000].into(),
        arguments: SharedJson::from(Json::empty_object()),
        recorded_at_ms: 0,
        output: ToolOutput::text(name.to_string()),
    }
}

/// What a call was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// That it may be executed; and then nothing any more.
    Started,
    Accepted,
    Released,
    Doubted,
}

/// All calls that were told something.
type Journal = Mutex<BTreeMap<usize, Told>>;

/// One call, and what it is told.
async fn call(ledger: &EmbeddedLedger, journal: &Journal, name: usize) {
    let Ok(Reserved::Free(reservation)) = ledger.reserve(&claim(name, InDoubt::Refuse)).await else { return };
    let tell = |told| {
        journal.lock().unwrap().insert(name, told);
    };
    tell(Told::Started);
    match name % 7 {
        0 => drop(ledger.release(reservation).await.map(|()| tell(Told::Released))),
        1 => drop(ledger.doubt(reservation).await.map(|()| tell(Told::Doubted))),
        _ => drop(ledger.record(reservation, record(name)).await.map(|()| tell(Told::Accepted))),
    }
}

/// What the ledger says is what the calls were told.
async fn check(ledger: &EmbeddedLedger, journal: &Journal) -> (usize, usize) {
    let journal = journal.lock().unwrap().clone();
    let submissions = ledger.submissions(&Selection::default()).await.unwrap();
    let mut listed = BTreeMap::new();
    for submission in &submissions {
        *listed.entry(submission.call_id.parse::<usize>().unwrap()).or_insert(0) += 1;
    }
    let mut undecided = 0;
    let reserved = journal.keys().map(async |name| ledger.reserve(&claim(*name, InDoubt::Refuse)).await.unwrap());
    let (reserved, mut free) = (join_all(reserved).await, Vec::new());
    for ((name, told), reserved) in journal.iter().zip(reserved) {
        let times = listed.remove(name).unwrap_or_default();
        match (told, &reserved) {
            (Told::Accepted, Reserved::Taken(_, found)) => assert_eq!((**found).clone(), record(*name)),
            // It was executed: it may be accepted, and nobody has heard of it, but it is never executed again.
            (Told::Started, Reserved::Taken(_, found)) if name % 7 > 1 => assert_eq!((**found).clone(), record(*name)),
            (Told::Started | Told::Doubted, Reserved::InDoubt(_)) => undecided += 1,
            (Told::Released, Reserved::Free(_)) => {}
            (Told::Started, Reserved::Free(_)) if name % 7 == 0 => {}
            _ => panic!("call {name} was told {told:?}, and the ledger says {reserved:?}"),
        }
        assert_eq!(times, usize::from(matches!(reserved, Reserved::Taken(..))), "call {name}");
        if let Reserved::Free(reservation) = reserved {
            free.push(ledger.release(reservation));
        }
    }
    join_all(free).await.into_iter().for_each(Result::unwrap);
    assert!(listed.is_empty(), "nobody was told to execute {listed:?}");
    (submissions.len(), undecided)
}

fn runtime() -> tokio::runtime::Runtime {
    // Whoever waits for a disk without power has waited long enough at once.
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

#[test]
fn s2_what_was_acknowledged_survives_the_loss_of_power_and_nothing_is_accepted_twice() {
    let seed = u64::from_le_bytes(uuid::Uuid::new_v4().into_bytes()[..8].try_into().unwrap());
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let (mut cuts, mut torn, mut accepted, mut doubts) = (0, 0, 0, 0);
    while cuts < CUTS {
        let (journal, mut next) = (Arc::new(Journal::default()), 0);
        let begun = Medium::of(Vec::new());
        drop(EmbeddedLedger::on(begun.clone()).unwrap());
        let mut image = begun.survivors(&mut dice);
        for _ in 0..CUTS_OF_A_DISK {
            let medium = Medium::of(image);
            medium.cut_after(1 + dice.roll(OPERATIONS));
            // Of every other cut, the disk has failed shortly before.
            let failing = 4 + dice.roll(12);
            medium.fail_syncs(failing..failing + dice.roll(2) * (1 + dice.roll(3)));
            let running = runtime();
            running.block_on(async {
                // The power may be gone before it is open.
                let Ok(ledger) = EmbeddedLedger::on(medium.clone()) else { return };
                while !medium.is_cut() {
                    let names = next..next + CALLS;
                    next = names.end;
                    join_all(names.map(|name| call(&ledger, &journal, name))).await;
                }
            });
            // Whatever is still on its way ends with the machine.
            drop(running);
            cuts += 1;
            image = medium.survivors(&mut dice);
            torn += usize::from(medium.is_torn(&image));
            let whole = Medium::of(image.clone());
            let (there, undecided) = runtime().block_on(async {
                let ledger = EmbeddedLedger::on(whole.clone()).expect("a ledger that lost its power can be opened");
                check(&ledger, &journal).await
            });
            image = whole.survivors(&mut dice);
            (accepted, doubts) = (accepted.max(there), doubts.max(undecided));
        }
    }
    println!(
        "{cuts} cuts, {torn} of them in the middle of writes, up to {accepted} accepted and {doubts} in doubt on a disk"
    );
    assert!(torn > CUTS / 20 && accepted > 20 && doubts > 20, "the calls get somewhere");
}

//! A disk that is full, and one that cannot sync: an error, never an acknowledgement, and recovery by itself.

use std::time::Duration;

use super::{
    medium::{Dice, Medium, Trouble},
    power::{claim, key, record},
};
use crate::{
    ledgers::EmbeddedLedger,
    ports::{Ledger as _, LedgerError, Reserved, Selection},
    tools::InDoubt,
};

async fn held(ledger: &EmbeddedLedger, name: usize) -> crate::ports::Reservation {
    let reserved = ledger.reserve(&claim(name, InDoubt::Refuse)).await.unwrap();
    let Reserved::Free(reservation) = reserved else { panic!("{reserved:?}") };
    reservation
}

async fn is_taken(ledger: &EmbeddedLedger, name: usize) -> bool {
    matches!(ledger.reserve(&claim(name, InDoubt::Refuse)).await.unwrap(), Reserved::Taken(own, _) if own == key(name))
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_written_is_not_acknowledged_and_is_written_as_soon_as_it_can() {
    for trouble in [Trouble::Full, Trouble::Sync] {
        let medium = Medium::of(Vec::new());
        let ledger = EmbeddedLedger::on(medium.clone()).unwrap();
        let (before, during, patient) = (held(&ledger, 2).await, held(&ledger, 3).await, held(&ledger, 4).await);
        ledger.record(before, record(2)).await.unwrap();
        medium.trouble(trouble);
        let refused = ledger.reserve(&claim(5, InDoubt::Refuse)).await;
        assert!(matches!(refused, Err(LedgerError::Unavailable(_))), "{refused:?}");
        let unrecorded = ledger.record(during, record(3)).await;
        assert!(matches!(unrecorded, Err(LedgerError::Unavailable(_))), "{unrecorded:?}");
        // Nothing of it may count on a disk that has not taken it.
        let survivors = Medium::of(medium.survivors(&mut Dice(1)));
        let after = EmbeddedLedger::on(survivors).unwrap();
        assert_eq!(after.submissions(&Selection::default()).await.unwrap().len(), 1);
        assert_eq!(after.reserve(&claim(3, InDoubt::Refuse)).await, Ok(Reserved::InDoubt(key(3))));
        let waiting = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            medium.trouble(Trouble::None);
        };
        let (recorded, ()) = tokio::join!(ledger.record(patient, record(4)), waiting);
        recorded.unwrap();
        // Acknowledged is durable, although it was written before, and taken for written.
        assert!(is_taken(&ledger, 3).await && is_taken(&ledger, 4).await, "{trouble:?}");
        let survivors = Medium::of(medium.survivors(&mut Dice(0)));
        let after = EmbeddedLedger::on(survivors).unwrap();
        assert!(is_taken(&after, 3).await && is_taken(&after, 4).await, "{trouble:?}");
        // What nobody waited for any more was written, too; what was refused is not held.
        assert!(is_taken(&ledger, 2).await && is_taken(&ledger, 3).await && is_taken(&ledger, 4).await, "{trouble:?}");
        let after = held(&ledger, 5).await;
        ledger.record(after, record(5)).await.unwrap();
        // And all of it is durable: the power may go.
        let survivors = Medium::of(medium.survivors(&mut Dice(0)));
        let after = EmbeddedLedger::on(survivors).unwrap();
        for name in 2..=5 {
            assert!(is_taken(&after, name).await, "{trouble:?} {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f13_one_alone_costs_one_sync_for_each_of_its_two_commits_and_what_is_known_costs_none() {
    let medium = Medium::of(Vec::new());
    let ledger = EmbeddedLedger::on(medium.clone()).unwrap();
    let before = medium.syncs();
    let reservation = held(&ledger, 2).await;
    assert_eq!(medium.syncs() - before, 1);
    ledger.record(reservation, record(2)).await.unwrap();
    assert_eq!(medium.syncs() - before, 2);
    assert!(is_taken(&ledger, 2).await);
    assert_eq!(ledger.submissions(&Selection::default()).await.unwrap().len(), 1);
    assert_eq!(medium.syncs() - before, 2);
    // Many at once share theirs.
    let calls = (10..74).map(|name| {
        let ledger = &ledger;
        async move { ledger.record(held(ledger, name).await, record(name)).await.unwrap() }
    });
    futures::future::join_all(calls).await;
    assert!(medium.syncs() - before <= 8, "{} syncs", medium.syncs() - before);
}

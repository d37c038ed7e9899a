//! The ledger in PostgreSQL: booths that share it, booths that are gone, and a server that comes and goes.

use std::time::Duration;

use futures::future::join_all;
use toolbooth::{
    ledgers::{LEASE, PostgresLedger},
    ports::{Ledger as _, LedgerError, Reserved, Selection},
};

use super::{
    server::Server,
    stores::{claim, held, host_key, key, put, record, reserved, retrying, taken},
};

/// So short that a booth is gone at once when its task is.
const SHORT: Duration = Duration::from_millis(400);

#[tokio::test]
async fn booths_that_begin_at_once_make_the_tables_once_and_share_what_is_in_them() {
    let Some(server) = Server::start() else { return };
    let ledgers = join_all((0..6).map(|_| server.ledger())).await;
    let own = [key("t", "tool", "k")];
    let first = held(&ledgers[0], &claim(&own, "first")).await;
    let waits = claim(&own, "second");
    let waiting = ledgers[1..].iter().map(|ledger| reserved(ledger, &waits));
    let ((), told) = tokio::join!(
        async {
            put(&ledgers[0], &[key("t", "tool", "other")], "other").await;
            ledgers[0].record(first, record(&own, "first")).await.unwrap();
        },
        join_all(waiting),
    );
    for told in told {
        assert!(matches!(told, Reserved::Taken(_, record) if &*record.call_id == "first"));
    }
    // Each hears of what the others record.
    for ledger in &ledgers {
        assert_eq!(ledger.changed(1).await, Ok(2));
        assert_eq!(ledger.submissions(&Selection::default()).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn sequences_of_all_booths_are_seen_in_the_order_of_their_numbers() {
    let Some(server) = Server::start() else { return };
    let ledgers = join_all((0..3).map(|_| server.ledger())).await;
    let reader = server.ledger().await;
    let watching = async {
        let mut seen = Vec::new();
        while seen.len() < 300 {
            let after = seen.last().copied().unwrap_or_default();
            reader.changed(after).await.unwrap();
            let new = reader.submissions(&Selection { after, ..Selection::default() }).await.unwrap();
            seen.extend(new.iter().map(|submission| submission.sequence));
        }
        seen
    };
    let putting = (0..300).map(|number: usize| {
        let ledger = &ledgers[number % 3];
        async move { put(ledger, &[key("t", "tool", &number.to_string())], "x").await }
    });
    let (seen, _) = tokio::join!(watching, join_all(putting));
    assert_eq!(seen, (1..=300).collect::<Vec<_>>(), "none is missed, and none comes late");
}

#[tokio::test]
async fn s4_what_a_booth_held_that_is_gone_is_in_doubt_after_its_lease() {
    let Some(server) = Server::start() else { return };
    let (refused, retried) = ([key("t", "tool", "k")], [host_key("t", "k")]);
    let (gone, alive) = (server.leased(SHORT).await, server.leased(SHORT).await);
    let first = held(&gone, &claim(&refused, "of the first")).await;
    held(&gone, &claim(&retried, "of the first")).await;
    let of_the_living = [key("t", "tool", "l")];
    let holds = held(&alive, &claim(&of_the_living, "of the living")).await;
    drop(gone);
    // It is waited for as long as it might live, and no longer.
    assert_eq!(reserved(&alive, &claim(&refused, "second")).await, Reserved::InDoubt(refused[0].clone()));
    assert_eq!(&*held(&alive, &retrying(&retried, "second")).await.idempotency_key, "of the first");
    // A booth that was frozen for a while, and not gone, may still say what happened.
    let frozen = server.leased(SHORT).await;
    frozen.record(first.clone(), record(&refused, "first")).await.unwrap();
    assert_eq!(&*taken(&alive, &refused[0]).await.call_id, "first");
    // Whoever lives goes on holding, however long it takes.
    tokio::time::timeout(SHORT * 4, reserved(&frozen, &retrying(&of_the_living, "third"))).await.unwrap_err();
    alive.record(holds, record(&of_the_living, "of the living")).await.unwrap();
}

#[tokio::test]
async fn a_transaction_that_is_left_open_holds_the_others_up_for_seconds_only() {
    let Some(server) = Server::start() else { return };
    let ledger = server.ledger().await;
    put(&ledger, &[key("t", "tool", "1")], "1").await;
    // A booth that is frozen in the middle of its transaction.
    let frozen: sqlx::PgPool = sqlx::PgPool::connect(&server.url()).await.unwrap();
    let mut frozen = frozen.acquire().await.unwrap();
    let begin = "SET idle_in_transaction_session_timeout = '3s'; BEGIN; SELECT newest FROM toolbooth_ledger FOR UPDATE";
    sqlx::raw_sql(begin).execute(&mut *frozen).await.unwrap();
    let own = [key("t", "tool", "2")];
    let refused = ledger.reserve(&claim(&own, "2")).await;
    assert!(matches!(&refused, Err(LedgerError::Unavailable(why)) if why.contains("2s")), "{refused:?}");
    let mut tries = 0;
    while ledger.reserve(&claim(&own, "2")).await.is_err() {
        tries += 1;
        assert!(tries < 5);
    }
}

#[tokio::test]
async fn a_server_that_comes_and_goes_is_an_error_and_then_none() {
    let Some(mut server) = Server::start() else { return };
    let ledger = server.ledger().await;
    let (before, during) = ([key("t", "tool", "before")], [key("t", "tool", "during")]);
    let held_before = held(&ledger, &claim(&before, "before")).await;
    server.stop();
    let refused = ledger.reserve(&claim(&during, "during")).await;
    assert!(matches!(refused, Err(LedgerError::Unavailable(_))), "{refused:?}");
    let read = ledger.submissions(&Selection::default()).await;
    assert!(matches!(read, Err(LedgerError::Unavailable(_))), "{read:?}");
    // The end of an execution waits for the server.
    let ending = ledger.record(held_before, record(&before, "before"));
    let (ended, ()) = tokio::join!(ending, async { server.again() });
    ended.unwrap();
    assert_eq!(&*taken(&ledger, &before[0]).await.call_id, "before");
    put(&ledger, &during, "after").await;
}

#[tokio::test]
async fn what_keeps_a_ledger_from_opening_is_said_without_the_password() {
    let Some(mut server) = Server::start() else { return };
    let problem = async |url: &str| {
        let error = PostgresLedger::open(&url.parse().unwrap(), LEASE).await.unwrap_err();
        let told = format!("{error} {error:?}");
        assert!(!told.contains("s3cret") && told.contains("postgres on"), "{told}");
        told
    };
    let with = |user: &str| server.url().replace("booth@", &format!("{user}:s3cret@"));
    let (nobody, poor) = (with("nobody"), with("poor"));
    assert!(problem(&nobody).await.contains("role \"nobody\" does not exist"));
    server.sql("CREATE ROLE poor LOGIN");
    assert!(problem(&poor).await.contains("GRANT CREATE"));
    drop(server.ledger().await);
    server.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO poor");
    let ledger = PostgresLedger::open(&poor.parse().unwrap(), LEASE).await.unwrap();
    put(&ledger, &[key("t", "tool", "k")], "by somebody who may only use the tables").await;
    drop(ledger);
    server.sql("UPDATE toolbooth_ledger SET version = 2");
    assert!(problem(&poor).await.contains("version 2"));
    server.stop();
    problem(&poor).await;
}

//! Holding keys (rules S2 to S4): who gets them, who waits, and what is left by those who are gone.

use std::{pin::pin, sync::Arc};

use futures::{FutureExt as _, future::join_all};
use toolbooth::ports::{LedgerError, Reserved};

use super::stores::{Kept, PATIENCE, claim, held, host_key, key, put, record, reserved, retrying, taken};

pub(super) async fn s2_a_key_is_held_once_and_then_taken(ledger: Kept) {
    let keys = [key("t", "tool", "k")];
    let own = &keys[0];
    let reservation = held(&*ledger, &claim(&keys, "first")).await;
    assert_eq!((&reservation.keys[..], &*reservation.idempotency_key), (&keys[..], "first"));
    let kept = record(&keys, "first");
    ledger.record(reservation.clone(), kept.clone()).await.unwrap();
    assert_eq!(taken(&*ledger, own).await, kept);
    // Its end is written once: whoever asks twice is told the same, and nothing else can be said of it.
    ledger.record(reservation.clone(), kept.clone()).await.unwrap();
    assert_eq!(ledger.release(reservation.clone()).await, Err(LedgerError::NotHeld));
    assert_eq!(ledger.doubt(reservation).await, Err(LedgerError::NotHeld));
    assert_eq!(taken(&*ledger, own).await, kept);
    // Another task, another tool and a host's key are other keys.
    for other in [key("u", "tool", "k"), key("t", "other", "k"), host_key("t", "k")] {
        held(&*ledger, &claim(&[other], "other")).await;
    }
}

pub(super) async fn s2_a_release_frees_the_key(ledger: Kept) {
    let own = [key("t", "tool", "k")];
    let first = held(&*ledger, &claim(&own, "first")).await;
    ledger.release(first.clone()).await.unwrap();
    let second = held(&*ledger, &claim(&own, "second")).await;
    assert_eq!(&*second.idempotency_key, "second");
    assert_eq!(ledger.record(first, record(&own, "first")).await, Err(LedgerError::NotHeld));
    ledger.record(second, record(&own, "second")).await.unwrap();
    assert_eq!(&*taken(&*ledger, &own[0]).await.call_id, "second");
}

pub(super) async fn s4_a_doubt_is_refused_or_handed_on_with_its_idempotency_key(ledger: Kept) {
    let own = [key("t", "tool", "k")];
    let first = held(&*ledger, &claim(&own, "first")).await;
    ledger.doubt(first).await.unwrap();
    for _ in 0..2 {
        let refused = reserved(&*ledger, &claim(&own, "second")).await;
        assert_eq!(refused, Reserved::InDoubt(own[0].clone()));
    }
    let second = held(&*ledger, &retrying(&own, "second")).await;
    assert_eq!(&*second.idempotency_key, "first");
    ledger.doubt(second).await.unwrap();
    let third = held(&*ledger, &retrying(&own, "third")).await;
    assert_eq!(&*third.idempotency_key, "first", "however often it is in doubt");
    ledger.record(third, record(&own, "third")).await.unwrap();
    assert_eq!(&*taken(&*ledger, &own[0]).await.call_id, "third");
}

pub(super) async fn s4_whoever_was_in_doubt_may_still_say_what_happened(ledger: Kept) {
    let own = [key("t", "tool", "k"), host_key("t", "k")];
    let first = held(&*ledger, &claim(&own, "first")).await;
    ledger.doubt(first.clone()).await.unwrap();
    ledger.doubt(first.clone()).await.unwrap();
    ledger.release(first).await.unwrap();
    let second = held(&*ledger, &claim(&own, "second")).await;
    ledger.doubt(second.clone()).await.unwrap();
    ledger.record(second, record(&own, "second")).await.unwrap();
    assert_eq!(&*taken(&*ledger, &own[1]).await.call_id, "second");
}

pub(super) async fn s4_whoever_was_followed_after_a_doubt_holds_nothing(ledger: Kept) {
    let own = [key("t", "tool", "k"), key("t", "tool", "l")];
    let first = held(&*ledger, &claim(&own, "first")).await;
    ledger.doubt(first.clone()).await.unwrap();
    let second = held(&*ledger, &retrying(&own[..1], "second")).await;
    // The second key is still its own, and it is not left held by somebody who has nothing more to say.
    assert_eq!(ledger.record(first.clone(), record(&own, "first")).await, Err(LedgerError::NotHeld));
    assert_eq!(reserved(&*ledger, &claim(&own[1..], "third")).await, Reserved::InDoubt(own[1].clone()));
    assert_eq!(ledger.release(first.clone()).await, Err(LedgerError::NotHeld));
    held(&*ledger, &claim(&own[1..], "third")).await;
    ledger.record(second, record(&own[..1], "second")).await.unwrap();
    assert_eq!(ledger.doubt(first).await, Err(LedgerError::NotHeld));
    assert_eq!(&*taken(&*ledger, &own[0]).await.call_id, "second");
}

pub(super) async fn of_two_keys_all_or_none_are_held(ledger: Kept) {
    let (one, other) = (host_key("t", "h"), key("t", "tool", "k"));
    put(&*ledger, std::slice::from_ref(&other), "before").await;
    let both = claim(&[one.clone(), other.clone()], "both");
    let Reserved::Taken(key_of_it, found) = reserved(&*ledger, &both).await else { panic!("one is taken") };
    assert_eq!((key_of_it, &*found.call_id), (other, "before"));
    // The first key was not held for it.
    let keys = [one.clone(), key("t", "tool", "l")];
    put(&*ledger, &keys, "after").await;
    for key in &keys {
        assert_eq!(&*taken(&*ledger, key).await.call_id, "after");
    }
    let Reserved::Taken(key_of_it, found) = reserved(&*ledger, &both).await else { panic!("both are taken") };
    assert_eq!((key_of_it, &*found.call_id), (one, "after"), "the first that is taken");
}

pub(super) async fn s2_of_many_who_want_a_key_one_gets_it_and_the_others_its_record(ledger: Kept) {
    let own = [key("t", "tool", "k")];
    let attempt = async |name: usize| {
        let name = name.to_string();
        match reserved(&*ledger, &claim(&own, &name)).await {
            Reserved::Free(reservation) => {
                tokio::task::yield_now().await;
                ledger.record(reservation, record(&own, &name)).await.unwrap();
                (true, name)
            }
            Reserved::Taken(_, record) => (false, record.call_id.to_string()),
            Reserved::InDoubt(_) => panic!("nobody was in doubt"),
        }
    };
    let told = join_all((0..300).map(attempt)).await;
    let won: Vec<_> = told.iter().filter(|(won, _)| *won).collect();
    assert_eq!(won.len(), 1);
    assert!(told.iter().all(|(_, name)| *name == won[0].1), "{told:?}");
}

pub(super) async fn a_wait_ends_with_the_decision_it_waits_for(ledger: Kept) {
    for (name, expected) in [("record", "Taken"), ("release", "Free"), ("doubt", "InDoubt")] {
        let own = [key("t", "tool", name)];
        let first = held(&*ledger, &claim(&own, "first")).await;
        let waits = claim(&own, "second");
        let mut second = pin!(reserved(&*ledger, &waits));
        // What happens to other keys does not end it.
        for other in 0..20 {
            put(&*ledger, &[key("t", name, &other.to_string())], "other").await;
            assert!(second.as_mut().now_or_never().is_none());
        }
        match name {
            "record" => ledger.record(first, record(&own, "first")).await.unwrap(),
            "release" => ledger.release(first).await.unwrap(),
            _ => ledger.doubt(first).await.unwrap(),
        }
        let told = format!("{:?}", second.await);
        assert!(told.starts_with(expected), "{name}: {told}");
    }
}

/// Asks for keys and is gone, at every moment of the answer's way: after so many looks at it.
async fn asked_and_gone(ledger: &Kept, claim: &toolbooth::ports::Claim, looks: usize) -> bool {
    let mut asked = Box::pin(ledger.reserve(claim));
    for _ in 0..looks {
        if (&mut asked).now_or_never().is_some() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

pub(super) async fn whoever_is_gone_before_its_answer_holds_nothing(ledger: Kept) {
    let own = [key("t", "tool", "k"), host_key("t", "k")];
    for looks in 0..40 {
        if asked_and_gone(&ledger, &claim(&own, "gone"), looks).await {
            // It had its answer: the next one is waited for like any other.
            break;
        }
        let next = held(&*ledger, &claim(&own, "next")).await;
        assert_eq!(&*next.idempotency_key, "next");
        ledger.release(next).await.unwrap();
    }
    // Whoever waits behind another, too.
    let other = [key("t", "tool", "l")];
    let first = held(&*ledger, &claim(&other, "first")).await;
    let waiting = Arc::new(claim(&other, "waiting"));
    for _ in 0..20 {
        let (ledger, waiting) = (ledger.clone(), Arc::clone(&waiting));
        let waits = tokio::spawn(async move { ledger.reserve(&waiting).await });
        tokio::task::yield_now().await;
        waits.abort();
    }
    ledger.release(first).await.unwrap();
    let next = tokio::time::timeout(PATIENCE, held(&*ledger, &claim(&other, "next"))).await.unwrap();
    ledger.release(next).await.unwrap();
}

pub(super) async fn whoever_is_gone_before_its_answer_leaves_a_doubt_as_it_was(ledger: Kept) {
    let own = [key("t", "tool", "k")];
    let first = held(&*ledger, &claim(&own, "first")).await;
    ledger.doubt(first).await.unwrap();
    for looks in 0..40 {
        if asked_and_gone(&ledger, &retrying(&own, "gone"), looks).await {
            return;
        }
        assert_eq!(reserved(&*ledger, &claim(&own, "next")).await, Reserved::InDoubt(own[0].clone()), "{looks}");
        let next = held(&*ledger, &retrying(&own, "next")).await;
        assert_eq!(&*next.idempotency_key, "first");
        ledger.doubt(next).await.unwrap();
    }
}

pub(super) async fn keys_of_any_length_and_any_character_are_told_apart(ledger: Kept) {
    let long = "k".repeat(1 << 20);
    let texts = ["", "\0", "\0\0", "a\0", "é\u{10ffff}", "' OR 1=1 --", &long, &format!("{long}l")];
    let mut keys = Vec::new();
    for text in texts {
        keys.extend([key("t", "tool", text), key(text, "tool", "t"), key("t", text, "t"), host_key("t", text)]);
    }
    for (number, key) in keys.iter().enumerate() {
        put(&*ledger, std::slice::from_ref(key), &number.to_string()).await;
    }
    for (number, key) in keys.iter().enumerate() {
        let record = taken(&*ledger, key).await;
        assert_eq!((&*record.call_id, &record.keys[0]), (number.to_string().as_str(), key));
    }
}

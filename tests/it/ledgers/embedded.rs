//! The ledger in a file: what outlives its process, and what it refuses to start with.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use toolbooth::{
    ledgers::{EmbeddedLedger, OpenError},
    ports::{Ledger as _, Reserved, Selection},
};

use super::stores::{claim, held, host_key, key, put, reserved, retrying, taken};

fn open(folder: &Path) -> EmbeddedLedger {
    EmbeddedLedger::open(folder).unwrap()
}

#[tokio::test]
async fn s4_after_a_restart_what_was_taken_is_taken_and_what_was_held_is_in_doubt() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("a/b");
    let ledger = open(&folder);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "its own");
    put(&ledger, &[key("t", "tool", "taken")], "first").await;
    let (refused, retried) = ([key("t", "tool", "held")], [host_key("t", "held")]);
    held(&ledger, &claim(&refused, "of the first")).await;
    held(&ledger, &claim(&retried, "of the first")).await;
    drop(ledger);
    let ledger = open(&folder);
    assert_eq!(&*taken(&ledger, &key("t", "tool", "taken")).await.call_id, "first");
    assert_eq!(reserved(&ledger, &claim(&refused, "second")).await, Reserved::InDoubt(refused[0].clone()));
    assert_eq!(&*held(&ledger, &retrying(&retried, "second")).await.idempotency_key, "of the first");
    put(&ledger, &[key("t", "tool", "next")], "second").await;
    let sequences = ledger.submissions(&Selection::default()).await.unwrap();
    assert_eq!(sequences.iter().map(|submission| submission.sequence).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(ledger.changed(0).await, Ok(2));
}

#[tokio::test]
async fn a_ledger_that_another_has_open_is_named_with_the_way_out() {
    let home = tempfile::tempdir().unwrap();
    let ledger = open(home.path());
    let error = EmbeddedLedger::open(home.path()).unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)));
    let text = error.to_string();
    assert!(text.contains("ledger.redb") && text.contains("--to") && text.contains("--state"), "{text}");
    drop(ledger);
    open(home.path());
}

#[tokio::test]
async fn a_file_that_is_no_whole_ledger_is_named_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let ledger = open(home.path());
    for name in 0..50 {
        put(&ledger, &[key("t", "tool", &name.to_string())], &"long ".repeat(500)).await;
    }
    drop(ledger);
    let path = home.path().join("ledger.redb");
    let whole = fs::read(&path).unwrap();
    let cut = |at: usize| whole[..at].to_vec();
    let mut cases = vec![
        ("empty", Vec::new()),
        ("foreign", b"SQLite format 3\0, or something else".to_vec()),
        ("foreign and long", vec![7; whole.len()]),
        ("zeros", vec![0; whole.len()]),
    ];
    cases.extend([1, 64, 512, 4096, whole.len() / 2, whole.len() - 1].map(|at| ("cut", cut(at))));
    let mut newer = whole.clone();
    // The version of the file format in both of its commit slots.
    (newer[64], newer[192]) = (200, 200);
    cases.push(("newer", newer));
    for page in (1..whole.len() / 4096).step_by(7) {
        let mut scratched = whole.clone();
        scratched[page * 4096..][..4096].fill(0xa5);
        if scratched != whole {
            cases.push(("scratched", scratched));
        }
    }
    let (mut refused, all) = (0, cases.len());
    for (name, content) in cases {
        fs::write(&path, &content).unwrap();
        match EmbeddedLedger::open(home.path()) {
            Err(error) => {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("ledger.redb") && text.contains("move it away"), "{name}: {text}");
                assert!(fs::read(&path).unwrap() == content || name == "cut" || name == "scratched", "{name}");
            }
            // What was hit was of no use any more: then nothing may be missing.
            Ok(ledger) => {
                assert_eq!(name, "scratched");
                assert_eq!(ledger.submissions(&Selection::default()).await.unwrap().len(), 50);
            }
        }
    }
    println!("{refused} of {all} damaged files refused, the others whole");
    fs::write(&path, &whole).unwrap();
    assert_eq!(open(home.path()).submissions(&Selection::default()).await.unwrap().len(), 50);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.clone(), file.join("below")] {
        let text = EmbeddedLedger::open(&folder).unwrap_err().to_string();
        assert!(text.contains("file") && text.contains("state folder"), "{text}");
    }
}

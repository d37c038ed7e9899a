//! Batches that are sent again after they were cut: nothing of them runs twice, and nothing runs that no limit has seen.

use std::{sync::Arc, time::Duration};

use toolbooth::{
    booth::{Booth, OpenRun},
    call::{Batch, Finish},
    refusal::Code,
    run::{BatchOutcome, Feed, Keep, Known, Limits, RecordRoom, Run, Unobserved},
};

use super::{GRACE, TOOLS, call, opened};
use crate::stand::booth;

fn limited(booth: &Booth, limits: Limits) -> toolbooth::booth::Lease {
    let keep = Keep { grace: GRACE, calls_go_on: true };
    booth.open(OpenRun { id: Some("r".into()), keep, limits, ..OpenRun::default() }).unwrap().lease
}

async fn played(run: &Arc<Run>, finish: Finish, ids: &[&str]) -> Arc<BatchOutcome> {
    let calls = ids.iter().map(|id| call(id, "echo", "{}")).collect();
    run.batch(Feed::from(Batch { id: "b1".into(), calls, finish, mode: None }), Arc::new(Unobserved)).await
}

fn codes(outcome: &BatchOutcome) -> Vec<Option<Code>> {
    outcome.results.iter().map(|result| result.error.as_ref().map(|error| error.code)).collect()
}

#[tokio::test(start_paused = true)]
async fn b7_calls_that_were_cut_off_are_counted_when_they_run() {
    let booth = booth(TOOLS);
    let lease = limited(&booth, Limits { max_calls: Some(1), max_turns: Some(1), ..Limits::default() });
    let cut = played(lease.run(), Finish::CutOff, &["a", "b"]).await;
    assert_eq!(codes(&cut), [Some(Code::Truncated); 2]);
    for _ in 0..2 {
        let whole = played(lease.run(), Finish::Complete, &["a", "b"]).await;
        assert_eq!(codes(&whole), [None, Some(Code::LimitReached)]);
        assert_eq!(whole.verdict.remaining.calls, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn b7_what_is_sent_again_after_the_time_of_its_run_is_answered_and_not_executed() {
    let booth = booth(TOOLS);
    let lease = limited(&booth, Limits { max_wall: Some(Duration::from_secs(1)), ..Limits::default() });
    played(lease.run(), Finish::CutOff, &["a"]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let outcome = played(lease.run(), Finish::Complete, &["a"]).await;
    assert_eq!(codes(&outcome), [Some(Code::LimitReached)]);
}

#[tokio::test(start_paused = true)]
async fn b5_an_id_that_a_recorded_call_has_is_taken_in_its_batch() {
    let booth = booth(TOOLS);
    let lease = limited(&booth, Limits::default());
    played(lease.run(), Finish::Complete, &["a"]).await;
    let longer = played(lease.run(), Finish::Complete, &["a", "a", "b"]).await;
    let told: Vec<_> = longer.results.iter().map(|result| (result.executed, result.replayed)).collect();
    assert_eq!(told, [(false, true), (false, true), (true, false)]);
}

#[tokio::test(start_paused = true)]
async fn ids_and_names_take_room_in_the_record_too() {
    let mut booth = booth(TOOLS);
    booth.record_room = RecordRoom::of(100_000);
    let (lease, _heard) = opened(&booth, "r", true);
    played(lease.run(), Finish::Complete, &[&"a".repeat(200_000)]).await;
    assert_eq!(lease.run().knows("b1"), Known::Forgotten);
}

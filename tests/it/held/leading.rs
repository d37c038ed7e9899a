//! What several requests that lead a run together do not do to each other, and what is left of a run that nobody leads.

use std::{sync::Arc, time::Duration};

use toolbooth::{
    booth::{Booth, CannotResume, OpenRun},
    call::Finish,
    run::{Fed, Feed, Keep, Unobserved, VerdictReason},
};

use super::{GRACE, MOMENT, TOOLS, call, feed, opened};
use crate::stand::booth;

fn request(id: &str, keep: Keep) -> OpenRun {
    OpenRun { id: Some(id.into()), keep, ..OpenRun::default() }
}

#[tokio::test(start_paused = true)]
async fn b5_requests_lead_a_run_together_and_one_that_leaves_disturbs_no_other() {
    let booth = booth(TOOLS);
    let keep = Keep { grace: GRACE, calls_go_on: false };
    let first = booth.open(request("u", keep)).unwrap().lease.then_wait();
    let (feeder, eager) = Feed::eager("b1".into(), None);
    let running = tokio::spawn(first.begin(eager, Arc::new(Unobserved)).map_err(drop).unwrap());
    let second = booth.runs.resume("u", false).unwrap().then_wait();
    for other in ["b1", "b2"] {
        let begun = second.begin(feed(other, "echo", "{}"), Arc::new(Unobserved));
        assert_eq!(begun.map(drop).unwrap_err(), Arc::from("b1"));
    }
    drop(booth.runs.resume("u", false).unwrap().then_wait());
    drop(first);
    feeder.feed(Fed::Call(call("a", "echo", "{}")));
    feeder.feed(Fed::End(Finish::Complete));
    let outcome = running.await.unwrap();
    assert_eq!((outcome.verdict.reason, outcome.results[0].text().as_str()), (VerdictReason::NotAll, "{}"));
    assert_eq!(booth.runs.get("u").unwrap().waits_until, None, "the second one is still there");
    drop(second);
    assert!(booth.runs.get("u").unwrap().waits_until.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_grace_is_not_resumed_and_held_until_its_last_batch_is_over() {
    let booth = booth(TOOLS);
    let lease = booth.open(request("u", Keep::default())).unwrap().lease.then_wait();
    assert_eq!(booth.runs.resume("u", false).unwrap_err(), CannotResume::WithoutGrace("u".into()));
    let (feeder, eager) = Feed::eager("b1".into(), None);
    let running = tokio::spawn(lease.begin(eager, Arc::new(Unobserved)).map_err(drop).unwrap());
    drop(lease);
    booth.open(request("u", Keep::default())).expect_err("its batch is not over");
    drop(feeder);
    assert_eq!(running.await.unwrap().verdict.reason, VerdictReason::Cancelled);
    tokio::time::timeout(MOMENT, booth.runs.none()).await.expect("it is over");
    booth.open(request("u", Keep::default())).unwrap();
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_all_leaders_hears_of_one_that_lets_its_run_wait() {
    let booth = Arc::new(booth(TOOLS));
    let (lease, _heard) = opened(&booth, "r", true);
    let none = {
        let booth = Arc::<Booth>::clone(&booth);
        tokio::spawn(async move { booth.runs.none().await })
    };
    tokio::task::yield_now().await;
    lease.wait();
    tokio::time::timeout(Duration::from_secs(1), none).await.expect("nobody leads a run").unwrap();
}

#[tokio::test(start_paused = true)]
async fn b6_a_batch_whose_rest_was_lost_ends_no_run() {
    let booth = booth(&TOOLS.replace(r#""echo":{}"#, r#""echo":{}},"terminate":true,"annotations":{"#));
    let (lease, _heard) = opened(&booth, "r", true);
    let (feeder, eager) = Feed::eager("b1".into(), None);
    feeder.feed(Fed::Call(call("a", "echo", "{}")));
    drop(feeder);
    let outcome = lease.run().batch(eager, Arc::new(Unobserved)).await;
    assert!(outcome.results[0].terminate);
    assert_eq!((outcome.verdict.terminate, outcome.verdict.reason), (false, VerdictReason::Truncated));
}

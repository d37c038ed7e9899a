//! A try that failed is repeated where the contract says that this does no harm, and nowhere else (rule P7). In paused time.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::Instant;
use toolbooth::refusal::{Code, Reason};

use crate::inside::{Does, Heard, Script, Try, feed, play, refusals, run};

/// A contract of the tool `t` that says this.
fn tool(keys: &str) -> String {
    format!(r#"{{"name":"t","parameters":{{"type":"object"}},"execute":{{"host":{{}}}},{keys}}}"#)
}

/// What became of one call of the tool `t`, its tries, and how often it was tried by its own word.
async fn called(keys: &str, script: Script) -> (Option<(Code, Option<Reason>)>, Vec<Try>, u32) {
    let (run, player) = run(&tool(keys), script);
    let outcome = play(&run, "b1", &[("t", "{}")]).await;
    (refusals(&outcome)[0], player.tries(), outcome.results[0].attempts)
}

#[tokio::test(start_paused = true)]
async fn p7_a_try_that_failed_is_repeated_with_the_next_number_and_the_same_key() {
    let (run, player) = run(&tool(r#""idempotent":true"#), |_, attempt| match attempt {
        1 => Does::Fail,
        2 => Does::NotStart,
        _ => Does::Answer,
    });
    let heard = Arc::new(Heard::default());
    let outcome = run.batch(feed("b1", &[("t", "{}")]), Arc::<Heard>::clone(&heard)).await;
    let result = &outcome.results[0];
    assert_eq!((result.is_error, result.executed, result.attempts), (false, true, 3));
    assert_eq!(heard.started.load(Ordering::Relaxed), 1, "the call started once, however often it is tried");
    let tries = player.tries();
    assert_eq!(tries.iter().map(|own| own.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(tries.iter().all(|own| own.key == "r/b1/0" && own.beside == 0), "{tries:?}");
}

#[tokio::test(start_paused = true)]
async fn p7_pauses_double_up_to_five_seconds_and_are_longer_by_chance() {
    let (refused, tries, attempts) = called(r#""idempotent":true,"retries":10"#, |_, _| Does::Fail).await;
    assert_eq!((refused, attempts), (Some((Code::ExecutionFailed, None)), 11));
    let pauses: Vec<u128> = tries.windows(2).map(|pair| pair[1].at.abs_diff(pair[0].at).as_millis()).collect();
    for (pause, least) in pauses.iter().zip([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]) {
        // The clock of the test counts whole milliseconds.
        assert!((least..=2 * least + 1).contains(pause), "{pause} of {pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn p7_only_what_no_tool_has_answered_is_repeated() {
    let idempotent = r#""idempotent":true"#;
    let scripts: [(Script, _); 4] = [
        (|_, _| Does::Answer, None),
        (|_, _| Does::Refuse, Some((Code::ExecutionFailed, None))),
        (|_, _| Does::Nonsense, Some((Code::ResultInvalid, None))),
        (|_, _| Does::MissHost, Some((Code::ExecutionFailed, Some(Reason::NoHost)))),
    ];
    for (script, expected) in scripts {
        let (refused, tries, attempts) = called(idempotent, script).await;
        assert_eq!((refused, tries.len(), attempts), (expected, 1, 1));
    }
    let scripts: [Script; 2] = [|_, _| Does::Fail, |_, _| Does::NotStart];
    for keys in [r#""idempotent":false"#, r#""side_effect":true"#, r#""idempotent":true,"retries":0"#] {
        for script in scripts {
            let (refused, tries, attempts) = called(keys, script).await;
            assert!(refused.is_some());
            assert_eq!((tries.len(), attempts), (1, 1), "{keys}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn p7_the_idle_time_is_of_each_try_and_the_deadline_of_all_of_them() {
    let begun = Instant::now();
    let keys = r#""idempotent":true,"retries":10,"timeout":"10s","deadline":"25s""#;
    let (refused, tries, attempts) = called(keys, |_, _| Does::Hang).await;
    assert_eq!((refused, attempts), (Some((Code::TimedOut, Some(Reason::Deadline))), 3));
    assert_eq!(begun.elapsed().as_secs(), 25);
    assert!(tries.iter().all(|own| own.beside == 0), "each is dropped before the next: {tries:?}");
    for own in &tries {
        // A try is told what is left, and not what there was.
        assert_eq!(own.deadline.map(|left| left + own.at), Some(Duration::from_secs(25)), "{own:?}");
    }
    let begun = Instant::now();
    let (refused, tries, _) = called(r#""idempotent":true,"timeout":"10s""#, |_, _| Does::Hang).await;
    assert_eq!((refused, tries.len()), (Some((Code::TimedOut, Some(Reason::Idle))), 3));
    assert_eq!(begun.elapsed().as_secs(), 30);
    let deadline = r#""idempotent":true,"deadline":"10s""#;
    let (refused, tries, _) = called(deadline, |_, _| Does::Talk(Duration::from_secs(1))).await;
    assert_eq!((refused, tries.len()), (Some((Code::TimedOut, Some(Reason::Deadline))), 1));
}

#[tokio::test(start_paused = true)]
async fn p7_nobody_waits_for_a_try_that_the_deadline_would_not_let_begin() {
    let begun = Instant::now();
    let (refused, tries, attempts) = called(r#""idempotent":true,"deadline":"100ms""#, |_, _| Does::Fail).await;
    assert_eq!((refused, tries.len(), attempts), (Some((Code::ExecutionFailed, None)), 1, 1));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn b7_what_an_earlier_try_may_have_done_is_not_forgotten() {
    let keys = r#""idempotent":true,"side_effect":true"#;
    let lost_then_gone: Script = |_, attempt| if attempt == 1 { Does::Fail } else { Does::NotStart };
    let (refused, _, attempts) = called(keys, lost_then_gone).await;
    assert_eq!((refused, attempts), (Some((Code::OutcomeUnknown, Some(Reason::Unreachable))), 3));
    let (refused, _, _) = called(keys, |_, _| Does::NotStart).await;
    assert_eq!(refused, Some((Code::ExecutionFailed, Some(Reason::Unreachable))));
}

#[tokio::test(start_paused = true)]
async fn s2_a_submission_holds_its_key_over_all_its_tries() {
    let keys = r#""idempotent":true,"accept":{"once_per":"run"}"#;
    let (run, player) = run(&tool(keys), |_, attempt| if attempt == 1 { Does::Fail } else { Does::Answer });
    let outcome = play(&run, "b1", &[("t", r#"{"v":1}"#), ("t", r#"{"v":2}"#)]).await;
    assert_eq!(refusals(&outcome), [None, Some((Code::AlreadyAccepted, None))]);
    assert_eq!(outcome.results.iter().map(|result| result.attempts).collect::<Vec<_>>(), [2, 0]);
    assert_eq!((player.tries().len(), outcome.verdict.accepted.len()), (2, 1));
    let again = play(&run, "b2", &[("t", r#"{"v":1}"#)]).await;
    assert_eq!((again.results[0].replayed, again.results[0].attempts), (true, 0));
}

#[tokio::test(start_paused = true)]
async fn s4_a_submission_of_which_one_try_was_lost_is_in_doubt_however_the_last_one_ended() {
    let keys = r#""idempotent":true,"accept":{"once_per":"run"}"#;
    let lost_then_gone: Script = |_, attempt| if attempt == 1 { Does::Fail } else { Does::NotStart };
    for (script, again) in [(lost_then_gone, Code::OutcomeUnknown), (|_, _| Does::NotStart, Code::ExecutionFailed)] {
        let (run, player) = run(&tool(keys), script);
        play(&run, "b1", &[("t", "{}")]).await;
        let outcome = play(&run, "b2", &[("t", "{}")]).await;
        assert_eq!(refusals(&outcome)[0].map(|(code, _)| code), Some(again));
        // What is in doubt is not executed again; what was never started is.
        let tries = if again == Code::OutcomeUnknown { 3 } else { 6 };
        assert_eq!(player.tries().len(), tries);
    }
}

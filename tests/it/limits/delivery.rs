//! The last turn and the last call, kept for delivery where the host asks for it.

use std::sync::Arc;

use toolbooth::{
    grpc::proto::{self, ErrorCode, Open},
    refusal::{Code, Reason},
    run::{BatchOutcome, Limits, Run, RunOptions},
};

use crate::{
    inside::{Does, Player, options, play, refusals},
    stand::{Stand, call, code, text},
};

const KEPT: Option<(Code, Option<Reason>)> = Some((Code::LimitReached, Some(Reason::ReservedForDelivery)));

const LOOK: &str = r#"{"name":"look","parameters":{"type":"object"}}"#;
const SUBMIT: &str = r#"{"name":"submit","parameters":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"}}},"submit":{}}"#;
const REPORT: &str = r#"{"name":"report","parameters":{"type":"object"},"accept":{"once_per":"task"}}"#;

fn run(contracts: &[&str], limits: &Limits) -> Arc<Run> {
    let contracts = format!(r#"{{"tools":[{}]}}"#, contracts.join(","));
    let limits = Limits { reserve_delivery: Some(true), ..limits.clone() };
    Run::open(RunOptions { limits, ..options(&contracts, Player::new(|_, _| Does::Answer)) })
}

fn turns(max: u32) -> Limits {
    Limits { max_turns: Some(max), ..Limits::default() }
}

fn calls(max: u32) -> Limits {
    Limits { max_calls: Some(max), ..Limits::default() }
}

/// Whether the host should stop, and the tool that it should force.
fn said(outcome: &Arc<BatchOutcome>) -> (bool, Option<&str>) {
    (outcome.verdict.stop, outcome.verdict.tool_choice.as_deref())
}

const DELIVERY: (&str, &str) = ("submit", r#"{"v":1}"#);
const OTHER: (&str, &str) = ("look", "{}");

#[tokio::test(start_paused = true)]
async fn b7_the_last_turn_is_kept_for_a_submission_and_forced() {
    let run = run(&[LOOK, SUBMIT], &turns(2));
    let outcome = play(&run, "b1", &[OTHER]).await;
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![None], (false, Some("submit"))));
    let outcome = play(&run, "b2", &[OTHER]).await;
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![KEPT], (false, Some("submit"))));
    let told = r#"Tool "look" was not executed: what is left of this run is kept for its result. Only "submit" may still be called."#;
    assert_eq!(outcome.results[0].text(), told);
    assert_eq!(outcome.verdict.remaining.turns, Some(1), "what was refused has used nothing up");
    let outcome = play(&run, "b3", &[OTHER, DELIVERY, OTHER]).await;
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![KEPT, None, KEPT], (true, None)));
    let outcome = play(&run, "b4", &[DELIVERY]).await;
    assert_eq!(refusals(&outcome), [Some((Code::LimitReached, Some(Reason::MaxTurns)))]);
}

#[tokio::test(start_paused = true)]
async fn b7_the_last_call_is_kept_for_a_submission_wherever_in_a_batch_it_comes() {
    let run = run(&[LOOK, SUBMIT], &calls(3));
    let outcome = play(&run, "b1", &[OTHER, OTHER, OTHER, OTHER]).await;
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![None, None, KEPT, KEPT], (false, Some("submit"))));
    assert_eq!(outcome.verdict.remaining.calls, Some(1));
    let outcome = play(&run, "b2", &[OTHER, DELIVERY, DELIVERY]).await;
    let full = Some((Code::LimitReached, Some(Reason::MaxCalls)));
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![KEPT, None, full], (true, None)));
}

#[tokio::test(start_paused = true)]
async fn b7_a_submission_may_come_before_the_last_slot_and_then_takes_an_ordinary_one() {
    let run = run(&[LOOK, SUBMIT], &calls(3));
    let outcome = play(&run, "b1", &[DELIVERY, OTHER]).await;
    assert_eq!((refusals(&outcome), outcome.verdict.remaining.calls), (vec![None, None], Some(1)));
}

#[tokio::test(start_paused = true)]
async fn b7_what_is_kept_is_given_up_after_three_batches_that_do_not_deliver() {
    for limits in [turns(1), calls(1)] {
        let run = run(&[LOOK, SUBMIT], &limits);
        for (batch, stop) in [("b1", false), ("b2", false), ("b3", true)] {
            let outcome = play(&run, batch, &[OTHER]).await;
            assert_eq!((refusals(&outcome), outcome.verdict.stop), (vec![KEPT], stop), "{batch}");
        }
        let outcome = play(&run, "b4", &[DELIVERY]).await;
        assert_eq!(refusals(&outcome)[0].map(|(code, _)| code), Some(Code::LimitReached));
        let left = &outcome.verdict.remaining;
        assert_eq!(left.turns.or(left.calls), Some(0));
    }
    let run = run(&[LOOK, SUBMIT], &turns(1));
    for batch in ["b1", "b2"] {
        assert!(!play(&run, batch, &[]).await.verdict.stop, "an empty batch does not deliver, either");
    }
    assert_eq!(refusals(&play(&run, "b3", &[DELIVERY]).await), [None], "the third may still deliver");
}

#[tokio::test(start_paused = true)]
async fn b9_no_tool_is_forced_where_several_could_deliver_and_all_are_named() {
    let run = run(&[LOOK, SUBMIT, REPORT], &turns(1));
    let outcome = play(&run, "b1", &[OTHER]).await;
    assert_eq!(said(&outcome), (false, None));
    assert!(outcome.results[0].text().ends_with(r#"Only "report", "submit" may still be called."#));
}

#[tokio::test(start_paused = true)]
async fn b9_after_an_invalid_call_only_a_tool_that_may_still_be_called_is_forced() {
    for (call, forced) in [(("look", "{"), None), (("submit", "{"), Some("submit"))] {
        let run = run(&[LOOK, SUBMIT, REPORT], &calls(2));
        assert_eq!(said(&play(&run, "b1", &[call]).await), (false, forced));
    }
}

#[tokio::test(start_paused = true)]
async fn b7_nothing_is_kept_where_nothing_can_be_delivered_or_nobody_asked() {
    let outcome = play(&run(&[LOOK], &turns(1)), "b1", &[OTHER]).await;
    assert_eq!((refusals(&outcome), said(&outcome)), (vec![None], (true, None)));
    for reserve_delivery in [None, Some(false)] {
        let limits = Limits { reserve_delivery, ..turns(1) };
        let unasked = options(&format!(r#"{{"tools":[{LOOK},{SUBMIT}]}}"#), Player::new(|_, _| Does::Answer));
        let outcome = play(&Run::open(RunOptions { limits, ..unasked }), "b1", &[OTHER]).await;
        assert_eq!((refusals(&outcome), said(&outcome)), (vec![None], (true, None)));
    }
}

#[tokio::test]
async fn b7_a_host_asks_over_the_wire_and_is_told_what_holds() {
    let stand = Stand::with(&format!(
        r#"{{"tools":[{SUBMIT},{{"name":"echo","parameters":{{"type":"object"}},"execute":{{"echo":{{}}}}}}]}}"#
    ))
    .await;
    let limits = proto::Limits { max_turns: Some(1), reserve_delivery: Some(true), ..proto::Limits::default() };
    let mut stream = stand.open(Open { limits: Some(limits), ..Open::default() }).await;
    assert_eq!(stream.opened.limits.as_ref().unwrap().reserve_delivery, Some(true));
    let (results, verdict) = stream.batch("b1", vec![call("a", "echo", "{}")]).await;
    assert_eq!(code(&results[0]), ErrorCode::LimitReached);
    assert!(text(&results[0]).contains("Only \"submit\" may still be called."));
    assert_eq!(
        (verdict.stop, verdict.limit.as_str(), verdict.tool_choice.as_str()),
        (false, "reserved_for_delivery", "submit")
    );
    let (results, verdict) = stream.batch("b2", vec![call("a", "submit", r#"{"v":1}"#)]).await;
    assert_eq!((code(&results[0]), verdict.stop, verdict.terminate), (ErrorCode::Unspecified, true, true));
}

//! Calls under an idempotency key of their host's: executed once, whatever the tool (rules S1 to S4).

use toolbooth::grpc::proto::{self, ErrorCode, Open, ToolCall, run_request::Frame as Say, run_response::Frame as Hear};

use crate::stand::{Stand, Stream, batch, call, code, outcome, text, text_content};

const TOOLS: &str = r#"{"tools":[
  {"name":"charge","parameters":{"type":"object","properties":{"n":{"type":"integer"}}},"execute":{"host":{}},"side_effect":true,"timeout":"100ms"},
  {"name":"safe","parameters":{"type":"object"},"execute":{"host":{}},"side_effect":true,"idempotent":true,"retries":0,"timeout":"100ms"},
  {"name":"look","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"100ms"},
  {"name":"each","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":{"argument":"/id"}},"terminate":true},
  {"name":"again","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"task","in_doubt":"retry"},"timeout":"100ms"},
  {"name":"keep","parameters":{"type":"object"},"submit":{"once_per":"task"}}
]}"#;

fn keyed(key: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { idempotency_key: key.into(), ..call(key, name, arguments) }
}

async fn of_task(stand: &Stand, task: &str) -> Stream {
    stand.open(Open { task_key: task.into(), ..Open::default() }).await
}

/// Plays a batch of one call that is executed, and answered like this.
async fn executed(stream: &mut Stream, id: &str, call: ToolCall, answer: Say) -> (proto::CallResult, proto::Execute) {
    stream.say_of(id, batch(vec![call]));
    let (_, index, execute) = stream.asked().await;
    stream.say_at(id, index, answer);
    (stream.rest().await.0.pop().unwrap(), execute)
}

/// Plays a batch of one call that is not executed.
async fn answered(stream: &mut Stream, id: &str, call: ToolCall) -> proto::CallResult {
    stream.say_of(id, batch(vec![call]));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    assert!(!heard.iter().any(|heard| matches!(heard.frame, Some(Hear::Execute(_)))), "nothing is executed");
    let result = heard.into_iter().find_map(|heard| match heard.frame {
        Some(Hear::CallFinished(result)) => Some(result),
        _ => None,
    });
    result.unwrap()
}

fn failure() -> Say {
    let content = vec![text_content("declined")];
    Say::ToolOutcome(proto::ToolOutcome { content, is_error: true, ..proto::ToolOutcome::default() })
}

#[tokio::test]
async fn s3_the_same_call_under_a_key_is_replayed_across_runs_of_its_task() {
    let stand = Stand::with(TOOLS).await;
    let mut first = of_task(&stand, "t").await;
    let (result, execute) = executed(&mut first, "b1", keyed("k", "charge", r#"{"n":1}"#), outcome("paid")).await;
    assert_eq!((execute.idempotency_key.as_str(), result.executed, result.replayed), ("k", true, false));
    // By value, after conversion.
    for (id, arguments) in [("b2", r#"{"n":1}"#), ("b3", r#"{ "n": 1.0 }"#), ("b4", r#"{"n":"1"}"#)] {
        let result = answered(&mut first, id, keyed("k", "charge", arguments)).await;
        assert_eq!((text(&result).as_str(), result.executed, result.replayed), ("paid", false, true), "{arguments}");
    }
    let mut second = of_task(&stand, "t").await;
    let result = answered(&mut second, "b1", keyed("k", "charge", r#"{"n":1}"#)).await;
    assert!(result.replayed);
    // Another task has its own keys: nobody reads the answers of others.
    let mut other = of_task(&stand, "u").await;
    let (result, _) = executed(&mut other, "b1", keyed("k", "charge", r#"{"n":1}"#), outcome("paid, too")).await;
    assert_eq!((text(&result).as_str(), result.replayed), ("paid, too", false));
}

#[tokio::test]
async fn idem_002_a_key_with_other_arguments_or_another_tool_is_a_conflict_and_nothing_is_executed() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    executed(&mut stream, "b1", keyed("k", "charge", r#"{"n":1}"#), outcome("paid")).await;
    for (id, other) in [("b2", keyed("k", "charge", r#"{"n":2}"#)), ("b3", keyed("k", "look", r#"{"n":1}"#))] {
        let result = answered(&mut stream, id, other).await;
        assert_eq!((code(&result), result.executed, result.terminate), (ErrorCode::IdempotencyConflict, false, false));
        assert!(text(&result).contains("idempotency key \"k\""), "{}", text(&result));
    }
}

#[tokio::test]
async fn s2_within_a_batch_the_lowest_index_is_executed_and_the_others_wait_for_it() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    let calls = [r#"{"n":1}"#, r#"{"n":1}"#, r#"{"n":2}"#].map(|arguments| keyed("k", "charge", arguments));
    let calls = calls.into_iter().enumerate().map(|(at, call)| ToolCall { id: format!("c{at}"), ..call });
    stream.say_of("b1", batch(calls.collect()));
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 0, outcome("paid"));
    let (mut results, _) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    let told: Vec<_> = results.iter().map(|result| (code(result), result.executed, result.replayed)).collect();
    let none = ErrorCode::Unspecified;
    assert_eq!(told, [(none, true, false), (none, false, true), (ErrorCode::IdempotencyConflict, false, false)]);
}

#[tokio::test]
async fn s2_a_failure_frees_the_key_and_another_call_may_have_it() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    let (result, _) = executed(&mut stream, "b1", keyed("k", "charge", r#"{"n":1}"#), failure()).await;
    assert_eq!(code(&result), ErrorCode::ExecutionFailed);
    let (result, _) = executed(&mut stream, "b2", keyed("k", "charge", r#"{"n":2}"#), outcome("paid")).await;
    assert_eq!(text(&result), "paid");
}

#[tokio::test]
async fn s4_what_an_unknown_outcome_means_is_said_by_the_contract() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    let time_out = async |stream: &mut Stream, id: &str, call: ToolCall| {
        stream.say_of(id, batch(vec![call]));
        stream.asked().await;
        code(stream.rest().await.0.last().unwrap())
    };
    // It may have had its effect: nobody tries again before somebody has looked.
    assert_eq!(time_out(&mut stream, "b1", keyed("k1", "charge", "{}")).await, ErrorCode::OutcomeUnknown);
    let refused = answered(&mut stream, "b2", keyed("k1", "charge", "{}")).await;
    assert_eq!((code(&refused), refused.executed), (ErrorCode::OutcomeUnknown, false));
    // It may be repeated, under the same key.
    assert_eq!(time_out(&mut stream, "b3", keyed("k2", "safe", "{}")).await, ErrorCode::OutcomeUnknown);
    let (result, execute) = executed(&mut stream, "b4", keyed("k2", "safe", "{}"), outcome("done")).await;
    assert_eq!((text(&result).as_str(), execute.idempotency_key.as_str()), ("done", "k2"));
    // It has no effect: a time-out says nothing about the next call.
    assert_eq!(time_out(&mut stream, "b5", keyed("k3", "look", "{}")).await, ErrorCode::TimedOut);
    executed(&mut stream, "b6", keyed("k3", "look", r#"{"other":1}"#), outcome("seen")).await;
}

#[tokio::test]
async fn s4_a_submission_in_doubt_is_tried_again_under_the_key_of_the_first_try() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    stream.say_of("b1", batch(vec![call("a", "again", "{}")]));
    let first = stream.asked().await.2.idempotency_key;
    assert_eq!(code(stream.rest().await.0.last().unwrap()), ErrorCode::OutcomeUnknown);
    // A second try that nobody could start leaves the doubt, and the key.
    let request = proto::ExecuteBatchRequest {
        open: Some(Open { task_key: "t".into(), ..Open::default() }),
        batch: Some(proto::Batch { calls: vec![call("x", "again", "{}")], ..proto::Batch::default() }),
        ..proto::ExecuteBatchRequest::default()
    };
    let alone = stand.client().await.execute_batch(request).await.unwrap().into_inner();
    assert_eq!(alone.results[0].error.as_ref().unwrap().reason, "no_host");
    let (result, execute) = executed(&mut stream, "b2", call("b", "again", "{}"), outcome("done")).await;
    assert_eq!((text(&result).as_str(), execute.idempotency_key), ("done", first));
}

#[tokio::test]
async fn s1_a_submission_under_a_key_holds_both_or_none() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    let (result, _) = executed(&mut stream, "b1", keyed("k", "each", r#"{"id":1}"#), outcome("one")).await;
    assert!(result.terminate);
    // The key belongs to another submission.
    let conflict = answered(&mut stream, "b2", keyed("k", "each", r#"{"id":2}"#)).await;
    assert_eq!(code(&conflict), ErrorCode::IdempotencyConflict);
    // What was refused holds nothing.
    let (result, _) = executed(&mut stream, "b3", call("c", "each", r#"{"id":2}"#), outcome("two")).await;
    assert_eq!(text(&result), "two");
    // The submission is taken, under whatever key.
    let replayed = answered(&mut stream, "b4", keyed("other", "each", r#"{"id":1}"#)).await;
    assert_eq!((text(&replayed).as_str(), replayed.replayed, replayed.terminate), ("one", true, true));
    let taken = answered(&mut stream, "b5", keyed("third", "each", r#"{"id":1,"x":0}"#)).await;
    assert_eq!(code(&taken), ErrorCode::AlreadyAccepted);
    let (result, _) = executed(&mut stream, "b6", keyed("third", "charge", "{}"), outcome("free")).await;
    assert_eq!(text(&result), "free");
}

#[tokio::test]
async fn s5_only_submissions_are_listed_as_accepted() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = of_task(&stand, "t").await;
    executed(&mut stream, "b1", keyed("k", "charge", "{}"), outcome("paid")).await;
    let (_, verdict) = stream.batch("b2", vec![keyed("l", "keep", r#"{"v":1}"#)]).await;
    let accepted: Vec<_> =
        verdict.accepted.iter().map(|accepted| (accepted.tool.as_str(), accepted.key.as_str())).collect();
    assert_eq!(accepted, [("keep", "task")]);
}

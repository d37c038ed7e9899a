//! The `Run` stream, as a host sees it.

use toolbooth::grpc::proto::{
    self, ErrorCode, ExecutionMode, Open, RejectReason, VerdictReason, run_request::Frame as Say,
    run_response::Frame as Hear,
};

use crate::stand::{Stand, batch, call, code, outcome, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"add","parameters":{"type":"object","required":["a","b"],"properties":{"a":{"type":"number"},"b":{"type":"number"}}},"execute":{"host":{}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}},
  {"name":"hang","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"100ms"},
  {"name":"submit","parameters":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"}}},"submit":{"once_per":"run"}}
]}"#;

#[tokio::test]
async fn p1_a_host_executes_validated_calls_and_hears_each_result_once() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("c1", "add", r#"{"a":1,"b":2.50}"#), call("c2", "add", r#"{"a":"1"}"#)]));
    let (batch_id, index, execute) = stream.asked().await;
    assert_eq!((batch_id.as_str(), index, execute.call_id.as_str()), ("b1", 0, "c1"));
    assert_eq!(execute.arguments, r#"{"a":1,"b":2.50}"#);
    assert_eq!((execute.attempt, execute.idempotency_key.ends_with("/b1/0")), (1, true));
    stream.say_at("b1", 0, outcome("3.5"));
    let (results, finished) = stream.rest().await;
    assert_eq!(results.len(), 2);
    let ok = results.iter().find(|result| result.index == 0).unwrap();
    assert_eq!((ok.is_error, ok.executed, text(ok)), (false, true, "3.5".to_owned()));
    assert_eq!(finished.call_ids, ["c1", "c2"]);
    let verdict = finished.verdict.unwrap();
    assert_eq!((verdict.terminate, verdict.reason(), verdict.blocking), (false, VerdictReason::NotAll, vec![0, 1]));
    assert_eq!(verdict.tool_choice, "add");
}

#[tokio::test]
async fn e1_the_error_text_has_the_known_layout() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let (results, _) = stream.batch("b1", vec![call("c1", "add", r#"{"a":"one","c":null}"#)]).await;
    assert_eq!(
        text(&results[0]),
        "Validation failed for tool \"add\":\n  - b: missing\n  - a: expected number, got string\n\nReceived arguments:\n{\n  \"a\": \"one\",\n  \"c\": null\n}"
    );
    let error = results[0].error.as_ref().unwrap();
    assert_eq!(
        (error.code(), error.reason.as_str(), error.violation_count),
        (ErrorCode::InvalidArguments, "schema", 2)
    );
    assert_eq!((error.violations[0].property.as_str(), error.violations[0].keyword.as_str()), ("b", "required"));
    assert_eq!(
        (error.violations[1].instance_path.as_str(), error.violations[1].actual_kind.as_str()),
        ("/a", "string")
    );
}

#[tokio::test]
async fn time_001_a_tool_that_never_answers_times_out_and_its_late_answer_is_not_delivered() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("c1", "hang", "{}")]));
    stream.asked().await;
    stream.hear_until(|frame| matches!(frame, Hear::CancelExecution(_))).await;
    let (results, _) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::TimedOut, true));
    stream.say_at("b1", 0, outcome("too late"));
    let (results, _) = stream.batch("b2", vec![call("c2", "echo", "{}")]).await;
    assert_eq!((results.len(), text(&results[0])), (1, "{}".to_owned()));
}

#[tokio::test]
async fn par_009_an_answer_for_another_call_is_rejected_and_the_time_out_fires() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "hang", "{}")]));
    stream.asked().await;
    let wrong = proto::ToolOutcome { call_id: "zzz".into(), ..proto::ToolOutcome::default() };
    stream.say_at("b1", 0, Say::ToolOutcome(wrong));
    assert_eq!(stream.rejected().await.1, RejectReason::UnknownCall);
    let (results, _) = stream.rest().await;
    assert_eq!(code(&results[0]), ErrorCode::TimedOut);
}

#[tokio::test]
async fn par_005_a_cancel_keeps_finished_results_and_answers_the_rest() {
    let stand = Stand::with(&TOOLS.replace(r#","timeout":"100ms""#, "")).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "echo", "{}"), call("b", "hang", "{}")]));
    stream.asked().await;
    stream.say_of("b1", Say::Cancel(proto::Cancel::default()));
    let (results, finished) = stream.rest().await;
    let b = results.iter().find(|result| result.call_id == "b").unwrap();
    assert_eq!((code(b), b.executed), (ErrorCode::Cancelled, true));
    let verdict = finished.verdict.unwrap();
    assert_eq!((verdict.reason(), verdict.terminate), (VerdictReason::Cancelled, false));
    assert_eq!(finished.call_ids, ["a", "b"]);
}

#[tokio::test]
async fn a_stalled_call_does_not_keep_back_the_results_of_its_siblings() {
    let stand = Stand::with(&TOOLS.replace(r#","timeout":"100ms""#, "")).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "hang", "{}"), call("b", "echo", r#"{"x":1}"#)]));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
    let Some(Hear::CallFinished(first)) = &heard.last().unwrap().frame else { panic!("the frame that was waited for") };
    assert_eq!((first.call_id.as_str(), text(first).as_str()), ("b", r#"{"x":1}"#));
    stream.say_at("b1", 0, outcome("at last"));
    let (results, _) = stream.rest().await;
    assert_eq!(results.iter().map(text).collect::<Vec<_>>(), [r#"{"x":1}"#, "at last"]);
}

#[tokio::test]
async fn b1_batch_delivery_sends_all_results_together_and_in_call_order() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.open(Open { delivery: proto::Delivery::Batch.into(), ..Open::default() }).await;
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(300_000));
    let calls = (0..8).map(|index| call(&format!("c{index}"), "echo", &large)).collect();
    stream.say_of("b1", batch(calls));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchResults(_))).await;
    assert!(heard.iter().all(|response| !matches!(response.frame, Some(Hear::CallFinished(_)))));
    let Some(Hear::BatchResults(first)) = &heard.last().unwrap().frame else { panic!("the frame that was waited for") };
    assert!(first.results.len() < 8, "a large batch is split");
    let (results, _) = stream.rest().await;
    assert_eq!(results.iter().map(|result| result.index).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
}

#[tokio::test]
async fn str_002_streamed_calls_are_told_apart_by_their_index() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let start = |id: &str| {
        Say::CallStart(proto::CallStart { id: id.into(), name: "echo".into(), ..proto::CallStart::default() })
    };
    let delta = |text: &str| Say::ArgumentsDelta(proto::ArgumentsDelta { data: text.to_owned().into() });
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    stream.say_at("b1", 0, start("a"));
    stream.say_at("b1", 1, start("b"));
    stream.say_at("b1", 0, delta(r#"{"x":"#));
    stream.say_at("b1", 1, delta(r#"{"y":"#));
    stream.say_of("b1", delta("9"));
    assert_eq!(stream.rejected().await.1, RejectReason::Malformed);
    stream.say_at("b1", 0, delta("1}"));
    stream.say_at("b1", 1, delta("2}"));
    stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
    stream.say_at("b1", 1, Say::CallEnd(proto::CallEnd {}));
    stream.say_of("b1", Say::BatchEnd(proto::BatchEnd::default()));
    let (mut results, _) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    assert_eq!(results.iter().map(text).collect::<Vec<_>>(), [r#"{"x":1}"#, r#"{"y":2}"#]);
}

#[tokio::test]
async fn str_003_a_stream_that_ends_without_the_marker_is_truncated() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    let start = proto::CallStart { id: "a".into(), name: "echo".into(), ..proto::CallStart::default() };
    stream.say_at("b1", 0, Say::CallStart(start));
    stream.say_at("b1", 0, Say::ArgumentsDelta(proto::ArgumentsDelta { data: r#"{"x":1}"#.into() }));
    stream.half_close();
    let (results, finished) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::Truncated, false));
    assert_eq!(finished.verdict.unwrap().reason(), VerdictReason::Truncated);
    assert!(stream.end().await.unwrap().is_none(), "the stream is closed cleanly");
}

#[tokio::test]
async fn b4_a_response_that_was_cut_off_runs_nothing() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let finish = Some(proto::Finish { raw: "MAX_TOKENS".into(), ..proto::Finish::default() });
    let calls = vec![call("a", "echo", "{}"), call("b", "nowhere", "{")];
    stream.say_of("b1", Say::Batch(proto::Batch { calls, finish, mode: ExecutionMode::Unspecified.into() }));
    let (results, finished) = stream.rest().await;
    assert!(results.iter().all(|result| code(result) == ErrorCode::Truncated && !result.executed));
    assert_eq!(finished.verdict.unwrap().reason(), VerdictReason::Truncated);
}

#[tokio::test]
async fn s3_a_submission_is_accepted_once_replayed_and_otherwise_refused() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let (results, verdict) = stream.batch("b1", vec![call("a", "submit", r#"{"v":1}"#)]).await;
    assert_eq!((results[0].executed, results[0].terminate), (true, true));
    assert_eq!((verdict.terminate, verdict.accepted.len()), (true, 1));
    let again = stream.batch("b2", vec![call("b", "submit", r#"{ "v": 1.0 }"#)]).await;
    assert_eq!((again.0[0].replayed, again.0[0].executed, again.1.terminate), (true, false, true));
    assert_eq!(text(&again.0[0]), text(&results[0]));
    let other = stream.batch("b3", vec![call("c", "submit", r#"{"v":2}"#)]).await;
    assert_eq!((code(&other.0[0]), other.1.terminate), (ErrorCode::AlreadyAccepted, false));
    assert_eq!(other.1.accepted[0].arguments, r#"{"v":1}"#);
}

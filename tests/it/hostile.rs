//! Hosts that do not keep to the protocol: every frame is answered as it says, and the booth lives on.

use tonic::Code;
use toolbooth::grpc::proto::{
    self, ErrorCode, Open, RejectReason, RunRequest, VerdictReason, run_request::Frame as Say,
    run_response::Frame as Hear,
};

use crate::stand::{Stand, Stream, batch, call, code, outcome, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

/// The status that a stream ends with.
async fn status(stream: &mut Stream) -> tonic::Status {
    loop {
        match stream.end().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended with OK"),
            Err(status) => return status,
        }
    }
}

async fn opening(stand: &Stand, open: Open) -> (Code, String) {
    let mut stream = stand.stream().await;
    stream.say(Say::Open(open));
    let status = status(&mut stream).await;
    (status.code(), status.message().to_owned())
}

/// Sends a frame with a number, and hears why it is rejected.
async fn rejected(stream: &mut Stream, place: (&str, Option<u32>), frame: Option<Say>) -> RejectReason {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let frame_id = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    stream.send(RunRequest { frame_id, batch_id: place.0.into(), index: place.1, frame });
    let (reply_to, reason, message) = stream.rejected().await;
    assert_eq!(reply_to, frame_id);
    assert!(!message.is_empty());
    reason
}

/// The run still works.
async fn assert_alive(stream: &mut Stream, batch_id: &str) {
    let (results, verdict) = stream.batch(batch_id, vec![call("alive", "echo", r#"{"x":1}"#)]).await;
    assert_eq!((results.len(), text(&results[0]).as_str()), (1, r#"{"x":1}"#));
    assert_eq!(verdict.blocking, [0]);
}

fn start(id: &str) -> Say {
    Say::CallStart(proto::CallStart { id: id.into(), name: "echo".into(), ..proto::CallStart::default() })
}

fn delta(data: &str) -> Say {
    Say::ArgumentsDelta(proto::ArgumentsDelta { data: data.to_owned().into() })
}

fn cancel() -> Say {
    Say::Cancel(proto::Cancel::default())
}

#[tokio::test]
async fn the_first_frame_must_be_open() {
    let stand = Stand::with(TOOLS).await;
    for frame in [None, Some(batch(vec![])), Some(cancel()), Some(Say::EndRun(proto::EndRun::default()))] {
        let mut stream = stand.stream().await;
        stream.send(RunRequest { frame_id: 7, frame: frame.clone(), ..RunRequest::default() });
        assert_eq!(status(&mut stream).await.code(), Code::InvalidArgument, "{frame:?}");
    }
    let mut stream = stand.stream().await;
    stream.half_close();
    let status = status(&mut stream).await;
    assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "the first frame of a run must be `open`"));
    assert_alive(&mut stand.run().await, "b1").await;
}

#[tokio::test]
async fn an_open_that_cannot_be_served_gets_its_status() {
    let stand = Stand::with(TOOLS).await;
    let wall = |seconds, nanos| {
        let max_wall = Some(prost_types::Duration { seconds, nanos });
        Open { limits: Some(proto::Limits { max_wall, ..proto::Limits::default() }), ..Open::default() }
    };
    let patience =
        |seconds, nanos| Open { policy_timeout: Some(prost_types::Duration { seconds, nanos }), ..Open::default() };
    let context = |context: &str| Open { context: context.to_owned().into(), ..Open::default() };
    let _held = stand.open(Open { run_id: "held".into(), ..Open::default() }).await;
    for (open, expected) in [
        (Open { protocol_version: 2, ..Open::default() }, Code::FailedPrecondition),
        (Open { run_id: "r".into(), resume: true, ..Open::default() }, Code::NotFound),
        (Open { run_id: "held".into(), ..Open::default() }, Code::AlreadyExists),
        (context("{"), Code::InvalidArgument),
        (context("[1]"), Code::InvalidArgument),
        (context("\"x\""), Code::InvalidArgument),
        (wall(-1, 0), Code::InvalidArgument),
        (wall(0, -1), Code::InvalidArgument),
        (wall(i64::MIN, i32::MIN), Code::InvalidArgument),
        (patience(-5, 0), Code::InvalidArgument),
    ] {
        let told = opening(&stand, open.clone()).await;
        assert_eq!(told.0, expected, "{open:?}: {}", told.1);
        assert!(!told.1.is_empty());
    }
    // Absurd, and allowed.
    for open in [wall(i64::MAX, i32::MAX), patience(i64::MAX, 999_999_999), wall(315_576_000_000, 0)] {
        let mut stream = stand.open(Open { ask_before: false, ..open }).await;
        assert_alive(&mut stream, "b1").await;
    }
}

#[tokio::test]
async fn broken_contracts_in_open_are_reported_and_the_run_opens() {
    let stand = Stand::with(TOOLS).await;
    let documents = ["{", "", "null", "[]", r#"{"name":5}"#, r#"{"name":"bad","parameters":{"type":"nope"}}"#, "\u{0}"];
    let contracts = documents.iter().map(|text| (*text).to_owned().into()).collect();
    let mut stream = stand.open(Open { contracts, ..Open::default() }).await;
    assert!(stream.opened.contracts.iter().all(|report| report.status() == proto::ContractStatus::Quarantined));
    assert!(stream.opened.contracts.iter().any(|report| report.name == "bad" && !report.notes.is_empty()));
    let (results, _) = stream.batch("b1", vec![call("a", "bad", "{}")]).await;
    assert_eq!(code(&results[0]), ErrorCode::ToolQuarantined);
}

#[tokio::test]
async fn frames_about_nothing_are_rejected_by_their_number_and_the_run_goes_on() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let progress = || Say::ToolProgress(proto::ToolProgress::default());
    let decision = || Say::PolicyDecision(proto::PolicyDecision { stage: 1, decision: None });
    for (place, frame, expected) in [
        (("b1", None), None, RejectReason::Unimplemented),
        (("", None), Some(Say::Open(Open::default())), RejectReason::AlreadyOpen),
        (("b1", Some(0)), Some(start("a")), RejectReason::UnknownBatch),
        (("b1", Some(0)), Some(delta("{}")), RejectReason::UnknownBatch),
        (("", None), Some(delta("{}")), RejectReason::UnknownBatch),
        (("b1", Some(0)), Some(Say::CallEnd(proto::CallEnd {})), RejectReason::UnknownBatch),
        (("b1", None), Some(Say::BatchEnd(proto::BatchEnd::default())), RejectReason::UnknownBatch),
        (("b1", None), Some(outcome("x")), RejectReason::Malformed),
        (("b1", Some(0)), Some(outcome("x")), RejectReason::UnknownCall),
        (("", Some(u32::MAX)), Some(outcome("x")), RejectReason::UnknownCall),
        (("b1", None), Some(progress()), RejectReason::Malformed),
        (("b1", Some(0)), Some(progress()), RejectReason::UnknownCall),
        (("b1", None), Some(decision()), RejectReason::Malformed),
        (("b1", Some(0)), Some(decision()), RejectReason::UnknownCall),
        (("b1", Some(0)), Some(Say::PolicyDecision(proto::PolicyDecision::default())), RejectReason::UnknownCall),
        (("b1", None), Some(cancel()), RejectReason::UnknownBatch),
        (("b1", Some(3)), Some(cancel()), RejectReason::UnknownBatch),
        (("", Some(3)), Some(cancel()), RejectReason::UnknownBatch),
    ] {
        let described = format!("{place:?} {frame:?}");
        assert_eq!(rejected(&mut stream, place, frame).await, expected, "{described}");
    }
    assert_alive(&mut stream, "b1").await;
    assert_eq!(rejected(&mut stream, ("b1", None), Some(batch(vec![]))).await, RejectReason::BatchIdReused);
    let again = Say::BatchStart(proto::BatchStart::default());
    assert_eq!(rejected(&mut stream, ("b1", None), Some(again)).await, RejectReason::BatchIdReused);
    assert_alive(&mut stream, "").await;
}

#[tokio::test]
async fn while_a_batch_runs_only_frames_about_it_are_taken() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}"), call("b", "ask", "{}")]));
    stream.asked().await;
    stream.asked().await;
    let wrong_id = Say::ToolOutcome(proto::ToolOutcome { call_id: "b".into(), ..proto::ToolOutcome::default() });
    for (place, frame, expected) in [
        (("b2", None), Some(batch(vec![])), RejectReason::BatchInProgress),
        (("b1", None), Some(batch(vec![])), RejectReason::BatchInProgress),
        (("b2", None), Some(Say::BatchStart(proto::BatchStart::default())), RejectReason::BatchInProgress),
        (("b2", Some(0)), Some(start("a")), RejectReason::UnknownBatch),
        (("b1", Some(0)), Some(delta("{}")), RejectReason::UnknownBatch),
        (("b1", None), Some(Say::BatchEnd(proto::BatchEnd::default())), RejectReason::UnknownBatch),
        (("b1", Some(0)), Some(wrong_id), RejectReason::UnknownCall),
        (("b1", Some(2)), Some(outcome("x")), RejectReason::UnknownCall),
        (("b0", Some(0)), Some(outcome("x")), RejectReason::UnknownCall),
        (("b2", None), Some(cancel()), RejectReason::UnknownBatch),
        (("b1", Some(2)), Some(cancel()), RejectReason::UnknownCall),
        (("", Some(u32::MAX)), Some(cancel()), RejectReason::UnknownCall),
    ] {
        let described = format!("{place:?} {frame:?}");
        assert_eq!(rejected(&mut stream, place, frame).await, expected, "{described}");
    }
    stream.say_at("b1", 1, cancel());
    stream.say_at("", 0, outcome("one"));
    // A second answer is late: it is recorded, and not delivered.
    stream.say_at("b1", 0, outcome("two"));
    let (mut results, finished) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    assert_eq!(text(&results[0]), "one");
    assert_eq!((code(&results[1]), results[1].executed, results.len()), (ErrorCode::Cancelled, true, 2));
    assert_eq!(finished.verdict.unwrap().reason(), VerdictReason::NotAll, "one cancelled call is no cancelled batch");
    stream.say_at("b1", 0, outcome("three"));
    assert_alive(&mut stream, "b2").await;
}

#[tokio::test]
async fn pieces_that_do_not_fit_are_rejected_and_have_no_effect() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    let end = || Some(Say::CallEnd(proto::CallEnd {}));
    assert_eq!(rejected(&mut stream, ("b1", Some(1)), Some(start("gap"))).await, RejectReason::Malformed);
    assert_eq!(rejected(&mut stream, ("b1", None), Some(delta("{"))).await, RejectReason::UnknownCall);
    stream.say_at("b1", 0, start("a"));
    assert_eq!(rejected(&mut stream, ("b1", Some(0)), Some(start("again"))).await, RejectReason::Malformed);
    stream.say_of("b1", start("b"));
    for (place, frame, expected) in [
        (("b1", None), Some(delta("{")), RejectReason::Malformed),
        (("b1", None), end(), RejectReason::Malformed),
        (("b1", Some(2)), Some(delta("{")), RejectReason::UnknownCall),
        (("b2", Some(0)), Some(delta("{")), RejectReason::UnknownBatch),
        (("b1", Some(7)), end(), RejectReason::UnknownCall),
        (("b2", None), Some(Say::BatchStart(proto::BatchStart::default())), RejectReason::BatchInProgress),
        (("b2", None), Some(batch(vec![])), RejectReason::BatchInProgress),
        (("b2", None), Some(Say::BatchEnd(proto::BatchEnd::default())), RejectReason::UnknownBatch),
        (("b1", Some(0)), Some(cancel()), RejectReason::UnknownCall),
        (("b1", Some(0)), Some(outcome("x")), RejectReason::UnknownCall),
    ] {
        let described = format!("{place:?} {frame:?}");
        assert_eq!(rejected(&mut stream, place, frame).await, expected, "{described}");
    }
    stream.say_at("b1", 0, delta("{\"x\":"));
    stream.say_at("b1", 0, delta("1}"));
    stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
    assert_eq!(rejected(&mut stream, ("b1", Some(0)), Some(delta("more"))).await, RejectReason::UnknownCall);
    assert_eq!(rejected(&mut stream, ("b1", Some(0)), end()).await, RejectReason::UnknownCall);
    // Only one is open now, so it needs no index.
    stream.say_of("b1", delta("{}"));
    stream.say_of("b1", Say::BatchEnd(proto::BatchEnd::default()));
    let (mut results, finished) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    assert_eq!((results[0].call_id.as_str(), text(&results[0]).as_str()), ("a", r#"{"x":1}"#));
    assert_eq!((code(&results[1]), results[1].executed), (ErrorCode::Truncated, false), "it was never ended");
    assert_eq!(finished.call_ids, ["a", "b"]);
}

#[tokio::test]
async fn b5_ten_thousand_calls_of_one_id_run_once_and_are_each_answered() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let calls = (0..10_000).map(|_| call("same", "ask", r#"{"x":1}"#)).collect();
    stream.say_of("b1", batch(calls));
    let (_, index, _) = stream.asked().await;
    assert_eq!(index, 0);
    stream.say_at("b1", 0, outcome("once"));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    let asked = heard.iter().filter(|heard| matches!(heard.frame, Some(Hear::Execute(_)))).count();
    let mut seen = vec![0; 10_000];
    for heard in &heard {
        if let Some(Hear::CallFinished(result)) = &heard.frame {
            seen[usize::try_from(result.index).unwrap()] += 1;
            assert_eq!(text(result), "once");
            assert_eq!((result.executed, result.replayed), (result.index == 0, result.index != 0));
        }
    }
    assert_eq!(asked, 0, "nobody is asked again");
    assert!(seen.iter().all(|times| *times == 1), "each call has one result");
}

#[tokio::test]
async fn an_empty_batch_is_over_at_once_and_never_ends_a_run() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let (results, verdict) = stream.batch("b1", vec![]).await;
    assert_eq!((results.len(), verdict.terminate, verdict.reason()), (0, false, VerdictReason::Empty));
    stream.say_of("b2", Say::BatchStart(proto::BatchStart { eager: true, ..proto::BatchStart::default() }));
    stream.say_of("b2", Say::BatchEnd(proto::BatchEnd::default()));
    let (results, finished) = stream.rest().await;
    assert_eq!((results.len(), finished.verdict.unwrap().reason()), (0, VerdictReason::Empty));
}

#[tokio::test]
async fn results_that_are_no_json_are_invalid_results_and_nothing_worse() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let broken = [
        proto::ToolOutcome { structured: "{".into(), ..proto::ToolOutcome::default() },
        proto::ToolOutcome { details: vec![0xff, 0xfe].into(), ..proto::ToolOutcome::default() },
        proto::ToolOutcome { content: vec![proto::Content { kind: None }], ..proto::ToolOutcome::default() },
        proto::ToolOutcome { structured: "[".repeat(100_000).into(), ..proto::ToolOutcome::default() },
    ];
    stream.say_of("b1", batch((0..4).map(|_| call("", "ask", "{}")).collect()));
    for _ in 0..4 {
        let (_, index, _) = stream.asked().await;
        let outcome = broken[usize::try_from(index).unwrap()].clone();
        stream.say_at("b1", index, Say::ToolOutcome(outcome));
    }
    let (results, _) = stream.rest().await;
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| code(result) == ErrorCode::ResultInvalid && result.executed));
}

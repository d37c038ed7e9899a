//! A booth that stops: no new batch, running ones finish within the grace, the rest is cancelled, and the server returns.

use std::time::Duration;

use tonic::{Code, transport::Endpoint};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use toolbooth::grpc::proto::{
    self, ErrorCode, RejectReason, VerdictReason, run_request::Frame as Say, run_response::Frame as Hear,
};

use crate::stand::{Stand, Stream, batch, booth, call, code, outcome, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"sleep","parameters":{"type":"object"},"execute":{"command":{"argv":["sleep","1000"]}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(300);

async fn hear_draining(stream: &mut Stream) -> Duration {
    let heard = stream.hear_until(|frame| matches!(frame, Hear::Draining(_))).await;
    let Some(Hear::Draining(draining)) = heard.last().unwrap().frame else { panic!("the frame that was waited for") };
    draining.grace.unwrap().try_into().unwrap()
}

async fn assert_unavailable(stream: &mut Stream) {
    assert_eq!(stream.end().await.unwrap_err().code(), Code::Unavailable);
}

async fn returned(stand: Stand) {
    tokio::time::timeout(Duration::from_secs(20), stand.server).await.expect("the server returns").unwrap();
}

#[tokio::test]
async fn a_draining_booth_finishes_what_runs_and_takes_nothing_new() {
    let stand = Stand::serving(booth(TOOLS), LONG).await;
    let mut idle = stand.run().await;
    let mut silent = stand.stream().await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    stand.stop.cancel();
    assert_eq!(hear_draining(&mut idle).await, LONG);
    assert_unavailable(&mut idle).await;
    assert_unavailable(&mut silent).await;
    hear_draining(&mut stream).await;
    stream.say_of("b2", batch(vec![call("b", "echo", "{}")]));
    assert_eq!(stream.rejected().await.1, RejectReason::Closing);
    stream.say_at("b1", 0, outcome("in time"));
    let (results, finished) = stream.rest().await;
    assert_eq!((text(&results[0]).as_str(), finished.call_ids.len()), ("in time", 1));
    assert_unavailable(&mut stream).await;
    returned(stand).await;
}

#[tokio::test]
async fn b8_after_the_grace_the_rest_is_cancelled_and_answered() {
    let stand = Stand::serving(booth(TOOLS), SHORT).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}"), call("b", "sleep", "{}"), call("c", "echo", "{}")]));
    stream.asked().await;
    let mut coming = stand.run().await;
    coming.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    let echo = proto::CallStart { name: "echo".into(), ..proto::CallStart::default() };
    coming.say_at("b1", 0, Say::CallStart(echo));
    coming.say_at("nowhere", 0, Say::CallEnd(proto::CallEnd {}));
    assert_eq!(coming.rejected().await.1, RejectReason::UnknownBatch);
    stand.stop.cancel();
    let (mut results, finished) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    let codes: Vec<ErrorCode> = results.iter().map(code).collect();
    assert_eq!(codes, [ErrorCode::Cancelled, ErrorCode::Cancelled, ErrorCode::Unspecified]);
    assert_eq!(finished.verdict.unwrap().reason(), VerdictReason::Cancelled);
    assert_unavailable(&mut stream).await;
    let (results, _) = coming.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::Truncated, false));
    assert_unavailable(&mut coming).await;
    returned(stand).await;
}

#[tokio::test]
async fn a_batch_that_is_still_coming_may_be_finished_within_the_grace() {
    let stand = Stand::serving(booth(TOOLS), LONG).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    let echo = proto::CallStart { name: "echo".into(), ..proto::CallStart::default() };
    stream.say_at("b1", 0, Say::CallStart(echo));
    stream.say_at("nowhere", 0, Say::CallEnd(proto::CallEnd {}));
    stream.rejected().await;
    stand.stop.cancel();
    hear_draining(&mut stream).await;
    stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
    stream.say_of("b1", Say::BatchEnd(proto::BatchEnd::default()));
    let (results, _) = stream.rest().await;
    assert_eq!(text(&results[0]), "{}");
    assert_unavailable(&mut stream).await;
    returned(stand).await;
}

#[tokio::test]
async fn a_unary_batch_is_cancelled_after_the_grace_and_then_nobody_is_served_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let script = format!("touch {}; exec sleep 1000", started.display());
    let contract = serde_json::json!({
        "name": "sleep", "parameters": {"type": "object"}, "execute": {"command": {"argv": ["sh", "-c", script]}}
    });
    let stand = Stand::serving(booth(&contract.to_string()), SHORT).await;
    let mut client = stand.client().await;
    let request = proto::ExecuteBatchRequest {
        batch: Some(proto::Batch { calls: vec![call("a", "sleep", "{}")], ..proto::Batch::default() }),
        ..proto::ExecuteBatchRequest::default()
    };
    let running = tokio::spawn(async move { client.execute_batch(request).await });
    let mut stream = stand.run().await;
    while !started.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stand.stop.cancel();
    let answer = running.await.unwrap().unwrap().into_inner();
    assert_eq!((code(&answer.results[0]), answer.results[0].executed), (ErrorCode::Cancelled, true));
    hear_draining(&mut stream).await;
    assert_unavailable(&mut stream).await;
    let address = stand.address();
    returned(stand).await;
    assert!(Endpoint::try_from(address).unwrap().connect().await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn whoever_watches_health_is_told_and_does_not_hold_the_end_up() {
    let stand = Stand::serving(booth(TOOLS), LONG).await;
    let mut client = HealthClient::new(stand.channel().await);
    let mut watch = client.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    stand.stop.cancel();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    hear_draining(&mut stream).await;
    stream.say_at("b1", 0, outcome("in time"));
    stream.rest().await;
    assert_unavailable(&mut stream).await;
    returned(stand).await;
}

//! Connections that are lost at a bad moment: while a batch comes, while it is waited for, while the booth stops, after the end was said.

use std::{path::Path, time::Duration};

use tonic::Code;
use toolbooth::{
    grpc::proto::{
        self, Batch, ErrorCode, OnDisconnect, Open, RejectReason, ToolCall, VerdictReason, run_request::Frame as Say,
    },
    run::RecordRoom,
};

use super::{TOOLS, again, gone, kept, left, state, state_of_line};
use crate::stand::{Stand, batch, booth, call, code, outcome, text};

/// A program that says when it has begun, and goes on when it may.
fn gated(folder: &Path) -> String {
    let script = r"echo x >> began; until [ -e go ]; do sleep 0.01; done; echo x >> ended; echo done";
    let argv = serde_json::json!(["sh", "-c", script]);
    let execute = serde_json::json!({"command": {"argv": argv, "cwd": folder}});
    serde_json::json!({"tools": [{"name": "gated", "parameters": {"type": "object"}, "execute": execute}]}).to_string()
}

fn request(open: Open, batch_id: &str) -> proto::ExecuteBatchRequest {
    let batch = Some(Batch { calls: vec![call("a", "gated", "{}")], ..Batch::default() });
    proto::ExecuteBatchRequest { open: Some(open), batch_id: batch_id.into(), batch }
}

#[tokio::test]
async fn b5_a_request_that_is_given_up_or_refused_takes_nothing_from_the_one_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let stand = Stand::with(&gated(folder.path())).await;
    let mut client = stand.client().await;
    let first = {
        let mut client = client.clone();
        tokio::spawn(async move { client.execute_batch(request(kept("r", OnDisconnect::Cancel), "b1")).await })
    };
    state_of_line(&folder.path().join("began")).await;
    let other = client.execute_batch(request(again("r"), "b2")).await.unwrap_err();
    assert_eq!(
        (other.code(), other.message()),
        (Code::FailedPrecondition, "batch `b1` of the run is running; wait for its end")
    );
    let malformed = client.execute_batch(request(again("r"), &"b".repeat(1000))).await.unwrap_err();
    assert_eq!(malformed.code(), Code::InvalidArgument);
    let impatient = client.execute_batch(request(again("r"), "b1"));
    tokio::time::timeout(Duration::from_millis(200), impatient).await.expect_err("nothing is over yet");
    std::fs::write(folder.path().join("go"), "").unwrap();
    let answer = first.await.unwrap().unwrap().into_inner();
    assert_eq!((text(&answer.results[0]).as_str(), answer.results[0].executed), ("done\n", true));
    let answer = client.execute_batch(request(again("r"), "b1")).await.unwrap().into_inner();
    assert!(answer.results[0].replayed, "the run is still held");
    assert_eq!(std::fs::read_to_string(folder.path().join("began")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_drain_waits_for_calls_that_go_on_when_no_connection_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let stand = Stand::serving(booth(&gated(folder.path())), Duration::from_mins(10)).await;
    let (stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", batch(vec![call("a", "gated", "{}")]));
    state_of_line(&folder.path().join("began")).await;
    left(&stand, line, "r").await;
    drop(stream);
    stand.stop.cancel();
    let mut server = stand.server;
    tokio::time::timeout(Duration::from_millis(300), &mut server).await.expect_err("a call is running");
    std::fs::write(folder.path().join("go"), "").unwrap();
    tokio::time::timeout(Duration::from_secs(20), server).await.expect("it is over").unwrap();
    assert_eq!(std::fs::read_to_string(folder.path().join("ended")).unwrap(), "x\n");
}

fn start(call: ToolCall) -> Say {
    Say::CallStart(proto::CallStart { id: call.id, name: call.name, ..proto::CallStart::default() })
}

fn delta() -> Say {
    Say::ArgumentsDelta(proto::ArgumentsDelta { data: "{}".into() })
}

#[tokio::test]
async fn b5_a_batch_that_was_cut_while_it_ran_is_not_taken_for_the_whole_one() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    let calls = vec![call("a", "ask", "{}"), call("b", "echo", "{}")];
    stream.say_of("b1", Say::BatchStart(proto::BatchStart { eager: true, ..proto::BatchStart::default() }));
    stream.say_of("b1", start(calls[0].clone()));
    stream.say_of("b1", delta());
    stream.say_of("b1", Say::CallEnd(proto::CallEnd {}));
    stream.asked().await;
    left(&stand, line, "r").await;
    let mut stream = stand.open(again("r")).await;
    stream.say_of("b1", batch(calls.clone()));
    assert_eq!(stream.rejected().await.1, RejectReason::BatchInProgress);
    stream.say_at("b1", 0, outcome("asked once"));
    let (results, finished) = stream.rest().await;
    assert_eq!((results.len(), finished.verdict.unwrap().reason()), (1, VerdictReason::Truncated));
    let (results, _) = stream.batch("b1", calls).await;
    let told: Vec<_> = results.iter().map(|result| (text(result), result.replayed)).collect();
    assert_eq!(told, [("asked once".to_owned(), true), ("{}".to_owned(), false)]);
}

#[tokio::test]
async fn b8_a_host_that_comes_back_hears_the_end_of_a_batch_that_could_not_be_recorded() {
    let mut booth = booth(TOOLS);
    booth.record_room = RecordRoom::of(1);
    let stand = Stand::serving(booth, Duration::from_secs(5)).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", batch(vec![call("a", "brief", "{}")]));
    stream.asked().await;
    left(&stand, line, "r").await;
    state(&stand, "r", |state| state.running_batch_id.is_empty()).await;
    let mut stream = stand.open(again("r")).await;
    assert_eq!(stream.opened.running_batch_id, "b1");
    assert_eq!(code(&stream.rest().await.0[0]), ErrorCode::TimedOut);
}

#[tokio::test]
async fn b8_a_run_whose_end_was_said_does_not_wait_for_a_host_that_is_lost_then() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    stream.say(Say::EndRun(proto::EndRun::default()));
    stream.say_of("b2", batch(vec![]));
    assert_eq!(stream.rejected().await.1, RejectReason::Closing);
    line.cut();
    gone(&stand, "r").await;
}

#[tokio::test]
async fn a_run_that_keeps_nothing_is_not_taken_over() {
    let stand = Stand::with(TOOLS).await;
    let mut first = stand.open(Open { run_id: "r".into(), ..Open::default() }).await;
    first.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    first.asked().await;
    let mut second = stand.stream().await;
    second.say(Say::Open(again("r")));
    assert_eq!(second.end().await.unwrap_err().code(), Code::FailedPrecondition);
    first.say_at("b1", 0, outcome("led"));
    assert_eq!(text(&first.rest().await.0[0]), "led");
}

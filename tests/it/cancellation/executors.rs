//! What runs a call hears of its end: the host is told, the connection of an HTTP request is closed, a program is killed with all
//! that it has started.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    process::Command,
    sync::Arc,
};

use tokio::{io::AsyncReadExt as _, net::TcpListener, sync::oneshot};
use toolbooth::{
    grpc::proto::{Cancel, ErrorCode, run_request::Frame as Say, run_response::Frame as Hear},
    refusal::Code,
    run::Run,
};

use super::{WAYS, Way};
use crate::{
    inside::{Heard, feed, options, refusals},
    stand::{Stand, batch, booth, call, code, outcome, text},
};

const AGAIN: &str = r#"{"tools":[
  {"name":"slow","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"again","parameters":{"type":"object"},"execute":{"host":{}},"idempotent":true,"retries":1,"timeout":"100ms"}
]}"#;

/// A run whose calls are executed by what their contracts name.
fn run(contract: &str) -> Arc<Run> {
    Run::open(options(contract, Arc::new(booth(r#"{"tools":[]}"#).executors)))
}

/// Plays one call of the tool `t` and cancels it when `started` says so.
async fn cancelled(contract: &str, cancel: Way, started: impl Future) {
    let run = run(contract);
    let running = tokio::spawn(run.batch(feed("b1", &[("t", "{}")]), Arc::new(Heard::default())));
    started.await;
    cancel(&run);
    let outcome = running.await.unwrap();
    assert_eq!(refusals(&outcome), [Some((Code::Cancelled, None))]);
    assert!(outcome.results[0].executed);
}

#[tokio::test]
async fn b8_the_server_of_an_http_call_that_is_cancelled_sees_its_connection_closed() {
    for (_, cancel) in WAYS {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let contract = format!(
            r#"{{"name":"t","parameters":{{"type":"object","title":"T"}},"execute":{{"http":{{"url":"{url}"}}}}}}"#
        );
        let (told, arrived) = oneshot::channel();
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            while !seen.ends_with(b"}") {
                socket.read_buf(&mut seen).await.unwrap();
            }
            told.send(()).unwrap();
            socket.read_to_end(&mut seen).await
        });
        cancelled(&contract, cancel, arrived).await;
        // The end of the stream, or a reset of it: either way nobody listens any more.
        drop(server.await.unwrap());
    }
}

#[tokio::test]
async fn b8_a_program_that_is_cancelled_is_killed_with_all_that_it_has_started() {
    for (way, cancel) in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("alive");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // Whoever lives holds the pipe open, and no polite signal ends it.
        let script = format!(
            "exec 3>{}; trap '' TERM INT HUP; (echo child >&3; while :; do sleep 60; done) & echo parent >&3; wait",
            pipe.display()
        );
        let contract = serde_json::json!({
            "name": "t",
            "parameters": {"type": "object", "title": "T"},
            "execute": {"command": {"argv": ["sh", "-c", script]}},
        });
        let (told, both_live) = oneshot::channel();
        let reader = tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(File::open(pipe).unwrap());
            for _ in 0..2 {
                lines.read_line(&mut String::new()).unwrap();
            }
            told.send(()).unwrap();
            // It ends when the last one is gone.
            lines.read_to_end(&mut Vec::new()).unwrap()
        });
        cancelled(&contract.to_string(), cancel, both_live).await;
        assert_eq!(reader.await.unwrap(), 0, "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn b8_the_host_is_told_of_a_cancelled_call_and_of_each_try_that_was_given_up() {
    let stand = Stand::with(AGAIN).await;
    for (batch_id, index) in [("b1", Some(0)), ("b1", None), ("", None)] {
        let mut stream = stand.run().await;
        stream.say_of("b1", batch(vec![call("a", "slow", "{}")]));
        assert_eq!(stream.asked().await.2.attempt, 1);
        match index {
            Some(index) => stream.say_at(batch_id, index, Say::Cancel(Cancel::default())),
            None => stream.say_of(batch_id, Say::Cancel(Cancel::default())),
        }
        let heard = stream.hear_until(|frame| matches!(frame, Hear::CancelExecution(_))).await;
        assert_eq!(heard.last().unwrap().index, Some(0));
        assert_eq!(code(&stream.rest().await.0[0]), ErrorCode::Cancelled);
    }
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "again", "{}")]));
    let (_, _, first) = stream.asked().await;
    let heard = stream.hear_until(|frame| matches!(frame, Hear::Execute(_))).await;
    let told: Vec<bool> = heard.iter().map(|heard| matches!(heard.frame, Some(Hear::CancelExecution(_)))).collect();
    assert_eq!(told, [true, false], "it is told to give up the first try before it is asked for the second");
    let Some(Hear::Execute(second)) = &heard[1].frame else { panic!("the frame that was waited for") };
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(first.idempotency_key, second.idempotency_key);
    let (results, _) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].attempts), (ErrorCode::TimedOut, 2));
}

#[tokio::test(start_paused = true)]
async fn p7_what_comes_between_two_tries_is_recorded_and_what_comes_during_one_is_its_answer() {
    let stand = Stand::with(AGAIN).await;
    let mut stream = stand.run().await;
    // The first try is answered after it was given up, and before the second is asked for.
    stream.say_of("b1", batch(vec![call("a", "again", "{}")]));
    stream.asked().await;
    stream.hear_until(|frame| matches!(frame, Hear::CancelExecution(_))).await;
    stream.say_at("b1", 0, outcome("between"));
    assert_eq!(stream.asked().await.2.attempt, 2);
    stream.say_at("b1", 0, outcome("during"));
    let (results, _) = stream.rest().await;
    assert_eq!((text(&results[0]).as_str(), results[0].attempts, results.len()), ("during", 2, 1));
}

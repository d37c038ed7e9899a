//! Time-outs and cancellation reach what an executor has started: nobody works on for a call that is over (rules P7, B7, B8).

use std::time::Duration;

use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
};
use toolbooth::grpc::proto::{self, ErrorCode, run_request::Frame as Say};

use crate::stand::{Stand, batch, call, code};

/// A service that takes requests and never answers, and the tool behind which it stands.
async fn silent_service(keys: &str) -> (TcpListener, Stand) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/tool", listener.local_addr().unwrap());
    let contract =
        format!(r#"{{"name":"remote","parameters":{{"type":"object"}},"execute":{{"http":{{"url":"{url}"}}}}{keys}}}"#);
    (listener, Stand::with(&contract).await)
}

/// The connection of a request that has arrived whole.
async fn request(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(br#""arguments":{"n":1}}"#) {
        assert_ne!(socket.read_buf(&mut seen).await.unwrap(), 0, "the request breaks off");
    }
    socket
}

/// Whether the caller hangs up.
async fn assert_hung_up(mut socket: TcpStream) {
    let rest = tokio::time::timeout(Duration::from_secs(10), socket.read(&mut [0; 16])).await;
    // The end of the stream, or a reset.
    assert!(matches!(rest.expect("the booth hangs up"), Ok(0) | Err(_)));
}

#[tokio::test]
async fn b8_a_cancelled_call_hangs_up_on_its_http_service() {
    let (listener, stand) = silent_service("").await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "remote", r#"{"n":1}"#)]));
    let socket = request(&listener).await;
    stream.say_at("b1", 0, Say::Cancel(proto::Cancel::default()));
    let (results, _) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::Cancelled, true));
    assert_hung_up(socket).await;
}

#[tokio::test]
async fn b7_a_call_that_timed_out_hangs_up_on_its_http_service() {
    let (listener, stand) = silent_service(r#","timeout":"1s""#).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "remote", r#"{"n":1}"#)]));
    let socket = request(&listener).await;
    let (results, _) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::TimedOut, true));
    assert_hung_up(socket).await;
}

#[tokio::test]
async fn b8_a_host_that_goes_away_takes_its_programs_along() {
    let folder = tempfile::tempdir().unwrap();
    let beat = folder.path().join("beat");
    let script = format!("while :; do echo x >> {}; sleep 0.01; done", beat.display());
    let contract = serde_json::json!({
        "name": "beat", "parameters": {"type": "object"}, "execute": {"command": {"argv": ["sh", "-c", script]}}
    });
    let stand = Stand::with(&contract.to_string()).await;
    let stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "beat", "{}")]));
    let beats = || std::fs::metadata(&beat).map_or(0, |file| file.len());
    while beats() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    let silence = async {
        loop {
            let before = beats();
            tokio::time::sleep(Duration::from_millis(200)).await;
            if beats() == before {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), silence).await.expect("the program ends with its host");
}

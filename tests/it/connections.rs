//! The limits of connections: how many, how soon they must speak, and how large a message may be.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    time::{Instant, timeout},
};
use tonic::transport::Endpoint;
use toolbooth::{
    grpc::proto::{self, ErrorCode, Open, run_request::Frame as Say, run_response::Frame as Hear},
    server::Transport,
};

use crate::stand::{Stand, batch, booth, call, code, outcome, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}},
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}},"output":{"max_bytes":8388608}}
]}"#;
const GRACE: Duration = Duration::from_secs(5);
const PATIENCE: Duration = Duration::from_secs(20);

async fn limited(transport: Transport) -> Stand {
    Stand::limited(booth(TOOLS), GRACE, transport).await
}

async fn raw(stand: &Stand) -> UnixStream {
    UnixStream::connect(stand.address().strip_prefix("unix://").unwrap()).await.unwrap()
}

/// Returns when the booth has closed the connection, whatever it says before.
async fn closed(connection: &mut UnixStream) {
    let mut said = [0; 1024];
    let end = async { while connection.read(&mut said).await.is_ok_and(|bytes| bytes > 0) {} };
    timeout(PATIENCE, end).await.expect("the booth closes the connection");
}

#[tokio::test]
async fn who_does_not_begin_to_speak_in_time_is_closed_and_who_does_is_not() {
    let first_bytes = Duration::from_millis(300);
    let stand = limited(Transport { first_bytes, ..Transport::default() }).await;
    let mut good = stand.run().await;
    let begun = Instant::now();
    let (mut silent, mut slow) = (raw(&stand).await, raw(&stand).await);
    slow.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r").await.unwrap();
    closed(&mut silent).await;
    closed(&mut slow).await;
    assert!(begun.elapsed() >= first_bytes, "closed after {:?}", begun.elapsed());
    let (results, _) = good.batch("b1", vec![call("a", "echo", r#"{"n":1}"#)]).await;
    assert_eq!(text(&results[0]), r#"{"n":1}"#);
}

#[tokio::test]
async fn one_connection_too_many_is_closed_at_once_and_a_free_place_is_taken() {
    let stand = limited(Transport { max_connections: 2, ..Transport::default() }).await;
    let mut good = stand.run().await;
    let mut second = raw(&stand).await;
    let mut third = raw(&stand).await;
    closed(&mut third).await;
    let begun = Endpoint::try_from(stand.address()).unwrap().connect().await;
    let mut client = proto::tool_catalog_service_client::ToolCatalogServiceClient::new(begun.unwrap());
    client.list_tools(proto::ListToolsRequest::default()).await.unwrap_err();
    let (results, _) = good.batch("b1", vec![call("a", "echo", "{}")]).await;
    assert_eq!(text(&results[0]), "{}");
    // Not a byte was said, so the booth sees the end of it when it reads.
    second.shutdown().await.unwrap();
    closed(&mut second).await;
    let (results, _) = stand.run().await.batch("b1", vec![call("a", "echo", "{}")]).await;
    assert_eq!(text(&results[0]), "{}");
}

#[tokio::test]
async fn a_result_that_its_message_cannot_hold_is_cut_and_the_stream_goes_on() {
    let stand = limited(Transport { max_message_bytes: 1 << 20, ..Transport::default() }).await;
    for delivery in [proto::Delivery::Each, proto::Delivery::Batch] {
        let mut stream = stand.open(Open { delivery: delivery.into(), ..Open::default() }).await;
        stream.say_of("b1", batch(vec![call("a", "ask", "{}"), call("b", "echo", "{}")]));
        stream.asked().await;
        // Three quarters of text, and as much again for the host.
        let large = "x".repeat(750_000);
        let Say::ToolOutcome(outcome) = outcome(&large) else { panic!("it is one") };
        let details = format!("{:?}", "y".repeat(250_000)).into();
        stream.say_at("b1", 0, Say::ToolOutcome(proto::ToolOutcome { details, ..outcome }));
        let (mut results, finished) = stream.rest().await;
        results.sort_by_key(|result| result.index);
        assert_eq!((code(&results[0]), results[0].is_error), (ErrorCode::Unspecified, false));
        assert!(text(&results[0]).starts_with("xxxx"), "the beginning is kept");
        assert!(text(&results[0]).len() < 300_000);
        assert_eq!(results[0].warnings[0].code, "output_truncated");
        assert!(results[0].details.is_empty());
        assert_eq!((text(&results[1]).as_str(), finished.call_ids.len()), ("{}", 2));
        let (results, _) = stream.batch("b2", vec![call("c", "echo", r#"{"n":2}"#)]).await;
        assert_eq!(text(&results[0]), r#"{"n":2}"#);
    }
}

#[tokio::test]
async fn tools_come_in_pages_that_fit_a_message() {
    let schema = "x".repeat(300_000);
    let tool = |number: usize| {
        format!(r#"{{"name":"t{number:02}","parameters":{{"type":"object","description":"{schema}"}}}}"#)
    };
    let tools: Vec<String> = (0..20).map(tool).collect();
    let stand = Stand::with(&format!("[{}]", tools.join(","))).await;
    let mut client = proto::tool_catalog_service_client::ToolCatalogServiceClient::new(stand.channel().await);
    let (mut names, mut pages, mut page_token) = (Vec::new(), 0, String::new());
    loop {
        let request = proto::ListToolsRequest { page_token, ..proto::ListToolsRequest::default() };
        let page = client.list_tools(request).await.unwrap().into_inner();
        names.extend(page.tools.into_iter().map(|tool| tool.name));
        pages += 1;
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(names, (0..20).map(|number| format!("t{number:02}")).collect::<Vec<_>>());
    assert!(pages > 1, "one message cannot hold them");
}

#[tokio::test]
async fn small_results_are_not_cut_into_larger_ones() {
    let stand = limited(Transport { max_message_bytes: 1 << 20, ..Transport::default() }).await;
    let calls: Vec<_> = (0..8_000).map(|number| call(&format!("call-{number}"), "echo", r#"{"n":1}"#)).collect();
    let request = proto::ExecuteBatchRequest {
        batch: Some(proto::Batch { calls: calls.clone(), ..proto::Batch::default() }),
        ..proto::ExecuteBatchRequest::default()
    };
    let answer = stand.client().await.execute_batch(request).await.unwrap().into_inner();
    assert_eq!(answer.results.len(), 8_000);
    assert!(answer.results.iter().all(|result| text(result) == r#"{"n":1}"# && result.warnings.is_empty()));
    let mut stream = stand.open(Open { delivery: proto::Delivery::Batch.into(), ..Open::default() }).await;
    stream.say_of("b1", batch(calls));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    let parts = heard.iter().filter(|frame| matches!(frame.frame, Some(Hear::BatchResults(_))));
    let sizes: Vec<usize> = parts.map(prost::Message::encoded_len).collect();
    assert!(sizes.len() > 1 && sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
}

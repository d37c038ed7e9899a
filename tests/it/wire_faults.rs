//! Bytes that are no frames of this protocol, frames over the limit, and frames of a protocol that is still to come.

use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Code, Request, Status, Streaming, codegen::http::uri::PathAndQuery};
use tonic_prost::ProstCodec;
use toolbooth::grpc::proto::{
    ErrorCode, Open, RejectReason, RunResponse, run_request::Frame as Say, run_response::Frame as Hear,
};

use crate::stand::{Stand, batch, call, code, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

/// A frame of another protocol under the same numbers: the batch id may be bytes, and there is a kind of frame that the
/// booth does not know.
#[derive(Clone, PartialEq, prost::Message)]
struct Strange {
    #[prost(uint64, tag = "1")]
    frame_id: u64,
    #[prost(bytes = "vec", tag = "2")]
    batch_id: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    open: Option<Open>,
    #[prost(string, optional, tag = "99")]
    unknown: Option<String>,
}

/// An open run over strange frames.
async fn strange(stand: &Stand) -> (tokio::sync::mpsc::UnboundedSender<Strange>, Streaming<RunResponse>) {
    let (say, frames) = tokio::sync::mpsc::unbounded_channel();
    say.send(Strange { open: Some(Open::default()), ..Strange::default() }).unwrap();
    let mut grpc = tonic::client::Grpc::new(stand.channel().await);
    grpc.ready().await.unwrap();
    let path = PathAndQuery::from_static("/toolbooth.v1.ToolExecutionService/Run");
    let codec = ProstCodec::<Strange, RunResponse>::default();
    let request = Request::new(UnboundedReceiverStream::new(frames));
    let mut hear = grpc.streaming(request, path, codec).await.unwrap().into_inner();
    assert!(matches!(hear.message().await.unwrap().unwrap().frame, Some(Hear::Opened(_))));
    (say, hear)
}

async fn last(mut hear: Streaming<RunResponse>) -> Result<(), Status> {
    while hear.message().await?.is_some() {}
    Ok(())
}

#[tokio::test]
async fn a_kind_of_frame_that_is_unknown_is_answered_by_its_number() {
    let stand = Stand::with(TOOLS).await;
    let (say, mut hear) = strange(&stand).await;
    say.send(Strange { frame_id: 42, batch_id: "b9".into(), open: None, unknown: Some("new".into()) }).unwrap();
    let heard = hear.message().await.unwrap().unwrap();
    assert_eq!((heard.reply_to, heard.batch_id.as_str()), (42, "b9"));
    let Some(Hear::FrameRejected(rejected)) = heard.frame else { panic!("{heard:?}") };
    assert_eq!(rejected.reason(), RejectReason::Unimplemented);
    drop(say);
    last(hear).await.unwrap();
}

#[tokio::test]
async fn bytes_that_are_no_frame_end_their_stream_with_a_status_that_says_so() {
    let stand = Stand::with(TOOLS).await;
    let (say, hear) = strange(&stand).await;
    say.send(Strange { batch_id: vec![0xff, 0xfe], ..Strange::default() }).unwrap();
    let status = last(hear).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("could not be read"), "{}", status.message());
}

#[tokio::test]
async fn a_frame_over_the_limit_ends_its_stream_and_no_other() {
    let stand = Stand::with(TOOLS).await;
    let open = || Open { run_id: "r".into(), ..Open::default() };
    let mut other = stand.run().await;
    let mut stream = stand.open(open()).await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    let huge = format!("{{\"x\":\"{}\"}}", "x".repeat(5 << 20));
    stream.say_of("b2", batch(vec![call("b", "echo", &huge)]));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    let cancelled = heard
        .iter()
        .any(|heard| matches!(&heard.frame, Some(Hear::CallFinished(result)) if code(result) == ErrorCode::Cancelled));
    assert!(cancelled, "the call that ran has its result");
    let status = stream.end().await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("4194304"), "{}", status.message());
    let (results, _) = other.batch("b1", vec![call("a", "echo", "{}")]).await;
    assert_eq!(text(&results[0]), "{}");
    stand.open(open()).await;
}

#[tokio::test]
async fn a_first_frame_over_the_limit_is_told_as_such() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.stream().await;
    stream.say(Say::Open(Open { host: "x".repeat(5 << 20), ..Open::default() }));
    let status = stream.end().await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("too large"), "{}", status.message());
}

#[tokio::test]
async fn a_host_that_writes_everything_before_it_reads_gets_every_answer() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let rubbish = 20_000;
    for _ in 0..rubbish {
        stream.say_at("nowhere", 0, Say::ToolProgress(toolbooth::grpc::proto::ToolProgress::default()));
    }
    let calls = (0..2_000).map(|index| call(&format!("c{index}"), "echo", &format!("{{\"x\":{index}}}"))).collect();
    stream.say_of("b1", batch(calls));
    stream.half_close();
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    let count =
        |kind: fn(&Hear) -> bool| heard.iter().filter_map(|heard| heard.frame.as_ref()).filter(|f| kind(f)).count();
    assert_eq!(count(|frame| matches!(frame, Hear::FrameRejected(_))), rubbish);
    assert_eq!(count(|frame| matches!(frame, Hear::CallFinished(_))), 2_000);
    assert!(stream.end().await.unwrap().is_none());
}

//! A booth to test against: a real server on a real socket, and a client for its `Run` stream.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tempfile::TempDir;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::mpsc,
};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{
    Status, Streaming,
    transport::{Channel, Endpoint},
};
use toolbooth::{
    booth::{Booth, MAX_GRACE, Runs},
    executors::Executors,
    grpc::proto::{
        self, Batch, Open, RunRequest, RunResponse, ToolCall, run_request::Frame as Say, run_response::Frame as Hear,
        tool_execution_service_client::ToolExecutionServiceClient,
    },
    json::ParseLimits,
    ledgers::MemoryLedger,
    ports::SystemClock,
    run::{BytesInFlight, Capacity, Limits, RecordRoom},
    server::{self, Listeners, Serving, SocketAccess, Transport},
    tools::{Author, LoadOptions, load_document},
};
use uuid::Uuid;

/// How long a test waits for a frame before it fails: no speed is meant by it.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running booth.
pub(crate) struct Stand {
    folder: TempDir,
    pub(crate) stop: CancellationToken,
    pub(crate) server: tokio::task::JoinHandle<()>,
}

/// A booth with these contracts (JSON), not yet served.
pub(crate) fn booth(contracts: &str) -> Booth {
    let loaded = load_document(contracts.as_bytes(), &LoadOptions::default());
    let path = std::env::var_os("PATH").unwrap_or_default();
    Booth {
        catalog: loaded.catalog,
        executors: Executors::new(BTreeMap::from([("PATH".into(), path)])),
        ledger: Arc::new(MemoryLedger::default()),
        clock: Arc::new(SystemClock),
        limits: Limits::default(),
        capacity: Capacity::default(),
        bytes_in_flight: BytesInFlight::default(),
        parse_limits: ParseLimits::default(),
        load: LoadOptions { author: Author::Host, ..LoadOptions::default() },
        runs: Runs::default(),
        record_room: RecordRoom::default(),
        max_grace: MAX_GRACE,
    }
}

impl Stand {
    /// Serves a booth with these contracts.
    pub(crate) async fn with(contracts: &str) -> Self {
        Self::serving(booth(contracts), Duration::from_secs(5)).await
    }

    /// Serves this booth.
    pub(crate) async fn serving(booth: Booth, grace: Duration) -> Self {
        Self::limited(booth, grace, Transport::default()).await
    }

    /// Serves this booth within these limits.
    pub(crate) async fn limited(booth: Booth, grace: Duration, transport: Transport) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("booth.sock");
        let unix = server::bind_unix(&path, SocketAccess::default()).await.unwrap();
        let stop = CancellationToken::new();
        let listeners = Listeners { unix: Some(unix), tcp: None };
        let serving = Serving { listeners, diagnostics: None, transport, grace };
        let serving = server::serve(Arc::new(booth), serving, stop.clone());
        let server = tokio::spawn(async move { Box::pin(serving).await.unwrap() });
        Self { folder, stop, server }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.folder.path().join("booth.sock").display())
    }

    /// A connection.
    pub(crate) async fn channel(&self) -> Channel {
        Endpoint::try_from(self.address()).unwrap().connect().await.unwrap()
    }

    /// A client of the execution service.
    pub(crate) async fn client(&self) -> ToolExecutionServiceClient<Channel> {
        ToolExecutionServiceClient::new(self.channel().await)
    }

    /// An open run.
    pub(crate) async fn open(&self, open: Open) -> Stream {
        self.stream().await.open(open).await
    }

    /// An open run with nothing special about it.
    pub(crate) async fn run(&self) -> Stream {
        self.open(Open::default()).await
    }

    /// An open run over a line that can be cut.
    pub(crate) async fn open_on_line(&self, open: Open) -> (Stream, Line) {
        let (near, booth) =
            (self.folder.path().join(Uuid::now_v7().to_string()), self.folder.path().join("booth.sock"));
        let listener = UnixListener::bind(&near).unwrap();
        let forwarding = tokio::spawn(async move {
            let (mut host, _) = listener.accept().await.unwrap();
            let mut booth = UnixStream::connect(booth).await.unwrap();
            drop(tokio::io::copy_bidirectional(&mut host, &mut booth).await);
        });
        let channel = Endpoint::try_from(format!("unix://{}", near.display())).unwrap().connect().await.unwrap();
        (Stream::over(channel).await.open(open).await, Line(forwarding))
    }

    /// A stream on which nothing was said.
    pub(crate) async fn stream(&self) -> Stream {
        Stream::over(self.channel().await).await
    }
}

/// What a connection goes over.
pub(crate) struct Line(tokio::task::JoinHandle<()>);

impl Line {
    /// Cuts it: both ends lose their connection, and nobody has said anything of it.
    pub(crate) fn cut(self) {
        self.0.abort();
    }
}

/// The host's end of a `Run` stream.
pub(crate) struct Stream {
    say: Option<mpsc::UnboundedSender<RunRequest>>,
    hear: Streaming<RunResponse>,
    pub(crate) opened: proto::Opened,
    /// Results since the last end of a batch.
    results: Vec<proto::CallResult>,
}

impl Stream {
    /// A stream over a connection, on which nothing was said.
    pub(crate) async fn over(channel: Channel) -> Self {
        let (say, frames) = mpsc::unbounded_channel();
        let requests = UnboundedReceiverStream::new(frames);
        let hear = ToolExecutionServiceClient::new(channel).run(requests).await.unwrap().into_inner();
        Self { say: Some(say), hear, opened: proto::Opened::default(), results: Vec::new() }
    }

    /// Opens the run.
    pub(crate) async fn open(mut self, open: Open) -> Self {
        self.say(Say::Open(open));
        self.opened = match self.hear().await.frame {
            Some(Hear::Opened(opened)) => opened,
            other => panic!("expected opened, got {other:?}"),
        };
        self
    }

    /// Says something about no batch.
    pub(crate) fn say(&self, frame: Say) {
        self.send(RunRequest { frame: Some(frame), ..RunRequest::default() });
    }

    /// Says something about a batch.
    pub(crate) fn say_of(&self, batch_id: &str, frame: Say) {
        self.send(RunRequest { batch_id: batch_id.into(), frame: Some(frame), ..RunRequest::default() });
    }

    /// Says something about a call.
    pub(crate) fn say_at(&self, batch_id: &str, index: u32, frame: Say) {
        let batch_id = batch_id.into();
        self.send(RunRequest { batch_id, index: Some(index), frame: Some(frame), ..RunRequest::default() });
    }

    /// Sends a frame as it is.
    pub(crate) fn send(&self, request: RunRequest) {
        self.say.as_ref().unwrap().send(request).unwrap();
    }

    /// Half-closes: nothing more will be said.
    pub(crate) fn half_close(&mut self) {
        self.say = None;
    }

    /// The next frame.
    pub(crate) async fn hear(&mut self) -> RunResponse {
        let heard = self.end().await.unwrap().expect("a frame, and not the end of the stream");
        match &heard.frame {
            Some(Hear::CallFinished(result)) => self.results.push(result.clone()),
            Some(Hear::BatchResults(part)) => self.results.extend(part.results.clone()),
            _ => {}
        }
        heard
    }

    /// The next frame, or the end, or the status that the stream ended with.
    pub(crate) async fn end(&mut self) -> Result<Option<RunResponse>, Status> {
        tokio::time::timeout(PATIENCE, self.hear.message()).await.expect("the booth says something in time")
    }

    /// Frames up to the first that fits.
    pub(crate) async fn hear_until(&mut self, fits: impl Fn(&Hear) -> bool) -> Vec<RunResponse> {
        let mut heard = Vec::new();
        loop {
            let frame = self.hear().await;
            let is_last = frame.frame.as_ref().is_some_and(&fits);
            heard.push(frame);
            if is_last {
                return heard;
            }
        }
    }

    /// The next `execute`, and the batch it is about.
    pub(crate) async fn asked(&mut self) -> (String, u32, proto::Execute) {
        let mut heard = self.hear_until(|frame| matches!(frame, Hear::Execute(_))).await;
        let last = heard.pop().unwrap();
        let Some(Hear::Execute(execute)) = last.frame else { panic!("the frame that was waited for") };
        (last.batch_id, last.index.unwrap(), execute)
    }

    /// Hears a batch to its end: all its results in the order in which they came, and the verdict.
    pub(crate) async fn rest(&mut self) -> (Vec<proto::CallResult>, proto::BatchFinished) {
        let mut heard = self.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
        let last = heard.pop().unwrap();
        let Some(Hear::BatchFinished(finished)) = last.frame else { panic!("the frame that was waited for") };
        (std::mem::take(&mut self.results), finished)
    }

    /// Plays a batch that asks nothing of the host.
    pub(crate) async fn batch(&mut self, id: &str, calls: Vec<ToolCall>) -> (Vec<proto::CallResult>, proto::Verdict) {
        self.say_of(id, Say::Batch(Batch { calls, ..Batch::default() }));
        let (mut results, finished) = self.rest().await;
        results.sort_by_key(|result| result.index);
        (results, finished.verdict.unwrap())
    }

    /// The next `frame_rejected`: the frame it answers, and why.
    pub(crate) async fn rejected(&mut self) -> (u64, proto::RejectReason, String) {
        let mut heard = self.hear_until(|frame| matches!(frame, Hear::FrameRejected(_))).await;
        let last = heard.pop().unwrap();
        let Some(Hear::FrameRejected(rejected)) = last.frame else { panic!("the frame that was waited for") };
        (last.reply_to, rejected.reason(), rejected.message)
    }
}

/// A call.
pub(crate) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.to_owned().into(),
        idempotency_key: String::new(),
    }
}

/// A batch of calls that is whole.
pub(crate) fn batch(calls: Vec<ToolCall>) -> Say {
    Say::Batch(Batch { calls, ..Batch::default() })
}

/// An answer to `execute` with this text.
pub(crate) fn outcome(text: &str) -> Say {
    Say::ToolOutcome(proto::ToolOutcome { content: vec![text_content(text)], ..proto::ToolOutcome::default() })
}

/// A piece of text.
pub(crate) fn text_content(text: &str) -> proto::Content {
    proto::Content { kind: Some(proto::content::Kind::Text(text.into())) }
}

/// All text of a result.
pub(crate) fn text(result: &proto::CallResult) -> String {
    let texts = result.content.iter().filter_map(|content| match &content.kind {
        Some(proto::content::Kind::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The code of a result's error.
pub(crate) fn code(result: &proto::CallResult) -> proto::ErrorCode {
    result.error.as_ref().map(proto::Error::code).unwrap_or_default()
}

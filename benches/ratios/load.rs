//! The host's side: calls go out in one shape or another, every answer is checked, and the time of each is kept.

use std::{
    collections::VecDeque,
    slice::from_ref,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use futures::future::try_join_all;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;
use toolbooth::grpc::proto::{
    Batch, CallResult, Delivery, ExecuteBatchRequest, Open, RunRequest, RunResponse, ToolOutcome, run_request,
    run_response::Frame,
};

use super::server::Client;

/// One run over one stream.
pub(crate) struct Run {
    out: mpsc::UnboundedSender<RunRequest>,
    frames: Streaming<RunResponse>,
    /// Whether a verdict ends a batch. The echo has neither runs nor verdicts: its results do.
    has_verdicts: bool,
    /// Whether each call is refused, and not executed.
    are_errors: bool,
}

impl Run {
    /// Opens it.
    pub(crate) async fn open(client: &Client, delivery: Delivery) -> Result<Self> {
        let (out, requests) = mpsc::unbounded_channel();
        let open = Open { delivery: delivery.into(), ..Open::default() };
        out.send(RunRequest { frame: Some(run_request::Frame::Open(open)), ..RunRequest::default() })?;
        let frames = client.clone().run(UnboundedReceiverStream::new(requests)).await?.into_inner();
        let mut run = Self { out, frames, has_verdicts: false, are_errors: false };
        let opened = run.next().await?;
        let Frame::Opened(opened) = opened else { bail!("{opened:?} instead of `opened`") };
        run.has_verdicts = !opened.run_id.is_empty();
        Ok(run)
    }

    /// From now on each call is to be refused.
    pub(crate) fn expect_errors(&mut self) {
        self.are_errors = true;
    }

    fn say(&self, index: Option<u32>, frame: run_request::Frame) -> Result<()> {
        Ok(self.out.send(RunRequest { index, frame: Some(frame), ..RunRequest::default() })?)
    }

    async fn next(&mut self) -> Result<Frame> {
        let response = self.frames.message().await?.context("the stream ended")?;
        response.frame.context("a frame of another version")
    }

    /// Hears the rest of a batch.
    async fn rest(&mut self, calls: usize) -> Result<()> {
        let mut results = 0;
        loop {
            let frame = self.next().await?;
            if let Frame::CallFinished(result) = &frame {
                results += answered(from_ref(result), self.are_errors)?;
            } else if let Frame::BatchResults(part) = &frame {
                results += answered(&part.results, self.are_errors)?;
            }
            if !self.has_verdicts || matches!(frame, Frame::BatchFinished(_)) {
                break;
            }
        }
        ensure!(results == calls, "{results} results of {calls} calls");
        Ok(())
    }

    /// One batch, there and back.
    pub(crate) async fn batch(&mut self, batch: Batch) -> Result<()> {
        let calls = batch.calls.len();
        self.say(None, run_request::Frame::Batch(batch))?;
        self.rest(calls).await
    }

    /// Sends a batch of calls to the host's own tools, until the booth has asked for all of them: then they are in flight.
    pub(crate) async fn hold(&mut self, batch: Batch) -> Result<()> {
        let mut waited_for = batch.calls.len();
        self.say(None, run_request::Frame::Batch(batch))?;
        while waited_for > 0 {
            let frame = self.next().await?;
            if let Frame::Execute(_) = frame {
                waited_for -= 1;
            } else {
                ensure!(matches!(frame, Frame::CallStarted(_)), "{frame:?} instead of `execute`");
            }
        }
        Ok(())
    }

    /// Answers the calls that were held back.
    pub(crate) async fn release(&mut self, calls: u32) -> Result<()> {
        for index in 0..calls {
            self.say(Some(index), run_request::Frame::ToolOutcome(ToolOutcome::default()))?;
        }
        self.rest(usize::try_from(calls)?).await
    }
}

/// Counts results, all of which must be errors, or none of them, and then none without arguments.
fn answered(results: &[CallResult], are_errors: bool) -> Result<usize> {
    let wrong =
        results.iter().find(|result| result.is_error != are_errors || result.arguments.is_empty() != are_errors);
    ensure!(wrong.is_none(), "a call was not answered as it should be: {wrong:?}");
    Ok(results.len())
}

/// How batches go to a server, over one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// So many runs at once; each sends its next batch when the one before is over.
    Runs(u32, Delivery),
    /// One stream with so many messages on their way: for the echo, which takes them as they come.
    Window(u32),
    /// So many unary requests at once.
    Unary(u32),
}

/// Sends so many batches in all, and gives the time of each.
pub(crate) async fn drive(client: &Client, shape: Shape, batch: &Batch, batches: u32) -> Result<Vec<Duration>> {
    let lanes = match shape {
        Shape::Runs(runs, delivery) => {
            try_join_all((0..runs).map(|_| one_run(client, delivery, batch, batches / runs))).await?
        }
        Shape::Window(width) => vec![window(client, width, batch, batches).await?],
        Shape::Unary(lanes) => try_join_all((0..lanes).map(|_| unary(client, batch, batches / lanes))).await?,
    };
    Ok(lanes.concat())
}

/// One batch after the other.
async fn one_run(client: &Client, delivery: Delivery, batch: &Batch, batches: u32) -> Result<Vec<Duration>> {
    let mut run = Run::open(client, delivery).await?;
    let mut times = Vec::new();
    for _ in 0..batches {
        let next = batch.clone();
        let start = Instant::now();
        run.batch(next).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Keeps `width` messages on their way.
async fn window(client: &Client, width: u32, batch: &Batch, batches: u32) -> Result<Vec<Duration>> {
    let mut run = Run::open(client, Delivery::Each).await?;
    let (mut starts, mut times) = (VecDeque::new(), Vec::new());
    for sent in 0..batches + width {
        if sent >= width {
            run.rest(batch.calls.len()).await?;
            times.extend(starts.pop_front().map(|start: Instant| start.elapsed()));
        }
        if sent < batches {
            starts.push_back(Instant::now());
            run.say(None, run_request::Frame::Batch(batch.clone()))?;
        }
    }
    Ok(times)
}

/// One request after the other.
async fn unary(client: &Client, batch: &Batch, requests: u32) -> Result<Vec<Duration>> {
    let mut client = client.clone();
    let mut times = Vec::new();
    for _ in 0..requests {
        let request = ExecuteBatchRequest { batch: Some(batch.clone()), ..ExecuteBatchRequest::default() };
        let start = Instant::now();
        let response = client.execute_batch(request).await?.into_inner();
        times.push(start.elapsed());
        ensure!(answered(&response.results, false)? == batch.calls.len(), "one result for each call");
    }
    Ok(times)
}

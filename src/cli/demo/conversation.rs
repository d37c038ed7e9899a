//! A host that plays a run: it sends batches, executes what it is asked to, and prints every frame.

use std::io::Write;

use anyhow::{Context as _, Result, anyhow};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Streaming, transport::Channel};
use toolbooth::grpc::proto::{
    self, RunRequest, RunResponse, run_request::Frame as Say, run_response::Frame as Hear,
    tool_execution_service_client::ToolExecutionServiceClient,
};

use super::transcript;

/// A call of the model.
pub(super) struct Call {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) arguments: String,
}

/// An open run.
pub(super) struct Conversation {
    say: mpsc::UnboundedSender<RunRequest>,
    hear: Streaming<RunResponse>,
}

impl Conversation {
    /// Opens a run.
    pub(super) async fn open(channel: Channel, out: &mut dyn Write) -> Result<Self> {
        let (say, frames) = mpsc::unbounded_channel();
        let open = proto::Open { protocol_version: 1, host: "toolbooth demo".to_owned(), ..proto::Open::default() };
        say.send(RunRequest { frame: Some(Say::Open(open)), ..RunRequest::default() })?;
        transcript::says(out, "open")?;
        let mut client = ToolExecutionServiceClient::new(channel);
        let hear = client.run(UnboundedReceiverStream::new(frames)).await?.into_inner();
        let mut run = Self { say, hear };
        let opened = run.hear().await?;
        transcript::hears(out, &opened)?;
        Ok(run)
    }

    /// Plays a batch to its verdict.
    pub(super) async fn batch(&mut self, id: &str, calls: &[Call], out: &mut dyn Write) -> Result<proto::Verdict> {
        transcript::says(out, &format!("batch {id}"))?;
        for call in calls {
            transcript::detail(out, &format!("{} {} {}", call.id, call.name, call.arguments))?;
        }
        let calls = calls.iter().map(|call| proto::ToolCall {
            id: call.id.to_owned(),
            name: call.name.to_owned(),
            arguments: call.arguments.clone().into(),
            idempotency_key: String::new(),
        });
        let batch = proto::Batch { calls: calls.collect(), ..proto::Batch::default() };
        self.say(id, None, Say::Batch(batch))?;
        loop {
            let response = self.hear().await?;
            transcript::hears(out, &response)?;
            match response.frame {
                Some(Hear::Execute(execute)) => {
                    let text = host_function(&execute)?;
                    transcript::says(out, &format!("tool_outcome for {}: {text}", execute.call_id))?;
                    self.say(id, response.index, Say::ToolOutcome(outcome(text)))?;
                }
                Some(Hear::BatchFinished(finished)) => return finished.verdict.context("a batch without a verdict"),
                _ => {}
            }
        }
    }

    /// Ends the run.
    pub(super) async fn end(mut self, out: &mut dyn Write) -> Result<()> {
        transcript::says(out, "end_run")?;
        self.say("", None, Say::EndRun(proto::EndRun::default()))?;
        match self.hear.message().await? {
            None => Ok(()),
            Some(frame) => Err(anyhow!("a frame after the end of the run: {frame:?}")),
        }
    }

    fn say(&self, batch: &str, index: Option<u32>, frame: Say) -> Result<()> {
        self.say.send(RunRequest { frame_id: 0, batch_id: batch.to_owned(), index, frame: Some(frame) })?;
        Ok(())
    }

    async fn hear(&mut self) -> Result<RunResponse> {
        self.hear.message().await?.context("the booth closed the stream")
    }
}

/// The agent's own functions. They need not check anything: what arrives here is valid.
fn host_function(execute: &proto::Execute) -> Result<String> {
    let arguments: serde_json::Value = serde_json::from_slice(&execute.arguments)?;
    let argument = |name: &str| arguments.get(name).with_context(|| format!("no argument `{name}`"));
    match execute.tool.as_str() {
        "add" => {
            let number = |name: &str| argument(name)?.as_f64().with_context(|| format!("`{name}` is no number"));
            Ok((number("a")? + number("b")?).to_string())
        }
        "read_file" => Ok(format!("the text of {}", argument("path")?.as_str().context("`path` is no text")?)),
        other => Err(anyhow!("the host has no function `{other}`")),
    }
}

fn outcome(text: String) -> proto::ToolOutcome {
    let content = vec![proto::Content { kind: Some(proto::content::Kind::Text(text)) }];
    proto::ToolOutcome { content, ..proto::ToolOutcome::default() }
}

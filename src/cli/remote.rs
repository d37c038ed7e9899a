//! A booth that runs somewhere else: how the other commands reach it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use tonic::transport::{Channel, Endpoint};
use toolbooth::{
    grpc::proto::{self, content::Kind, tool_execution_service_client::ToolExecutionServiceClient},
    json::{Json, ParseLimits, parse},
};

use super::shown::{Shown, repair, violation};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to `unix:///path`, `unix:path`, `host:port` or `http://host:port`.
pub(super) async fn connect(address: &str) -> Result<Channel> {
    let has_scheme = address.starts_with("unix:") || address.contains("://");
    let uri = if has_scheme { address.to_owned() } else { format!("http://{address}") };
    let endpoint = Endpoint::try_from(uri)
        .with_context(|| format!("`{address}` is no address; write unix:///path/to/socket or 127.0.0.1:7155"))?;
    let endpoint = endpoint.connect_timeout(PATIENCE);
    endpoint.connect().await.with_context(|| format!("no booth answers on {address}; start one with `toolbooth serve`"))
}

/// One call to a running booth.
pub(super) async fn call(address: &str, tool: String, arguments: Bytes) -> Result<proto::CallResult> {
    let mut client = ToolExecutionServiceClient::new(connect(address).await?);
    let call = proto::ToolCall { id: "call".to_owned(), name: tool, arguments, idempotency_key: String::new() };
    let batch = proto::Batch { calls: vec![call], ..proto::Batch::default() };
    let request = proto::ExecuteBatchRequest { batch: Some(batch), ..proto::ExecuteBatchRequest::default() };
    let mut response = client.execute_batch(request).await?.into_inner();
    response.results.pop().context("the booth answered without a result")
}

/// All text pieces in one.
fn text(result: &proto::CallResult) -> String {
    let text = |content: &proto::Content| match &content.kind {
        Some(Kind::Text(text)) => Some(text.clone()),
        Some(Kind::Image(_) | Kind::Audio(_) | Kind::Resource(_)) | None => None,
    };
    result.content.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

/// What is shown of the result.
pub(super) fn shown(result: &proto::CallResult) -> Result<Shown> {
    let error = result.error.clone().unwrap_or_default();
    let code = error.code().as_str_name().trim_start_matches("ERROR_CODE_").to_lowercase();
    let repairs =
        result.repairs.iter().map(|own| repair([&own.target, &own.path, &own.op, &own.from, &own.to], own.lossy));
    let violations = error
        .violations
        .iter()
        .map(|own| violation([&own.instance_path, &own.property, &own.keyword, &own.message, &own.hint]));
    Ok(Shown {
        index: result.index,
        id: result.call_id.clone(),
        name: result.tool.clone(),
        is_error: result.is_error,
        code: result.error.is_some().then_some(code),
        reason: Some(error.reason.clone()).filter(|reason| !reason.is_empty()),
        executed: result.executed,
        attempts: result.attempts,
        terminate: result.terminate,
        replayed: result.replayed,
        text: text(result),
        structured: json(&result.structured)?,
        raw_arguments: result.raw_arguments.clone(),
        arguments: json(&result.arguments)?,
        repairs: repairs.collect(),
        violations: violations.collect(),
    })
}

/// JSON text of the wire; empty for none.
fn json(text: &[u8]) -> Result<Option<Json>> {
    if text.is_empty() {
        return Ok(None);
    }
    let limits = ParseLimits::wide();
    Ok(Some(parse(text, &limits)?))
}

//! What stands behind a tool: the host, an HTTP service, a program, or the booth itself.
//!
//! [`Executors`] picks the executor that the contract names. Programs and HTTP services share one wire (`wire`) and one
//! form of answer (`envelope`); `submit` and `echo` are answered on the spot. Executors know nothing of time-outs: the
//! pipeline drops the future, and what they have started ends with it.

mod command;
mod envelope;
mod group;
mod http;
mod wire;

use std::{collections::BTreeMap, ffi::OsString, sync::Arc};

use async_trait::async_trait;

use crate::{
    content::ToolOutput,
    json::SharedJson,
    ports::{Execution, Executor, ExecutorError, ProgressSender},
    tools::{ExecutorSpec, Tool},
    wording,
};

use command::Programs;
use http::HttpTools;
use wire::Request;

pub use http::HttpClientError;

/// All executors of this build. Clones share the HTTP client and its connections.
#[derive(Debug, Clone)]
pub struct Executors {
    http: HttpTools,
    programs: Programs,
    /// Who executes the tools of the host: another one for every stream.
    host: Option<Arc<dyn Executor>>,
}

impl Executors {
    /// Executors without a host. Programs may inherit variables of `environment` as far as their contract names them.
    pub fn new(environment: BTreeMap<OsString, OsString>) -> Self {
        Self { http: HttpTools::default(), programs: Programs::new(environment), host: None }
    }

    /// Makes what these tools need and can be missing on a machine, so that it is said before the first call.
    pub fn provide<'a>(&self, tools: impl IntoIterator<Item = &'a Arc<Tool>>) -> Result<(), HttpClientError> {
        if tools.into_iter().any(|tool| matches!(tool.executor, ExecutorSpec::Http(_))) {
            self.http.client()?;
        }
        Ok(())
    }

    /// The same executors, with a host to ask.
    #[must_use]
    pub fn with_host(&self, host: Arc<dyn Executor>) -> Self {
        Self { host: Some(host), ..self.clone() }
    }
}

#[async_trait]
impl Executor for Executors {
    async fn execute(&self, execution: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError> {
        match &execution.tool.executor {
            ExecutorSpec::Host => {
                let host = self.host.as_ref().ok_or(ExecutorError::NoHost)?;
                host.execute(execution, progress).await
            }
            // Boxed: these are large, and thousands of calls of a host may wait beside.
            ExecutorSpec::Http(spec) => {
                Box::pin(self.http.run(spec, Request::of(&execution).to_text(), &execution.idempotency_key())).await
            }
            ExecutorSpec::Command(spec) => Box::pin(self.programs.run(spec, &Request::of(&execution).to_text())).await,
            ExecutorSpec::Submit => Ok(submit(&execution.arguments)),
            ExecutorSpec::Echo => Ok(echo(&execution.arguments)),
        }
    }
}

/// Keeps the value; whether the run may end is the contract's word.
fn submit(arguments: &SharedJson) -> ToolOutput {
    ToolOutput { structured: Some(arguments.clone()), ..ToolOutput::text(wording::SUBMITTED) }
}

/// Hands the arguments back, and never ends a run.
fn echo(arguments: &SharedJson) -> ToolOutput {
    ToolOutput { structured: Some(arguments.clone()), ..ToolOutput::text(arguments.text()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    const EXACT: &str = r#"{"id":12345678901234567890,"rate":1.50}"#;

    fn arguments() -> SharedJson {
        parse(EXACT.as_bytes(), &ParseLimits::default()).unwrap().into()
    }

    #[test]
    fn a_submission_is_confirmed_and_leaves_the_end_of_the_run_to_its_contract() {
        let output = submit(&arguments());
        assert_eq!(output, ToolOutput { structured: Some(arguments()), ..ToolOutput::text(wording::SUBMITTED) });
        assert_eq!(output.terminate, None);
    }

    #[test]
    fn echo_returns_the_arguments_as_text_and_as_a_value() {
        let output = echo(&arguments());
        assert_eq!(output.content, ToolOutput::text(EXACT).content);
        assert_eq!(output.structured, Some(arguments()));
        assert_eq!(output.terminate, None);
    }

    #[test]
    fn what_programs_could_inherit_is_not_shown() {
        let environment = BTreeMap::from([("TOKEN".into(), "s3cret".into())]);
        let shown = format!("{:?}", Executors::new(environment));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

//! What runs a tool, as its contract says.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

/// One of the executors of this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutorSpec {
    /// The agent's own function, called back over its stream.
    Host,
    /// An HTTP request.
    Http(Arc<HttpSpec>),
    /// A program.
    Command(Arc<CommandSpec>),
    /// Keeps the value; nothing else happens.
    Submit,
    /// Hands the arguments back.
    Echo,
}

impl ExecutorSpec {
    /// Its name in contracts.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Http(_) => "http",
            Self::Command(_) => "command",
            Self::Submit => "submit",
            Self::Echo => "echo",
        }
    }
}

/// An HTTP request.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpSpec {
    /// Where the call is posted to.
    pub url: String,
    /// Headers to send along.
    pub headers: BTreeMap<String, String>,
    /// Most bytes of an answer that are read.
    pub max_response_bytes: usize,
}

/// A program, started without a shell.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it runs; `None`: where the booth runs.
    pub cwd: Option<PathBuf>,
    /// Its whole environment, beside the variables that `inherit` names.
    pub env: BTreeMap<String, String>,
    /// Variables of the booth's environment that it sees; `PATH` alone unless the contract says otherwise.
    pub inherit: Vec<String>,
    /// Most bytes of standard output that are read; the same for standard error.
    pub max_output_bytes: usize,
}

/// Without what may be a secret: the values of headers, and of the address whatever is not scheme, host, port and path.
impl fmt::Debug for HttpSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSpec")
            .field("url", &address(&self.url))
            .field("headers", &self.headers.keys())
            .field("max_response_bytes", &self.max_response_bytes)
            .finish()
    }
}

fn address(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}{}", url.scheme(), url.host_str()?, url.path()))
}

/// Without what may be a secret: the values of variables, and the arguments of the program.
impl fmt::Debug for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandSpec")
            .field("program", &self.argv.first())
            .field("arguments", &self.argv.len().saturating_sub(1))
            .field("cwd", &self.cwd)
            .field("env", &self.env.keys())
            .field("inherit", &self.inherit)
            .field("max_output_bytes", &self.max_output_bytes)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::tools::{ExecutorSpec, LoadOptions, load_document};

    fn spec(execute: &str) -> ExecutorSpec {
        let contract = format!(r#"{{"name":"t","parameters":{{"type":"object"}},"execute":{execute}}}"#);
        let loaded = load_document(contract.as_bytes(), &LoadOptions::default());
        loaded.catalog.served().next().unwrap().executor.clone()
    }

    #[test]
    fn what_may_be_a_secret_is_not_printed() {
        let http = spec(
            r#"{"http":{"url":"http://user:s3cret@host:81/p?key=s3cret#s3cret","headers":{"Authorization":"Bearer s3cret"}}}"#,
        );
        assert_eq!(
            format!("{http:?}"),
            r#"Http(HttpSpec { url: Some("http://host:81/p"), headers: ["Authorization"], max_response_bytes: 4194304 })"#
        );
        let command = spec(r#"{"command":{"argv":["run","--key=s3cret"],"env":{"KEY":"s3cret"}}}"#);
        let shown = format!("{command:?}");
        assert!(shown.contains("\"run\"") && shown.contains("KEY") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_broken_address_is_not_repeated() {
        let contract = r#"{"name":"t","execute":{"http":{"url":"htp://user:s3cret@host"}}}"#;
        let loaded = load_document(contract.as_bytes(), &LoadOptions::default());
        assert!(!loaded.reports[0].notes.is_empty() && !format!("{:?}", loaded.reports).contains("s3cret"));
    }
}

//! What runs a tool, as its contract says.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSpec {
    /// Where the call is posted to.
    pub url: String,
    /// Headers to send along.
    pub headers: BTreeMap<String, String>,
    /// Most bytes of an answer that are read.
    pub max_response_bytes: usize,
}

/// A program, started without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
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

//! The contract format: one struct a block, whose docs become the descriptions that editors show.
//!
//! It is read in two steps: `FORMAT` walks the document along the JSON Schema that these types print and reports all that does
//! not fit, then serde reads what fits. Keys that a build lacks are part of the format, so that they are refused by name.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    call::Mode,
    document::{Elsewhere, ExactObject},
    tools::{InDoubt, Profile, Received, shim::Step},
};

/// One tool.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Contract {
    /// What the model calls it, exactly.
    pub(in crate::tools) name: String,
    /// A title for people.
    pub(in crate::tools) title: Option<String>,
    /// What the model reads about it.
    pub(in crate::tools) description: Option<String>,
    /// JSON Schema of the arguments. `inputSchema` and `input_schema` are the same.
    pub(in crate::tools) parameters: Option<Elsewhere>,
    /// The same as `parameters`, as MCP spells it.
    #[serde(rename = "inputSchema")]
    pub(in crate::tools) input_schema_of_mcp: Option<Elsewhere>,
    /// The same as `parameters`, as Anthropic spells it.
    #[serde(rename = "input_schema")]
    pub(in crate::tools) input_schema_of_anthropic: Option<Elsewhere>,
    /// JSON Schema of the structured result. `output_schema` is the same.
    #[serde(rename = "outputSchema")]
    pub(in crate::tools) output_schema: Option<Elsewhere>,
    /// The same as `outputSchema`.
    #[serde(rename = "output_schema")]
    pub(in crate::tools) output_schema_snake: Option<Elsewhere>,
    /// Old shapes that models still send, brought into the new one before validation, step by step.
    pub(in crate::tools) prepare: Option<Vec<Step>>,
    /// How arguments are read.
    pub(in crate::tools) arguments: Option<Arguments>,
    /// Policy rules in CEL over `args`, `tool`, `context` and `run`. This build has no policy engine and refuses a contract
    /// that has any.
    pub(in crate::tools) rules: Option<Vec<ExactObject>>,
    /// What runs the tool; `host` if nothing is said.
    pub(in crate::tools) execute: Option<Execute>,
    /// Short for `execute: {submit: {}}`, `accept: {once_per: ...}` and `terminate: true`.
    pub(in crate::tools) submit: Option<Submit>,
    /// Makes the tool a submission that is accepted once, whatever runs it.
    pub(in crate::tools) accept: Option<AcceptBlock>,
    /// Whether its calls may overlap with others; `parallel` if nothing is said.
    pub(in crate::tools) mode: Option<Mode>,
    /// Idle time, moved by progress.
    #[schemars(extend("examples" = ["30s"]))]
    pub(in crate::tools) timeout: Option<String>,
    /// Hard time, whatever the progress; 5m for `http` and `command` if neither time is said.
    #[schemars(extend("examples" = ["2m"]))]
    pub(in crate::tools) deadline: Option<String>,
    /// Whether a run that did not answer may have changed something; false if nothing is said.
    pub(in crate::tools) side_effect: Option<bool>,
    /// Whether running the same call again does no harm; false if nothing is said. Only then does the booth try again when a try
    /// fails, with the same idempotency key.
    pub(in crate::tools) idempotent: Option<bool>,
    /// How often an idempotent tool is tried again when it could not be started, failed without an answer or was silent for
    /// longer than `timeout`; 0 to 10. 2 for a tool with `idempotent: true`, else 0. `deadline` spans all tries.
    #[schemars(range(min = 0, max = 10))]
    pub(in crate::tools) retries: Option<u32>,
    /// How much of this tool a run may use, beside what the run and the booth allow; no limit where nothing is said.
    pub(in crate::tools) limits: Option<LimitsOfTool>,
    /// What a success says about the end of the run, unless the executor says otherwise; true for `submit`, else false.
    pub(in crate::tools) terminate: Option<bool>,
    /// Caps on what the tool answers.
    pub(in crate::tools) output: Option<Output>,
    /// How providers may constrain sampling to the schema. Kept for the host.
    pub(in crate::tools) constrained_sampling: Option<ExactObject>,
    /// MCP's annotations. Kept for the host.
    pub(in crate::tools) annotations: Option<ExactObject>,
    /// MCP's icons. Kept for the host.
    pub(in crate::tools) icons: Option<Vec<ExactObject>>,
    /// MCP's `_meta`. Kept for the host.
    #[serde(rename = "_meta")]
    pub(in crate::tools) meta: Option<ExactObject>,
    /// MCP's `execution`. Kept for the host.
    pub(in crate::tools) execution: Option<ExactObject>,
}

/// What the entries of `tools` take where they say nothing themselves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Defaults {
    /// What runs them.
    pub(in crate::tools) execute: Option<Execute>,
    /// How their arguments are read, key by key.
    pub(in crate::tools) arguments: Option<Arguments>,
}

/// How arguments are read, and what of them may be shown.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Arguments {
    /// What may be done to arguments so that they satisfy their schema; what the run or the booth says if nothing is said here.
    pub(in crate::tools) profile: Option<Profile>,
    /// Whether `format` is asserted; true if nothing is said.
    pub(in crate::tools) formats: Option<bool>,
    /// Whether defaults of the schema are filled in; false if nothing is said. Never under `strict`.
    pub(in crate::tools) defaults: Option<bool>,
    /// Whether `""` counts as absent where an optional property rejects it, under `safe`; true if nothing is said.
    pub(in crate::tools) drop_empty: Option<bool>,
    /// Whether a string may hold U+0000; false if nothing is said.
    pub(in crate::tools) allow_nul: Option<bool>,
    /// Whether a string may hold the markup of another parameter; false if nothing is said. Only `safe` looks for it.
    pub(in crate::tools) allow_markup: Option<bool>,
    /// JSON Pointers to values that are never shown.
    pub(in crate::tools) sensitive: Option<Vec<String>>,
    /// What the error text echoes; `short` if nothing is said. `full` ends at `output.max_bytes`, too.
    pub(in crate::tools) received: Option<Received>,
}

/// What runs a tool: exactly one of these.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::tools) enum Execute {
    /// The agent's own function, called back over its stream.
    Host(Nothing),
    /// An HTTP request: the call is posted as JSON.
    Http(Http),
    /// A `ToolProviderService` over gRPC. This build refuses it.
    Grpc(NotRead),
    /// A program that reads the call as JSON from standard input; there is no shell.
    Command(Command),
    /// A tool of an MCP server. This build refuses it.
    Mcp(NotRead),
    /// Keeps the value; nothing else happens. Implies `accept` and `terminate: true`.
    Submit(Submit),
    /// Hands the arguments back.
    Echo(Nothing),
}

/// Has no settings.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Nothing {}

/// Settings of something that this build lacks: it is refused by its name, whatever they are.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(in crate::tools) struct NotRead {}

/// An HTTP request.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Http {
    /// Where the call is posted to.
    #[schemars(extend("examples" = ["http://127.0.0.1:8080/tools/search"]))]
    pub(in crate::tools) url: String,
    /// Headers to send along.
    pub(in crate::tools) headers: Option<BTreeMap<String, String>>,
    /// Most bytes of an answer that are read; 4 MiB if nothing is said.
    pub(in crate::tools) max_response_bytes: Option<usize>,
}

/// A program.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Command {
    /// The program and its arguments.
    pub(in crate::tools) argv: Vec<String>,
    /// Where it runs; where the booth runs if nothing is said.
    pub(in crate::tools) cwd: Option<PathBuf>,
    /// Its whole environment, beside what `inherit` names.
    pub(in crate::tools) env: Option<BTreeMap<String, String>>,
    /// Variables of the booth's environment that it sees; `PATH` if nothing is said.
    pub(in crate::tools) inherit: Option<Vec<String>>,
    /// Most bytes of standard output that are read, and of standard error; 4 MiB if nothing is said.
    pub(in crate::tools) max_output_bytes: Option<usize>,
}

/// A submission whose value is kept.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Submit {
    /// What the acceptance is unique for; `run` if nothing is said.
    pub(in crate::tools) once_per: Option<OncePerName>,
}

/// Accepted once.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct AcceptBlock {
    /// What the acceptance is unique for; `run` if nothing is said.
    pub(in crate::tools) once_per: Option<OncePerName>,
    /// What happens while an earlier execution has an unknown outcome; `refuse` if nothing is said.
    pub(in crate::tools) in_doubt: Option<InDoubt>,
}

/// What an acceptance is unique for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::tools) enum OncePerName {
    /// The run.
    Run,
    /// The task, across its runs.
    Task,
    /// The value of an argument, within the task: its JSON Pointer.
    Argument(String),
}

/// How much of a tool a run may use.
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct LimitsOfTool {
    /// Calls of the tool in a run; the excess is refused as `limit_reached`.
    pub(in crate::tools) max_calls: Option<u32>,
    /// Calls of the tool in flight at once in a run; the excess is refused as `overloaded`.
    pub(in crate::tools) max_calls_in_flight: Option<usize>,
    /// Bytes of arguments of these; the excess is refused as `overloaded`.
    pub(in crate::tools) max_bytes_in_flight: Option<usize>,
}

/// Caps on what a tool answers.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Output {
    /// Most bytes of content that a result keeps; the same for its structured part and for its details. 256 KiB if nothing
    /// is said.
    pub(in crate::tools) max_bytes: Option<usize>,
}

impl Arguments {
    /// These, and where they say nothing, what `defaults` says.
    pub(in crate::tools) fn or(self, defaults: Self) -> Self {
        Self {
            profile: self.profile.or(defaults.profile),
            formats: self.formats.or(defaults.formats),
            defaults: self.defaults.or(defaults.defaults),
            drop_empty: self.drop_empty.or(defaults.drop_empty),
            allow_nul: self.allow_nul.or(defaults.allow_nul),
            allow_markup: self.allow_markup.or(defaults.allow_markup),
            sensitive: self.sensitive.or(defaults.sensitive),
            received: self.received.or(defaults.received),
        }
    }
}

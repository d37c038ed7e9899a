//! Tools: from a contract file to a compiled tool, proven once and never changed after.

mod catalog;
mod coercion;
mod contract;
mod executor_spec;
mod foreign;
mod lint;
mod load;
mod redaction;
mod report;
mod resolve;
mod schema;
mod shim;

use std::{sync::Arc, time::Duration};

use crate::{
    call::Mode,
    json::{Json, Pointer},
};

#[doc(no_inline)]
pub use crate::document::{Note, Place, Severity};
pub use catalog::{Catalog, Entry};
pub use coercion::{Swallowed, converted, converted_as_pi, open_envelope, swallowed_parameter, tidied};
pub use contract::contract_schema;
pub use executor_spec::{CommandSpec, ExecutorSpec, HttpSpec};
pub use lint::{LINTS, Lint, PROVIDER_KEYWORDS, ProviderKeyword};
pub use load::{Author, LoadError, LoadOptions, Loaded, contract_files, load_document, load_files, load_paths};
pub use report::{ContractReport, Status};
pub use resolve::Resolved;
pub use schema::{Dialect, Explanation, HIDDEN, STACK_BYTES, Schema, SchemaOptions, Schemas};
pub use shim::{Shim, ShimConflict};

/// A compiled contract.
#[derive(Debug)]
pub struct Tool {
    /// Its name: what the model calls it, exactly.
    pub name: Arc<str>,
    /// A title for people.
    pub title: Option<String>,
    /// What the model reads about it.
    pub description: Option<String>,
    /// What its arguments must satisfy.
    pub input: Schema,
    /// What its structured result should satisfy.
    pub output: Option<Schema>,
    /// Old shapes that models still send.
    pub shim: Shim,
    /// How its arguments are read.
    pub arguments: ArgumentRules,
    /// What runs it.
    pub executor: ExecutorSpec,
    /// Whether it is a submission, accepted once.
    pub accept: Option<Accept>,
    /// Whether its calls may overlap with others.
    pub mode: Mode,
    /// Idle time, moved by progress.
    pub timeout: Option<Duration>,
    /// Hard time.
    pub deadline: Option<Duration>,
    /// Whether a run that did not answer may have changed something.
    pub side_effect: bool,
    /// Whether running the same call again does no harm.
    pub idempotent: bool,
    /// How often it is tried again when a try fails (rule P7); 0 unless it is idempotent.
    pub retries: u32,
    /// How much of it a run may use (rule B7).
    pub limits: LimitsOfTool,
    /// What a success says about the end of the run, unless the executor says otherwise.
    pub terminate: bool,
    /// Most bytes of content that a result keeps; the same for its structured part and for its details.
    pub max_output_bytes: usize,
    /// Keys that the booth keeps and does not read, such as `annotations`, `icons` and `_meta`.
    pub kept: Json,
    /// What became of the contract.
    pub report: ContractReport,
}

impl Tool {
    /// Whether there are arguments that are never shown (rule E3).
    pub fn has_secrets(&self) -> bool {
        !self.arguments.sensitive.is_empty() || self.input.has_secrets()
    }

    /// Whether a call that did not answer may have changed something. A submission is a side effect by its nature (rule S4).
    pub fn has_effect(&self) -> bool {
        self.side_effect || self.accept.is_some()
    }
}

/// What may be done to arguments so that they satisfy their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Nothing: they must satisfy it as they were sent.
    Strict,
    /// What loses nothing and has one reading.
    #[default]
    Safe,
    /// The conversions of pi 1.6.0, those that lose something included.
    Pi,
}

/// How the arguments of a tool are read, and what of them may be shown.
#[expect(clippy::struct_excessive_bools, reason = "independent choices, as the format has them")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentRules {
    /// What may be done to them; `None`: what holds for contracts that say nothing.
    pub profile: Option<Profile>,
    /// Whether `format` is asserted.
    pub formats: bool,
    /// Whether defaults of the schema are filled in (rule C6).
    pub defaults: bool,
    /// Whether `""` counts as absent where an optional property rejects it (rule C4).
    pub drop_empty: bool,
    /// Whether a string may hold U+0000.
    pub allow_nul: bool,
    /// Whether a string may hold the markup of another parameter (rule C1).
    pub allow_markup: bool,
    /// Places whose values are never shown.
    pub sensitive: Vec<Pointer>,
    /// What the error text echoes.
    pub received: Received,
}

impl Default for ArgumentRules {
    fn default() -> Self {
        Self {
            profile: None,
            formats: true,
            defaults: false,
            drop_empty: true,
            allow_nul: false,
            allow_markup: false,
            sensitive: Vec::new(),
            received: Received::Short,
        }
    }
}

/// What the error text echoes of the arguments (rule E3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Received {
    /// Long strings as their length, and the whole shortened.
    #[default]
    Short,
    /// All of it, up to what a result of the tool may have.
    Full,
    /// Nothing.
    Omit,
}

/// How much of a tool a run may use; `None` is no limit (rule B7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitsOfTool {
    /// Calls in the run.
    pub max_calls: Option<u32>,
    /// Calls in flight at once.
    pub max_calls_in_flight: Option<usize>,
    /// Bytes of arguments in flight at once.
    pub max_bytes_in_flight: Option<usize>,
}

/// Accepted once (rule S1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// What the acceptance is unique for.
    pub once_per: OncePer,
    /// What happens while an earlier execution has an unknown outcome.
    pub in_doubt: InDoubt,
}

/// What an acceptance is unique for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OncePer {
    /// The run.
    Run,
    /// The task, across its runs.
    Task,
    /// The value of an argument, within the task.
    Argument(Pointer),
}

/// What happens to a submission whose key is in doubt (rule S4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InDoubt {
    /// It is refused as `outcome_unknown`.
    #[default]
    Refuse,
    /// It is executed again with the same idempotency key.
    Retry,
}

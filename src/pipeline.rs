//! One call, from the model's text to its result.
//!
//! The order is fixed (rule P1), and types prove it: only [`validate`] makes [`ValidArguments`], only [`policy`] makes an
//! [`AdmittedCall`], and [`complete`] takes nothing else.
//!
//! Nobody outside can forge either: others may name them,
//!
//! ```
//! fn look(_: &toolbooth::pipeline::AdmittedCall, _: &toolbooth::pipeline::ValidArguments) {}
//! ```
//!
//! but their fields are private, and there is no constructor:
//!
//! ```compile_fail,E0451
//! let forged = toolbooth::pipeline::AdmittedCall { candidate: loop {}, key: None };
//! ```
//!
//! ```compile_fail,E0451
//! let forged = toolbooth::pipeline::ValidArguments { tool: loop {}, value: loop {} };
//! ```

mod lookup;
mod parse;
mod prepare;
mod coerce;
mod validate;
mod policy;
mod execute;
mod after;
mod shape;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    call::{BatchPlace, ToolCall},
    content::Progress,
    json::{Json, ParseLimits},
    ports::{Executor, Hook},
    refusal::Refusal,
    result::{CallResult, Trace},
    tools::{Catalog, Entry, Profile, Tool},
};

pub use execute::Attempt;
pub use policy::AdmittedCall;
use policy::Candidate;
pub use validate::ValidArguments;

/// What all calls of a run share.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The tools.
    pub catalog: Catalog,
    /// What runs them.
    pub executor: Arc<dyn Executor>,
    /// Who judges them, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// What policies may look at.
    pub context: Arc<Json>,
    /// What the parser refuses.
    pub parse_limits: ParseLimits,
    /// The profile of contracts that name none.
    pub profile: Profile,
}

impl Scope {
    /// The tool that a call of this name runs, if there is one.
    pub fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        match self.catalog.get(name) {
            Some(Entry::Served(tool)) => Some(Arc::clone(tool)),
            Some(Entry::Quarantined(_)) => None,
            None => self.catalog.resolve(name, self.profile).map(|resolved| resolved.tool),
        }
    }

    /// What may be done to the arguments of a tool.
    fn profile(&self, tool: &Tool) -> Profile {
        tool.arguments.profile.unwrap_or(self.profile)
    }
}

/// Watches one call while it runs.
pub trait Watch: Send + Sync {
    /// The executor starts.
    fn started(&self);
    /// A sign of life.
    fn progress(&self, progress: Progress);
}

/// Everything before execute. What it refuses is a finished result, and no later stage runs.
pub async fn preflight(
    scope: &Scope,
    place: &BatchPlace,
    call: Arc<ToolCall>,
    cancel: &CancellationToken,
) -> Result<AdmittedCall, Box<CallResult>> {
    let mut trace = Trace::default();
    let valid = match check(scope, &call, &mut trace) {
        Ok(valid) => valid,
        Err(refusal) => return Err(Box::new(CallResult::refused(call, trace, *refusal))),
    };
    policy::admit(scope, Candidate { call, place: place.clone(), valid, trace }, cancel).await
}

/// Lookup to validation: what needs neither policy nor executor. The trace is filled as far as the call comes.
pub fn check(scope: &Scope, call: &ToolCall, trace: &mut Trace) -> Result<ValidArguments, Box<Refusal>> {
    let tool = lookup::find(scope, &call.name, &mut trace.repairs)?;
    let profile = scope.profile(&tool);
    let received = parse::parse(&tool, profile, &call.arguments, &scope.parse_limits, trace)?;
    let unwrapped = coerce::unwrapped(&tool, profile, received, trace);
    let prepared = prepare::reshape(&tool, &unwrapped, trace)?;
    validate::validate(tool, profile, &prepared, trace)
}

/// Execute and after: from an admitted call to its result.
pub async fn complete(
    scope: &Scope,
    admitted: AdmittedCall,
    watch: &dyn Watch,
    cancel: &CancellationToken,
) -> (CallResult, Attempt) {
    let executed = execute::run(scope.executor.as_ref(), &admitted, watch, cancel).await;
    let attempt = executed.attempt;
    (after::finish(scope, admitted, executed, cancel).await, attempt)
}

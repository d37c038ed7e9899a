//! Stage 6: hooks may allow, deny, or rewrite the arguments, which are then validated again (rule P6).

use std::{borrow::Cow, sync::Arc};

use tokio_util::sync::CancellationToken;

use super::{Scope, ValidArguments, validate};
use crate::{
    call::{BatchPlace, ToolCall},
    json::{Json, Pointer, SharedJson},
    ports::{Decision, HookCall, HookError},
    refusal::{Code, Reason, Refusal, Repair},
    result::{CallResult, Trace},
    tools::Tool,
    wording,
};

/// A call whose arguments are valid, before anybody has judged it.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) call: Arc<ToolCall>,
    pub(super) place: BatchPlace,
    pub(super) valid: ValidArguments,
    pub(super) trace: Trace,
}

/// A call that may run. Only this stage makes one.
#[derive(Debug)]
pub struct AdmittedCall {
    candidate: Candidate,
    /// The key to execute it under, where it is not its own.
    key: Option<Arc<str>>,
}

impl AdmittedCall {
    /// The call.
    pub fn call(&self) -> &Arc<ToolCall> {
        &self.candidate.call
    }

    /// Its run and batch.
    pub fn place(&self) -> &BatchPlace {
        &self.candidate.place
    }

    /// Its tool.
    pub fn tool(&self) -> &Arc<Tool> {
        self.candidate.valid.tool()
    }

    /// The arguments that will be executed.
    pub fn arguments(&self) -> &SharedJson {
        self.candidate.valid.value()
    }

    /// The key that its executor gives to whatever has side effects.
    pub fn idempotency_key(&self) -> Cow<'_, str> {
        self.key.as_deref().map_or_else(|| self.call().key_at(self.place()), Cow::Borrowed)
    }

    /// The same call, executed under the key of an earlier one whose outcome is in doubt (rule S4).
    #[must_use]
    pub fn under(self, key: Arc<str>) -> Self {
        Self { key: Some(key), ..self }
    }

    pub(super) fn key(&self) -> Option<&Arc<str>> {
        self.key.as_ref()
    }

    /// The result of an admitted call that is not run after all.
    pub fn refuse(self, refusal: Refusal) -> CallResult {
        self.candidate.refuse(refusal)
    }

    /// What hooks see of it.
    pub(super) fn hook_call(&self, scope: &Scope) -> HookCall {
        self.candidate.hook_call(scope)
    }

    pub(super) fn into_parts(self) -> (Arc<ToolCall>, Arc<Tool>, Trace) {
        (self.candidate.call, Arc::clone(self.candidate.valid.tool()), self.candidate.trace)
    }
}

impl Candidate {
    fn hook_call(&self, scope: &Scope) -> HookCall {
        HookCall {
            tool: Arc::clone(self.valid.tool()),
            call: Arc::clone(&self.call),
            place: self.place.clone(),
            arguments: self.valid.value().clone(),
            context: Arc::clone(&scope.context),
        }
    }

    fn refuse(self, refusal: Refusal) -> CallResult {
        CallResult::refused(self.call, self.trace, refusal)
    }
}

/// Asks the hooks in order. A rewrite is validated again, and the remaining hooks see what it became.
pub(super) async fn admit(
    scope: &Scope,
    mut candidate: Candidate,
    cancel: &CancellationToken,
) -> Result<AdmittedCall, Box<CallResult>> {
    for hook in &scope.hooks {
        let seen = candidate.hook_call(scope);
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let text = wording::cancelled(&candidate.call.name, false);
                return Err(Box::new(candidate.refuse(Refusal::new(Code::Cancelled, None, text))));
            }
            answer = hook.before(&seen) => answer,
        };
        if let Err(refusal) = heed(scope, answer, &mut candidate) {
            return Err(Box::new(candidate.refuse(*refusal)));
        }
    }
    Ok(AdmittedCall { candidate, key: None })
}

/// Does what a hook says.
fn heed(scope: &Scope, answer: Result<Decision, HookError>, candidate: &mut Candidate) -> Result<(), Box<Refusal>> {
    let name = &candidate.call.name;
    match answer {
        Ok(Decision::Allow) => Ok(()),
        Ok(Decision::Rewrite(arguments)) => {
            candidate.valid = rewrite(scope, &candidate.valid, arguments, &mut candidate.trace)?;
            Ok(())
        }
        Ok(Decision::Deny { reason, terminate }) => {
            let refusal = Refusal::new(Code::Denied, None, wording::denied(name, &reason));
            Err(Box::new(Refusal { terminate, ..refusal }))
        }
        Err(error) => {
            let refusal = Refusal::new(Code::PolicyUnavailable, None, wording::policy_unavailable(name));
            Err(Box::new(Refusal { developer: Some(error.0), ..refusal }))
        }
    }
}

/// Validates what a hook made of the arguments. The model is not to blame for what is wrong with it.
fn rewrite(
    scope: &Scope,
    valid: &ValidArguments,
    arguments: Json,
    trace: &mut Trace,
) -> Result<ValidArguments, Box<Refusal>> {
    let tool = Arc::clone(valid.tool());
    let profile = scope.profile(&tool);
    let text = wording::hook_invalid_arguments(&tool.name);
    let (from, to) = (valid.value().kind().name(), arguments.kind().name());
    let before = trace.repairs.len();
    // What differs from the model's text is listed, whoever changed it, and before what had to be converted of it.
    trace.repairs.push(Repair::of_arguments(Pointer::root(), "policy_rewrite", from, to));
    validate::validate(tool, profile, &arguments.into(), trace).map_err(|refusal| {
        // The arguments of the result are those before: so are their changes.
        trace.repairs.truncate(before);
        Box::new(Refusal {
            violations: refusal.violations,
            violation_count: refusal.violation_count,
            developer: Some(refusal.text),
            ..Refusal::new(Code::HookInvalidArguments, Some(Reason::Schema), text)
        })
    })
}

//! Stage 6: hooks may allow, deny, or rewrite the arguments, which are then validated again (rule P6).

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Scope, ValidArguments, validate};
use crate::{
    call::{BatchPlace, ToolCall},
    json::Json,
    ports::{Decision, HookCall},
    refusal::{Code, Reason, Refusal},
    result::{CallResult, Trace},
    tools::Tool,
    wording,
};

/// A call that may run. Only this stage makes one.
#[derive(Debug)]
pub struct AdmittedCall {
    call: Arc<ToolCall>,
    place: BatchPlace,
    valid: ValidArguments,
    trace: Trace,
}

impl AdmittedCall {
    /// The call.
    pub fn call(&self) -> &Arc<ToolCall> {
        &self.call
    }

    /// Its run and batch.
    pub fn place(&self) -> &BatchPlace {
        &self.place
    }

    /// Its tool.
    pub fn tool(&self) -> &Arc<Tool> {
        self.valid.tool()
    }

    /// The arguments that will be executed.
    pub fn arguments(&self) -> &Arc<Json> {
        self.valid.value()
    }

    /// The result of an admitted call that is not run after all.
    pub fn refuse(self, refusal: Refusal) -> CallResult {
        CallResult::refused(self.call, self.trace, refusal)
    }

    /// What hooks see of it.
    pub(super) fn hook_call(&self, scope: &Scope) -> HookCall {
        hook_call(scope, &self.place, &self.call, &self.valid)
    }

    pub(super) fn into_parts(self) -> (Arc<ToolCall>, Arc<Tool>, Trace) {
        (self.call, Arc::clone(self.valid.tool()), self.trace)
    }
}

fn hook_call(scope: &Scope, place: &BatchPlace, call: &Arc<ToolCall>, valid: &ValidArguments) -> HookCall {
    HookCall {
        tool: Arc::clone(valid.tool()),
        call: Arc::clone(call),
        place: place.clone(),
        arguments: Arc::clone(valid.value()),
        context: Arc::clone(&scope.context),
    }
}

/// Asks the hooks in order. A rewrite is validated again, and the remaining hooks see what it became.
pub(super) async fn admit(
    scope: &Scope,
    place: &BatchPlace,
    call: Arc<ToolCall>,
    mut valid: ValidArguments,
    mut trace: Trace,
    cancel: &CancellationToken,
) -> Result<AdmittedCall, Box<CallResult>> {
    for hook in &scope.hooks {
        let seen = hook_call(scope, place, &call, &valid);
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                let refusal = Refusal::new(Code::Cancelled, None, wording::cancelled(&call.name, false));
                return Err(Box::new(CallResult::refused(call, trace, refusal)));
            }
            answer = hook.before(&seen) => answer,
        };
        let verdict = match answer {
            Ok(Decision::Allow) => continue,
            Ok(Decision::Rewrite(arguments)) => rewrite(&valid, arguments, &mut trace),
            Ok(Decision::Deny { reason, terminate }) => {
                let text = wording::denied(&call.name, &reason);
                Err(Refusal { terminate, ..Refusal::new(Code::Denied, None, text) })
            }
            Err(error) => {
                let refusal = Refusal::new(Code::PolicyUnavailable, None, wording::policy_unavailable(&call.name));
                Err(Refusal { developer: Some(error.0), ..refusal })
            }
        };
        match verdict {
            Ok(rewritten) => valid = rewritten,
            Err(refusal) => return Err(Box::new(CallResult::refused(call, trace, refusal))),
        }
    }
    Ok(AdmittedCall { call, place: place.clone(), valid, trace })
}

/// Validates what a hook made of the arguments. The model is not to blame for what is wrong with it.
fn rewrite(valid: &ValidArguments, arguments: Json, trace: &mut Trace) -> Result<ValidArguments, Refusal> {
    let tool = Arc::clone(valid.tool());
    let text = wording::hook_invalid_arguments(&tool.name);
    validate::validate(tool, arguments, trace).map_err(|refusal| Refusal {
        violations: refusal.violations,
        violation_count: refusal.violation_count,
        developer: Some(refusal.text),
        ..Refusal::new(Code::HookInvalidArguments, Some(Reason::Schema), text)
    })
}

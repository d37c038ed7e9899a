//! Stage 5: the arguments satisfy the schema, or the call is refused with every reason (rules P5, V4, E1).

use std::sync::Arc;

use super::coerce;
use crate::{
    json::{Json, SharedJson},
    refusal::{Code, Reason, Refusal},
    result::Trace,
    tools::{Profile, Tool},
    wording,
};

/// Arguments that satisfy their tool's schema. Only this stage makes them.
#[derive(Debug, Clone)]
pub struct ValidArguments {
    tool: Arc<Tool>,
    value: SharedJson,
}

impl ValidArguments {
    /// The tool whose schema they satisfy.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// The arguments.
    pub fn value(&self) -> &SharedJson {
        &self.value
    }
}

/// Validates the arguments as they are, or as the profile converts them.
pub(super) fn validate(
    tool: Arc<Tool>,
    profile: Profile,
    prepared: &SharedJson,
    trace: &mut Trace,
) -> Result<ValidArguments, Box<Refusal>> {
    coerce::suspect(&tool, profile, prepared)?;
    let is_valid = tool.input.is_valid(prepared);
    // What cannot be judged in time cannot be converted in time either.
    let converted = if is_valid || !tool.input.can_judge(prepared) {
        prepared.clone()
    } else {
        coerce::converted(&tool, profile, prepared.clone(), trace)
    };
    let value = coerce::tidied(&tool, profile, converted, trace);
    // What nobody changed was judged.
    if !(if value.is_same(prepared) { is_valid } else { tool.input.is_valid(&value) }) {
        return Err(refuse(&tool, profile, &value, trace).into());
    }
    trace.arguments = Some(value.clone());
    Ok(ValidArguments { tool, value })
}

/// The violations are those of the converted value; the received block shows what was sent.
pub(super) fn refuse(tool: &Tool, profile: Profile, value: &Json, trace: &Trace) -> Refusal {
    let received = trace.received.as_deref().unwrap_or(value);
    let (explanation, text) = match profile {
        Profile::Strict | Profile::Safe => {
            let explanation = tool.without_secrets_in(tool.input.explain(value), value);
            let text = wording::invalid_arguments(tool, &explanation, received, value);
            (explanation, text)
        }
        Profile::Pi => {
            let explanation = tool.without_secrets_in(tool.input.explain_as_pi(value), value);
            let text = wording::invalid_arguments_as_pi(tool, &explanation, received, value);
            (explanation, text)
        }
    };
    let reason = if explanation.undecided { Reason::PatternLimit } else { Reason::Schema };
    let mut refusal = Refusal::new(Code::InvalidArguments, Some(reason), text);
    refusal.violations = explanation.violations;
    refusal.violation_count = explanation.count;
    refusal
}

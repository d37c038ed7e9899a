//! Stage 3: the contract's shim brings old shapes into the declared one (rule P4). The trace keeps the original.

use std::borrow::Cow;

use crate::{
    json::{Json, Pointer, SharedJson},
    refusal::{Code, Reason, Refusal, Violation},
    result::Trace,
    tools::{Explanation, HIDDEN, ShimConflict, Tool},
    wording,
};

/// Applies the shim, or refuses where an old and a new name say different things.
pub(super) fn reshape(tool: &Tool, received: &SharedJson, trace: &mut Trace) -> Result<SharedJson, Box<Refusal>> {
    let prepared = match tool.shim.apply(received) {
        Ok((Cow::Borrowed(_), _)) => received.clone(),
        Ok((Cow::Owned(prepared), repairs)) => {
            trace.repairs.extend(repairs);
            prepared.into()
        }
        Err(conflict) => return Err(Box::new(refuse(tool, received, *conflict))),
    };
    trace.prepared = Some(prepared.clone());
    Ok(prepared)
}

fn refuse(tool: &Tool, received: &Json, conflict: ShimConflict) -> Refusal {
    match conflict {
        ShimConflict::Differ { from, to } => {
            let violation = Violation {
                path: from.clone(),
                property: None,
                schema_path: from.clone(),
                keyword: "",
                message: format!("is an old name of `{}`, and both are present with different values", to.dotted()),
                expected: format!("`{}` only", to.dotted()),
                actual: from.find(received).map(Json::kind),
                hint: None,
            };
            let explanation = Explanation::of(violation.clone());
            let shown = without_old_secret(tool, received, (&from, &to));
            let text = wording::invalid_arguments(tool, &explanation, &shown, &shown);
            Refusal::new(Code::InvalidArguments, Some(Reason::AliasConflict), text).at(violation)
        }
        ShimConflict::TooDeep { at } => {
            let text = wording::shaped_too_deep(&tool.name, &at);
            Refusal::new(Code::InvalidArguments, Some(Reason::TooDeep), text)
        }
    }
}

/// The old name of a secret holds one, too, and nothing marks it.
fn without_old_secret(tool: &Tool, received: &Json, (from, to): (&Pointer, &Pointer)) -> Json {
    let mut shown = received.clone();
    let is_secret = tool.arguments.sensitive.iter().any(|secret| to.is_within(secret))
        || to.find(&tool.without_secrets(received)) != to.find(received);
    if is_secret && let Some(old) = from.find_mut(&mut shown) {
        *old = Json::from(HIDDEN);
    }
    shown
}

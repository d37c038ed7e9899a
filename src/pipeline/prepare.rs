//! Stage 3: the contract's shim brings old shapes into the declared one (rule P4). The trace keeps the original.

use std::{borrow::Cow, sync::Arc};

use crate::{
    json::Json,
    refusal::{Code, Reason, Refusal, Violation},
    result::Trace,
    tools::{ShimConflict, Tool},
    wording,
};

/// Applies the shim, or refuses where an old and a new name say different things.
pub(super) fn reshape(tool: &Tool, received: &Arc<Json>, trace: &mut Trace) -> Result<Arc<Json>, Box<Refusal>> {
    let prepared = match tool.shim.apply(received) {
        Ok((Cow::Borrowed(_), _)) => Arc::clone(received),
        Ok((Cow::Owned(prepared), repairs)) => {
            trace.repairs.extend(repairs);
            Arc::new(prepared)
        }
        Err(conflict) => return Err(Box::new(refuse(tool, received, *conflict))),
    };
    trace.prepared = Some(Arc::clone(&prepared));
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
                message: format!("is an old name of {to}, which has another value"),
                expected: format!("{to} only"),
                actual: from.find(received).map(Json::kind),
                hint: None,
            };
            let text = wording::alias_conflict(&tool.name, &from, &to);
            Refusal::new(Code::InvalidArguments, Some(Reason::AliasConflict), text).at(violation)
        }
        ShimConflict::TooDeep { at } => {
            let text = wording::shaped_too_deep(&tool.name, &at);
            Refusal::new(Code::InvalidArguments, Some(Reason::TooDeep), text)
        }
    }
}

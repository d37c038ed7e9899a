//! Stage 3: the contract's shim brings old shapes into the declared one (rule P4). The trace keeps the original.

use std::{borrow::Cow, sync::Arc};

use crate::{
    json::Json,
    refusal::{Code, Reason, Refusal, Violation},
    result::Trace,
    tools::Tool,
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
        Err(conflict) => {
            let violation = Violation {
                path: conflict.from.clone(),
                property: None,
                schema_path: conflict.from.clone(),
                keyword: "",
                message: format!("is an old name of {}, which has another value", conflict.to),
                expected: format!("{} only", conflict.to),
                actual: conflict.from.find(received).map(Json::kind),
                hint: None,
            };
            let text = wording::alias_conflict(&tool.name, &conflict.from, &conflict.to);
            let refusal = Refusal::new(Code::InvalidArguments, Some(Reason::AliasConflict), text);
            return Err(Box::new(refusal.at(violation)));
        }
    };
    trace.prepared = Some(Arc::clone(&prepared));
    Ok(prepared)
}

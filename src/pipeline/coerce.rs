//! Stage 4: what the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use crate::{
    json::Json,
    result::Trace,
    tools::{Profile, Tool},
};

/// The arguments as they are validated. Every change is listed in the trace.
pub(super) fn coerce(tool: &Tool, prepared: Json, _trace: &mut Trace) -> Json {
    match tool.arguments.profile {
        // Profile `strict` changes nothing.
        Profile::Strict => prepared,
    }
}

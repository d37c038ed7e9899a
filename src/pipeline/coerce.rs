//! Stage 4: what the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use crate::{
    json::SharedJson,
    tools::{Profile, Tool},
};

/// The arguments as they are validated.
pub(super) fn coerce(tool: &Tool, prepared: SharedJson) -> SharedJson {
    match tool.arguments.profile {
        // Profile `strict` changes nothing.
        Profile::Strict => prepared,
    }
}

//! Stage 4: what the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use std::sync::Arc;

use crate::{
    json::Json,
    tools::{Profile, Tool},
};

/// The arguments as they are validated.
pub(super) fn coerce(tool: &Tool, prepared: Arc<Json>) -> Arc<Json> {
    match tool.arguments.profile {
        // Profile `strict` changes nothing.
        Profile::Strict => prepared,
    }
}

//! Stage 4: what the contract's profile may change so that the arguments satisfy their schema (rules C1 to C7).

use crate::{
    json::SharedJson,
    tools::{Profile, Tool},
};

/// The arguments as they are validated.
pub(super) fn coerce(_tool: &Tool, profile: Profile, prepared: SharedJson) -> SharedJson {
    match profile {
        // Profile `strict` changes nothing.
        Profile::Strict | Profile::Safe | Profile::Pi => prepared,
    }
}

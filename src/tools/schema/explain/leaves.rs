//! Single keywords that only the crate can judge: patterns, formats, names.

use std::collections::HashMap;

use jsonschema::{Validator, error::ValidationErrorKind};

use crate::{
    json::Json,
    tools::schema::{Compiled, exact::Exact, proven::Engine, structure},
};

/// A keyword, and where in memory the schema has its value: that may be long, and is not to be compared at each step.
pub(super) type Key = (&'static str, usize);

/// Their validators, each made once. `None`: it does not compile alone.
#[derive(Default)]
pub(super) struct Leaves(HashMap<Key, Option<Validator<Exact>>>);

impl Leaves {
    /// Whether the value is accepted under the keyword.
    pub(super) fn accept(&mut self, schema: &Compiled, key: Key, held: impl FnOnce() -> Json, value: &Json) -> bool {
        let (dialect, options) = (schema.dialect, schema.options);
        let validator = self.0.entry(key).or_insert_with(|| {
            let schema = Json::object([(key.0, held())]);
            Engine::Backtracking.building(dialect, options).build(&structure::to_value(&schema, dialect)).ok()
        });
        validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }

    /// Whether a refused value was only refused because the pattern's engine came to its limit of steps (rule V3).
    pub(super) fn gave_up(&self, pattern: Key, value: &Json) -> bool {
        let Some(Some(validator)) = self.0.get(&pattern) else { return false };
        let error = validator.validate(value).err();
        error.is_some_and(|error| matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. }))
    }
}

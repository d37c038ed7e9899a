//! What a proven schema is judged and explained by. It is made when it is needed, may be dropped at any time, and is the same
//! whenever it is made again.

use std::sync::OnceLock;

use jsonschema::Validator;

use super::{
    SchemaOptions,
    dialect::Dialect,
    exact::Exact,
    parts::Parts,
    proven::Proven,
    reference::{Document, Names},
    structure,
};
use crate::json::Json;

/// The compiled form of a proven schema.
pub(in crate::tools) struct Compiled {
    pub(super) source: Json,
    names: Names,
    pub(super) dialect: Dialect,
    pub(super) options: SchemaOptions,
    /// `None`: what was proven is refused after all, and so is every value.
    validator: Option<Validator<Exact>>,
    /// What was asked about parts of values.
    parts: OnceLock<Box<Parts>>,
}

impl Compiled {
    pub(super) fn of(proven: &Proven) -> Self {
        let Proven { dialect, options, engine, .. } = *proven;
        let source = proven.read();
        let validator = engine.building(dialect, options).build(&structure::to_value(&source, dialect)).ok();
        Self { names: Names::of(&source, dialect), source, dialect, options, validator, parts: OnceLock::new() }
    }

    /// Whether the value satisfies the schema.
    pub(in crate::tools) fn is_valid(&self, value: &Json) -> bool {
        self.validator.as_ref().is_some_and(|validator| validator.is_valid(value))
    }

    /// The schema as its author wrote it.
    pub(in crate::tools) fn source(&self) -> &Json {
        &self.source
    }

    /// The dialect that it is read in.
    pub(in crate::tools) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The schema and the names of its parts.
    pub(in crate::tools) fn document(&self) -> Document<'_> {
        Document { root: &self.source, names: &self.names }
    }

    pub(super) fn parts(&self) -> &Parts {
        self.parts.get_or_init(Box::default)
    }

    /// Whether it was compiled.
    #[cfg(test)]
    pub(super) fn has_validator(&self) -> bool {
        self.validator.is_some()
    }
}

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

/// So few keywords look through a value of any size in time.
const FEW_LOOKERS: usize = 20;
/// Parts of a value times keywords that look through them all. A look takes up to a tenth of a microsecond.
const MAX_LOOKS: usize = 300_000;

/// The compiled form of a proven schema.
pub(in crate::tools) struct Compiled {
    pub(super) source: Json,
    names: Names,
    pub(super) dialect: Dialect,
    pub(super) options: SchemaOptions,
    /// `None`: what was proven is refused after all, and so is every value.
    validator: Option<Validator<Exact>>,
    /// Keywords that look through all parts of a value, each pattern of names for itself.
    lookers: usize,
    /// What was asked about parts of values.
    parts: OnceLock<Box<Parts>>,
}

impl Compiled {
    pub(super) fn of(proven: &Proven) -> Self {
        let Proven { dialect, options, engine, .. } = *proven;
        let source = proven.read();
        let validator = engine.building(dialect, options).build(&structure::to_value(&source, dialect)).ok();
        let (names, lookers) = (Names::of(&source, dialect), structure::lookers(&source));
        Self { source, names, dialect, options, validator, lookers, parts: OnceLock::new() }
    }

    /// Whether the value satisfies the schema. One that cannot be judged in time does not.
    pub(in crate::tools) fn is_valid(&self, value: &Json) -> bool {
        self.can_judge(value) && self.validator.as_ref().is_some_and(|validator| validator.is_valid(value))
    }

    /// Whether the value can be judged in time: a thousand patterns for the names of ten thousand members take seconds, and
    /// nothing can stop the validator (rule V3).
    pub(in crate::tools) fn can_judge(&self, value: &Json) -> bool {
        self.lookers <= FEW_LOOKERS || parts_of(value, MAX_LOOKS / self.lookers + 1) <= MAX_LOOKS / self.lookers
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

/// How many members and items there are in a value, as far as it matters.
fn parts_of(value: &Json, most: usize) -> usize {
    let add = |count: usize, part: &Json| {
        if count >= most { count } else { count + 1 + parts_of(part, most - count) }
    };
    match value {
        Json::Array(items) => items.iter().fold(0, add),
        Json::Object(members) => members.values().fold(0, add),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, schema};

    #[test]
    fn v3_too_many_names_for_too_many_patterns_are_no_mismatch_but_undecided() {
        let patterns: Vec<_> = (0..100).map(|number| format!(r#""^p{number}$":{{"type":"string"}}"#)).collect();
        let schema = schema(&format!(r#"{{"patternProperties":{{{}}}}}"#, patterns.join(",")));
        let many = |count: usize| {
            let members: Vec<_> = (0..count).map(|number| format!(r#""q{number}":1"#)).collect();
            json(&format!("{{{}}}", members.join(",")))
        };
        assert!(schema.is_valid(&many(3_000)));
        assert!(!schema.is_valid(&many(3_001)), "never a silent pass");
        let explanation = schema.explain(&many(3_001));
        assert!(explanation.undecided && explanation.count == 1, "{explanation:?}");
    }
}

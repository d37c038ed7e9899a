//! What profile `safe` may change so that arguments satisfy their schema (rules C1 to C7): only what loses nothing, only where
//! validation fails, and only if exactly one reading remains.
//!
//! The way down follows the schemas that apply to each place (`applying`), inside out: members and items first (`inside`), then
//! the branches of unions and the conversions that the place itself asks for (`fit`, `conversion`). The few changes that valid
//! arguments take stand apart: a wrapper around all of them (`envelope`), the spelling of integers and defaults (`tidy`). What
//! profile `pi` changes instead stands in a room of its own (`pi`).

mod applying;
mod budget;
mod conversion;
mod decode;
mod envelope;
mod fit;
mod inside;
mod kinds;
mod markup;
mod pi;
mod spelling;
mod tidy;
mod trail;

use super::{
    ArgumentRules, Schema,
    schema::{Compiled, Judge},
};
use crate::{json::Json, refusal::Repair};

use budget::Budget;
pub use envelope::open_envelope;
pub use markup::{Swallowed, swallowed_parameter};
pub use pi::converted as converted_as_pi;
pub use tidy::tidied;
use trail::Trail;

/// What a repair says of a place that holds nothing.
const ABSENT: &str = "absent";

/// One value on its way to satisfy its schema.
struct Coercion<'a> {
    schema: &'a Compiled,
    rules: &'a ArgumentRules,
    judge: Judge<'a>,
    budget: Budget,
    repairs: Vec<Repair>,
}

impl<'a> Coercion<'a> {
    fn of(schema: &'a Compiled, rules: &'a ArgumentRules) -> Self {
        Self { schema, rules, judge: Judge::of(schema), budget: Budget::full(), repairs: Vec::new() }
    }

    /// What was changed, if anything was. A value that was too large to be looked through was changed in part, by nobody knows
    /// what: nothing of that is kept.
    fn into_repairs(self) -> Option<Vec<Repair>> {
        let is_whole = !self.budget.is_spent() && !self.judge.gave_up();
        (!self.repairs.is_empty() && is_whole).then_some(self.repairs)
    }

    /// Whether the value satisfies all of these schemas. The last are the branches of unions: they refuse at less cost than the
    /// unions around them.
    fn accepts(&mut self, schemas: &[&'a Json], value: &Json) -> bool {
        schemas.iter().rev().all(|schema| self.judge.accepts(schema, value))
    }
}

/// Converts a value that its schema refuses, and lists what was changed. Where the schema refuses it still, what could be
/// converted is, so that the error speaks of what is left. `None`: nothing was changed.
pub fn converted(schema: &Schema, rules: &ArgumentRules, value: &Json) -> Option<(Json, Vec<Repair>)> {
    schema.ask(|schema| {
        let mut coercion = Coercion::of(schema, rules);
        let mut converted = value.clone();
        coercion.fit_root(&mut converted);
        Some((converted, coercion.into_repairs()?))
    })
}

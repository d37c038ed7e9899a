//! The conversions of pi 1.6.0, for hosts that migrate: those that lose something included, but none that is not listed.
//!
//! Three passes over the whole value, one after the other: what is `null` and optional is left out (`nulls`); values are brought
//! to what their schemas ask for, keyword by keyword (`convert`); what `type` still rejects is converted once more, more narrowly
//! (`types`). Nothing here decides whether the arguments are valid: the validator does, afterwards.

mod convert;
mod members;
mod nulls;
mod numeral;
mod scalar;
mod types;

use super::{Budget, Trail};
use crate::{
    json::{Json, Object},
    refusal::Repair,
    tools::{
        Schema,
        schema::{Compiled, Judge},
    },
};
use scalar::Change;

/// Schemas at values, one inside the other, that the passes go down through: they are recursive.
const MAX_DEPTH: usize = 500;

/// A value that its schema refuses, as pi would convert it, and every change; `None` if there is none, or if it would take too
/// long to know.
pub fn converted(schema: &Schema, value: &Json) -> Option<(Json, Vec<Repair>)> {
    schema.ask(|schema| converted_by(schema, value))
}

fn converted_by(schema: &Compiled, value: &Json) -> Option<(Json, Vec<Repair>)> {
    let mut conversion = Conversion {
        schema,
        judge: Judge::of(schema),
        budget: Budget::full(),
        depth: 0,
        entered: Vec::new(),
        repairs: Vec::new(),
    };
    let mut converted: Option<Json> = None;
    for pass in [Pass::Nulls, Pass::Convert, Pass::Types] {
        let next = conversion.visit(pass, schema.source(), converted.as_ref().unwrap_or(value), Trail::Root);
        converted = next.or(converted);
    }
    // Half of a conversion would be one that nobody knows.
    if conversion.budget.is_spent() || conversion.judge.gave_up() {
        None
    } else {
        Some((converted?, conversion.repairs))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Nulls,
    Convert,
    Types,
}

struct Conversion<'s> {
    schema: &'s Compiled,
    judge: Judge<'s>,
    budget: Budget,
    /// How far down the passes are.
    depth: usize,
    /// Schemas and values, by where they are in memory, that a reference or a wrapping has led to and that are being converted.
    entered: Vec<(usize, usize)>,
    repairs: Vec<Repair>,
}

impl<'s> Conversion<'s> {
    /// What the pass makes of a value; `None` if it leaves it as it is.
    fn visit(&mut self, pass: Pass, schema: &'s Json, value: &Json, at: Trail<'_>) -> Option<Json> {
        let keywords = schema.as_object()?;
        if self.depth >= MAX_DEPTH {
            self.budget.spend();
        }
        if !self.budget.pay(1) {
            return None;
        }
        self.depth += 1;
        let changed = match pass {
            Pass::Nulls => self.without_nulls(keywords, value, at),
            Pass::Convert => self.convert(schema, keywords, value, at),
            Pass::Types => self.coerce(keywords, value, at),
        };
        self.depth -= 1;
        changed
    }

    /// What the pass makes of a value under one schema after the other.
    fn visit_all(
        &mut self,
        pass: Pass,
        schemas: impl IntoIterator<Item = &'s Json>,
        value: &Json,
        at: Trail<'_>,
    ) -> Option<Json> {
        schemas.into_iter().fold(None, |changed: Option<Json>, schema| {
            self.visit(pass, schema, changed.as_ref().unwrap_or(value), at).or(changed)
        })
    }

    /// Whether this part of the schema accepts the value.
    fn accepts(&mut self, part: &'s Json, value: &Json) -> bool {
        self.budget.pay_for(value) && self.judge.accepts(part, value)
    }

    /// A copy. What is copied again and again must not be free.
    fn copy(&mut self, value: &Json) -> Json {
        if self.budget.pay_for(value) { value.clone() } else { Json::Null }
    }

    fn record(&mut self, change: Change, from: &Json, at: Trail<'_>) -> Json {
        let to = change.value.kind().name();
        let repair = Repair::of_arguments(at.pointer(), change.op, from.kind().name(), to);
        self.repairs.push(Repair { lossy: change.lossy, ..repair });
        change.value
    }
}

/// The list that a keyword holds.
fn list<'s>(keywords: &'s Object, keyword: &str) -> Option<&'s [Json]> {
    keywords.get(keyword)?.as_array()
}

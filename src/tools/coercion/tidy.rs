//! The changes that valid arguments take, too (rules C1 and C6): integers are spelled as integers, and defaults are filled in
//! where the contract says so.

use super::{
    ABSENT, Coercion, Trail,
    applying::{Applying, Spot, of_item},
    decode::MAX_DEPTH,
    kinds::Kinds,
};
use crate::{
    json::{Json, Object},
    refusal::Repair,
    tools::{ArgumentRules, Schema},
};

/// The arguments with integers spelled as such and defaults filled in, and what was changed. `None`: nothing.
pub fn tidied(schema: &Schema, rules: &ArgumentRules, value: &Json) -> Option<(Json, Vec<Repair>)> {
    // Most arguments need no look at the schema.
    if !rules.defaults && !has_odd_integer(value) {
        return None;
    }
    schema.ask(|schema| {
        let mut coercion = Coercion::of(schema, rules);
        let mut tidied = value.clone();
        coercion.tidy(&Spot::of(vec![schema.source()]), &mut tidied, &Trail::Root);
        let repairs = coercion.into_repairs()?;
        // Defaults that break what was valid are no help.
        (schema.is_valid(&tidied) || !schema.is_valid(value)).then_some((tidied, repairs))
    })
}

/// Whether there is an integer that is spelled otherwise.
fn has_odd_integer(value: &Json) -> bool {
    match value {
        Json::Number(number) => !number.is_spelled_as_integer() && number.is_integer(),
        Json::Array(items) => items.iter().any(has_odd_integer),
        Json::Object(members) => members.values().any(has_odd_integer),
        Json::Null | Json::Bool(_) | Json::String(_) => false,
    }
}

impl<'a> Coercion<'a> {
    fn tidy(&mut self, spot: &Spot<'a>, value: &mut Json, trail: &Trail<'_>) {
        // Defaults that have themselves inside have no end.
        if trail.depth() > MAX_DEPTH {
            self.budget.spend();
        }
        if !self.budget.pay_for(value) {
            return;
        }
        let applying = self.applying_as_it_is(spot, value);
        match value {
            Json::Number(_) => respell(&applying, value, trail, &mut self.repairs),
            Json::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    let spot = Spot::of(of_item(&applying.keywords, position, self.schema.dialect()));
                    self.tidy(&spot, item, &Trail::Item(trail, position));
                }
            }
            Json::Object(members) => {
                // First, because what is filled in may have defaults inside.
                if self.rules.defaults {
                    self.fill(&applying, members, trail);
                }
                for (name, member) in members.iter_mut() {
                    let spot = Spot::of(self.of_member(&applying.keywords, name));
                    self.tidy(&spot, member, &Trail::Member(trail, name));
                }
            }
            Json::Null | Json::Bool(_) | Json::String(_) => {}
        }
    }

    /// What applies, with the branch of each union that alone accepts the value.
    fn applying_as_it_is(&mut self, spot: &Spot<'a>, value: &Json) -> Applying<'a> {
        let mut spot = spot.clone();
        loop {
            let applying = self.applying(&spot, value);
            let Some(union) = applying.union.filter(|_| self.budget.pay_for(value)) else { return applying };
            let branches = union.as_array().unwrap_or_default();
            let mut accepting = branches.iter().filter(|branch| self.judge.accepts(branch, value));
            let only = accepting.next().filter(|_| accepting.next().is_none());
            spot = spot.with_branch(union, only.unwrap_or(&Json::Bool(true)));
        }
    }

    /// Fills in what is absent, if its own default satisfies its schema.
    fn fill(&mut self, applying: &Applying<'a>, members: &mut Object, trail: &Trail<'_>) {
        for keywords in &applying.keywords {
            for (name, schema) in keywords.get("properties").and_then(Json::as_object).into_iter().flatten() {
                let Some(default) = schema.get("default").filter(|_| !members.contains_key(name)) else { continue };
                let schemas = self.of_member(&applying.keywords, name);
                if self.accepts(&schemas, default) {
                    let (path, to) = (trail.pointer().join(name), default.kind().name());
                    self.repairs.push(Repair::of_arguments(path, "apply_default", ABSENT, to));
                    members.insert(std::sync::Arc::clone(name), default.clone());
                }
            }
        }
    }
}

fn respell(applying: &Applying<'_>, value: &mut Json, trail: &Trail<'_>, repairs: &mut Vec<Repair>) {
    let Json::Number(number) = value else { return };
    let asked = Kinds::asked_by(&applying.keywords);
    if number.is_spelled_as_integer() || !asked.has(Kinds::INTEGER) || asked.has(Kinds::FRACTION) {
        return;
    }
    if let Some(plain) = number.to_plain_integer() {
        repairs.push(Repair::of_arguments(trail.pointer(), "float_to_integer", "number", "number"));
        *number = plain;
    }
}

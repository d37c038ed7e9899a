//! The members and items of a value, each under the schemas that its place has.

use std::sync::Arc;

use super::{Conversion, Pass, list};
use crate::{
    json::{Json, Object},
    tools::coercion::Trail,
};

/// What becomes of a member.
enum Member {
    Kept,
    Changed(Json),
    Dropped,
}

impl<'s> Conversion<'s> {
    /// The members of an object.
    pub(super) fn members(
        &mut self,
        pass: Pass,
        keywords: &'s Object,
        members: &Object,
        at: Trail<'_>,
    ) -> Option<Json> {
        let mut changed: Option<Object> = None;
        for (position, (name, value)) in members.iter().enumerate() {
            let member = self.member(pass, keywords, (name, value), Trail::Member(&at, name));
            if matches!(member, Member::Kept) && changed.is_none() {
                continue;
            }
            if changed.is_none() {
                let before = members.iter().take(position);
                changed = Some(before.map(|(name, value)| (Arc::clone(name), self.copy(value))).collect());
            }
            let kept = match member {
                Member::Kept => self.copy(value),
                Member::Changed(value) => value,
                Member::Dropped => continue,
            };
            if let Some(changed) = &mut changed {
                changed.insert(Arc::clone(name), kept);
            }
        }
        changed.map(Json::from)
    }

    fn member(&mut self, pass: Pass, keywords: &'s Object, (name, value): (&str, &Json), at: Trail<'_>) -> Member {
        if pass == Pass::Nulls && self.is_absent(keywords, name, value) {
            self.record_absent(at);
            return Member::Dropped;
        }
        let schemas = self.schemas_of_member(keywords, name);
        self.visit_all(pass, schemas, value, at).map_or(Member::Kept, Member::Changed)
    }

    /// What declares it, then the patterns that match its name; if there are none, what holds for all others.
    fn schemas_of_member(&mut self, keywords: &'s Object, name: &str) -> Vec<&'s Json> {
        let object = |keyword: &str| keywords.get(keyword).and_then(Json::as_object);
        let mut schemas: Vec<&'s Json> =
            object("properties").and_then(|declared| declared.get(name)).into_iter().collect();
        for (pattern, schema) in object("patternProperties").into_iter().flatten() {
            if self.budget.pay(1) && self.judge.name_matches(pattern, name) {
                schemas.push(schema);
            }
        }
        if schemas.is_empty() {
            schemas.extend(keywords.get("additionalProperties"));
        }
        schemas
    }

    /// The items of an array.
    pub(super) fn items(&mut self, pass: Pass, keywords: &'s Object, items: &[Json], at: Trail<'_>) -> Option<Json> {
        let mut changed: Option<Vec<Json>> = None;
        for (position, value) in items.iter().enumerate() {
            // Nothing is kept of what was not looked through.
            if self.budget.is_spent() {
                return None;
            }
            let schema = item_schema(keywords, position);
            let next = schema.and_then(|schema| self.visit(pass, schema, value, Trail::Item(&at, position)));
            if next.is_some() && changed.is_none() {
                changed = Some(items.iter().take(position).map(|value| self.copy(value)).collect());
            }
            if let Some(mut kept) = changed.take() {
                kept.push(next.unwrap_or_else(|| self.copy(value)));
                changed = Some(kept);
            }
        }
        changed.map(Json::Array)
    }
}

/// The fixed items of an array: of `prefixItems`, or of an `items` list of draft 7.
pub(super) fn tuple(keywords: &Object) -> Option<&[Json]> {
    list(keywords, "items").or_else(|| list(keywords, "prefixItems"))
}

/// What holds for the item. pi does not convert what stands under `additionalItems`.
fn item_schema(keywords: &Object, position: usize) -> Option<&Json> {
    let fixed = tuple(keywords).and_then(|tuple| tuple.get(position));
    fixed.or_else(|| keywords.get("items").filter(|items| !matches!(items, Json::Array(_))))
}

//! What is in a value comes before the value itself: members and items, each by the schemas that apply to it.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{
    ABSENT, Coercion, Trail,
    applying::{Applying, Spot, declared_names, is_declared, is_required, of_item},
    fit::Allow,
    spelling,
};
use crate::{
    json::{Json, Object, Pointer},
    refusal::Repair,
    tools::resolve::letters,
};

/// Times that a value is converted because other schemas apply to what came of it.
const MAX_TURNS: usize = 4;

impl<'a> Coercion<'a> {
    /// Converts what is in the value and refused there, by the schemas that apply to what comes of it: what a condition says of
    /// `"1"` is not meant for the 1 that it becomes. Whether anything was changed.
    pub(super) fn inside(
        &mut self,
        spot: &Spot<'a>,
        applying: &mut Applying<'a>,
        value: &mut Json,
        trail: &Trail<'_>,
    ) -> bool {
        if !applying.is_conditional {
            return self.each_inside(applying, value, trail);
        }
        let (sent, before) = (value.clone(), self.repairs.len());
        for _ in 0..MAX_TURNS {
            let is_changed = self.each_inside(applying, value, trail);
            let now = self.applying(spot, value);
            if now.is_same(applying) {
                return is_changed;
            }
            self.repairs.truncate(before);
            value.clone_from(&sent);
            *applying = now;
        }
        false
    }

    fn each_inside(&mut self, applying: &Applying<'a>, value: &mut Json, trail: &Trail<'_>) -> bool {
        let before = self.repairs.len();
        match value {
            Json::Object(members) => {
                rename(applying, members, trail, &mut self.repairs);
                self.members(applying, members, trail);
            }
            Json::Array(items) => {
                for (position, item) in items.iter_mut().enumerate() {
                    let schemas = of_item(&applying.keywords, position, self.schema.dialect());
                    if !self.accepts(&schemas, item) {
                        let trail = Trail::Item(trail, position);
                        self.fit(&Spot::of(schemas), item, &trail, Allow::Reshape);
                    }
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
        self.repairs.len() > before
    }

    fn members(&mut self, applying: &Applying<'a>, members: &mut Object, trail: &Trail<'_>) {
        let mut dropped = Vec::new();
        for (position, (name, value)) in members.iter_mut().enumerate() {
            let schemas = self.of_member(&applying.keywords, name);
            if self.accepts(&schemas, value) {
                continue;
            }
            let trail = Trail::Member(trail, name);
            let spot = Spot::of(schemas);
            if !self.is_absent(applying, name, value, &spot) {
                self.fit(&spot, value, &trail, Allow::Reshape);
            } else if !self.can_be_read(&spot, value, &trail) {
                let from = value.kind().name();
                self.repairs.push(Repair::of_arguments(trail.pointer(), "drop_optional_absent", from, ABSENT));
                dropped.push(position);
            }
        }
        for position in dropped.into_iter().rev() {
            members.shift_remove_index(position);
        }
    }

    /// Whether a spelling of nothing can be read as something, too: then it has two readings, and stays.
    fn can_be_read(&mut self, spot: &Spot<'a>, value: &Json, trail: &Trail<'_>) -> bool {
        let before = self.repairs.len();
        let fits = self.fit(spot, &mut value.clone(), trail, Allow::Reshape);
        self.repairs.truncate(before);
        fits
    }

    /// Whether a refused member means that nothing was given: a spelling of nothing, where something else is optional and null is
    /// no value (rule C4).
    fn is_absent(&mut self, applying: &Applying<'a>, name: &str, value: &Json, spot: &Spot<'a>) -> bool {
        spelling::means_nothing(value, self.rules.drop_empty)
            && is_declared(&applying.keywords, name)
            && !is_required(&applying.keywords, name)
            && !self.accepts(&spot.schemas, &Json::Null)
    }
}

/// Gives an undeclared member of a closed object the one declared name that is the same but for case and `-_.`, and that is
/// absent.
fn rename(applying: &Applying<'_>, members: &mut Object, trail: &Trail<'_>, repairs: &mut Vec<Repair>) {
    let has = |keyword| applying.keywords.iter().any(|keywords| keywords.contains_key(keyword));
    let closes = |keyword| applying.keywords.iter().any(|keywords| keywords.get(keyword) == Some(&Json::Bool(false)));
    // Where what is not evaluated is forbidden, a branch that is not chosen yet may evaluate it, and so may what holds for the rest.
    let is_all_evaluated = applying.union.is_some() || has("additionalProperties");
    let is_closed = closes("additionalProperties") || (!is_all_evaluated && closes("unevaluatedProperties"));
    // A name that a pattern allows is nobody's misspelling.
    if has("patternProperties") || !is_closed {
        return;
    }
    let undeclared = members.keys().filter(|name| !is_declared(&applying.keywords, name));
    let undeclared: Vec<Arc<str>> = undeclared.map(Arc::clone).collect();
    if undeclared.is_empty() {
        return;
    }
    let absent = declared_names(&applying.keywords).filter(|name| !members.contains_key(&***name));
    let (sent, meant) = (alike(undeclared.iter()), alike(absent));
    let renamed = sent.into_iter().filter_map(|(letters, name)| Some((name?, (*meant.get(&letters)?)?)));
    let renamed: IndexMap<Arc<str>, Arc<str>> =
        renamed.map(|(name, declared)| (Arc::clone(name), Arc::clone(declared))).collect();
    for (name, declared) in &renamed {
        let [from, to] = [name, declared].map(|name| Pointer::root().join(name).to_string());
        repairs.push(Repair::of_arguments(trail.pointer().join(declared), "rename_key", from, to));
    }
    if !renamed.is_empty() {
        let sent = std::mem::take(members).into_iter();
        *members = sent.map(|(name, value)| (renamed.get(&name).cloned().unwrap_or(name), value)).collect();
    }
}

/// Names by their letters, in order; `None` where different names have the same.
fn alike<'n>(names: impl Iterator<Item = &'n Arc<str>>) -> IndexMap<String, Option<&'n Arc<str>>> {
    let mut found = IndexMap::new();
    for name in names {
        let only = found.entry(letters(name)).or_insert(Some(name));
        *only = only.filter(|known| *known == name);
    }
    found
}

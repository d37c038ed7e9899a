//! What a schema must be before it is compiled: of bounded size, with references that lead somewhere and not in a circle
//! (rule V2).

use std::collections::HashMap;

use super::{
    dialect::Dialect,
    reference::{Document, MAX_PARTS, Reference},
    structure::{Place, each_subschema, is_in_place, subschemas},
};
use crate::{
    excerpt::excerpt,
    json::{Json, Object, Pointer},
    tools::Note,
};

/// Levels of nesting.
const MAX_DEPTH: usize = 120;
/// Bytes of compact text.
const MAX_BYTES: usize = 1 << 20;
/// Schemas that judge the same value one inside the other, whether nested or referred to. The validator and the explanation
/// recurse through all of them at each level of a value: this number times the value's depth must fit the stack.
const MAX_HEIGHT: usize = 40;
/// Schemas that judge the same value, each as often as it is referred to: the validator asks it anew each time. Twenty
/// definitions that each refer three times to the next would take hours.
const MAX_JUDGES: usize = 10_000;
/// So many schemas more does one with `unevaluatedProperties` or `unevaluatedItems` count: the validator judges everything below
/// it several times, so that piles of them take time without end.
const UNEVALUATED: usize = 5;

/// The compact text of a schema that may be looked at: everything after this costs what its size allows.
pub(super) fn bounded(schema: &Json) -> Result<String, Vec<Note>> {
    if schema.is_deeper_than(MAX_DEPTH) {
        let message = format!("the schema has more than {MAX_DEPTH} levels of nesting; flatten it with `$defs`");
        return Err(vec![Note::error("schema_too_deep", Pointer::root(), message)]);
    }
    let text = schema.to_text();
    if text.len() > MAX_BYTES {
        let message = format!("the schema has more than {MAX_BYTES} bytes");
        return Err(vec![Note::error("schema_too_large", Pointer::root(), message)]);
    }
    Ok(text)
}

/// Proves a bounded schema: every reason against it.
pub(super) fn prove(document: Document<'_>, dialect: Dialect) -> Vec<Note> {
    let schema = document.root;
    if document.has_too_many_parts() {
        let message =
            format!("more than {MAX_PARTS} parts have an `$id` of their own: refer to them by `#/$defs/...` instead");
        return vec![Note::error("schema_too_large", Pointer::root(), message)];
    }
    let mut proof = Proof { document, dialect, states: HashMap::new(), is_too_much: false, notes: Vec::new() };
    each_subschema(schema, &mut |keywords, place| proof.subschema(keywords, place));
    proof.notes
}

/// How far a place has been followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Following,
    /// To the end, with these schemas below.
    Followed(Pile),
}

/// The schemas below one that judge the same value.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Pile {
    /// How many there are one inside the other.
    height: usize,
    /// How many there are in all, repeated ones included.
    count: usize,
}

impl Pile {
    /// Adds one that has this pile below.
    fn add(&mut self, below: Self, weight: usize) {
        self.height = self.height.max(below.height + weight);
        self.count = self.count.saturating_add(below.count).saturating_add(1);
    }
}

struct Proof<'a> {
    document: Document<'a>,
    dialect: Dialect,
    /// By the address of the schema object.
    states: HashMap<*const Object, State>,
    /// Once is enough: nothing is followed any more.
    is_too_much: bool,
    notes: Vec<Note>,
}

impl Proof<'_> {
    fn subschema(&mut self, keywords: &Object, place: Place<'_>) {
        if let Some(divisor) = keywords.get("multipleOf").and_then(Json::as_number)
            && divisor.is_multiple_of(divisor).is_none()
        {
            let message = "`multipleOf` must be positive and have at most 19 digits";
            self.notes.push(Note::error("broken_schema", place.join("multipleOf"), message));
        }
        self.follow(keywords, place, 0);
    }

    /// Follows everything that judges the same value, and says how high it is piled. Whoever comes back to where he is has
    /// found a circle. `depth` is how high the pile above is: it ends the walk before the walk itself is too deep.
    fn follow(&mut self, keywords: &Object, place: Place<'_>, depth: usize) -> Pile {
        let known = match self.states.get(&std::ptr::from_ref(keywords)) {
            Some(State::Followed(pile)) => Some(*pile),
            Some(State::Following) => Some(Pile::default()),
            None => None,
        };
        if self.is_too_much || depth + known.unwrap_or_default().height > MAX_HEIGHT {
            self.too_high(place);
            return Pile::default();
        }
        if let Some(pile) = known {
            return pile;
        }
        self.states.insert(std::ptr::from_ref(keywords), State::Following);
        let is_costly =
            ["unevaluatedProperties", "unevaluatedItems"].iter().any(|keyword| keywords.contains_key(*keyword));
        let own = if is_costly { UNEVALUATED } else { 0 };
        let (mut pile, depth) = (Pile { height: own, count: 0 }, depth + own + 1);
        for (keyword, reference) in self.document.references(keywords) {
            if let Some(below) = self.follow_reference(reference, &place.join(keyword), depth) {
                pile.add(below, own + 1);
            }
        }
        for inner in subschemas(keywords).into_iter().filter(|inner| is_in_place(inner.keyword)) {
            if let Some(keywords) = inner.schema.as_object() {
                pile.add(self.follow(keywords, Place::Below(&place, &inner), depth), own + 1);
            }
        }
        if pile.count > MAX_JUDGES {
            self.too_many(place);
        }
        self.states.insert(std::ptr::from_ref(keywords), State::Followed(pile));
        pile
    }

    fn too_high(&mut self, place: Place<'_>) {
        let message = format!(
            "more than {MAX_HEIGHT} schemas judge the same value one inside the other, counting references, `allOf`, `anyOf`, \
             `oneOf`, `not`, `if` and `dependentSchemas`, and one with `unevaluatedProperties` for several: merge some of them"
        );
        self.too_much("schema_too_deep", message, place);
    }

    fn too_many(&mut self, place: Place<'_>) {
        let message = format!(
            "more than {MAX_JUDGES} schemas judge the same value, each counted as often as it is referred to: refer to each once"
        );
        self.too_much("schema_too_large", message, place);
    }

    fn too_much(&mut self, code: &'static str, message: String, place: Place<'_>) {
        if !std::mem::replace(&mut self.is_too_much, true) {
            self.notes.push(Note::error(code, place.pointer(), message));
        }
    }

    /// What is piled below what is referred to, if that is a schema.
    fn follow_reference(&mut self, reference: &str, place: &Pointer, depth: usize) -> Option<Pile> {
        match self.document.resolve_from(place, reference) {
            Reference::Found(target, schema) => {
                let keywords = schema.as_object()?;
                if self.states.get(&std::ptr::from_ref(keywords)) == Some(&State::Following) {
                    let shown = excerpt(reference);
                    let message = format!(
                        "`{shown}` leads back to this place without going into the value: no value could ever be judged"
                    );
                    self.notes.push(Note::error("reference_cycle", place.clone(), message));
                } else {
                    return Some(self.follow(keywords, Place::At(&target), depth));
                }
            }
            Reference::Dangling => {
                let remedy = if self.dialect >= Dialect::Draft201909 { "$defs" } else { "definitions" };
                let message = format!("`{}` leads nowhere; define it under `{remedy}`", excerpt(reference));
                self.notes.push(Note::error("dangling_reference", place.clone(), message));
            }
            Reference::ByAddress => {}
        }
        None
    }
}

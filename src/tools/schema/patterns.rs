//! The patterns of a schema, and which of the two engines takes them (rule V3).

use serde_json::json;

use super::proven::Engine;
use super::structure::{Place, each_subschema};
use crate::{
    json::{Json, Object, Pointer},
    tools::Note,
};

/// The patterns of a schema object, each with its place.
pub(super) fn patterns<'a>(keywords: &'a Object, place: Place<'_>) -> impl Iterator<Item = (Pointer, &'a str)> {
    let pattern = keywords.get("pattern").and_then(Json::as_str).map(|pattern| (place.join("pattern"), pattern));
    let by_pattern = keywords.get("patternProperties").and_then(Json::as_object);
    let names = by_pattern.into_iter().flat_map(Object::keys);
    pattern.into_iter().chain(names.map(move |name| (place.join("patternProperties").join(name), &**name)))
}

/// How many there are in a schema.
pub(super) fn count(schema: &Json) -> usize {
    let mut count = 0;
    each_subschema(schema, &mut |keywords, _| {
        let by_pattern = keywords.get("patternProperties").and_then(Json::as_object).map_or(0, Object::len);
        count += by_pattern + usize::from(keywords.contains_key("pattern"));
    });
    count
}

fn takes(engine: Engine, pattern: &str) -> bool {
    engine.matching(jsonschema::options()).build(&json!({ "pattern": pattern })).is_ok()
}

/// Whether the engine takes the pattern that matches in linear time.
pub(super) fn is_linear(pattern: &str) -> bool {
    takes(Engine::Linear, pattern)
}

/// Whether either engine takes the pattern.
pub(super) fn is_pattern(pattern: &str) -> bool {
    is_linear(pattern) || takes(Engine::Backtracking, pattern)
}

/// Patterns that the linear-time engine refuses, each noted.
pub(super) fn backtracking(schema: &Json) -> Vec<Note> {
    let mut notes = Vec::new();
    each_subschema(schema, &mut |keywords, place| {
        for (place, _) in patterns(keywords, place).filter(|(_, pattern)| !is_linear(pattern)) {
            let message = "the pattern needs look-around or back-references: it is matched by a backtracking engine, within a \
                           limit of steps; a plain pattern is faster";
            notes.push(Note::info("backtracking_pattern", place, message));
        }
    });
    notes
}

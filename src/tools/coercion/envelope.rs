//! A wrapper around all arguments that a model added by itself, such as `{"arguments": {...}}` (rule C3).

use std::collections::BTreeSet;

use super::decode::{decode, limits};
use crate::{
    json::{Json, Object, Pointer},
    refusal::Repair,
    tools::{Tool, resolve::is_same_name, schema::Compiled},
};

/// What wrappers are called.
const WRAPPERS: [&str; 5] = ["arguments", "args", "input", "parameters", "params"];
/// Wrappers in each other that are opened.
const MAX_LAYERS: usize = 3;
/// Schemas that are looked at to know what is declared.
const MAX_STEPS: usize = 10_000;

/// What is in the wrapper, and what was done to get there; `None` if there is none.
///
/// A sole key that nothing declares is one if all that is inside is declared, even where an open schema would accept the whole;
/// or if the schema refuses the whole and knows what is inside.
pub fn open_envelope(tool: &Tool, arguments: &Json) -> Option<(Json, Vec<Repair>)> {
    // Most arguments need no look at the schema.
    wrapped(tool, arguments)?;
    tool.input.ask(|schema| opened(tool, schema, arguments))
}

fn opened(tool: &Tool, schema: &Compiled, arguments: &Json) -> Option<(Json, Vec<Repair>)> {
    let declared = declared_names(schema)?;
    let is_known = |name: &str| declared.contains(name) || tool.shim.speaks_of(name);
    let is_nearly = |name: &str| declared.iter().any(|known| is_same_name(known, name));
    let is_refused = !schema.is_valid(arguments);
    let (mut value, mut repairs) = (arguments.clone(), Vec::new());
    for _ in 0..MAX_LAYERS {
        let (key, inner) = wrapped(tool, &value)?;
        if value.as_object()?.keys().any(|key| is_known(key) || is_nearly(key)) {
            return None;
        }
        let path = Pointer::root().join(key).to_string();
        repairs.push(Repair::of_arguments(Pointer::root(), "unwrap_envelope", path, ""));
        value = if let Json::String(text) = inner {
            let (decoded, made) = decode(text, &limits(&tool.arguments, 0), Pointer::root)?;
            repairs.push(Repair::of_arguments(Pointer::root(), "json_string_to_object", "string", "object"));
            repairs.extend(made);
            decoded
        } else {
            inner.clone()
        };
        let mut names = value.as_object()?.keys();
        let is_inside = if is_refused {
            value.as_object()?.is_empty() || names.any(|name| is_known(name)) || schema.is_valid(&value)
        } else {
            names.all(|name| is_known(name))
        };
        if is_inside {
            return Some((value, repairs));
        }
    }
    None
}

/// The key and the content of a wrapper: a sole member that is called like one, or beside the name of the tool itself.
fn wrapped<'v>(tool: &Tool, arguments: &'v Json) -> Option<(&'v str, &'v Json)> {
    let members = arguments.as_object().filter(|members| (1..=2).contains(&members.len()))?;
    let is_own_name = members.get("name").and_then(Json::as_str) == Some(&*tool.name);
    if members.len() != if is_own_name { 2 } else { 1 } {
        return None;
    }
    let (key, inner) = members.iter().find(|(key, _)| WRAPPERS.contains(&&***key))?;
    matches!(inner, Json::Object(_) | Json::String(_)).then_some((key, inner))
}

/// The names that a schema declares for its arguments in any of its branches; `None` if it declares none, or that cannot be told.
pub(super) fn declared_names(schema: &Compiled) -> Option<BTreeSet<&str>> {
    let mut steps = MAX_STEPS;
    let combined = schema.document().combined(vec![schema.source()], &mut steps)?;
    let mut declaring = combined.into_iter().filter_map(|schema| schema.get("properties")?.as_object()).peekable();
    declaring.peek()?;
    Some(declaring.flat_map(Object::keys).map(|name| &**name).collect())
}

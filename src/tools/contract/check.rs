//! Walks a document along the JSON Schema of the format and reports everything that does not fit, not just the first.
//!
//! It knows the few keywords that the schema of this format uses, and speaks of keys instead of keywords.

use std::sync::LazyLock;

use crate::{
    json::{Json, Pointer},
    tools::note::Note,
};

/// The JSON Schema of the format, once.
static SCHEMA: LazyLock<Json> = LazyLock::new(super::contract_schema);

/// What in `value` is no `definition` of the format.
pub(in crate::tools) fn check(definition: &str, value: &Json) -> Vec<Note> {
    let mut walk = Walk { notes: Vec::new() };
    if let Some(schema) = SCHEMA.get("$defs").and_then(|definitions| definitions.get(definition)) {
        walk.value(schema, value, &Pointer::root());
    }
    walk.notes
}

/// The keys that an object of the format may have.
pub(in crate::tools) fn keys_of(definition: &str) -> Vec<&'static str> {
    let schema = SCHEMA.get("$defs").and_then(|definitions| definitions.get(definition));
    properties(schema.unwrap_or(&Json::Null)).collect()
}

/// The remark about a key that is not one of `known`.
pub(in crate::tools) fn unknown_key(key: &str, known: &[&str], path: Pointer) -> Note {
    let shown: String = key.chars().take(80).flat_map(char::escape_debug).collect();
    Note::error("unknown_key", path, format!("unknown key `{shown}`; {}", suggestion(key, known)))
}

/// The nearest of the known words, or all of them.
fn suggestion(word: &str, known: &[&str]) -> String {
    // A longer word can only be far from all known ones, and the distance costs its square.
    let near = if word.len() > 64 { None } else { nearest(word, known) };
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .iter()
        .map(|known| (strsim::osa_distance(&word, &known.to_lowercase()), *known))
        .filter(|(distance, known)| *distance <= known.chars().count().max(word.chars().count()) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

fn properties(schema: &Json) -> impl Iterator<Item = &str> {
    schema.get("properties").and_then(Json::as_object).into_iter().flat_map(|members| members.keys().map(|key| &**key))
}

struct Walk {
    notes: Vec<Note>,
}

impl Walk {
    fn value(&mut self, schema: &Json, value: &Json, path: &Pointer) {
        let (schema, optional) = resolve(schema);
        if optional && *value == Json::Null {
            return;
        }
        if let Some(choices) = schema.get("oneOf").and_then(Json::as_array) {
            return self.choice(choices, value, path);
        }
        let Some(expected) = type_name(schema) else { return };
        let fits = match expected {
            "integer" => value.as_number().is_some_and(|number| number.as_u64().is_some()),
            "number" => value.as_number().is_some(),
            other => value.kind().name() == other,
        };
        if !fits {
            self.wrong_type(schema, expected, value, path);
            return;
        }
        match value {
            Json::Object(_) => self.object(schema, value, path),
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(schema.get("items").unwrap_or(&Json::Null), item, &path.join(index));
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        }
    }

    fn wrong_type(&mut self, schema: &Json, expected: &str, value: &Json, path: &Pointer) {
        let example = schema.get("examples").and_then(Json::as_array).and_then(<[Json]>::first).and_then(Json::as_str);
        let example = example.map(|example| format!(" such as `{example}`")).unwrap_or_default();
        let expected = if expected == "integer" { "whole number from 0" } else { expected };
        let message = format!("expected {expected}{example}, got {}", value.kind());
        self.notes.push(Note::error("wrong_type", path.clone(), message));
    }

    fn object(&mut self, schema: &Json, value: &Json, path: &Pointer) {
        let known: Vec<&str> = properties(schema).collect();
        for (key, member) in value.as_object().into_iter().flatten() {
            let at = path.join(key);
            match (
                schema.get("properties").and_then(|properties| properties.get(key)),
                schema.get("additionalProperties"),
            ) {
                (None, Some(Json::Bool(false))) => self.notes.push(unknown_key(key, &known, at)),
                (Some(below), _) | (None, Some(below)) => self.value(below, member, &at),
                (None, None) => {}
            }
        }
        for required in schema.get("required").and_then(Json::as_array).unwrap_or_default() {
            if let Some(key) = required.as_str().filter(|key| value.get(key).is_none()) {
                let message = format!("the key `{key}` is missing: add it");
                self.notes.push(Note::error("missing_key", path.clone(), message));
            }
        }
    }

    /// One of some words, or an object with one of some keys.
    fn choice(&mut self, choices: &[Json], value: &Json, path: &Pointer) {
        let words: Vec<&str> = choices.iter().flat_map(words).collect();
        let blocks: Vec<&str> = choices.iter().flat_map(properties).collect();
        let expected = expectation(&words, &blocks);
        match value {
            Json::String(word) if words.contains(&&**word) => {}
            Json::String(word) if !words.is_empty() => {
                let message =
                    format!("`{}` is not known here, expected {expected}; {}", short(word), suggestion(word, &words));
                self.notes.push(Note::error("wrong_value", path.clone(), message));
            }
            Json::Object(members) if !blocks.is_empty() => {
                for (key, member) in members {
                    match choices.iter().find_map(|choice| choice.get("properties")?.get(key)) {
                        Some(below) => self.value(below, member, &path.join(key)),
                        None => self.notes.push(unknown_key(key, &blocks, path.join(key))),
                    }
                }
                if members.len() != 1 {
                    let message = format!("expected {expected}, got {} keys", members.len());
                    self.notes.push(Note::error("wrong_value", path.clone(), message));
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                let message = format!("expected {expected}, got {}", value.kind());
                self.notes.push(Note::error("wrong_type", path.clone(), message));
            }
        }
    }
}

fn short(word: &str) -> String {
    word.chars().take(80).flat_map(char::escape_debug).collect()
}

fn expectation(words: &[&str], blocks: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("`{word}`"));
    let braced = blocks.iter().map(|key| format!("`{{{key}: ...}}`"));
    let all: Vec<String> = quoted.chain(braced).collect();
    format!("one of {}", all.join(", "))
}

/// The words of a branch: a constant, or an enumeration.
fn words(choice: &Json) -> Vec<&str> {
    let constant = choice.get("const").and_then(Json::as_str);
    let enumeration = choice.get("enum").and_then(Json::as_array).unwrap_or_default();
    constant.into_iter().chain(enumeration.iter().filter_map(Json::as_str)).collect()
}

/// Follows references, and takes "this or null" apart.
fn resolve(schema: &Json) -> (&Json, bool) {
    let (mut schema, mut optional) = (schema, false);
    loop {
        if let Some(definition) = schema.get("$ref").and_then(Json::as_str) {
            let target = definition.strip_prefix('#').and_then(Pointer::parse).and_then(|path| path.find(&SCHEMA));
            schema = target.unwrap_or(&Json::Null);
        } else if let Some([inner, null]) = schema.get("anyOf").and_then(Json::as_array) {
            optional |= null.get("type").and_then(Json::as_str) == Some("null");
            schema = inner;
        } else {
            let types = schema.get("type").and_then(Json::as_array).unwrap_or_default();
            optional |= types.iter().any(|name| name.as_str() == Some("null"));
            return (schema, optional);
        }
    }
}

/// The type that is asked for, beside null.
fn type_name(schema: &Json) -> Option<&str> {
    let types = schema.get("type")?;
    types.as_str().or_else(|| types.as_array()?.iter().filter_map(Json::as_str).find(|name| *name != "null"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    fn notes(contract: &str) -> Vec<String> {
        let value = parse(contract.as_bytes(), &ParseLimits::default()).unwrap();
        check("Contract", &value).iter().map(|note| format!("{} {}: {}", note.code, note.path, note.message)).collect()
    }

    #[test]
    fn every_key_and_type_that_does_not_fit_is_reported() {
        assert_eq!(
            notes(
                r#"{"timout":"30s","timeout":30,"side_effect":"yes","arguments":{"sensitive":"/a","profil":"safe"},
                    "output":{"max_bytes":-1},"icons":[1],"completely_else":1}"#
            ),
            [
                "unknown_key /timout: unknown key `timout`; did you mean `timeout`?",
                "wrong_type /timeout: expected string such as `30s`, got number",
                "wrong_type /side_effect: expected boolean, got string",
                "wrong_type /arguments/sensitive: expected array, got string",
                "unknown_key /arguments/profil: unknown key `profil`; did you mean `profile`?",
                "wrong_type /output/max_bytes: expected whole number from 0, got number",
                "wrong_type /icons/0: expected object, got number",
                &format!(
                    "unknown_key /completely_else: unknown key `completely_else`; known here: {}",
                    keys_of("Contract").join(", ")
                ),
                "missing_key : the key `name` is missing: add it",
            ]
        );
    }

    #[test]
    fn choices_name_what_there_is() {
        assert_eq!(
            notes(
                r#"{"name":"t","mode":"sequental","execute":{"htp":{}},"accept":{"once_per":{"argument":1},"in_doubt":7},
                    "prepare":[{"rename":{"from":"/a"}},{"drop":{"at":"/a"},"wrap":{"at":"/a"}},"x"]}"#
            ),
            [
                "wrong_value /mode: `sequental` is not known here, expected one of `parallel`, `sequential`; did you mean \
                 `sequential`?",
                "unknown_key /execute/htp: unknown key `htp`; did you mean `http`?",
                "wrong_type /accept/once_per/argument: expected string, got number",
                "wrong_type /accept/in_doubt: expected one of `refuse`, `retry`, got number",
                "missing_key /prepare/0/rename: the key `to` is missing: add it",
                "wrong_value /prepare/1: expected one of `{rename: ...}`, `{move: ...}`, `{default: ...}`, `{wrap: ...}`, \
                 `{unwrap: ...}`, `{drop: ...}`, got 2 keys",
                "wrong_type /prepare/2: expected one of `{rename: ...}`, `{move: ...}`, `{default: ...}`, `{wrap: ...}`, \
                 `{unwrap: ...}`, `{drop: ...}`, got string",
            ]
        );
    }

    #[test]
    fn what_fits_is_not_remarked_on() {
        assert_eq!(
            notes(
                r#"{"name":"t","parameters":{"any":["thing",1.5]},"title":null,"execute":{"command":{"argv":["x"],"env":{"A":"b"}}},
                    "accept":{"once_per":{"argument":"/id"},"in_doubt":"retry"},"mode":"sequential","_meta":{"x":1},"output":null,
                    "arguments":{"profile":"pi","received":"omit"},"rules":[{"deny":"x"}],"prepare":[{"default":{"at":"/a","value":null}}]}"#
            ),
            Vec::<String>::new()
        );
    }
}

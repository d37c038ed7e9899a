//! Walks a document along the JSON Schema of the format and reports everything that does not fit, not just the first.
//!
//! It knows the few keywords that the schema of this format uses, and speaks of keys instead of keywords.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use super::{Note, Notes, Severity};
use crate::{
    excerpt::excerpt,
    json::{Json, Pointer},
};

/// A format that documents are read in.
#[derive(Debug)]
pub struct Format {
    schema: Json,
}

impl Format {
    /// The format that a schema made by `schemars` describes.
    pub fn new(schema: Json) -> Self {
        Self { schema }
    }

    /// The format that a type describes.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        Self::new(Json::from(schema.as_value()))
    }

    /// Its JSON Schema, for editors.
    pub fn schema(&self) -> &Json {
        &self.schema
    }

    /// What in `value` does not fit. `place` says where in the schema the format of the value stands: `""` is all of it.
    pub fn check(&self, place: &str, value: &Json) -> Vec<Note> {
        let mut walk = Walk { root: &self.schema, notes: Notes::default() };
        walk.value(self.at(place), value, &Pointer::root());
        walk.notes.into_vec()
    }

    /// Reads a value that fits, or says all that does not.
    pub fn read<T: DeserializeOwned>(&self, place: &str, value: &Json) -> Result<T, Vec<Note>> {
        let notes = self.check(place, value);
        if !notes.is_empty() {
            return Err(notes);
        }
        // `check` finds what serde would; should it not, the document must not be used all the same.
        let text = value.to_text();
        let reader = &mut serde_json::Deserializer::from_str(&text);
        serde_path_to_error::deserialize(reader).map_err(|error| {
            let message = error.inner().to_string();
            vec![Note::error("wrong_type", pointer(error.path()), message)]
        })
    }

    /// The keys that an object at this place of the schema may have.
    pub fn keys_of(&self, place: &str) -> Vec<&str> {
        properties(self.at(place)).collect()
    }

    fn at(&self, place: &str) -> &Json {
        Pointer::parse(place).and_then(|place| place.find(&self.schema)).unwrap_or(&Json::Null)
    }
}

/// The remark about a key that is not one of `known`.
pub fn unknown_key(key: &str, known: &[&str], path: Pointer) -> Note {
    Note::error("unknown_key", path, format!("unknown key `{}`; {}", excerpt(key), suggestion(key, known)))
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

fn pointer(path: &serde_path_to_error::Path) -> Pointer {
    path.iter().fold(Pointer::root(), |pointer, step| match step {
        Segment::Seq { index } => pointer.join(index),
        Segment::Map { key } => pointer.join(key),
        Segment::Enum { variant } => pointer.join(variant),
        Segment::Unknown => pointer,
    })
}

struct Walk<'a> {
    root: &'a Json,
    notes: Notes,
}

impl<'a> Walk<'a> {
    /// Nothing of a format is only worth a look. A remark that is not kept is not made: its words cost more than the walk.
    fn error(&mut self, note: impl FnOnce() -> Note) {
        self.notes.add(Severity::Error, note);
    }

    fn value(&mut self, schema: &'a Json, value: &Json, path: &Pointer) {
        let (schema, optional) = self.resolve(schema);
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

    fn wrong_type(&mut self, schema: &'a Json, expected: &str, value: &Json, path: &Pointer) {
        let example = schema.get("examples").and_then(Json::as_array).and_then(<[Json]>::first).and_then(Json::as_str);
        let expected = if expected == "integer" { "whole number from 0" } else { expected };
        self.error(|| {
            let example = example.map(|example| format!(" such as `{example}`")).unwrap_or_default();
            let message = format!("expected {expected}{example}, got {}", value.kind());
            Note::error("wrong_type", path.clone(), message)
        });
    }

    fn object(&mut self, schema: &'a Json, value: &Json, path: &Pointer) {
        let known: Vec<&str> = properties(schema).collect();
        for (key, member) in value.as_object().into_iter().flatten() {
            let at = path.join(key);
            match (
                schema.get("properties").and_then(|properties| properties.get(key)),
                schema.get("additionalProperties"),
            ) {
                (None, Some(Json::Bool(false))) => self.error(|| unknown_key(key, &known, at)),
                (Some(below), _) | (None, Some(below)) => self.value(below, member, &at),
                (None, None) => {}
            }
        }
        for required in schema.get("required").and_then(Json::as_array).unwrap_or_default() {
            if let Some(key) = required.as_str().filter(|key| value.get(key).is_none()) {
                self.error(|| Note::error("missing_key", path.clone(), format!("the key `{key}` is missing: add it")));
            }
        }
    }

    /// One of some words, or an object with one of some keys.
    fn choice(&mut self, choices: &'a [Json], value: &Json, path: &Pointer) {
        let words: Vec<&str> = choices.iter().flat_map(words).collect();
        let blocks: Vec<&str> = choices.iter().flat_map(properties).collect();
        let expected = || expectation(&words, &blocks);
        match value {
            Json::String(word) if words.contains(&&**word) => {}
            Json::String(word) if !words.is_empty() => self.error(|| {
                let (shown, expected, suggestion) = (excerpt(word), expected(), suggestion(word, &words));
                let message = format!("`{shown}` is not known here, expected {expected}; {suggestion}");
                Note::error("wrong_value", path.clone(), message)
            }),
            Json::Object(members) if !blocks.is_empty() => {
                for (key, member) in &**members {
                    match choices.iter().find_map(|choice| choice.get("properties")?.get(key)) {
                        Some(below) => self.value(below, member, &path.join(key)),
                        None => self.error(|| unknown_key(key, &blocks, path.join(key))),
                    }
                }
                if members.len() != 1 {
                    self.error(|| {
                        let message = format!("expected {}, got {} keys", expected(), members.len());
                        Note::error("wrong_value", path.clone(), message)
                    });
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
                self.error(|| {
                    let message = format!("expected {}, got {}", expected(), value.kind());
                    Note::error("wrong_type", path.clone(), message)
                });
            }
        }
    }

    /// Follows references, and takes "this or null" apart.
    fn resolve(&self, schema: &'a Json) -> (&'a Json, bool) {
        let (mut schema, mut optional) = (schema, false);
        loop {
            if let Some(definition) = schema.get("$ref").and_then(Json::as_str) {
                let target =
                    definition.strip_prefix('#').and_then(Pointer::parse).and_then(|path| path.find(self.root));
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

/// The type that is asked for, beside null.
fn type_name(schema: &Json) -> Option<&str> {
    let types = schema.get("type")?;
    types.as_str().or_else(|| types.as_array()?.iter().filter_map(Json::as_str).find(|name| *name != "null"))
}

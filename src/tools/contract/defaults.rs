//! Warns of defaults that break their own schema: whoever fills one in sends what is refused.

use crate::{
    document::Note,
    json::{Json, Object, Pointer},
    tools::schema::{Schema, SchemaOptions},
};

/// Keywords whose value is a schema.
const ONE: [&str; 3] = ["items", "additionalProperties", "not"];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is an object of schemas.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// What a part of a schema needs of its whole to be read in the same way.
const CONTEXT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// Most defaults that are tried: each costs a compilation.
const MOST: usize = 100;

/// The remarks on a proven schema; their paths start at the schema.
pub(super) fn check(schema: &Json, options: SchemaOptions) -> Vec<Note> {
    let mut found = Vec::new();
    collect(schema, &Pointer::root(), &mut found);
    found.into_iter().filter_map(|(path, part)| judge(schema, path, part, options)).collect()
}

fn collect<'a>(schema: &'a Json, path: &Pointer, found: &mut Vec<(Pointer, &'a Json)>) {
    let Some(keywords) = schema.as_object() else { return };
    if keywords.contains_key("default") && found.len() < MOST {
        found.push((path.join("default"), schema));
    }
    for (keyword, value) in keywords {
        let at = path.join(keyword);
        match value {
            _ if ONE.contains(&&**keyword) => collect(value, &at, found),
            Json::Array(parts) if LIST.contains(&&**keyword) => {
                parts.iter().enumerate().for_each(|(index, part)| collect(part, &at.join(index), found));
            }
            Json::Object(parts) if NAMED.contains(&&**keyword) => {
                parts.iter().for_each(|(name, part)| collect(part, &at.join(name), found));
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {}
        }
    }
}

fn judge(whole: &Json, path: Pointer, part: &Json, options: SchemaOptions) -> Option<Note> {
    let default = part.get("default")?;
    let context = CONTEXT.iter().filter_map(|key| Some(((*key).into(), whole.get(key)?.clone())));
    let alone: Object = context.chain([("allOf".into(), Json::Array(vec![part.clone()]))]).collect();
    // A part that refers outside of `$defs` cannot be read alone, and is let be.
    let (alone, _) = Schema::compile(Json::Object(alone), &options).ok()?;
    (!alone.is_valid(default)).then(|| {
        let message = "the default breaks its own schema and must not be filled in: correct one of them";
        Note::warning("broken_default", path, message)
    })
}

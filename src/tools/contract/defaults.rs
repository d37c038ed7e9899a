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

/// Most bytes of schema that are compiled for that: each compilation is one of the definitions, too.
const MOST_BYTES: usize = 1 << 20;

/// The remarks on a proven schema; their paths start at the schema.
pub(super) fn check(schema: &Json, options: SchemaOptions) -> Vec<Note> {
    let mut found = Vec::new();
    collect(schema, &Pointer::root(), &mut found);
    let context: Object = CONTEXT.iter().filter_map(|key| Some(((*key).into(), schema.get(key)?.clone()))).collect();
    let mut left = MOST_BYTES;
    let size = |value: &Json| value.to_text().len();
    let size_of_context = if found.is_empty() { 0 } else { context.values().map(size).sum::<usize>() };
    let affordable = found.into_iter().take_while(|(_, part)| {
        let rest = left.checked_sub(size_of_context + size(part));
        left = rest.unwrap_or_default();
        rest.is_some()
    });
    affordable.filter_map(|(path, part)| judge(&context, path, part, options)).collect()
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

fn judge(context: &Object, path: Pointer, part: &Json, options: SchemaOptions) -> Option<Note> {
    let default = part.get("default")?;
    let mut alone = context.clone();
    alone.insert("allOf".into(), Json::Array(vec![part.clone()]));
    // A part that refers outside of `$defs` cannot be read alone, and is let be.
    let (alone, _) = Schema::compile(Json::Object(alone), &options).ok()?;
    (!alone.is_valid(default)).then(|| {
        let message = "the default breaks its own schema and must not be filled in: correct one of them";
        Note::warning("broken_default", path, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    #[test]
    fn v3_a_hundred_defaults_do_not_compile_large_definitions_a_hundred_times() {
        let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
        let definitions = many(2_000, &|number| format!(r#""d{number}":{{"description":"{}"}}"#, "x".repeat(250)));
        let properties = many(100, &|number| format!(r#""p{number}":{{"type":"integer","default":"x"}}"#));
        let text = format!(r#"{{"properties":{{{properties}}},"$defs":{{{definitions}}}}}"#);
        let schema = parse(text.as_bytes(), &ParseLimits::wide()).unwrap();
        let start = std::time::Instant::now();
        let notes = check(&schema, SchemaOptions::default());
        // Generous: this is an unoptimised build.
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
        assert!((1..10).contains(&notes.len()), "as many as are affordable: {}", notes.len());
    }
}

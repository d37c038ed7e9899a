//! Warns of defaults that break their own schema: whoever fills one in sends what is refused.

use super::{Schema, SchemaOptions, structure::each_subschema};
use crate::{
    document::Note,
    json::{Json, Object, Pointer},
};

/// What a part of a schema needs of its whole to be read in the same way.
const CONTEXT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];

/// Most defaults that are tried: each costs a compilation.
const MOST: usize = 100;

/// Most bytes of schema that are compiled for that: each compilation is one of the definitions, too.
const MOST_BYTES: usize = 1 << 20;

/// The remarks on a proven schema; their paths start at the schema.
pub(super) fn check(schema: &Json, options: SchemaOptions) -> Vec<Note> {
    let mut found = Vec::new();
    each_subschema(schema, &mut |part, place| {
        if found.len() < MOST
            && let Some(default) = part.get("default")
        {
            found.push((place.join("default"), part, default));
        }
    });
    let context: Object = CONTEXT.iter().filter_map(|key| Some(((*key).into(), schema.get(key)?.clone()))).collect();
    let mut left = MOST_BYTES;
    let size = |part: &Object| part.values().map(|value| value.to_text().len()).sum::<usize>();
    let size_of_context = if found.is_empty() { 0 } else { size(&context) };
    let affordable = found.into_iter().take_while(|(_, part, _)| {
        let rest = left.checked_sub(size_of_context + size(part));
        left = rest.unwrap_or_default();
        rest.is_some()
    });
    affordable.filter_map(|(path, part, default)| judge(&context, path, part, default, options)).collect()
}

fn judge(context: &Object, path: Pointer, part: &Object, default: &Json, options: SchemaOptions) -> Option<Note> {
    let mut alone = context.clone();
    alone.insert("allOf".into(), Json::Array(vec![part.clone().into()]));
    // A part that refers outside of `$defs` cannot be read alone, and is let be.
    let (alone, _) = Schema::compile(&alone.into(), options).ok()?;
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
    fn defaults_are_judged_wherever_a_subschema_stands() {
        let bad = r#"{"type":"integer","default":"x"}"#;
        let text = format!(
            r#"{{"properties":{{"a":{bad}}},"prefixItems":[{bad}],"if":{bad},"contains":{bad},
                "dependentSchemas":{{"d":{bad}}},"const":{bad}}}"#
        );
        let schema = parse(text.as_bytes(), &ParseLimits::wide()).unwrap();
        let mut paths: Vec<_> =
            check(&schema, SchemaOptions::default()).iter().map(|note| note.path.to_string()).collect();
        paths.sort();
        let expected = ["contains", "dependentSchemas/d", "if", "prefixItems/0", "properties/a"];
        assert_eq!(paths, expected.map(|place| format!("/{place}/default")));
    }

    #[test]
    fn v3_a_hundred_defaults_do_not_compile_large_definitions_a_hundred_times() {
        let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
        let definitions = many(2_000, &|number| format!(r#""d{number}":{{"description":"{}"}}"#, "x".repeat(250)));
        let properties = many(100, &|number| format!(r#""p{number}":{{"type":"integer","default":"x"}}"#));
        let text = format!(r#"{{"properties":{{{properties}}},"$defs":{{{definitions}}}}}"#);
        let schema = parse(text.as_bytes(), &ParseLimits::wide()).unwrap();
        let notes = check(&schema, SchemaOptions::default());
        assert!((1..10).contains(&notes.len()), "as many as are affordable: {}", notes.len());
    }
}

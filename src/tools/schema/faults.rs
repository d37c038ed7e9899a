//! Everything that is wrong with a schema that the validator does not take: whoever mends it wants to know all of it at once,
//! each fault with its place and its remedy.

use std::collections::HashSet;

use jsonschema::{ValidationError, error::ValidationErrorKind};

use super::{
    dialect::Dialect,
    patterns::{is_pattern, patterns},
    reference::{Document, Reference},
    structure::{Place, alone, each_subschema},
};
use crate::{
    excerpt::excerpt,
    json::{Json, Object, Pointer},
    tools::Note,
};

/// The types that there are.
pub(super) const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

/// Characters of a reason in the validator's words, and of an address.
const MAX_REASON: usize = 300;

/// All faults: those that the proof has found, of which there may be none, and what else there is. `error` is what the
/// validator said, if it was asked.
pub(super) fn all(
    document: Document<'_>,
    dialect: Dialect,
    proven: Vec<Note>,
    error: Option<&ValidationError<'_>>,
) -> Vec<Note> {
    let places = proven.iter().map(|note| note.path.clone()).collect();
    let mut faults = Faults { document, dialect, places, notes: proven };
    let is_reference = error.is_some_and(|error| matches!(error.kind(), ValidationErrorKind::Referencing(_)));
    // Where parts have addresses of their own, only the validator knows for sure what a reference means.
    let knows_references = is_reference || !document.has_parts();
    each_subschema(document.root, &mut |keywords, place| {
        let before = faults.notes.len();
        faults.types(keywords, place);
        faults.patterns(keywords, place);
        if knows_references {
            faults.references(keywords, place);
        }
        faults.keywords(keywords, place, before);
    });
    if let Some(error) = error {
        let place = Pointer::parse(error.instance_path().as_str()).unwrap_or_default();
        if !faults.notes.iter().any(|note| note.path.is_within(&place)) {
            faults.broken(place, &error.to_string());
        }
    }
    faults.notes
}

struct Faults<'a> {
    document: Document<'a>,
    dialect: Dialect,
    /// Of each place, one thing is said.
    places: HashSet<Pointer>,
    notes: Vec<Note>,
}

impl Faults<'_> {
    fn add(&mut self, code: &'static str, place: Pointer, message: String) {
        if self.places.insert(place.clone()) {
            self.notes.push(Note::error(code, place, message));
        }
    }

    /// What the validator says, which repeats the value that it speaks of.
    fn broken(&mut self, place: Pointer, reason: &str) {
        self.add("broken_schema", place, format!("the schema is broken: {}", shortened(reason)));
    }

    /// Types that JSON Schema does not have, each with the one that was probably meant.
    fn types(&mut self, keywords: &Object, place: Place<'_>) {
        let names = match keywords.get("type") {
            Some(Json::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
            None => &[],
        };
        if let Some(name) = names.iter().filter_map(Json::as_str).find(|name| !TYPES.contains(name)) {
            let message = format!("`{}` is no type of JSON Schema: {}", excerpt(name), remedy_for_type(name));
            self.add("broken_schema", place.join("type"), message);
        }
    }

    fn patterns(&mut self, keywords: &Object, place: Place<'_>) {
        for (place, pattern) in patterns(keywords, place).filter(|(_, pattern)| !is_pattern(pattern)) {
            let shown = excerpt(pattern);
            self.add("broken_schema", place, format!("`{shown}` is no regular expression: correct it, or remove it"));
        }
    }

    /// References that lead out of the document. Those that lead nowhere in it, the proof has found.
    fn references(&mut self, keywords: &Object, place: Place<'_>) {
        for (keyword, reference) in self.document.references(keywords) {
            let place = place.join(keyword);
            let address = self.document.address(&place, reference);
            let leads_out = matches!(self.document.resolve_from(&place, reference), Reference::ByAddress);
            if !leads_out || self.dialect.knows(&address) {
                continue;
            }
            let shown = shortened(&address);
            if reference.starts_with('#') {
                let message =
                    format!("`{shown}` leads nowhere: give what it means that `$anchor`, or refer to it by its place");
                self.add("dangling_reference", place, message);
            } else {
                let message = format!(
                    "`{shown}` leads out of the schema, and the booth fetches no schemas: put what is referred to under `$defs`"
                );
                self.add("remote_reference", place, message);
            }
        }
    }

    /// What the meta-schema says of a schema's own keywords. Notes from `before` on are on the same keywords: they say more.
    fn keywords(&mut self, keywords: &Object, place: Place<'_>, before: usize) {
        for (inner, reason) in self.dialect.faults(&alone(keywords)) {
            let path = place.pointer().append(&inner);
            if !self.notes.iter().skip(before).any(|note| note.path.is_within(&path)) {
                self.broken(path, &reason);
            }
        }
    }
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(MAX_REASON).collect();
    if letters.next().is_some() { format!("{start}...") } else { start }
}

/// What to write instead of a type of another language.
fn remedy_for_type(name: &str) -> String {
    let meant = match name.to_ascii_lowercase().as_str() {
        "any" | "mixed" | "type_unspecified" => return "leave `type` out to allow any value".to_owned(),
        "dict" | "dictionary" | "map" | "struct" => "object",
        "list" | "tuple" | "set" => "array",
        "str" | "text" | "char" => "string",
        "int" | "long" => "integer",
        "float" | "double" | "decimal" => "number",
        "bool" => "boolean",
        "none" | "nil" => "null",
        _ => return format!("write one of {}", TYPES.join(", ")),
    };
    format!("write `{meant}`")
}

#[cfg(test)]
mod tests {
    use super::super::{Schema, SchemaOptions, tests::json};

    /// `code place` of each fault.
    fn faults(text: &str) -> Vec<String> {
        let notes = Schema::compile(&json(text), SchemaOptions::default()).map(drop).unwrap_err();
        notes.iter().map(|note| format!("{} {}", note.code, note.path)).collect()
    }

    #[test]
    fn v2_all_that_is_broken_is_said_at_once_each_with_its_place() {
        let text = r##"{"$schema":7,"type":"object","required":"a","minProperties":-1,"properties":{
            "a":{"type":"string","pattern":"("},
            "b":{"$ref":"#/$defs/none"},
            "c":{"$ref":"http://example.test/s.json"},
            "d":{"items":{"anyOf":[{"type":"dict"},{"type":["null","text"]},5]}},
            "e":{"maxLength":"5","minimum":"low","enum":7},
            "f":{"$ref":"#none"},
            "g":{"multipleOf":0},
            "h":{"$ref":"https://json-schema.org/draft/2020-12/schema"}},
            "patternProperties":{"[":{}},"$defs":[1]}"##;
        let mut found = faults(text);
        found.sort();
        let broken = [
            "/$defs",
            "/$schema",
            "/minProperties",
            "/patternProperties/[",
            "/properties/a/pattern",
            "/properties/d/items/anyOf/0/type",
            "/properties/d/items/anyOf/1/type",
            "/properties/d/items/anyOf/2",
            "/properties/e/enum",
            "/properties/e/maxLength",
            "/properties/e/minimum",
            "/properties/g/multipleOf",
            "/required",
        ];
        let mut expected: Vec<_> = broken.iter().map(|place| format!("broken_schema {place}")).collect();
        expected.extend(
            ["dangling_reference /properties/b/$ref", "dangling_reference /properties/f/$ref"].map(str::to_owned),
        );
        expected.push("remote_reference /properties/c/$ref".to_owned());
        assert_eq!(found, expected);
    }

    #[test]
    fn v2_faults_are_found_in_every_dialect_and_beside_those_of_the_proof() {
        for dialect in
            ["draft-04/schema#", "draft-06/schema#", "draft-07/schema#", "draft/2019-09/schema", "draft/2020-12/schema"]
        {
            let text = format!(
                r##"{{"$schema":"https://json-schema.org/{dialect}","properties":{{
                    "a":{{"allOf":[{{"$ref":"#/properties/a"}}]}},"b":{{"pattern":"("}},"c":{{"items":[{{"minLength":-1}}]}}}}}}"##
            );
            let found = faults(&text);
            for place in ["reference_cycle /properties/a/allOf/0/$ref", "broken_schema /properties/b/pattern"] {
                assert!(found.iter().any(|fault| fault == place), "{dialect}: {found:?}");
            }
            let in_items = |fault: &String| fault.starts_with("broken_schema /properties/c/items");
            assert!(found.iter().any(in_items), "{dialect}: {found:?}");
        }
    }

    #[test]
    fn v2_parts_with_addresses_of_their_own_hide_no_fault() {
        let text = r#"{"properties":{"a":{"$ref":"part"},"b":{"$ref":"none"},"c":{"minLength":-1}},
            "$defs":{"part":{"$id":"part","properties":{"d":{"$ref":"inner"}},"$defs":{"i":{"$id":"inner"}}}}}"#;
        assert_eq!(faults(text), ["broken_schema /properties/c/minLength"]);
        let references = text.replace("-1", "1");
        assert_eq!(faults(&references), ["remote_reference /properties/b/$ref"]);
    }

    #[test]
    fn v3_ten_thousand_faults_are_found_in_little_time() {
        let many: Vec<_> = (0..10_000).map(|at| format!(r#""p{at}":{{"type":"dict","minLength":-1}}"#)).collect();
        let limits = crate::json::ParseLimits { max_keys: 50_000, ..crate::json::ParseLimits::wide() };
        let source =
            crate::json::parse(format!(r#"{{"properties":{{{}}}}}"#, many.join(",")).as_bytes(), &limits).unwrap();
        let start = std::time::Instant::now();
        let notes = Schema::compile(&source, SchemaOptions::default()).map(drop).unwrap_err();
        // Generous: this is an unoptimised build.
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        assert_eq!((notes.len(), notes[100].message.as_str()), (101, "and 19900 more"));
    }

    #[test]
    fn v6_a_type_of_another_language_is_told_what_to_write_instead() {
        let text = r#"{"type":"object","properties":{"b":{"type":["dict","null"]},"c":{"type":"any"},"d":{"type":"colour"},
            "type":{"type":"string"}}}"#;
        let notes = Schema::compile(&json(text), SchemaOptions::default()).map(drop).unwrap_err();
        assert_eq!(
            notes.iter().map(|note| format!("{} {}", note.path, note.message)).collect::<Vec<_>>(),
            [
                "/properties/b/type `dict` is no type of JSON Schema: write `object`",
                "/properties/c/type `any` is no type of JSON Schema: leave `type` out to allow any value",
                "/properties/d/type `colour` is no type of JSON Schema: write one of null, boolean, number, integer, string, \
                 array, object",
            ]
        );
    }
}

//! A JSON Schema, proven once and asked often.
//!
//! The verdict comes from the `jsonschema` crate, over our exact values; the explanation of a refusal is our own walk over
//! the same schema, because a union's error must name the branch that was meant (rule V4).

mod compiled;
mod defaults;
mod dialect;
mod exact;
mod explain;
mod faults;
mod keywords;
mod normalise;
mod parts;
mod patterns;
mod plain;
mod proof;
mod proven;
mod reference;
mod secret;
mod shelf;
mod structure;

use std::{fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    document::Note,
    json::{Json, Pointer},
};

pub(in crate::tools) use compiled::Compiled;
pub use dialect::Dialect;
pub use explain::Explanation;
pub(in crate::tools) use explain::{is_of_type, types};
pub(in crate::tools) use parts::Judge;
pub(in crate::tools) use reference::{Document, Reference};
pub use secret::HIDDEN;
pub use shelf::Schemas;
use shelf::Shared;
pub(in crate::tools) use structure::{Place, each_subschema, subschemas};

/// How a schema is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemaOptions {
    /// Whether `format` is asserted, and not just noted.
    pub formats: bool,
    /// Whether what foreign schemas get wrong is read as what it can only mean, with a warning; else it is refused (rule V6).
    pub normalise: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self { formats: true, normalise: true }
    }
}

/// The stack of every thread that judges. Schemas and values are judged by recursion, bounded on both sides: 40 schemas one
/// inside the other at each of 64 levels of arguments, and the 8 MiB or less that a system gives its first thread are not
/// always enough.
pub const STACK_BYTES: usize = 64 << 20;

/// A proven schema. Cloning it is cheap, and so are equal ones of one [`Schemas`]: they are the same.
#[derive(Clone)]
pub struct Schema(Arc<Shared>);

impl Schema {
    /// Proves a schema that shares nothing with others. The paths of the notes are relative to it.
    ///
    /// # Errors
    /// The reasons to quarantine its tool.
    pub fn compile(source: &Json, options: SchemaOptions) -> Result<(Self, Vec<Note>), Vec<Note>> {
        Schemas::default().compile(source, options)
    }

    /// Whether the value satisfies the schema.
    pub fn is_valid(&self, value: &Json) -> bool {
        self.0.ask(|compiled| compiled.is_valid(value))
    }

    /// Whether that can be told in time. A value of which it cannot be told does not satisfy the schema (rule V3).
    pub fn can_judge(&self, value: &Json) -> bool {
        self.ask(|compiled| compiled.can_judge(value))
    }

    /// Why it does not. Empty if it does.
    pub fn explain(&self, value: &Json) -> Explanation {
        self.0.ask(
            |compiled| {
                if compiled.is_valid(value) { Explanation::default() } else { explain::explain(compiled, value) }
            },
        )
    }

    /// The same in the order and the words of pi (rule E6).
    pub fn explain_as_pi(&self, value: &Json) -> Explanation {
        self.ask(|compiled| {
            if compiled.is_valid(value) { Explanation::default() } else { explain::explain_as_pi(compiled, value) }
        })
    }

    /// Asks several things of the schema at once.
    pub(in crate::tools) fn ask<R>(&self, question: impl FnOnce(&Compiled) -> R) -> R {
        self.0.ask(question)
    }

    /// Whether the schema marks anything as `writeOnly` (rule E3).
    pub(in crate::tools) fn has_secrets(&self) -> bool {
        self.0.proven.has_secrets
    }

    /// The value without what the schema marks, and without what nothing in it declares, which may be the same in another place.
    pub(in crate::tools) fn without_secrets(&self, value: &Json) -> Json {
        self.0.ask(|compiled| secret::without_secrets(compiled.document(), value))
    }

    /// The schema as its author wrote it, as compact text.
    pub fn text(&self) -> &str {
        // It was written by us.
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// The compact text, as bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0.proven.text
    }

    /// Remarks on the defaults in it; their paths start at the schema, which this is.
    pub(in crate::tools) fn on_defaults(&self) -> Vec<Note> {
        self.0.proven.on_defaults().to_vec()
    }

    /// Where something stands for its author that stands here in the schema as it is read.
    pub(in crate::tools) fn authored_place(&self, place: Pointer) -> Pointer {
        self.0.proven.authored_place(place)
    }

    /// The dialect that it is read in.
    pub fn dialect(&self) -> Dialect {
        self.0.proven.dialect
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dialect, options) = (self.0.proven.dialect, self.0.proven.options);
        f.debug_struct("Schema").field("dialect", &dialect).field("options", &options).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        json::{ParseLimits, parse},
        tools::Severity,
    };

    pub(crate) fn json(text: &str) -> Json {
        parse(text.as_bytes(), &ParseLimits { max_depth: 200, ..ParseLimits::wide() }).unwrap()
    }

    pub(crate) fn schema(text: &str) -> Schema {
        Schema::compile(&json(text), SchemaOptions::default()).unwrap().0
    }

    fn refusal(text: &str) -> (&'static str, String) {
        let notes = Schema::compile(&json(text), SchemaOptions::default()).unwrap_err();
        (notes[0].code, notes[0].path.to_string())
    }

    #[test]
    fn v5_values_are_judged_exactly_on_both_sides() {
        for (schema_text, value, valid) in [
            (r#"{"type":"integer"}"#, "9007199254740993.5", false),
            (r#"{"type":"integer"}"#, "1.0", true),
            (r#"{"enum":[12345678901234567890]}"#, "12345678901234567891", false),
            (r#"{"enum":[123456789012345678901]}"#, "123456789012345678902", false),
            (r#"{"enum":[123456789012345678901]}"#, "123456789012345678901", true),
            (r#"{"enum":[{"a":[123456789012345678901]}]}"#, r#"{"a":[123456789012345678902]}"#, false),
            (r#"{"const":123456789012345678901}"#, "123456789012345678900", false),
            (r#"{"maximum":123456789012345678901}"#, "123456789012345678902", false),
            (r#"{"maximum":123456789012345678901}"#, "123456789012345678901", true),
            (r#"{"exclusiveMinimum":0.1}"#, "0.1", false),
            (r#"{"exclusiveMinimum":0.1}"#, "0.10000000000000000001", true),
            (r#"{"multipleOf":0.01}"#, "4.35", true),
            (r#"{"uniqueItems":true}"#, "[123456789012345678901,123456789012345678902]", true),
            (r#"{"uniqueItems":true}"#, "[1,1.0]", false),
        ] {
            assert_eq!(schema(schema_text).is_valid(&json(value)), valid, "{value} under {schema_text}");
        }
    }

    #[test]
    fn v2_schemas_that_can_never_be_judged_are_refused_with_their_place() {
        assert_eq!(refusal(r#"{"properties":{"p":{"pattern":"("}}}"#).1, "/properties/p/pattern");
        assert_eq!(
            refusal(r#"{"properties":{"a":{"$ref":"http://example.test/s.json"}}}"#),
            ("remote_reference", "/properties/a/$ref".into())
        );
        assert_eq!(
            refusal(r##"{"properties":{"a":{"$ref":"#/$defs/X"}}}"##),
            ("dangling_reference", "/properties/a/$ref".into())
        );
        assert_eq!(refusal(r##"{"allOf":[{"$ref":"#"}]}"##), ("reference_cycle", "/allOf/0/$ref".into()));
        assert_eq!(refusal(r#"{"properties":[1]}"#).1, "/properties");
        let deep = format!("{}1{}", r#"{"not":"#.repeat(130), "}".repeat(130));
        assert_eq!(refusal(&deep).0, "schema_too_deep");
    }

    #[test]
    fn v2_a_broken_schema_is_not_repeated_whole() {
        let text = format!(r#"{{"properties":["{}"]}}"#, "x".repeat(100_000));
        let notes = Schema::compile(&json(&text), SchemaOptions::default()).unwrap_err();
        assert!(notes[0].message.len() < 400, "{}", notes[0].message.len());
    }

    #[test]
    fn v3_a_schema_with_ten_thousand_faults_names_a_hundred_and_counts_the_rest() {
        let text = format!(r#"{{"allOf":[{}]}}"#, vec![r##"{"$ref":"#/x"}"##; 10_000].join(","));
        let limits = ParseLimits { max_keys: 20_000, ..ParseLimits::default() };
        let notes = Schema::compile(&parse(text.as_bytes(), &limits).unwrap(), SchemaOptions::default()).unwrap_err();
        assert_eq!(notes.len(), 101);
        assert_eq!((notes[100].code, notes[100].message.as_str()), ("dangling_reference", "and 9900 more"));
    }

    /// A schema of `references` definitions in a row, each with a tower of `keyword` around the next, the last one
    /// around a description of members that goes round.
    fn tower(references: usize, keyword: &str, height: usize) -> String {
        let (open, close) = match keyword {
            "not" => ("{\"not\":", "}"),
            "allOf" => ("{\"allOf\":[", "]}"),
            _ => (r#"{"maxProperties":9,"oneOf":["#, r#",{"const":2}],"unevaluatedProperties":{"maximum":3}}"#),
        };
        let around = |inner: &str| format!("{}{inner}{}", open.repeat(height), close.repeat(height));
        let definitions: Vec<String> = (1..references)
            .map(|number| format!(r#""d{number}":{}"#, around(&format!(r##"{{"$ref":"#/$defs/d{}"}}"##, number + 1))))
            .chain([format!(r##""d{references}":{{"properties":{{"a":{{"$ref":"#"}}}},"not":{{"const":1}}}}"##)])
            .collect();
        format!(r##"{{"$ref":"#/$defs/d1","$defs":{{{}}}}}"##, definitions.join(","))
    }

    /// Runs on a thread with the stack that `main` gives the booth: unoptimised frames are large.
    fn on_the_booths_stack(run: impl FnOnce() + Send + 'static) {
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap();
    }

    #[test]
    fn v2_nesting_and_references_together_are_bounded() {
        for (references, keyword, height) in [(99, "not", 100), (20, "not", 50), (5, "allOf", 50), (42, "not", 0)] {
            assert_eq!(refusal(&tower(references, keyword, height)).0, "schema_too_deep", "{references} {keyword}");
        }
    }

    #[test]
    fn v2_the_highest_tower_that_is_taken_judges_and_explains_the_deepest_value() {
        on_the_booths_stack(|| {
            for (references, keyword, height) in
                [(19, "allOf", 1), (38, "not", 0), (4, "allOf", 11), (2, "oneOf", 3), (5, "oneOf", 1)]
            {
                let schema = schema(&tower(references, keyword, height));
                // A shim can nest four times as deep as the parser allows.
                let value = (0..256).fold(Json::from(1), |value, _| Json::object([("a", value)]));
                assert!(schema.explain(&value).count >= 1, "{references} {keyword}");
            }
        });
    }

    #[test]
    fn v3_what_judges_the_same_value_again_and_again_is_refused() {
        let fan = |levels: usize| {
            let refers = |level| vec![format!(r##"{{"$ref":"#/$defs/d{level}"}}"##); 3].join(",");
            let definitions: Vec<String> =
                (0..levels).map(|level| format!(r#""d{level}":{{"allOf":[{}]}}"#, refers(level + 1))).collect();
            format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{levels}":{{"maximum":1}}}}}}"##, definitions.join(","))
        };
        assert!(schema(&fan(7)).is_valid(&json("1")));
        assert_eq!(refusal(&fan(8)).0, "schema_too_large");
        assert_eq!(refusal(&fan(19)).0, "schema_too_large");
    }

    #[test]
    fn v2_recursion_through_the_instance_is_no_cycle() {
        let tree = schema(r##"{"type":"object","properties":{"child":{"$ref":"#"}},"additionalProperties":false}"##);
        assert!(tree.is_valid(&json(r#"{"child":{"child":{}}}"#)));
        assert!(!tree.is_valid(&json(r#"{"child":{"child":1}}"#)));
    }

    #[test]
    fn v3_look_around_is_a_noted_choice_and_bounded() {
        let text = r#"{"type":"string","pattern":"^(?=.*[0-9]).+$"}"#;
        let (schema, notes) = Schema::compile(&json(text), SchemaOptions::default()).unwrap();
        assert_eq!(
            notes.iter().map(|note| (note.code, note.severity, note.path.to_string())).collect::<Vec<_>>(),
            [("backtracking_pattern", Severity::Info, "/pattern".into())]
        );
        assert!(schema.is_valid(&json("\"a1\"")));
        assert!(!schema.is_valid(&json("\"aa\"")));
    }

    #[test]
    fn v3_piles_of_unevaluated_keywords_are_refused_because_they_take_time_without_end() {
        let pile = |height: usize| {
            let (open, close) = (r#"{"oneOf":["#, r#",{"const":2}],"unevaluatedProperties":false}"#);
            format!(r#"{}{{"properties":{{"a":true}}}}{}"#, open.repeat(height), close.repeat(height))
        };
        assert!(schema(&pile(5)).is_valid(&json(r#"{"a":1}"#)));
        assert_eq!(refusal(&pile(18)).0, "schema_too_deep");
    }

    #[test]
    fn v1_formats_are_asserted_unless_turned_off() {
        let text = r#"{"format":"date-time"}"#;
        assert!(!schema(text).is_valid(&json("\"yesterday\"")));
        let (loose, _) =
            Schema::compile(&json(text), SchemaOptions { formats: false, ..SchemaOptions::default() }).unwrap();
        assert!(loose.is_valid(&json("\"yesterday\"")));
    }
}

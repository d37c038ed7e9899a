//! A JSON Schema, proven once and asked often.
//!
//! The verdict comes from the `jsonschema` crate, over our exact values; the explanation of a refusal is our own walk over
//! the same schema, because a union's error must name the branch that was meant (rule V4).

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
mod reference;
mod secret;
mod structure;

use std::{fmt, sync::OnceLock};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::{
    document::{Note, Severity, capped},
    json::Json,
};

use dialect::Detected;
pub use dialect::Dialect;
use exact::Exact;
pub use explain::Explanation;
pub(in crate::tools) use explain::{is_of_type, types};
use normalise::Normalised;
pub(in crate::tools) use parts::Judge;
use parts::Parts;
use reference::Names;
pub(in crate::tools) use reference::{Document, Reference};
pub use secret::HIDDEN;
pub(in crate::tools) use structure::each_subschema;

/// How a schema is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Steps that the backtracking engine may take for one match (rule V3).
const BACKTRACK_LIMIT: usize = 10_000;

/// A proven schema.
pub struct Schema {
    source: Json,
    /// `None`: it is the source.
    authored: Option<Json>,
    names: Names,
    dialect: Dialect,
    options: SchemaOptions,
    has_secrets: bool,
    /// Made at the first question if nothing is left that making it could prove: of many tools few are called. `None`: it was
    /// refused then after all, and so is every value.
    validator: Made,
    /// What was asked about parts of values.
    parts: OnceLock<Box<Parts>>,
}

type Made = OnceLock<Option<Validator<Exact>>>;

impl Schema {
    /// Compiles and proves a schema. The paths of the notes are relative to it.
    ///
    /// # Errors
    /// The reasons to quarantine its tool.
    pub fn compile(source: Json, options: &SchemaOptions) -> Result<(Self, Vec<Note>), Vec<Note>> {
        match Self::build(source, *options) {
            Ok((schema, notes)) => Ok((schema, capped(notes))),
            Err(notes) => Err(capped(notes)),
        }
    }

    fn build(source: Json, options: SchemaOptions) -> Result<(Self, Vec<Note>), Vec<Note>> {
        proof::bounded(&source)?;
        let mut normalised = Normalised::of(source, options.normalise);
        let Detected { dialect, mut is_accepted, mut notes } = dialect::detect(&normalised.schema);
        if !is_accepted && dialect > Dialect::Draft4 && normalised.take_limits_of_draft_4() {
            is_accepted = dialect.accepts(&normalised.schema);
        }
        let Normalised { schema: source, authored, notes: of_foreign, moved, .. } = normalised;
        let names = Names::of(&source, dialect);
        let proven = proven(Document { root: &source, names: &names }, dialect, is_accepted, options);
        let (validator, found) = match proven {
            Ok((validator, found)) => (Some(validator), found),
            Err(faults) => (None, faults),
        };
        notes.extend(found.into_iter().map(|note| Note { path: moved.authored(note.path), ..note }));
        notes.extend(of_foreign);
        let Some(validator) = validator.filter(|_| notes.iter().all(|note| note.severity != Severity::Error)) else {
            notes.sort_by_key(|note| note.severity);
            return Err(notes);
        };
        let has_secrets = secret::has_secrets(&source);
        Ok((Self { source, authored, names, dialect, options, has_secrets, validator, parts: OnceLock::new() }, notes))
    }

    fn validator(&self) -> Option<&Validator<Exact>> {
        let make = || linear(&structure::to_value(&self.source, self.dialect), self.dialect, self.options).ok();
        self.validator.get_or_init(make).as_ref()
    }

    /// Whether the value satisfies the schema.
    pub fn is_valid(&self, value: &Json) -> bool {
        self.validator().is_some_and(|validator| validator.is_valid(value))
    }

    /// Why it does not. Empty if it does.
    pub fn explain(&self, value: &Json) -> Explanation {
        if self.is_valid(value) { Explanation::default() } else { explain::explain(self, value) }
    }

    /// The same in the order and the words of pi (rule E6).
    pub fn explain_as_pi(&self, value: &Json) -> Explanation {
        if self.is_valid(value) { Explanation::default() } else { explain::explain_as_pi(self, value) }
    }

    /// The value without what the schema marks as `writeOnly` (rule E3).
    pub fn without_secrets(&self, value: &Json) -> Json {
        if self.has_secrets { secret::without_secrets(self.document(), value) } else { value.clone() }
    }

    /// Whether the schema marks anything as `writeOnly`.
    pub fn has_secrets(&self) -> bool {
        self.has_secrets
    }

    /// The schema as it is read: what its author wrote, but for what foreign schemas get wrong (rule V6).
    pub fn source(&self) -> &Json {
        &self.source
    }

    /// The schema as its author wrote it.
    pub fn authored(&self) -> &Json {
        self.authored.as_ref().unwrap_or(&self.source)
    }

    fn parts(&self) -> &Parts {
        self.parts.get_or_init(Box::default)
    }

    pub(in crate::tools) fn document(&self) -> Document<'_> {
        Document { root: &self.source, names: &self.names }
    }

    /// The dialect that it is read in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// The validator of a schema, made at once or left for later, and what is worth knowing of it. The error is everything that is
/// wrong.
fn proven(
    document: Document<'_>,
    dialect: Dialect,
    is_accepted: bool,
    options: SchemaOptions,
) -> Result<(Made, Vec<Note>), Vec<Note>> {
    let against = proof::prove(document, dialect);
    if !against.is_empty() {
        return Err(faults::all(document, dialect, against, None));
    }
    if is_accepted && plain::is_plain(document, dialect) {
        return Ok((OnceLock::new(), Vec::new()));
    }
    let (validator, notes) = compiled(document, dialect, options)?;
    Ok((OnceLock::from(Some(validator)), notes))
}

/// The validator, and the patterns that need the slower of the two engines.
fn compiled(
    document: Document<'_>,
    dialect: Dialect,
    options: SchemaOptions,
) -> Result<(Validator<Exact>, Vec<Note>), Vec<Note>> {
    let value = structure::to_value(document.root, dialect);
    if let Ok(validator) = linear(&value, dialect, options) {
        return Ok((validator, Vec::new()));
    }
    // Only a pattern can make the difference between the two engines.
    let backtracking = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
    let validator = dialect.options(options).with_pattern_options(backtracking).build(&value);
    let validator = validator.map_err(|error| faults::all(document, dialect, Vec::new(), Some(&error)))?;
    Ok((validator, patterns::backtracking(document.root)))
}

fn linear(
    schema: &Value,
    dialect: Dialect,
    options: SchemaOptions,
) -> Result<Validator<Exact>, ValidationError<'static>> {
    dialect.options(options).with_pattern_options(PatternOptions::regex()).build(schema)
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("dialect", &self.dialect).field("options", &self.options).finish_non_exhaustive()
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
        Schema::compile(json(text), &SchemaOptions::default()).unwrap().0
    }

    fn refusal(text: &str) -> (&'static str, String) {
        let notes = Schema::compile(json(text), &SchemaOptions::default()).unwrap_err();
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
        let notes = Schema::compile(json(&text), &SchemaOptions::default()).unwrap_err();
        assert!(notes[0].message.len() < 400, "{}", notes[0].message.len());
    }

    #[test]
    fn v3_a_schema_with_ten_thousand_faults_names_a_hundred_and_counts_the_rest() {
        let text = format!(r#"{{"allOf":[{}]}}"#, vec![r##"{"$ref":"#/x"}"##; 10_000].join(","));
        let limits = ParseLimits { max_keys: 20_000, ..ParseLimits::default() };
        let notes = Schema::compile(parse(text.as_bytes(), &limits).unwrap(), &SchemaOptions::default()).unwrap_err();
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
    fn v2_recursion_through_the_instance_is_no_cycle() {
        let tree = schema(r##"{"type":"object","properties":{"child":{"$ref":"#"}},"additionalProperties":false}"##);
        assert!(tree.is_valid(&json(r#"{"child":{"child":{}}}"#)));
        assert!(!tree.is_valid(&json(r#"{"child":{"child":1}}"#)));
    }

    #[test]
    fn v3_look_around_is_a_noted_choice_and_bounded() {
        let text = r#"{"type":"string","pattern":"^(?=.*[0-9]).+$"}"#;
        let (schema, notes) = Schema::compile(json(text), &SchemaOptions::default()).unwrap();
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
            Schema::compile(json(text), &SchemaOptions { formats: false, ..SchemaOptions::default() }).unwrap();
        assert!(loose.is_valid(&json("\"yesterday\"")));
    }
}

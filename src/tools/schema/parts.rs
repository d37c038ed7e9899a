//! Verdicts about parts of a value: whether it satisfies a subschema, with everything that it refers to (rule C2).
//!
//! A subschema is compiled when it is first asked, and few ever are: those on the way to a value that was refused.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use ahash::RandomState;
use jsonschema::{Registry, Validator};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{Compiled, Dialect, exact::Exact, proven::Engine, structure};
use crate::json::{Json, Number, Object, Pointer};

/// The address under which the whole schema is known to its parts.
const WHOLE: &str = "json-schema:///whole";
/// What a fragment of an address does not hold as it is: rather too much, because a part whose address is none is unknown.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/');
/// Subschemas that are kept compiled; beyond it they are forgotten, all at once.
const MAX_KEPT: usize = 512;
/// Subschemas that are compiled for one value, each in a tenth of a millisecond (rule V3).
const MAX_ASKED: usize = 250;
/// Keywords that say nothing about a value.
const SILENT: [&str; 9] =
    ["$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly"];

/// The compiled subschemas of one schema, by where in memory each stands.
#[derive(Default)]
pub(super) struct Parts {
    whole: OnceLock<Option<Registry<'static>>>,
    kept: RwLock<Arc<ByAddress>>,
}

/// By where each stands in memory, which nobody outside can choose.
type ByAddress = HashMap<usize, Part, RandomState>;

#[derive(Clone)]
enum Part {
    /// Only the kind of a value matters, as with most.
    OfKinds(Vec<KindName>),
    Compiled(Arc<Validator<Exact>>),
    /// It does not compile alone: nothing is known of it, and so no value is converted because of it.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KindName {
    Kind(&'static str),
    Integer,
}

/// Asks a schema about parts of one value.
pub(in crate::tools) struct Judge<'a> {
    schema: &'a Compiled,
    kept: Arc<ByAddress>,
    /// What was compiled for this value.
    made: ByAddress,
    /// The compiled subschemas that this value was asked about. They are counted whether they were kept or not: the same value is
    /// always converted, or never.
    asked: HashSet<usize, RandomState>,
}

impl<'a> Judge<'a> {
    pub(in crate::tools) fn of(schema: &'a Compiled) -> Self {
        let kept = Arc::clone(&schema.parts().kept.read().unwrap_or_else(PoisonError::into_inner));
        Self { schema, kept, made: ByAddress::default(), asked: HashSet::default() }
    }

    /// Whether the value satisfies a subschema that stands in the schema.
    pub(in crate::tools) fn accepts(&mut self, part: &'a Json, value: &Json) -> bool {
        if let Json::Bool(verdict) = part {
            return *verdict;
        }
        if std::ptr::eq(part, self.schema.source()) {
            return self.schema.is_valid(value);
        }
        self.ask(std::ptr::from_ref(part).addr(), |schema| compiled(schema, part), value)
    }

    /// Whether a member's name matches a key of `patternProperties`.
    pub(in crate::tools) fn name_matches(&mut self, pattern: &'a Arc<str>, name: &str) -> bool {
        let alone = |schema: &Compiled| of_document(schema, &json!({ "pattern": &**pattern }), None);
        self.ask(std::ptr::from_ref(pattern).addr(), alone, &Json::from(name))
    }

    /// Whether it was asked about more than it has time for. From then on it accepts everything, so that nothing is converted
    /// because of it; what was converted before must not be kept.
    pub(in crate::tools) fn gave_up(&self) -> bool {
        self.asked.len() > MAX_ASKED
    }

    fn ask(&mut self, address: usize, make: impl FnOnce(&Compiled) -> Part, value: &Json) -> bool {
        if self.gave_up() {
            return true;
        }
        let part = match self.kept.get(&address) {
            Some(part) => part,
            None => self.made.entry(address).or_insert_with(|| make(self.schema)),
        };
        if let Part::Compiled(_) = part {
            self.asked.insert(address);
        }
        part.accepts(value)
    }
}

/// What was made for one value is there for the next ones.
impl Drop for Judge<'_> {
    fn drop(&mut self) {
        if self.made.is_empty() {
            return;
        }
        let mut kept = self.schema.parts().kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + self.made.len() > MAX_KEPT {
            *kept = Arc::default();
        }
        Arc::make_mut(&mut kept).extend(self.made.drain());
    }
}

impl Part {
    fn accepts(&self, value: &Json) -> bool {
        match self {
            Self::OfKinds(kinds) => kinds.iter().any(|kind| match kind {
                KindName::Kind(name) => value.kind().name() == *name,
                KindName::Integer => value.as_number().is_some_and(Number::is_integer),
            }),
            Self::Compiled(validator) => validator.is_valid(value),
            Self::Unknown => true,
        }
    }
}

fn compiled(schema: &Compiled, part: &Json) -> Part {
    if let Some(kinds) = part.as_object().and_then(|keywords| only_kinds(keywords, schema.dialect())) {
        return Part::OfKinds(kinds);
    }
    let Some(place) = place_of(schema.source(), part) else { return Part::Unknown };
    let whole = schema.parts().whole.get_or_init(|| whole(schema)).as_ref();
    let fragment = place.to_string();
    let address = format!("{WHOLE}#{}", utf8_percent_encode(&fragment, RESERVED));
    of_document(schema, &json!({ "$ref": address }), whole)
}

/// The kinds that a subschema asks for, if it asks for nothing else. In draft 4 the spelling of an integer matters, too.
fn only_kinds(keywords: &Object, dialect: Dialect) -> Option<Vec<KindName>> {
    let is_plain = keywords.keys().all(|keyword| &**keyword == "type" || SILENT.contains(&&**keyword));
    if !is_plain || dialect == Dialect::Draft4 {
        return None;
    }
    let asked = keywords.get("type")?;
    let names = asked.as_array().unwrap_or_else(|| std::slice::from_ref(asked));
    let kind = |name: &Json| match name.as_str()? {
        "integer" => Some(KindName::Integer),
        other => ["null", "boolean", "number", "string", "array", "object"]
            .into_iter()
            .find(|known| *known == other)
            .map(KindName::Kind),
    };
    names.iter().map(kind).collect()
}

/// Where a subschema stands, for it is known by its address only. A reference may lead to any place, not only where schemas are
/// expected to stand.
fn place_of(source: &Json, part: &Json) -> Option<Pointer> {
    if std::ptr::eq(source, part) {
        return Some(Pointer::root());
    }
    let below =
        |(step, inner): (&dyn fmt::Display, &Json)| Some(Pointer::root().join(step).append(&place_of(inner, part)?));
    match source {
        Json::Array(items) => items.iter().enumerate().find_map(|(position, item)| below((&position, item))),
        Json::Object(members) => members.iter().find_map(|(name, member)| below((name, member))),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
    }
}

fn whole(schema: &Compiled) -> Option<Registry<'static>> {
    let value = structure::to_value(schema.source(), schema.dialect());
    let known = Registry::new().draft(schema.dialect().draft()).retrieve_known_draft_meta_schemas(false);
    known.add(WHOLE, value).ok()?.prepare().ok()
}

fn of_document(schema: &Compiled, document: &Value, whole: Option<&Registry<'_>>) -> Part {
    let building = Engine::Backtracking.building(schema.dialect(), schema.options);
    let built = match whole {
        Some(whole) => building.with_registry(whole).build(document),
        None => building.build(document),
    };
    built.map_or(Part::Unknown, |validator| Part::Compiled(Arc::new(validator)))
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::schema, *};

    fn accepts(text: &str, place: &str, value: &str) -> bool {
        let schema = schema(text);
        let part = Pointer::parse(place).unwrap();
        let value = super::super::tests::json(value);
        schema.ask(|schema| Judge::of(schema).accepts(part.find(schema.source()).unwrap(), &value))
    }

    #[test]
    fn c2_a_part_is_judged_with_all_that_it_refers_to() {
        let text = r##"{"components":{"any place":{"multipleOf":2}},"patternProperties":{"^[ü|{}\\\\]`":{"multipleOf":2}},
            "$defs":{"even":{"multipleOf":2},"a b/c":{"$ref":"#/$defs/even"}},
            "properties":{"n":{"$ref":"#/$defs/even"},"m":{"$ref":"#/properties/n"},"kind":{"type":["integer","null"]},
                          "s":{"type":"string","pattern":"^(?=a)"},"again":{"type":"object","properties":{"b":{"$ref":"#"}}}}}"##;
        for (place, value, accepted) in [
            ("/properties/n", "4", true),
            ("/properties/n", "3", false),
            ("/properties/m", "3", false),
            ("/$defs/a b~1c", "3", false),
            ("/$defs/a b~1c", "4", true),
            ("/properties/kind", "1.0", true),
            ("/properties/kind", "1.5", false),
            ("/properties/kind", "null", true),
            ("/properties/s", r#""ab""#, true),
            ("/properties/s", r#""b""#, false),
            ("/properties/again", r#"{"b":{"n":3}}"#, false),
            ("/properties/again", r#"{"b":{"n":4}}"#, true),
            ("/patternProperties/^[ü|{}\\\\]`", "4", true),
            ("/patternProperties/^[ü|{}\\\\]`", "3", false),
            ("/components/any place", "3", false),
            ("", r#"{"n":4}"#, true),
        ] {
            assert_eq!(accepts(text, place, value), accepted, "{value} at {place}");
        }
    }

    #[test]
    fn c2_a_part_inside_of_a_document_of_its_own_means_that_one_by_its_references() {
        let text = r##"{"$id":"http://e.test/root","properties":{"a":{"$id":"part","properties":{"n":{"$ref":"#/$defs/n"}},
            "$defs":{"n":{"type":"string"}}}},"$defs":{"n":{"type":"integer"}}}"##;
        assert!(accepts(text, "/properties/a", r#"{"n":"x"}"#));
        assert!(accepts(text, "/properties/a/properties/n", r#""x""#));
        assert!(!accepts(text, "/properties/a/properties/n", "1"));
    }

    #[test]
    fn v5_a_part_is_judged_by_exact_numbers() {
        let text = r#"{"properties":{"n":{"enum":[123456789012345678901]}}}"#;
        assert!(accepts(text, "/properties/n", "123456789012345678901"));
        assert!(!accepts(text, "/properties/n", "123456789012345678902"));
    }
}

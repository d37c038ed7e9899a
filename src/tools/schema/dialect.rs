//! Which JSON Schema dialect a schema is written in (rule V1).

use jsonschema::{Draft, ValidationOptions};

use super::{SchemaOptions, exact::Exact, keywords, structure};
use crate::{
    excerpt::excerpt,
    json::{Json, Pointer},
    tools::Note,
};

/// The dialects that the booth knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// Draft 4.
    Draft4,
    /// Draft 6.
    Draft6,
    /// Draft 7.
    Draft7,
    /// 2019-09.
    Draft201909,
    /// 2020-12: the default.
    Draft202012,
}

/// Name, draft and address of each dialect.
const DIALECTS: [(Dialect, &str, Draft, &str); 5] = [
    (Dialect::Draft4, "draft-04", Draft::Draft4, "http://json-schema.org/draft-04/schema"),
    (Dialect::Draft6, "draft-06", Draft::Draft6, "http://json-schema.org/draft-06/schema"),
    (Dialect::Draft7, "draft-07", Draft::Draft7, "http://json-schema.org/draft-07/schema"),
    (Dialect::Draft201909, "2019-09", Draft::Draft201909, "https://json-schema.org/draft/2019-09/schema"),
    (Dialect::Draft202012, "2020-12", Draft::Draft202012, "https://json-schema.org/draft/2020-12/schema"),
];

impl Dialect {
    /// Its name, for example `draft-07`.
    pub fn name(self) -> &'static str {
        DIALECTS.iter().find(|(dialect, ..)| *dialect == self).map_or("2020-12", |(_, name, ..)| name)
    }

    /// The dialect of a `$schema`, whatever its scheme and with or without `#`.
    pub(super) fn from_address(address: &str) -> Option<Self> {
        let bare = |address: &str| {
            address.trim_end_matches('#').trim_start_matches("https").trim_start_matches("http").to_owned()
        };
        DIALECTS.iter().find(|(.., known)| bare(known) == bare(address)).map(|(dialect, ..)| *dialect)
    }

    pub(super) fn draft(self) -> Draft {
        DIALECTS.iter().find(|(dialect, ..)| *dialect == self).map_or(Draft::Draft202012, |(_, _, draft, _)| *draft)
    }

    /// How the validator is built: offline, with exact numbers.
    pub(super) fn options<'i>(
        self,
        options: SchemaOptions,
    ) -> ValidationOptions<'i, std::sync::Arc<dyn jsonschema::Retrieve>, Exact> {
        let base = jsonschema::options_for::<Exact>()
            .offline()
            .with_draft(self.draft())
            .should_validate_formats(options.formats)
            .should_ignore_unknown_formats(true);
        keywords::register(base, self)
    }

    fn accepts(self, schema: &Json) -> bool {
        let value = structure::to_value(schema, self);
        match self {
            Self::Draft4 => jsonschema::draft4::meta::is_valid(&value),
            Self::Draft6 => jsonschema::draft6::meta::is_valid(&value),
            Self::Draft7 => jsonschema::draft7::meta::is_valid(&value),
            Self::Draft201909 => jsonschema::draft201909::meta::is_valid(&value),
            Self::Draft202012 => jsonschema::draft202012::meta::is_valid(&value),
        }
    }
}

/// What is known of a schema before it is looked into.
pub(super) struct Detected {
    pub(super) dialect: Dialect,
    /// Whether the meta-schema of the dialect accepts it.
    pub(super) is_accepted: bool,
    pub(super) notes: Vec<Note>,
}

/// Finds the dialect: what `$schema` says; else 2020-12, unless only an older one accepts the schema.
pub(super) fn detect(schema: &Json) -> Result<Detected, Vec<Note>> {
    let place = Pointer::root().join("$schema");
    let mut notes = Vec::new();
    match schema.get("$schema") {
        Some(Json::String(address)) => match Dialect::from_address(address) {
            Some(dialect) => return Ok(Detected { dialect, is_accepted: dialect.accepts(schema), notes }),
            None => notes.push(Note::warning(
                "unknown_dialect",
                place,
                format!(
                    "`$schema` names no dialect that the booth knows ({}); the schema is read as 2020-12",
                    excerpt(address)
                ),
            )),
        },
        Some(other) => {
            let message = format!("`$schema` must be a string, not {}", other.kind());
            return Err(vec![Note::error("broken_schema", place, message)]);
        }
        None => {}
    }
    if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
        let message = format!("a schema is an object, not {}", schema.kind());
        return Err(vec![Note::error("broken_schema", Pointer::root(), message)]);
    }
    let is_accepted = Dialect::Draft202012.accepts(schema);
    let older = [Dialect::Draft7, Dialect::Draft4];
    if !is_accepted && let Some(dialect) = older.into_iter().find(|dialect| dialect.accepts(schema)) {
        let message = format!(
            "only {} accepts this schema, so it is read as that; say so with `$schema`, or rewrite it for 2020-12",
            dialect.name()
        );
        notes.push(Note::warning("older_dialect", Pointer::root(), message));
        return Ok(Detected { dialect, is_accepted: true, notes });
    }
    Ok(Detected { dialect: Dialect::Draft202012, is_accepted, notes })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::json, *};

    fn dialect(text: &str) -> (&'static str, Vec<&'static str>) {
        let Detected { dialect, notes, .. } = detect(&json(text)).unwrap_or_else(|notes| panic!("{notes:?}"));
        (dialect.name(), notes.iter().map(|note| note.code).collect())
    }

    #[test]
    fn v1_the_dialect_is_what_the_schema_says_or_the_newest_that_accepts_it() {
        assert_eq!(dialect("{}"), ("2020-12", vec![]));
        assert_eq!(dialect(r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#), ("draft-07", vec![]));
        assert_eq!(dialect(r#"{"$schema":"https://json-schema.org/draft-04/schema"}"#), ("draft-04", vec![]));
        assert_eq!(dialect(r#"{"$schema":"http://example.test/mine"}"#), ("2020-12", vec!["unknown_dialect"]));
        assert_eq!(dialect(r#"{"items":[{"type":"string"}]}"#), ("draft-07", vec!["older_dialect"]));
        assert_eq!(dialect(r#"{"minimum":1,"exclusiveMinimum":true}"#), ("draft-04", vec!["older_dialect"]));
        assert_eq!(dialect(r#"{"properties":[]}"#), ("2020-12", vec![]));
    }
}

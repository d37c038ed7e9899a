//! Which JSON Schema dialect a schema is written in (rule V1).

use jsonschema::{Draft, ValidationError, ValidationOptions, meta::MetaValidator};
use serde_json::{Value, json};

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

    /// Whether the validator asserts a format in this dialect; what it does not know, it ignores.
    pub(in crate::tools) fn asserts_format(self, format: &str) -> bool {
        let known = jsonschema::options().offline().with_draft(self.draft()).should_validate_formats(true);
        known.should_ignore_unknown_formats(false).build(&json!({ "format": format })).is_ok()
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

    /// Whether its meta-schema accepts a schema.
    pub(super) fn accepts(self, schema: &Json) -> bool {
        self.meta_schema().is_valid(&structure::to_value(schema, self))
    }

    /// What its meta-schema says against a schema, and where.
    pub(super) fn faults(self, schema: &Value) -> Vec<(Pointer, String)> {
        let errors = self.meta_schema();
        let place = |error: &ValidationError<'_>| Pointer::parse(error.instance_path().as_str()).unwrap_or_default();
        errors.iter_errors(schema).map(|error| (place(&error), error.to_string())).collect()
    }

    /// Whether a reference leads to a schema that everybody has: one of the meta-schemas.
    pub(super) fn knows(self, reference: &str) -> bool {
        self.options(SchemaOptions::default()).build(&json!({ "$ref": reference })).is_ok()
    }

    fn meta_schema(self) -> MetaValidator<'static> {
        match self {
            Self::Draft4 => jsonschema::draft4::meta::validator(),
            Self::Draft6 => jsonschema::draft6::meta::validator(),
            Self::Draft7 => jsonschema::draft7::meta::validator(),
            Self::Draft201909 => jsonschema::draft201909::meta::validator(),
            Self::Draft202012 => jsonschema::draft202012::meta::validator(),
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
pub(super) fn detect(schema: &Json) -> Detected {
    let mut notes = Vec::new();
    // One that is no text, the meta-schema refuses.
    if let Some(address) = schema.get("$schema").and_then(Json::as_str) {
        match Dialect::from_address(address) {
            Some(dialect) => return Detected { dialect, is_accepted: dialect.accepts(schema), notes },
            None => notes.push(unknown_dialect(address)),
        }
    }
    let is_accepted = Dialect::Draft202012.accepts(schema);
    let older = [Dialect::Draft7, Dialect::Draft4];
    if !is_accepted && let Some(dialect) = older.into_iter().find(|dialect| dialect.accepts(schema)) {
        let message = format!(
            "only {} accepts this schema, so it is read as that; say so with `$schema`, or rewrite it for 2020-12",
            dialect.name()
        );
        notes.push(Note::warning("older_dialect", Pointer::root(), message));
        return Detected { dialect, is_accepted: true, notes };
    }
    Detected { dialect: Dialect::Draft202012, is_accepted, notes }
}

fn unknown_dialect(address: &str) -> Note {
    let shown = excerpt(address);
    let message = format!("`$schema` names no dialect that the booth knows ({shown}); the schema is read as 2020-12");
    Note::warning("unknown_dialect", Pointer::root().join("$schema"), message)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::json, *};

    fn dialect(text: &str) -> (&'static str, Vec<&'static str>) {
        let Detected { dialect, notes, .. } = detect(&json(text));
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

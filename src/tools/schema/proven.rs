//! What is kept of a schema for as long as a tool has it: its text, and what was proven of it (rule V2).

use std::{borrow::Cow, sync::OnceLock};

use bytes::Bytes;
use jsonschema::{PatternOptions, ValidationOptions};

use super::{
    SchemaOptions, defaults,
    dialect::{self, Detected, Dialect},
    exact::Exact,
    faults,
    normalise::{Moved, Normalised},
    patterns, plain, proof,
    reference::{Document, Names},
    secret, structure,
};
use crate::{
    document::{Note, Severity, capped},
    json::{Json, ParseLimits, Pointer, parse},
};

/// Bytes of one compiled pattern: a few letters can ask for megabytes, and take as long to compile (rule V3).
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Steps that the backtracking engine may take for one match (rule V3).
pub(super) const BACKTRACK_LIMIT: usize = 10_000;

/// Bytes of a compiled form for each byte of text. Measured: 18 for long lists and descriptions, 35 for the schema of an
/// ordinary tool, 55 for a union of many objects.
const BYTES_PER_BYTE: usize = 48;
/// Bytes for each pattern. Measured: 3 KiB for a plain class, 18 KiB for a few Unicode words.
const BYTES_PER_PATTERN: usize = 32 << 10;

/// What every text holds that has the keyword.
const DEFAULT: &[u8] = b"\"default\"";

/// A schema that was proven.
pub(super) struct Proven {
    /// As its author wrote it, without blanks.
    pub(super) text: Bytes,
    /// As it is read, if that is not the same (rule V6).
    read: Option<Box<Read>>,
    pub(super) dialect: Dialect,
    pub(super) options: SchemaOptions,
    pub(super) engine: Engine,
    pub(super) has_secrets: bool,
    patterns: usize,
    /// What is to be said about it.
    pub(super) notes: Vec<Note>,
    on_defaults: OnceLock<Vec<Note>>,
}

/// A schema that says what its author meant.
struct Read {
    text: Bytes,
    moved: Moved,
}

/// What matches the patterns of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// In linear time.
    Linear,
    /// By trying, within a limit: some pattern has look-around or back-references.
    Backtracking,
}

/// How validators are built.
pub(super) type Building<'i, F = Exact> = ValidationOptions<'i, std::sync::Arc<dyn jsonschema::Retrieve>, F>;

impl Engine {
    /// How a validator is built whose patterns it matches.
    pub(super) fn building<'i>(self, dialect: Dialect, options: SchemaOptions) -> Building<'i> {
        self.matching(dialect.options(options))
    }

    /// The same, with its patterns matched by this engine, within its limits.
    pub(super) fn matching<F: jsonschema::json::Json>(self, building: Building<'_, F>) -> Building<'_, F> {
        match self {
            Self::Linear => building.with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES)),
            Self::Backtracking => {
                let engine = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
                building.with_pattern_options(engine.size_limit(MAX_PATTERN_BYTES))
            }
        }
    }

    /// The engine for the patterns of a schema, which is compiled only if that proves anything: of many tools few are called.
    /// With it, what is worth knowing of the schema; or else everything that is wrong with it.
    fn of(
        document: Document<'_>,
        dialect: Dialect,
        is_accepted: bool,
        options: SchemaOptions,
    ) -> Result<(Self, Vec<Note>), Vec<Note>> {
        let against = proof::prove(document, dialect);
        if !against.is_empty() {
            return Err(faults::all(document, dialect, against, None));
        }
        if is_accepted && plain::is_plain(document, dialect) {
            return Ok((Self::Linear, Vec::new()));
        }
        let value = structure::to_value(document.root, dialect);
        if Self::Linear.building(dialect, options).build(&value).is_ok() {
            return Ok((Self::Linear, Vec::new()));
        }
        // Only a pattern can make the difference between the two engines.
        let built = Self::Backtracking.building(dialect, options).build(&value);
        built.map_err(|error| faults::all(document, dialect, Vec::new(), Some(&error)))?;
        Ok((Self::Backtracking, patterns::backtracking(document.root)))
    }
}

impl Proven {
    /// Proves a bounded schema, whose compact text this is. The paths of the notes are relative to it.
    pub(super) fn of(source: &Json, text: String, options: SchemaOptions) -> Result<Self, Vec<Note>> {
        let mut normalised = Normalised::of(source, options.normalise);
        let Detected { dialect, mut is_accepted, mut notes } = dialect::detect(&normalised.schema);
        if !is_accepted && dialect > Dialect::Draft4 && normalised.take_limits_of_draft_4() {
            is_accepted = dialect.accepts(&normalised.schema);
        }
        let Normalised { schema, notes: of_foreign, moved, .. } = normalised;
        let names = Names::of(&schema, dialect);
        let engine = Engine::of(Document { root: &schema, names: &names }, dialect, is_accepted, options);
        let (engine, found) = match engine {
            Ok((engine, found)) => (Some(engine), found),
            Err(faults) => (None, faults),
        };
        notes.extend(of_foreign);
        notes.extend(found.into_iter().map(|note| Note { path: moved.authored(note.path), ..note }));
        let Some(engine) = engine.filter(|_| notes.iter().all(|note| note.severity != Severity::Error)) else {
            notes.sort_by_key(|note| note.severity);
            return Err(capped(notes));
        };
        Ok(Self {
            has_secrets: secret::has_secrets(&schema),
            patterns: patterns::count(&schema),
            text: shared(text),
            read: match schema {
                Cow::Owned(schema) => Some(Box::new(Read { text: shared(schema.to_text()), moved })),
                Cow::Borrowed(_) => None,
            },
            dialect,
            options,
            engine,
            notes: capped(notes),
            on_defaults: OnceLock::new(),
        })
    }

    /// The schema as it is read: what its author wrote, but for what foreign schemas get wrong (rule V6).
    pub(super) fn read(&self) -> Json {
        // The text was written by us; what could not be read would be refused as a schema, too.
        parse(self.read.as_ref().map_or(&self.text, |read| &read.text), &ParseLimits::wide()).unwrap_or_default()
    }

    /// Where something stands for the author of the schema that stands here in it as it is read.
    pub(super) fn authored_place(&self, place: Pointer) -> Pointer {
        match &self.read {
            Some(read) => read.moved.authored(place),
            None => place,
        }
    }

    /// What the compiled form takes, as far as it can be told without making it: a few dozen times the text for the tree and
    /// the validator, and for each pattern what its automaton takes once it was used.
    pub(super) fn compiled_bytes(&self) -> usize {
        self.text.len() * BYTES_PER_BYTE + self.patterns * BYTES_PER_PATTERN
    }

    /// What is to be said about the defaults in it.
    pub(super) fn on_defaults(&self) -> &[Note] {
        let has_any = || self.text.windows(DEFAULT.len()).any(|part| part == DEFAULT);
        self.on_defaults
            .get_or_init(|| if has_any() { defaults::check(&self.read(), self.options) } else { Vec::new() })
    }
}

/// As much memory as it needs.
fn shared(text: String) -> Bytes {
    text.into_boxed_str().into_boxed_bytes().into()
}

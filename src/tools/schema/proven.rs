//! What is kept of a schema for as long as a tool has it: its text, and what was proven of it (rule V2).

use std::{borrow::Cow, sync::OnceLock};

use bytes::Bytes;
use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::Value;

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
    json::{Json, Pointer},
};

/// Steps that the backtracking engine may take for one match (rule V3).
pub(super) const BACKTRACK_LIMIT: usize = 10_000;

/// Bytes of a compiled form for each byte of text. Measured: 18 for long lists and descriptions, 35 for the schema of an
/// ordinary tool, 55 for a union of many objects.
const BYTES_PER_BYTE: usize = 48;
/// Bytes for each pattern. Measured: 3 KiB for a plain class, 18 KiB for a few Unicode words.
const BYTES_PER_PATTERN: usize = 32 << 10;

/// A schema that was proven.
pub(super) struct Proven {
    /// As its author wrote it, without blanks.
    pub(super) text: Bytes,
    /// As it is read, if that is something else (rule V6).
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

/// A schema that is read as what it means, and not as its author wrote it.
struct Read {
    text: Bytes,
    /// What stands elsewhere than its author put it.
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
pub(super) type Building<'i> = ValidationOptions<'i, std::sync::Arc<dyn jsonschema::Retrieve>, Exact>;

impl Engine {
    /// How a validator is built whose patterns it matches.
    pub(super) fn building<'i>(self, dialect: Dialect, options: SchemaOptions) -> Building<'i> {
        let building = dialect.options(options);
        match self {
            Self::Linear => building.with_pattern_options(PatternOptions::regex()),
            Self::Backtracking => {
                building.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
            }
        }
    }

    fn build(
        self,
        schema: &Value,
        dialect: Dialect,
        options: SchemaOptions,
    ) -> Result<Validator<Exact>, ValidationError<'static>> {
        self.building(dialect, options).build(schema)
    }
}

/// What compiling a schema has shown.
struct Proof {
    engine: Engine,
    /// How many there are, if they were counted.
    patterns: usize,
}

impl Proof {
    /// Proves a schema, and says what is worth knowing of it. The error is everything that is wrong.
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
        // Compiled only to prove it: of many tools few are called.
        if is_accepted && plain::is_plain(document, dialect) {
            return Ok((Self { engine: Engine::Linear, patterns: 0 }, Vec::new()));
        }
        let patterns = structure::patterns(document.root);
        let value = structure::to_value(document.root, dialect);
        if Engine::Linear.build(&value, dialect, options).is_ok() {
            return Ok((Self { engine: Engine::Linear, patterns }, Vec::new()));
        }
        // Only a pattern can make the difference between the two engines.
        let built = Engine::Backtracking.build(&value, dialect, options);
        built.map_err(|error| faults::all(document, dialect, Vec::new(), Some(&error)))?;
        Ok((Self { engine: Engine::Backtracking, patterns }, patterns::backtracking(document.root)))
    }
}

impl Proven {
    /// Proves a bounded schema, whose compact text this is. The paths of the notes are relative to it.
    pub(super) fn of(source: &Json, text: String, options: SchemaOptions) -> Result<Self, Vec<Note>> {
        Self::prove(source, text, options).map_err(capped)
    }

    fn prove(source: &Json, text: String, options: SchemaOptions) -> Result<Self, Vec<Note>> {
        let mut normalised = Normalised::of(source, options.normalise);
        let Detected { dialect, mut is_accepted, mut notes } = dialect::detect(&normalised.schema);
        if !is_accepted && dialect > Dialect::Draft4 && normalised.take_limits_of_draft_4() {
            is_accepted = dialect.accepts(&normalised.schema);
        }
        let Normalised { schema, notes: of_foreign, moved, .. } = normalised;
        let names = Names::of(&schema, dialect);
        let proof = Proof::of(Document { root: &schema, names: &names }, dialect, is_accepted, options);
        let (proof, found) = match proof {
            Ok((proof, notes)) => (Some(proof), notes),
            Err(faults) => (None, faults),
        };
        notes.extend(of_foreign);
        notes.extend(found.into_iter().map(|note| Note { path: moved.authored(note.path), ..note }));
        let Some(Proof { engine, patterns }) =
            proof.filter(|_| notes.iter().all(|note| note.severity != Severity::Error))
        else {
            notes.sort_by_key(|note| note.severity);
            return Err(notes);
        };
        let has_secrets = secret::has_secrets(&schema);
        let kept = |text: String| text.into_boxed_str().into_boxed_bytes().into();
        let read = match schema {
            Cow::Owned(schema) => Some(Box::new(Read { text: kept(schema.to_text()), moved })),
            Cow::Borrowed(_) => None,
        };
        let (text, notes, on_defaults) = (kept(text), capped(notes), OnceLock::new());
        Ok(Self { text, read, dialect, options, engine, has_secrets, patterns, notes, on_defaults })
    }

    /// The text of the schema as it is read.
    pub(super) fn read(&self) -> &Bytes {
        self.read.as_ref().map_or(&self.text, |read| &read.text)
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
        self.read().len() * BYTES_PER_BYTE + self.patterns * BYTES_PER_PATTERN
    }

    /// What is to be said about the defaults in it.
    pub(super) fn on_defaults(&self, source: &Json) -> &[Note] {
        self.on_defaults.get_or_init(|| defaults::check(source, self.options))
    }
}

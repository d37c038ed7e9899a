//! What is kept of a schema for as long as a tool has it: its text, and what was proven of it (rule V2).

use std::sync::OnceLock;

use bytes::Bytes;
use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::Value;

use super::{
    SchemaOptions, defaults,
    dialect::{self, Detected, Dialect},
    exact::Exact,
    plain, proof,
    reference::{Document, Names},
    secret, structure,
};
use crate::{
    document::{Note, capped},
    json::Json,
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
    pub(super) dialect: Dialect,
    pub(super) options: SchemaOptions,
    pub(super) engine: Engine,
    pub(super) has_secrets: bool,
    patterns: usize,
    /// What is to be said about it.
    pub(super) notes: Vec<Note>,
    on_defaults: OnceLock<Vec<Note>>,
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

impl Proven {
    /// Proves a bounded schema, whose compact text this is. The paths of the notes are relative to it.
    pub(super) fn of(source: &Json, text: String, options: SchemaOptions) -> Result<Self, Vec<Note>> {
        Self::prove(source, text, options).map_err(capped)
    }

    fn prove(source: &Json, text: String, options: SchemaOptions) -> Result<Self, Vec<Note>> {
        let Detected { dialect, is_accepted, mut notes } = dialect::detect(source)?;
        let names = Names::of(source, dialect);
        let document = Document { root: source, names: &names };
        proof::prove(document, dialect)?;
        let (mut engine, mut patterns) = (Engine::Linear, 0);
        // Compiled only to prove it: of many tools few are called.
        if !(is_accepted && plain::is_plain(document, dialect)) {
            patterns = structure::patterns(source);
            let value = structure::to_value(source, dialect);
            if engine.build(&value, dialect, options).is_err() {
                // Only a pattern can make the difference between the two engines.
                engine = Engine::Backtracking;
                let built = engine.build(&value, dialect, options);
                built.map_err(|error| proof::broken(document, &error))?;
                notes.extend(proof::backtracking_patterns(source));
            }
        }
        Ok(Self {
            text: text.into_boxed_str().into_boxed_bytes().into(),
            dialect,
            options,
            engine,
            has_secrets: secret::has_secrets(source),
            patterns,
            notes: capped(notes),
            on_defaults: OnceLock::new(),
        })
    }

    /// What the compiled form takes, as far as it can be told without making it: a few dozen times the text for the tree and
    /// the validator, and for each pattern what its automaton takes once it was used.
    pub(super) fn compiled_bytes(&self) -> usize {
        self.text.len() * BYTES_PER_BYTE + self.patterns * BYTES_PER_PATTERN
    }

    /// What is to be said about the defaults in it.
    pub(super) fn on_defaults(&self, source: &Json) -> &[Note] {
        self.on_defaults.get_or_init(|| defaults::check(source, self.options))
    }
}

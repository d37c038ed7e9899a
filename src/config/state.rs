//! Where a booth keeps what was executed once, and for how long.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use toolbooth::{
    document::Note,
    json::Pointer,
    ledgers::{LEASE, PostgresAddress},
    ports::Retention,
};

use super::blocks::{at, duration};

/// Names the address of a PostgreSQL, with the password to it.
const POSTGRES: &str = "TOOLBOOTH_POSTGRES";

/// A booth that says less often that it lives would be taken for gone by others when it is only slow.
const MIN_LEASE: Duration = Duration::from_secs(1);

/// What is kept where, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Where.
    pub(crate) store: Store,
    /// After how much silence of this booth others may take what it holds for being in doubt.
    pub(crate) lease: Duration,
    /// For how long.
    pub(crate) retention: Retention,
}

/// Where it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Store {
    /// In memory, as long as the process lives.
    #[default]
    Memory,
    /// In a file in this folder.
    Folder(PathBuf),
    /// In this database, which other booths may share.
    Postgres(PostgresAddress),
    /// In the database whose address is in this file.
    PostgresFile(PathBuf),
}

impl Default for State {
    fn default() -> Self {
        Self { store: Store::default(), lease: LEASE, retention: Retention::default() }
    }
}

/// What the environment says of PostgreSQL.
pub(crate) fn postgres_of_environment() -> Option<String> {
    std::env::var_os(POSTGRES)?.into_string().ok().filter(|address| !address.is_empty())
}

/// Where the booth keeps what was executed once; in memory if nothing is said.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StateBlock {
    /// A folder for a file that outlives the booth, for one booth alone; a relative path starts at the folder of this file.
    #[schemars(extend("examples" = ["/var/lib/toolbooth"]))]
    folder: Option<PathBuf>,
    /// A file that holds the address of a PostgreSQL, `postgres://USER:PASSWORD@HOST/DATABASE`, which booths may share.
    #[schemars(extend("examples" = ["/run/secrets/postgres"]))]
    postgres_file: Option<PathBuf>,
    /// With PostgreSQL: after how much silence of this booth others may take what it holds for being in doubt; 15s if nothing is
    /// said.
    #[schemars(extend("examples" = ["15s"]))]
    lease: Option<String>,
    /// How long submissions are remembered; for ever if nothing is said.
    #[schemars(extend("examples" = ["90days"]))]
    keep_submissions: Option<String>,
    /// How long calls under a key of their host's are remembered; 24h if nothing is said.
    #[schemars(extend("examples" = ["24h"]))]
    keep_calls: Option<String>,
}

impl StateBlock {
    pub(super) fn state(self, folder: &Path, notes: &mut Vec<Note>) -> State {
        let standard = State::default();
        let store = match (self.folder, self.postgres_file) {
            (Some(_), Some(_)) => {
                let message =
                    "a ledger has one store: keep `folder` for one booth, or `postgres_file` for booths that share it";
                notes.push(Note::error("wrong_value", Pointer::root().join("state"), message));
                Store::Memory
            }
            (Some(path), None) => Store::Folder(folder.join(path)),
            (None, Some(path)) => Store::PostgresFile(folder.join(path)),
            (None, None) => Store::Memory,
        };
        let mut time = |key, text: Option<String>| {
            let time = duration(at("state", key), &text?);
            time.map_err(|note| notes.push(note)).ok()
        };
        let (lease, submissions, calls) = (
            time("lease", self.lease),
            time("keep_submissions", self.keep_submissions),
            time("keep_calls", self.keep_calls),
        );
        if lease.is_some_and(|lease| lease < MIN_LEASE) {
            let message = "too short: write `1s` or more, or remove the key";
            notes.push(Note::error("wrong_value", at("state", "lease"), message));
        }
        let retention = Retention { submissions, calls: calls.or(standard.retention.calls) };
        State { store, lease: lease.unwrap_or(standard.lease), retention }
    }
}

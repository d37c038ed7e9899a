//! What the program is told beside its arguments: the environment, which nobody else reads, and the settings file of `serve`.

mod blocks;
mod file;
mod state;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use toolbooth::{
    booth::MAX_GRACE,
    json::ParseLimits,
    run::{Capacity, Limits, MAX_RECORDED_BYTES},
    server::{SocketAccess, Transport},
    tools::Profile,
};

pub(crate) use blocks::LimitsBlock;
pub(crate) use file::{is_settings, settings_schema};
pub(crate) use state::{State, Store, postgres_of_environment};

/// Names a log filter such as `debug` or `toolbooth=trace,warn`.
const LOG: &str = "TOOLBOOTH_LOG";
/// Names a log format, `text` or `json`.
const LOG_FORMAT: &str = "TOOLBOOTH_LOG_FORMAT";

/// Where `serve` listens if nobody says, and where the other commands look for it.
pub(crate) const DEFAULT_TCP: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7155);

/// Everything that a settings file can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The Unix socket to listen on.
    pub(crate) socket: Option<PathBuf>,
    /// Who may connect to it.
    pub(crate) access: SocketAccess,
    /// The TCP address to listen on.
    pub(crate) tcp: Option<SocketAddr>,
    /// The TCP address where health is told over plain HTTP.
    pub(crate) diagnostics: Option<SocketAddr>,
    /// What connections may take.
    pub(crate) transport: Transport,
    /// Contract files, and folders of them.
    pub(crate) tools: Vec<PathBuf>,
    /// The profile of contracts that name none.
    pub(crate) profile: ProfileName,
    /// Limits of runs that name none.
    pub(crate) limits: Limits,
    /// What each run is granted, and all of them together.
    pub(crate) capacity: Capacity,
    /// The longest that a run waits for its host to come back.
    pub(crate) max_grace: Duration,
    /// Bytes of results that runs keep for hosts that come back.
    pub(crate) max_recorded_bytes: usize,
    /// What the parser of arguments refuses.
    pub(crate) arguments: ParseLimits,
    /// What is kept of what was executed once, and where.
    pub(crate) state: State,
    /// How long calls may go on after the booth was told to end.
    pub(crate) grace: Duration,
    /// What is logged, and how.
    pub(crate) log: Log,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            socket: None,
            access: SocketAccess::default(),
            tcp: None,
            diagnostics: None,
            transport: Transport::default(),
            tools: Vec::new(),
            profile: ProfileName::default(),
            limits: Limits::default(),
            capacity: Capacity::default(),
            max_grace: MAX_GRACE,
            max_recorded_bytes: MAX_RECORDED_BYTES,
            arguments: ParseLimits::default(),
            state: State::default(),
            grace: Duration::from_secs(20),
            log: Log::default(),
        }
    }
}

/// What may be done to arguments so that they satisfy their schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProfileName {
    /// Nothing: they must satisfy the schema as they were sent
    Strict,
    /// What loses nothing and has one reading
    #[default]
    Safe,
    /// The conversions of pi 1.6.0
    Pi,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::Strict,
            ProfileName::Safe => Self::Safe,
            ProfileName::Pi => Self::Pi,
        }
    }
}

/// What is logged, and how; what is `None` is left to the next who has a say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Log {
    /// How lines are written.
    pub(crate) format: Option<LogFormat>,
    /// Which lines are written: a level, or a filter of `tracing`.
    pub(crate) filter: Option<String>,
}

impl Log {
    /// This, and what `other` says where it says nothing.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { format: self.format.or(other.format), filter: self.filter.or(other.filter) }
    }
}

/// Reads the mode of a file, in octal.
pub(crate) fn parse_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| format!("`{}` is no file mode: write it in octal, like `0660`", text.escape_debug()))
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// Also what somebody should look at.
    Warn,
    /// Also what happens.
    Info,
    /// Also why it happens.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The filter for it: the booth's own lines; of the libraries only what somebody should look at.
    pub(crate) fn filter(self) -> String {
        match self {
            Self::Off | Self::Error | Self::Warn => self.as_str().to_owned(),
            Self::Info | Self::Debug | Self::Trace => format!("warn,toolbooth={}", self.as_str()),
        }
    }

    /// The word for it.
    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// All variables, of which programs see those that their contracts name.
pub(crate) fn environment() -> BTreeMap<OsString, OsString> {
    std::env::vars_os().collect()
}

/// What the environment says of logging; a word that is no format is passed over.
pub(crate) fn log_of_environment() -> Log {
    let word = |name: &str| std::env::var_os(name)?.into_string().ok().filter(|word| !word.is_empty());
    let format = word(LOG_FORMAT).and_then(|word| LogFormat::from_str(&word, true).ok());
    Log { format, filter: word(LOG) }
}

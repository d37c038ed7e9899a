//! The blocks of a settings file, and what they mean.

use std::{
    net::SocketAddr,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use toolbooth::{
    document::Note,
    json::{ParseLimits, Pointer},
    run::{Capacity, Limits},
    server::{SocketAccess, Transport},
};

use super::{Level, Log, LogFormat, ProfileName, Settings, parse_mode, state::StateBlock};

/// Levels of nesting at most: what reads and judges arguments goes down level by level, on a stack.
const MAX_DEPTH: usize = 128;
/// Less would not hold the arguments of one call, or one header.
const MIN_MESSAGE_BYTES: usize = 1 << 20;
const MIN_HEADER_BYTES: usize = 1 << 10;

/// The settings of a booth that serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(title = "Toolbooth settings")]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsFile {
    /// Where the booth listens.
    listen: Option<ListenBlock>,
    /// What connections may take.
    transport: Option<TransportBlock>,
    /// Contract files, and folders of them; relative ones start at the folder of this file.
    #[schemars(extend("examples" = [["tools"]]))]
    tools: Option<Vec<PathBuf>>,
    /// The profile of contracts that name none; `safe` if nothing is said.
    profile: Option<ProfileName>,
    /// Limits of runs that name none; no limit where nothing is said.
    limits: Option<LimitsBlock>,
    /// What each run is granted, and all of them together.
    capacity: Option<CapacityBlock>,
    /// What runs may keep for hosts that come back.
    resume: Option<ResumeBlock>,
    /// What is refused before anybody looks at the arguments of a call.
    arguments: Option<ArgumentsBlock>,
    /// Where the booth keeps what was executed once; in memory if nothing is said.
    state: Option<StateBlock>,
    /// How long calls may go on after the booth was told to end; 20s if nothing is said.
    #[schemars(extend("examples" = ["20s"]))]
    grace: Option<String>,
    /// What is logged, and how.
    log: Option<LogBlock>,
}

/// Where the booth listens.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListenBlock {
    /// A Unix socket; a relative path starts at the folder of this file.
    #[schemars(extend("examples" = ["/run/toolbooth/booth.sock"]))]
    socket: Option<PathBuf>,
    /// The permissions of the socket's file, in octal, quoted; `0660` if nothing is said: its user and its group may connect.
    #[schemars(extend("examples" = ["0660"]))]
    socket_mode: Option<String>,
    /// The number of the group of the socket's file; the system's choice if nothing is said.
    #[schemars(extend("examples" = [2000]))]
    socket_group: Option<u32>,
    /// A TCP address, on loopback.
    #[schemars(extend("examples" = ["127.0.0.1:7155"]))]
    tcp: Option<String>,
    /// A TCP address for `/livez` and `/readyz` over plain HTTP, which a kubelet must reach from outside.
    #[schemars(extend("examples" = ["0.0.0.0:7156"]))]
    diagnostics: Option<String>,
}

/// What connections may take.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TransportBlock {
    /// Connections at once, over all listeners; one more is closed at once. 64 if nothing is said.
    max_connections: Option<usize>,
    /// How soon a client must begin to speak; 5s if nothing is said.
    #[schemars(extend("examples" = ["5s"]))]
    first_bytes: Option<String>,
    /// Streams at once on one connection; 100 if nothing is said.
    max_streams: Option<usize>,
    /// Bytes of all headers of a request together; 16 KiB if nothing is said.
    max_header_bytes: Option<usize>,
    /// Bytes of one message, received or sent; 4 MiB if nothing is said, which is what clients take by default.
    max_message_bytes: Option<usize>,
    /// A connection that is silent for so long is asked whether it lives; 30s if nothing is said.
    #[schemars(extend("examples" = ["30s"]))]
    keep_alive: Option<String>,
    /// A connection that does not answer for so long is closed; 20s if nothing is said.
    #[schemars(extend("examples" = ["20s"]))]
    keep_alive_timeout: Option<String>,
}

/// Limits of a run.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsBlock {
    /// Batches in the run.
    max_turns: Option<u32>,
    /// Calls in the run.
    max_calls: Option<u32>,
    /// Calls in one batch.
    max_calls_per_batch: Option<u32>,
    /// Calls in a row that were not found, malformed, invalid or denied.
    max_consecutive_invalid: Option<u32>,
    /// Time since the run was opened.
    #[schemars(extend("examples" = ["10m"]))]
    max_wall: Option<String>,
    /// Whether the last turn and the last call are kept for tools that accept submissions; false if nothing is said.
    reserve_delivery: Option<bool>,
}

/// What each run is granted, and all of them together.
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CapacityBlock {
    /// Calls in flight; the excess is refused as `overloaded`.
    max_calls_in_flight: Option<usize>,
    /// Bytes of arguments in flight; the excess is refused as `overloaded`.
    max_bytes_in_flight: Option<usize>,
    /// Bytes of arguments in flight in all runs together; the excess is refused as `overloaded`. 256 MiB if nothing is said.
    max_bytes_in_flight_in_all: Option<usize>,
    /// Calls that the booth itself executes at once, those that wait for their next try included.
    max_parallel: Option<usize>,
}

/// What runs may keep for hosts that come back.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResumeBlock {
    /// The longest that a run waits for its host, whatever the host asks for; 10m if nothing is said, and 0s lets no run wait.
    #[schemars(extend("examples" = ["10m"]))]
    max_grace: Option<String>,
    /// Bytes of results that all runs together keep for batches that are sent again; 64 MiB if nothing is said.
    max_recorded_bytes: Option<usize>,
}

/// What is refused before anybody looks at the arguments of a call.
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ArgumentsBlock {
    /// More bytes of text; 1 MiB if nothing is said.
    max_bytes: Option<usize>,
    /// More levels of arrays and objects; 64 if nothing is said.
    max_depth: Option<usize>,
    /// More members in all objects together; 10,000 if nothing is said.
    max_keys: Option<usize>,
}

/// What is logged, and how.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LogBlock {
    /// How lines are written; `text` if nothing is said.
    format: Option<LogFormat>,
    /// How much is written; `info` if nothing is said.
    level: Option<Level>,
}

impl SettingsFile {
    /// The settings, where relative paths start at a folder.
    pub(super) fn settings(self, folder: &Path) -> Result<Settings, Vec<Note>> {
        let mut notes = Vec::new();
        let standard = Settings::default();
        let listen = self.listen.unwrap_or_default();
        let log = self.log.unwrap_or_default();
        let resume = self.resume.unwrap_or_default();
        let settings = Settings {
            tcp: address("tcp", listen.tcp.as_deref(), &mut notes),
            diagnostics: address("diagnostics", listen.diagnostics.as_deref(), &mut notes),
            access: listen.access(&mut notes),
            socket: listen.socket.map(|socket| folder.join(socket)),
            transport: self.transport.unwrap_or_default().transport(&mut notes),
            tools: self.tools.unwrap_or_default().iter().map(|path| folder.join(path)).collect(),
            profile: self.profile.unwrap_or_default(),
            capacity: self.capacity.unwrap_or_default().capacity(&mut notes),
            max_grace: time(at("resume", "max_grace"), resume.max_grace.as_deref(), standard.max_grace, &mut notes),
            max_recorded_bytes: within(
                at("resume", "max_recorded_bytes"),
                resume.max_recorded_bytes.unwrap_or(standard.max_recorded_bytes),
                1..=1 << 30,
                &mut notes,
            ),
            arguments: self.arguments.unwrap_or_default().limits(&mut notes),
            limits: self.limits.unwrap_or_default().limits().unwrap_or_else(|note| {
                notes.push(Note { path: Pointer::root().join("limits").append(&note.path), ..note });
                Limits::default()
            }),
            state: self.state.unwrap_or_default().state(folder, &mut notes),
            grace: time(Pointer::root().join("grace"), self.grace.as_deref(), standard.grace, &mut notes),
            log: Log { format: log.format, filter: log.level.map(Level::filter) },
        };
        if notes.is_empty() { Ok(settings) } else { Err(notes) }
    }
}

impl ListenBlock {
    fn access(&self, notes: &mut Vec<Note>) -> SocketAccess {
        let standard = SocketAccess::default();
        let mode = self.socket_mode.as_deref().map_or(Ok(standard.mode), parse_mode);
        let mode = mode.unwrap_or_else(|message| {
            notes.push(Note::error("wrong_value", at("listen", "socket_mode"), message));
            standard.mode
        });
        SocketAccess { mode, group: self.socket_group }
    }
}

impl TransportBlock {
    fn transport(self, notes: &mut Vec<Note>) -> Transport {
        let key = |key| at("transport", key);
        let standard = Transport::default();
        let number = |standard: u32| usize::try_from(standard).unwrap_or(usize::MAX);
        let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (streams, headers) = (number(standard.max_streams), number(standard.max_header_bytes));
        Transport {
            max_connections: within(
                key("max_connections"),
                self.max_connections.unwrap_or(standard.max_connections),
                1..=1 << 20,
                notes,
            ),
            first_bytes: some_time(key("first_bytes"), self.first_bytes.as_deref(), standard.first_bytes, notes),
            max_streams: small(within(key("max_streams"), self.max_streams.unwrap_or(streams), 1..=1 << 20, notes)),
            max_header_bytes: small(within(
                key("max_header_bytes"),
                self.max_header_bytes.unwrap_or(headers),
                MIN_HEADER_BYTES..=1 << 20,
                notes,
            )),
            max_message_bytes: within(
                key("max_message_bytes"),
                self.max_message_bytes.unwrap_or(standard.max_message_bytes),
                MIN_MESSAGE_BYTES..=1 << 30,
                notes,
            ),
            keep_alive: some_time(key("keep_alive"), self.keep_alive.as_deref(), standard.keep_alive, notes),
            keep_alive_timeout: some_time(
                key("keep_alive_timeout"),
                self.keep_alive_timeout.as_deref(),
                standard.keep_alive_timeout,
                notes,
            ),
        }
    }
}

impl LimitsBlock {
    /// The limits; the remark's path starts at the block.
    pub(crate) fn limits(self) -> Result<Limits, Note> {
        Ok(Limits {
            max_turns: self.max_turns,
            max_calls: self.max_calls,
            max_calls_per_batch: self.max_calls_per_batch,
            max_consecutive_invalid: self.max_consecutive_invalid,
            max_wall: self.max_wall.map(|text| duration(Pointer::root().join("max_wall"), &text)).transpose()?,
            reserve_delivery: self.reserve_delivery,
        })
    }
}

impl CapacityBlock {
    fn capacity(self, notes: &mut Vec<Note>) -> Capacity {
        let standard = Capacity::default();
        let mut some = |key, value: Option<usize>, standard| {
            within(at("capacity", key), value.unwrap_or(standard), 1..=1 << 30, notes)
        };
        Capacity {
            max_calls_in_flight: some("max_calls_in_flight", self.max_calls_in_flight, standard.max_calls_in_flight),
            max_bytes_in_flight: some("max_bytes_in_flight", self.max_bytes_in_flight, standard.max_bytes_in_flight),
            max_bytes_in_flight_in_all: some(
                "max_bytes_in_flight_in_all",
                self.max_bytes_in_flight_in_all,
                standard.max_bytes_in_flight_in_all,
            ),
            max_parallel: some("max_parallel", self.max_parallel, standard.max_parallel),
        }
    }
}

impl ArgumentsBlock {
    fn limits(self, notes: &mut Vec<Note>) -> ParseLimits {
        let standard = ParseLimits::default();
        let mut some = |key, value: Option<usize>, standard, most| {
            within(at("arguments", key), value.unwrap_or(standard), 1..=most, notes)
        };
        ParseLimits {
            max_bytes: some("max_bytes", self.max_bytes, standard.max_bytes, 1 << 30),
            max_depth: some("max_depth", self.max_depth, standard.max_depth, MAX_DEPTH),
            max_keys: some("max_keys", self.max_keys, standard.max_keys, 1 << 30),
            allow_nul: standard.allow_nul,
        }
    }
}

pub(super) fn at(block: &str, key: &str) -> Pointer {
    Pointer::root().join(block).join(key)
}

fn address(key: &str, text: Option<&str>, notes: &mut Vec<Note>) -> Option<SocketAddr> {
    let text = text?;
    let address = text.parse().ok();
    if address.is_none() {
        let message = format!("`{}` is no address: write it like `127.0.0.1:7155`", text.escape_debug());
        notes.push(Note::error("wrong_value", at("listen", key), message));
    }
    address
}

fn within(path: Pointer, value: usize, bounds: RangeInclusive<usize>, notes: &mut Vec<Note>) -> usize {
    if !bounds.contains(&value) {
        let (least, most) = bounds.into_inner();
        let message = format!("{value} is out of bounds: write {least} to {most}, or remove the key");
        notes.push(Note::error("wrong_value", path, message));
    }
    value
}

/// The shortest time that makes sense of a connection.
const MIN_TIME: Duration = Duration::from_millis(100);

/// A time that is not too short.
fn some_time(path: Pointer, text: Option<&str>, standard: Duration, notes: &mut Vec<Note>) -> Duration {
    let time = time(path.clone(), text, standard, notes);
    if time < MIN_TIME {
        let message = format!("too short: write `{}` or more, or remove the key", humantime::format_duration(MIN_TIME));
        notes.push(Note::error("wrong_value", path, message));
    }
    time
}

fn time(path: Pointer, text: Option<&str>, standard: Duration, notes: &mut Vec<Note>) -> Duration {
    text.map_or(Ok(standard), |text| duration(path, text)).unwrap_or_else(|note| {
        notes.push(note);
        standard
    })
}

pub(super) fn duration(path: Pointer, text: &str) -> Result<Duration, Note> {
    humantime::parse_duration(text).map_err(|_no| {
        let message = format!("`{}` is no duration: write it like `30s`, `100ms` or `2m`", text.escape_debug());
        Note::error("wrong_value", path, message)
    })
}

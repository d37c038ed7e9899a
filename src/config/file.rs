//! The settings file: YAML or JSON, read as strictly as contracts are.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use toolbooth::{
    document::{Format, Marked, Note, Place, Syntax, read, read_file},
    json::{Json, ParseLimits, Pointer},
    run::{Capacity, Limits},
};

use super::{Level, Log, LogFormat, Settings};

/// Levels of nesting at most: what reads and judges arguments goes down level by level, on a stack.
const MAX_DEPTH: usize = 128;

/// The format, made once.
static FORMAT: LazyLock<Format> = LazyLock::new(Format::of::<SettingsFile>);

/// The settings of a booth that serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[schemars(title = "Toolbooth settings")]
#[serde(deny_unknown_fields)]
struct SettingsFile {
    /// Where the booth listens.
    listen: Option<ListenBlock>,
    /// Contract files, and folders of them; relative ones start at the folder of this file.
    #[schemars(extend("examples" = [["tools"]]))]
    tools: Option<Vec<PathBuf>>,
    /// Limits of runs that name none; no limit where nothing is said.
    limits: Option<LimitsBlock>,
    /// What each run is granted.
    capacity: Option<CapacityBlock>,
    /// What is refused before anybody looks at the arguments of a call.
    arguments: Option<ArgumentsBlock>,
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
    /// A TCP address.
    #[schemars(extend("examples" = ["127.0.0.1:7155"]))]
    tcp: Option<String>,
}

/// Limits of a run.
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
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
}

/// What each run is granted.
#[expect(clippy::struct_field_names, reason = "the names are those of the format")]
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CapacityBlock {
    /// Calls in flight; the excess is refused as `overloaded`.
    max_calls_in_flight: Option<usize>,
    /// Bytes of arguments in flight; the excess is refused as `overloaded`.
    max_bytes_in_flight: Option<usize>,
    /// Calls that the booth itself executes at once.
    max_parallel: Option<usize>,
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

/// The JSON Schema of settings files, for editors.
pub(crate) fn settings_schema() -> &'static Json {
    FORMAT.schema()
}

/// Whether a file holds settings and no contracts: contracts have a name, or are a list of objects.
pub(crate) fn is_settings(path: &Path) -> bool {
    let documents = Syntax::of(path).zip(read_file(path).ok()).and_then(|(syntax, text)| read(&text, syntax).ok());
    let Some([document]) = documents.as_deref() else { return false };
    let own = ["listen", "limits", "capacity", "grace", "log"];
    let tools = document.value.get("tools").and_then(Json::as_array).unwrap_or_default();
    document.value.get("name").is_none()
        && (own.iter().any(|key| document.value.get(key).is_some()) || tools.iter().any(|path| path.as_str().is_some()))
}

impl Settings {
    /// Reads a settings file, or says all that is wrong with it.
    pub(crate) fn read(path: &Path) -> Result<Self, Vec<Note>> {
        let file: Arc<str> = path.display().to_string().into();
        let note = |code, message: String| vec![Note::error(code, Pointer::root(), message)];
        let Some(syntax) = Syntax::of(path) else {
            let message = "settings are read from a file that ends in `.yaml`, `.yml` or `.json`: rename it".to_owned();
            return Err(placed(note("unknown_file_type", message), &file, |_| 1));
        };
        let text = read_file(path).map_err(|error| {
            let message = format!("cannot be read: {error}: check that it exists and who may read it");
            placed(note("unreadable", message), &file, |_| 1)
        })?;
        let mut documents = read(&text, syntax).map_err(|error| vec![error.note(Some(&file))])?.into_iter();
        match (documents.next(), documents.next()) {
            (Some(document), None) => {
                let folder = path.parent().unwrap_or_else(|| Path::new(""));
                Self::of(&document, folder).map_err(|notes| placed(notes, &file, |path| document.line(path)))
            }
            (_, second) => {
                let line = second.map_or(1, |second| second.lines.line);
                let message = "more than one document: a settings file has one".to_owned();
                Err(placed(note("several_documents", message), &file, |_| line))
            }
        }
    }

    fn of(document: &Marked, folder: &Path) -> Result<Self, Vec<Note>> {
        FORMAT.read::<SettingsFile>("", &document.value)?.settings(folder)
    }
}

/// The remarks, each with its line.
fn placed(notes: Vec<Note>, file: &Arc<str>, line: impl Fn(&Pointer) -> usize) -> Vec<Note> {
    let place = |note: &Note| Some(Place { file: Arc::clone(file), line: line(&note.path) });
    notes.into_iter().map(|note| Note { place: place(&note), ..note }).collect()
}

impl SettingsFile {
    fn settings(self, folder: &Path) -> Result<Settings, Vec<Note>> {
        let mut notes = Vec::new();
        let standard = Settings::default();
        let listen = self.listen.unwrap_or_default();
        let log = self.log.unwrap_or_default();
        let tcp = listen.tcp.and_then(|text| {
            let message = format!("`{}` is no address: write it like `127.0.0.1:7155`", text.escape_debug());
            text.parse().map_err(|_no| notes.push(Note::error("wrong_value", at("listen", "tcp"), message))).ok()
        });
        let limits = self.limits.unwrap_or_default().limits().map_err(|note| {
            notes.push(Note { path: Pointer::root().join("limits").append(&note.path), ..note });
        });
        let grace = self.grace.map_or(Ok(standard.grace), |text| duration("grace", &text));
        let grace = grace.map_err(|note| notes.push(note));
        let settings = Settings {
            socket: listen.socket.map(|socket| folder.join(socket)),
            tcp,
            tools: self.tools.unwrap_or_default().iter().map(|path| folder.join(path)).collect(),
            limits: limits.unwrap_or_default(),
            capacity: self.capacity.unwrap_or_default().capacity(&mut notes),
            arguments: self.arguments.unwrap_or_default().limits(&mut notes),
            grace: grace.unwrap_or_default(),
            log: Log { format: log.format, filter: log.level.map(|level| level.as_str().to_owned()) },
        };
        if notes.is_empty() { Ok(settings) } else { Err(notes) }
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
            max_wall: self.max_wall.map(|text| duration("max_wall", &text)).transpose()?,
        })
    }
}

impl CapacityBlock {
    fn capacity(self, notes: &mut Vec<Note>) -> Capacity {
        let standard = Capacity::default();
        let mut some = |key, value, standard| within(at("capacity", key), value, (standard, 1 << 30), notes);
        Capacity {
            max_calls_in_flight: some("max_calls_in_flight", self.max_calls_in_flight, standard.max_calls_in_flight),
            max_bytes_in_flight: some("max_bytes_in_flight", self.max_bytes_in_flight, standard.max_bytes_in_flight),
            max_parallel: some("max_parallel", self.max_parallel, standard.max_parallel),
        }
    }
}

impl ArgumentsBlock {
    fn limits(self, notes: &mut Vec<Note>) -> ParseLimits {
        let standard = ParseLimits::default();
        let mut some = |key, value, standard, most| within(at("arguments", key), value, (standard, most), notes);
        ParseLimits {
            max_bytes: some("max_bytes", self.max_bytes, standard.max_bytes, 1 << 30),
            max_depth: some("max_depth", self.max_depth, standard.max_depth, MAX_DEPTH),
            max_keys: some("max_keys", self.max_keys, standard.max_keys, 1 << 30),
            allow_nul: standard.allow_nul,
        }
    }
}

fn at(block: &str, key: &str) -> Pointer {
    Pointer::root().join(block).join(key)
}

fn within(path: Pointer, value: Option<usize>, (standard, most): (usize, usize), notes: &mut Vec<Note>) -> usize {
    let value = value.unwrap_or(standard);
    if !(1..=most).contains(&value) {
        let message = format!("{value} is out of bounds: write 1 to {most}, or remove the key");
        notes.push(Note::error("wrong_value", path, message));
    }
    value
}

fn duration(key: &str, text: &str) -> Result<Duration, Note> {
    humantime::parse_duration(text).map_err(|_no| {
        let message = format!("`{}` is no duration: write it like `30s`, `100ms` or `2m`", text.escape_debug());
        Note::error("wrong_value", Pointer::root().join(key), message)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn settings(text: &str) -> Result<Settings, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("booth.yaml");
        fs::write(&path, text).unwrap();
        assert!(is_settings(&path), "{text}");
        let root = folder.path().display().to_string();
        Settings::read(&path).map_err(|notes| {
            let line = |note: &Note| format!("{} {} {}", note.place.as_ref().unwrap(), note.code, note.message);
            notes.iter().map(|note| line(note).replace(&format!("{root}/"), "")).collect()
        })
    }

    #[test]
    fn what_is_said_is_kept_and_the_rest_is_standard() {
        let read = settings(
            "listen: {socket: /run/b.sock, tcp: '127.0.0.1:7155'}\ntools: [/tools]\nlimits: {max_turns: 3, max_wall: 10m}\n\
             capacity: {max_parallel: 2}\narguments: {max_depth: 8}\ngrace: 5s\nlog: {format: json, level: debug}\n",
        );
        let standard = Settings::default();
        let expected = Settings {
            socket: Some("/run/b.sock".into()),
            tcp: Some("127.0.0.1:7155".parse().unwrap()),
            tools: vec!["/tools".into()],
            limits: Limits { max_turns: Some(3), max_wall: Some(Duration::from_mins(10)), ..standard.limits },
            capacity: Capacity { max_parallel: 2, ..standard.capacity },
            arguments: ParseLimits { max_depth: 8, ..standard.arguments },
            grace: Duration::from_secs(5),
            log: Log { format: Some(LogFormat::Json), filter: Some("debug".into()) },
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn every_mistake_is_named_with_its_line() {
        let mistakes =
            settings("listen:\n  sockt: a\n  tcp: 1\nlog: {level: verbose}\ntools: tools\nlimits: {max_turns: -1}\n");
        assert_eq!(
            mistakes.unwrap_err(),
            [
                "booth.yaml:2 unknown_key unknown key `sockt`; did you mean `socket`?",
                "booth.yaml:3 wrong_type expected string such as `127.0.0.1:7155`, got number",
                "booth.yaml:4 wrong_value `verbose` is not known here, expected one of `off`, `error`, `warn`, `info`, `debug`, \
                 `trace`; known here: off, error, warn, info, debug, trace",
                "booth.yaml:5 wrong_type expected array, got string",
                "booth.yaml:6 wrong_type expected whole number from 0, got number",
            ]
        );
        let mistakes =
            settings("listen: {tcp: here}\ncapacity:\n  max_parallel: 0\ngrace: soon\nlimits:\n  max_wall: late\n");
        assert_eq!(
            mistakes.unwrap_err(),
            [
                "booth.yaml:1 wrong_value `here` is no address: write it like `127.0.0.1:7155`",
                "booth.yaml:6 wrong_value `late` is no duration: write it like `30s`, `100ms` or `2m`",
                "booth.yaml:4 wrong_value `soon` is no duration: write it like `30s`, `100ms` or `2m`",
                "booth.yaml:3 wrong_value 0 is out of bounds: write 1 to 1073741824, or remove the key",
            ]
        );
    }

    #[test]
    fn a_number_that_is_too_large_is_named_with_its_line() {
        let mistake = settings("limits:\n  max_turns: 4294967296\n").unwrap_err().remove(0);
        assert!(mistake.starts_with("booth.yaml:2 wrong_type "), "{mistake}");
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let read = SettingsFile { tools: Some(vec!["tools".into()]), ..SettingsFile::default() };
        let read = read.settings(Path::new("/etc/booth")).unwrap();
        assert_eq!(read.tools, [Path::new("/etc/booth/tools")]);
    }
}

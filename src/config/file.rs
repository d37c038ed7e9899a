//! The settings file: YAML or JSON, read as strictly as contracts are.

use std::{
    path::Path,
    sync::{Arc, LazyLock},
};

use toolbooth::{
    document::{Format, Marked, Note, Place, Syntax, read, read_file},
    json::{Json, Pointer},
};

use super::{Settings, blocks::SettingsFile};

/// The format, made once.
static FORMAT: LazyLock<Format> = LazyLock::new(Format::of::<SettingsFile>);

/// The JSON Schema of settings files, for editors.
pub(crate) fn settings_schema() -> &'static Json {
    FORMAT.schema()
}

/// Whether a file holds settings and no contracts: contracts have a name, or are a list of objects.
pub(crate) fn is_settings(path: &Path) -> bool {
    let documents = Syntax::of(path).zip(read_file(path).ok()).and_then(|(syntax, text)| read(&text, syntax).ok());
    let Some([document]) = documents.as_deref() else { return false };
    let own = ["listen", "transport", "profile", "limits", "capacity", "resume", "state", "grace", "log"];
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

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use toolbooth::{
        json::ParseLimits,
        ports::Retention,
        run::{Capacity, Limits},
        server::{SocketAccess, Transport},
    };

    use super::*;
    use crate::config::{Log, LogFormat, ProfileName, State, Store};

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
            "listen:\n  {socket: /run/b.sock, socket_mode: '0600', socket_group: 2000, tcp: '127.0.0.1:7155', diagnostics: '0.0.0.0:7156'}\n\
             transport: {max_connections: 8, first_bytes: 1s, max_message_bytes: 8388608}\n\
             tools: [/tools]\nprofile: strict\nlimits: {max_turns: 3, max_wall: 10m, reserve_delivery: true}\n\
             capacity: {max_parallel: 2, max_bytes_in_flight_in_all: 1048576}\nresume: {max_grace: 1m, max_recorded_bytes: 9}\narguments: {max_depth: 8}\n\
             state: {folder: /var/lib/booth, keep_submissions: 2days}\ngrace: 5s\nlog: {format: json, level: debug}\n",
        );
        let standard = Settings::default();
        let expected = Settings {
            socket: Some("/run/b.sock".into()),
            access: SocketAccess { mode: 0o600, group: Some(2000) },
            tcp: Some("127.0.0.1:7155".parse().unwrap()),
            diagnostics: Some("0.0.0.0:7156".parse().unwrap()),
            transport: Transport {
                max_connections: 8,
                first_bytes: Duration::from_secs(1),
                max_message_bytes: 8 << 20,
                ..standard.transport
            },
            tools: vec!["/tools".into()],
            profile: ProfileName::Strict,
            limits: Limits {
                max_turns: Some(3),
                max_wall: Some(Duration::from_mins(10)),
                reserve_delivery: Some(true),
                ..standard.limits
            },
            capacity: Capacity { max_parallel: 2, max_bytes_in_flight_in_all: 1 << 20, ..standard.capacity },
            max_grace: Duration::from_mins(1),
            max_recorded_bytes: 9,
            arguments: ParseLimits { max_depth: 8, ..standard.arguments },
            state: State {
                store: Store::Folder("/var/lib/booth".into()),
                retention: Retention { submissions: Some(Duration::from_hours(48)), ..standard.state.retention },
                ..standard.state
            },
            grace: Duration::from_secs(5),
            log: Log { format: Some(LogFormat::Json), filter: Some("warn,toolbooth=debug".into()) },
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
        let mistakes = settings(
            "listen: {tcp: here, socket_mode: '888'}\ntransport: {max_message_bytes: 1, keep_alive: 0s}\ncapacity:\n  max_parallel: 0\ngrace: soon\nlimits:\n  max_wall: late\n",
        );
        assert_eq!(
            mistakes.unwrap_err(),
            [
                "booth.yaml:1 wrong_value `here` is no address: write it like `127.0.0.1:7155`",
                "booth.yaml:1 wrong_value `888` is no file mode: write it in octal, like `0660`",
                "booth.yaml:2 wrong_value 1 is out of bounds: write 1048576 to 1073741824, or remove the key",
                "booth.yaml:2 wrong_value too short: write `100ms` or more, or remove the key",
                "booth.yaml:4 wrong_value 0 is out of bounds: write 1 to 1073741824, or remove the key",
                "booth.yaml:7 wrong_value `late` is no duration: write it like `30s`, `100ms` or `2m`",
                "booth.yaml:5 wrong_value `soon` is no duration: write it like `30s`, `100ms` or `2m`",
            ]
        );
    }

    #[test]
    fn a_ledger_has_one_store_and_times_that_can_be_read() {
        let mistakes = settings(
            "state:\n  folder: here\n  postgres_file: there\n  lease: 10ms\n  keep_calls: long\n  keep_submission: 1h\n",
        );
        assert_eq!(
            mistakes.unwrap_err(),
            ["booth.yaml:6 unknown_key unknown key `keep_submission`; did you mean `keep_submissions`?"]
        );
        let mistakes = settings("state:\n  folder: here\n  postgres_file: there\n  lease: 10ms\n  keep_calls: long\n");
        assert_eq!(
            mistakes.unwrap_err(),
            [
                "booth.yaml:1 wrong_value a ledger has one store: keep `folder` for one booth, or `postgres_file` for booths that \
                 share it",
                "booth.yaml:5 wrong_value `long` is no duration: write it like `30s`, `100ms` or `2m`",
                "booth.yaml:4 wrong_value too short: write `1s` or more, or remove the key",
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
        let document = &read(b"tools: [tools]", Syntax::Yaml).unwrap()[0];
        let read = Settings::of(document, Path::new("/etc/booth")).unwrap();
        assert_eq!(read.tools, [Path::new("/etc/booth/tools")]);
    }
}

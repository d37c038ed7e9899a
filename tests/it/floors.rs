//! The architecture, as a test: one way down.
//!
//! The booth is a house of nine floors. A room (a module at the root of the crate, with everything below it) may use what
//! stands before it in [`FLOORS`] and nothing that stands after it, unit tests included: so there is no cycle, and whoever
//! reads from the ground up never meets a word that was not explained. A few names are [`KEPT`] to a few rooms. Whatever
//! fails here says which line to look at and what to do about it.

pub(crate) mod source;

use std::fs;

use source::{Named, Source, sources};

/// The floors from the ground up, and on each its rooms, in the order of `src/lib.rs`. The last floor is the binary's.
const FLOORS: [(&str, &[&str]); 9] = [
    ("words", &["excerpt", "json", "call", "content", "refusal", "result", "document"]),
    ("tools", &["tools"]),
    ("ports", &["ports"]),
    ("pipeline", &["wording", "pipeline"]),
    ("run", &["run"]),
    ("adapters", &["executors", "ledgers", "host"]),
    ("booth", &["booth"]),
    ("edges", &["grpc", "server"]),
    ("binary", &["config", "telemetry", "cli", "main"]),
];

/// Names that belong to some rooms only.
const KEPT: [Kept; 6] = [
    Kept { name: &["std", "env"], rooms: &["config"], instead: "let config read it, and pass the value down" },
    Kept { name: &["proto"], rooms: &["grpc", "cli"], instead: "convert in src/grpc, and use our own types here" },
    Kept { name: &["toolbooth", "v1"], rooms: &["grpc"], instead: "convert in src/grpc, and use our own types here" },
    Kept { name: &["include_proto"], rooms: &["grpc"], instead: "include generated code once, in src/grpc" },
    Kept { name: &["tower"], rooms: &["grpc", "server"], instead: "keep layers at the edge" },
    Kept {
        name: &["anyhow"],
        rooms: &["config", "telemetry", "cli", "main"],
        instead: "give the library an error type that can be matched",
    },
];

struct Kept {
    /// Consecutive segments of a path.
    name: &'static [&'static str],
    /// Who may name it.
    rooms: &'static [&'static str],
    /// What everyone else does.
    instead: &'static str,
}

const MOST_LINES: usize = 400;

#[test]
fn imports_point_down() {
    let mut faults = Vec::new();
    for (file, room) in furnished() {
        for path in file.paths() {
            if let Some(used) = used_room(&path).filter(|used| place(used) > place(room)) {
                faults.push(format!(
                    "{}: `{room}` ({}) must not use `{used}` ({}): move what both need down, or pass it in through a port",
                    at(&file, &path),
                    floor(room),
                    floor(used),
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn some_names_are_kept_to_their_rooms() {
    let mut faults = Vec::new();
    for (file, room) in furnished() {
        for path in file.paths() {
            for kept in KEPT.iter().filter(|kept| kept.is_in(&path) && !kept.rooms.contains(&room)) {
                faults.push(format!(
                    "{}: `{}` is only for {}: {}",
                    at(&file, &path),
                    kept.name.join("::"),
                    kept.rooms.join(", "),
                    kept.instead,
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn every_file_belongs_to_a_room() {
    let homeless = sources("src").into_iter().filter(|file| room(file).is_some_and(|room| place(room).is_none()));
    let faults: Vec<_> = homeless
        .map(|file| format!("{}: no floor has this room: give it a place in FLOORS, tests/it/floors.rs", file.name))
        .collect();
    none(&faults);
}

#[test]
fn the_crate_lists_its_rooms_from_the_ground_up() {
    let list = fs::read_to_string("src/lib.rs").unwrap();
    let listed: Vec<_> = list
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let ordered: Vec<_> = rooms().filter(|room| listed.contains(room)).collect();
    assert_eq!(listed, ordered, "src/lib.rs: list the rooms in the order of FLOORS, tests/it/floors.rs");
}

#[test]
fn every_file_is_short_and_opens_by_saying_what_it_is() {
    let mut faults = Vec::new();
    for file in ["src", "tests", "benches", "examples"].into_iter().flat_map(sources) {
        let lines = file.text.lines().count();
        if lines > MOST_LINES {
            faults.push(format!(
                "{}: {lines} lines, of at most {MOST_LINES}: cut it where its subject changes",
                file.name
            ));
        }
        if !file.text.starts_with("//! ") {
            faults.push(format!("{}:1: open with `//!` and say in one sentence what is in here", file.name));
        }
    }
    none(&faults);
}

#[test]
fn the_architecture_is_told_on_two_pages() {
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"] {
        assert!(fs::exists(name).unwrap(), "{name} is missing: a newcomer starts there");
    }
    let text = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let (lines, bytes) = (text.lines().count(), text.len());
    assert!(
        lines <= 130 && bytes <= 9_000,
        "ARCHITECTURE.md: {lines} lines, {bytes} bytes, of at most 130 and 9000: say less, or link"
    );
}

impl Kept {
    fn is_in(&self, path: &Named) -> bool {
        path.segments.windows(self.name.len()).any(|part| part == self.name)
    }
}

/// The files that stand in a room: all but `lib.rs`, which is the list of the rooms.
fn furnished() -> Vec<(Source, &'static str)> {
    sources("src").into_iter().filter_map(|file| room(&file).and_then(known).map(|room| (file, room))).collect()
}

fn room(file: &Source) -> Option<&str> {
    match file.name.as_str() {
        "src/lib.rs" => None,
        "src/main.rs" => Some("main"),
        _ => file.module().first().copied(),
    }
}

/// The room that a path leads into. The binary calls the library by its name.
fn used_room(path: &Named) -> Option<&'static str> {
    match path.segments.as_slice() {
        [first, name, ..] if first == "crate" || first == "toolbooth" => known(name),
        _ => None,
    }
}

fn rooms() -> impl Iterator<Item = &'static str> {
    FLOORS.iter().flat_map(|(_, rooms)| *rooms).copied()
}

fn known(name: &str) -> Option<&'static str> {
    rooms().find(|room| *room == name)
}

fn place(name: &str) -> Option<usize> {
    rooms().position(|room| room == name)
}

fn floor(name: &str) -> String {
    let (number, (title, _)) = (1..).zip(FLOORS).find(|(_, (_, rooms))| rooms.contains(&name)).unwrap();
    format!("floor {number}, {title}")
}

fn at(file: &Source, path: &Named) -> String {
    format!("{}:{}", file.name, path.line)
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

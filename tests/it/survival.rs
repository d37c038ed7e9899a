//! What survives: booths that are killed at any moment, many at once who want one key, a database that comes and goes.

mod file;
mod shared;
mod tally;

use crate::program::Folder;

/// One tool whose effect can be counted, one that only keeps, and one that keeps nothing.
const TOOLS: &str = r#"{"tools":[
  {"name":"count","parameters":{"type":"object"},"accept":{"once_per":{"argument":"/id"}},"terminate":true,
   "execute":{"command":{"argv":["sh","-c","asked=$(cat); [ \"$asked\" ] && printf '%s\\n' \"$asked\" >> ran; echo ran"]}}},
  {"name":"keep","parameters":{"type":"object"},"submit":{"once_per":{"argument":"/id"}}},
  {"name":"one","parameters":{"type":"object"},"accept":{"once_per":"task"},"terminate":true,
   "execute":{"command":{"argv":["sh","-c","printf '%s\\n' \"$(cat)\" >> ran; cat ran"]}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

fn folder() -> Folder {
    Folder::of(&[("tools/tools.json", TOOLS), ("booth.yaml", "tools: [tools]\nstate: {lease: 1s}\n")])
}

/// The tool of a submission: one that has an effect, or one that has none.
fn tool(id: usize) -> &'static str {
    if id.is_multiple_of(3) { "keep" } else { "count" }
}

/// Its task. What a task has accepted is told with every verdict: so it has not many.
fn task(id: usize) -> String {
    format!("t{}", id / 4)
}

fn arguments(id: usize) -> String {
    format!("{{\"id\":{id}}}")
}

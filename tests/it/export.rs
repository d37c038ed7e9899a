//! `toolbooth submissions`: what was accepted, looked at and exported, of a running booth and of a ledger that nobody has open.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::{ledgers::server::Server, program::Folder, serve::Served};

const TOOLS: &str = r#"{"tools":[
  {"name":"keep","parameters":{"type":"object"},"submit":{"once_per":{"argument":"/id"}}},
  {"name":"other","parameters":{"type":"object"},"submit":{"once_per":{"argument":"/id"}}}
]}"#;

/// More than a page, of each of two tasks.
const EACH: usize = 50;

/// Submits through `pipe`.
fn submit(folder: &Folder, store: &[&str]) {
    let lines = ["a", "b"].map(|task| {
        let calls = (0..EACH).map(|id| {
            let tool = if id == 7 { "other" } else { "keep" };
            let arguments = format!("{{ \"id\": {id}, \"n\": 12345678901234567890.10}}");
            json!({"id": format!("c{id}"), "name": tool, "arguments": arguments})
        });
        let open = json!({"open": {"task_key": task, "run_id": format!("run-{task}")}});
        let batch = json!({"batch": {"calls": calls.collect::<Vec<_>>(), "mode": "sequential"}});
        format!("{open}\n{batch}\n")
    });
    let lines = lines.concat();
    let ended = folder.run(&[&["pipe", "--tools", "tools"], store].concat(), lines.as_bytes());
    assert_eq!(ended.code, 0, "{}", ended.err);
}

fn sequences(folder: &Folder, arguments: &[&str]) -> Vec<u64> {
    let ended = folder.run(&[&["submissions", "--jsonl"], arguments].concat(), b"");
    assert_eq!(ended.code, 0, "{}", ended.err);
    ended.lines().iter().map(|line| line["sequence"].as_u64().unwrap()).collect()
}

/// Everything that can be asked, of one store.
fn shown(folder: &Folder, store: &[&str]) {
    let asked = |arguments: &[&str]| sequences(folder, &[store, arguments].concat());
    let all = (1..=100).collect::<Vec<_>>();
    assert_eq!(asked(&[]), all);
    assert_eq!(asked(&["--task", "b"]), all[50..]);
    assert_eq!(asked(&["--task", "b", "--after", "98"]), [99, 100]);
    assert_eq!(asked(&["--tool", "other"]), [8, 58]);
    assert_eq!(asked(&["--key", "/id 3", "--tool", "keep"]), [4, 54]);
    assert!(asked(&["--task", "none"]).is_empty());
    assert!(asked(&["--after", "18446744073709551615"]).is_empty());
    let line = folder.run(&[&["submissions", "--jsonl", "--task", "a", "--key", "/id 3"], store].concat(), b"");
    assert!(
        line.out.contains(r#""arguments":{"id":3,"n":12345678901234567890.10}"#),
        "to the last digit: {}",
        line.out
    );
    let line = &line.lines()[0];
    assert_eq!(line["raw_arguments"], "{ \"id\": 3, \"n\": 12345678901234567890.10}");
    let told = ["task", "tool", "key", "run", "call_id"].map(|name| line[name].as_str().unwrap());
    assert_eq!(told, ["a", "keep", "/id 3", "run-a", "c3"]);
    assert!(line["accepted_at"].as_str().unwrap().ends_with('Z') && line["accepted_at_ms"].as_u64() > Some(0));
    let blocks = folder.run(&[&["submissions", "--task", "b", "--key", "/id 3"], store].concat(), b"").out;
    assert!(
        blocks.starts_with("54  20") && blocks.contains("arguments  {\"id\":3,\"n\":12345678901234567890.10}\n"),
        "{blocks}"
    );
}

#[test]
fn s5_what_was_accepted_is_shown_out_of_a_file_and_by_the_booth_that_has_it_open() {
    let folder = Folder::of(&[("tools/tools.json", TOOLS)]);
    submit(&folder, &["--state", "state"]);
    shown(&folder, &["--state", "state"]);
    let served = Served::start(&folder, &["--tools", "tools", "--state", "state"]);
    shown(&folder, &["--to", "unix:booth.sock"]);
    shown(&folder, &["--to", &served.tcp.clone()]);
    let locked = folder.run(&["submissions", "--state", "state"], b"");
    assert_eq!(locked.code, 2);
    assert!(locked.err.contains("ask that booth with `--to`"), "{}", locked.err);
    assert_eq!(served.end("-TERM"), Some(0));
}

#[test]
fn s5_what_was_accepted_is_shown_out_of_postgres() {
    let Some(server) = Server::start() else { return };
    let folder = Folder::of(&[("tools/tools.json", TOOLS)]);
    submit(&folder, &["--postgres", &server.url()]);
    shown(&folder, &["--postgres", &server.url()]);
}

#[test]
fn s5_whoever_follows_sees_each_as_it_is_accepted() {
    let folder = Folder::of(&[("tools/tools.json", TOOLS)]);
    let served = Served::start(&folder, &["--tools", "tools", "--state", "state"]);
    let mut follow = Command::new(env!("CARGO_BIN_EXE_toolbooth"))
        .args(["submissions", "--to", &served.tcp, "--jsonl", "--follow", "--tool", "keep"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    for id in ["1", "2", "3"] {
        let arguments = format!("{{\"id\": {id}}}");
        let call = folder.run(&["call", "keep", "--to", &served.tcp, "--args", &arguments], b"");
        assert_eq!(call.code, 0, "{}", call.err);
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!([&line["arguments"]["id"], &line["sequence"]].map(Value::to_string), [id, id]);
    }
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert_eq!(served.end("-TERM"), Some(0));
}

#[test]
fn a_ledger_that_is_not_there_is_not_made_by_looking_at_it() {
    let folder = Folder::of(&[]);
    for arguments in [&["--state", "nowhere"][..], &["--state", "nowhere", "--jsonl"]] {
        let ended = folder.run(&[&["submissions"], arguments].concat(), b"");
        assert_eq!(ended.code, 2);
        assert!(ended.err.contains("nowhere: no ledger is here"), "{}", ended.err);
    }
    assert!(!folder.path("nowhere").exists());
    let nobody = folder.run(&["submissions", "--to", "127.0.0.1:1"], b"");
    assert_eq!(nobody.code, 2);
    assert!(nobody.err.contains("no booth answers"), "{}", nobody.err);
    let both = folder.run(&["submissions", "--to", "127.0.0.1:1", "--state", "a"], b"");
    assert!(both.err.contains("cannot be used with"), "{}", both.err);
}

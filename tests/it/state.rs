//! What outlives a process: `--state` and `--postgres`, as their users name them.

use std::fs;

use serde_json::Value;

use crate::{ledgers::server::Server, program::Folder};

const TOOLS: &str = r#"{"tools":[
  {"name":"keep","parameters":{"type":"object"},"submit":{"once_per":{"argument":"/id"}}},
  {"name":"count","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","echo x >> ran; echo ran"]}},"accept":{"once_per":"task"}}
]}"#;

const OPEN: &str = r#"{"open":{"task_key":"t"}}"#;

fn folder() -> Folder {
    Folder::of(&[("tools/tools.json", TOOLS)])
}

fn batch(tool: &str, arguments: &str) -> String {
    let arguments = Value::from(arguments);
    format!(r#"{{"batch":{{"calls":[{{"id":"c","name":"{tool}","arguments":{arguments}}}]}}}}"#)
}

/// Pipes a batch through a booth with a ledger of this store: its first result, and its verdict.
fn pipe(folder: &Folder, store: &[&str], tool: &str, arguments: &str) -> (Value, Value) {
    let lines = format!("{OPEN}\n{}\n", batch(tool, arguments));
    let ended = folder.run(&[&["pipe", "--tools", "tools"], store].concat(), lines.as_bytes());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let answer = &ended.lines()[0]["batch"];
    (answer["results"][0].clone(), answer["verdict"].clone())
}

fn outlives(folder: &Folder, store: &[&str]) {
    let (first, _) = pipe(folder, store, "count", r#"{"n":1.0}"#);
    assert_eq!(
        (&first["executed"], &first["replayed"], &first["text"]),
        (&true.into(), &false.into(), &"ran\n".into())
    );
    let (same, verdict) = pipe(folder, store, "count", r#"{ "n": 1 }"#);
    assert_eq!((&same["executed"], &same["replayed"], &same["text"]), (&false.into(), &true.into(), &"ran\n".into()));
    assert_eq!(verdict["accepted"][0]["tool"], "count");
    let (other, _) = pipe(folder, store, "count", r#"{"n":2}"#);
    assert_eq!((&other["code"], &other["executed"]), (&"already_accepted".into(), &false.into()));
    assert_eq!(folder.read("ran"), "x\n", "it had its effect once");
}

#[test]
fn s2_what_was_accepted_stays_accepted_when_the_ledger_is_a_file() {
    let folder = folder();
    outlives(&folder, &["--state", "state/of/the booth"]);
    assert!(folder.path("state/of/the booth/ledger.redb").exists());
}

#[test]
fn s2_what_was_accepted_stays_accepted_when_the_ledger_is_in_postgres() {
    let Some(server) = Server::start() else { return };
    outlives(&folder(), &["--postgres", &server.url()]);
}

#[test]
fn a_ledger_that_cannot_be_opened_keeps_a_command_from_starting() {
    let folder = folder();
    fs::create_dir(folder.path("damaged")).unwrap();
    fs::write(folder.path("damaged/ledger.redb"), "no ledger").unwrap();
    fs::write(folder.path("address"), "postgres://u:s3cret@127.0.0.1:1/d\n").unwrap();
    fs::write(folder.path("no-address"), "postgres://u:s3cret@127.0.0.1:port/d\n").unwrap();
    for (name, settings) in [
        ("file.yaml", "state: {postgres_file: address}"),
        ("missing.yaml", "state: {postgres_file: nowhere}"),
        ("wrong.yaml", "state: {postgres_file: no-address}"),
    ] {
        fs::write(folder.path(name), settings).unwrap();
        let check = folder.run(&["check", name], b"");
        assert_eq!(check.code, 0, "{}{}", check.out, check.err);
    }
    let serve = &["serve", "--tools", "tools", "--tcp", "127.0.0.1:0"][..];
    let pipe = &["pipe", "--tools", "tools"][..];
    for (command, store, problem) in [
        (serve, ["--state", "damaged"], "ledger.redb: this is no ledger that can be read"),
        (pipe, ["--state", "damaged"], "ledger.redb: this is no ledger that can be read"),
        (pipe, ["--state", "tools/tools.json"], "the state folder must be one that the booth may write"),
        (serve, ["--postgres", "postgres://u:s3cret@127.0.0.1:1/d"], "postgres on 127.0.0.1:1, database d: "),
        (pipe, ["--postgres", "u:s3cret@db"], "--postgres: this is no address of PostgreSQL"),
        (serve, ["--config", "file.yaml"], "postgres on 127.0.0.1:1, database d: "),
        (serve, ["--config", "missing.yaml"], "nowhere: the address of PostgreSQL cannot be read"),
        (serve, ["--config", "wrong.yaml"], "no-address: the address of PostgreSQL cannot be read"),
    ] {
        let ended = folder.run(&[command, &store].concat(), b"");
        assert_eq!(ended.code, 2, "{store:?}");
        assert!(ended.err.contains(problem) && !ended.err.contains("s3cret"), "{store:?}: {}", ended.err);
    }
    let both = folder.run(&["serve", "--state", "a", "--postgres", "postgres://u:s3cret@db/d"], b"");
    assert_eq!(both.code, 2);
    assert!(both.err.contains("cannot be used with") && !both.err.contains("s3cret"), "{}", both.err);
}

#[test]
fn a_ledger_that_another_booth_has_open_is_named_with_the_way_out() {
    let folder = folder();
    let mut first = std::process::Command::new(env!("CARGO_BIN_EXE_toolbooth"))
        .args(["pipe", "--tools", "tools", "--state", "state"])
        .current_dir(folder.path(""))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It answers, so that it has opened its ledger.
    let (mut say, hear) = (first.stdin.take().unwrap(), first.stdout.take().unwrap());
    std::io::Write::write_all(&mut say, format!("{}\n", batch("keep", "{}")).as_bytes()).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(hear), &mut line).unwrap();
    let second = folder.run(&["pipe", "--tools", "tools", "--state", "state"], b"");
    assert_eq!(second.code, 2);
    assert!(
        second.err.contains("another process has this ledger open") && second.err.contains("--to"),
        "{}",
        second.err
    );
    drop(say);
    assert!(first.wait().unwrap().success());
}

//! The sidecar and the demo as processes: started, probed, called and stopped as their users do.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
};

use crate::program::Folder;

const ECHO: &str = "name: echo\nparameters: {type: object, properties: {n: {type: integer}}}\nexecute: {echo: {}}\n";

/// `toolbooth serve`, running in a folder. It is killed when the test is over.
struct Served {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    tcp: String,
}

impl Served {
    fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolbooth"))
            .args(["serve", "--tcp", "127.0.0.1:0", "--socket", "booth.sock"])
            .args(arguments)
            .current_dir(folder.path(""))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "listening on unix://booth.sock");
        let tcp = lines.next().unwrap().unwrap().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, lines, tcp }
    }

    /// Sends a signal, and waits for the end.
    fn end(mut self, signal: &str) -> Option<i32> {
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[test]
fn a_booth_serves_on_both_listeners_and_ends_cleanly_when_told_to() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO), ("tools/broken.yaml", "name: broken\nparameterz: {}\n")]);
    let mut served = Served::start(&folder, &["--tools", "tools"]);
    assert_eq!(served.lines.next().unwrap().unwrap(), "tools: 1 served, 1 quarantined");
    for address in ["unix:booth.sock", &served.tcp.clone()] {
        let probe = folder.run(&["probe", "--to", address], b"");
        assert_eq!((probe.code, probe.out.as_str()), (0, "serving\n"), "{address}: {}", probe.err);
        let ok = folder.run(&["call", "echo", "--to", address, "--args", r#"{"n":12345678901234567890}"#], b"");
        assert_eq!((ok.code, ok.out.as_str()), (0, "{\"n\":12345678901234567890}\n"), "{address}");
        let refused = folder.run(&["call", "echo", "--to", address, "--args", r#"{"n":"x"}"#, "--json"], b"");
        let shown = &refused.lines()[0];
        assert_eq!((refused.code, shown["code"].as_str().unwrap()), (1, "invalid_arguments"), "{address}");
        assert_eq!(shown["violations"][0]["path"], "/n");
        let broken = folder.run(&["call", "broken", "--to", address, "--json"], b"");
        assert_eq!(broken.lines()[0]["code"], "tool_quarantined");
    }
    assert_eq!(served.end("-TERM"), Some(0));
    assert!(!folder.path("booth.sock").exists(), "no socket is left");
}

#[test]
fn a_stale_socket_is_replaced_and_a_living_one_is_respected() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO)]);
    let first = Served::start(&folder, &["--tools", "tools"]);
    let second = folder.run(&["serve", "--socket", "booth.sock"], b"");
    assert_eq!(second.code, 2);
    assert!(second.err.contains("another process has this socket"), "{}", second.err);
    // Killed, it cannot clean up after itself.
    assert_eq!(first.end("-KILL"), None);
    assert!(folder.path("booth.sock").exists());
    let third = Served::start(&folder, &["--tools", "tools"]);
    assert_eq!(folder.run(&["probe", "--to", "unix:booth.sock"], b"").code, 0);
    assert_eq!(third.end("-INT"), Some(0));
}

#[test]
fn what_keeps_a_booth_from_starting_is_said_with_its_remedy() {
    let folder = Folder::of(&[("booth.yaml", "tools: [tools]\nlisten: {sockett: a}\n"), ("file", "")]);
    for (arguments, says) in [
        (vec!["serve", "--tcp", "0.0.0.0:0"], "listens on loopback only; use 127.0.0.1 or a Unix socket"),
        (vec!["serve", "--tools", "nowhere"], "nowhere: No such file or directory (os error 2): name a contract file"),
        (vec!["serve", "--socket", "file"], "file: this is not a socket; take another path, or remove it"),
        (vec!["serve", "--config", "booth.yaml"], "booth.yaml:2: unknown key `sockett`; did you mean `socket`?"),
        (vec!["probe", "--to", "127.0.0.1:1"], "no booth answers on 127.0.0.1:1; start one with `toolbooth serve`"),
    ] {
        let ended = folder.run(&arguments, b"");
        assert_eq!(ended.code, 2, "{arguments:?}");
        assert!(ended.err.contains(says), "{arguments:?}: {}", ended.err);
    }
}

#[test]
fn the_demo_plays_two_conversations_and_says_what_to_try_next() {
    let folder = Folder::of(&[]);
    let demo = folder.run(&["demo"], b"");
    assert_eq!((demo.code, demo.err.as_str()), (0, ""));
    for line in [
        "  < call_finished call_1: error invalid_arguments, not executed",
        "      |   - evidence: expected string, got number",
        "  < batch_finished: the run may end; every result agrees",
        "      |   - a: expected number, got string",
        "  < execute call_2 read_file {\"path\":\"notes.txt\"}",
        "      sent      {\"filePath\": \"notes.txt\"}",
        "      executed  {\"path\":\"notes.txt\"}",
        "  < execute call_3 add {\"a\":1,\"b\":2}",
        "      | 3",
        "What to try next:",
    ] {
        assert!(demo.out.lines().any(|printed| printed == line), "{line}\nis missing in\n{}", demo.out);
    }
}

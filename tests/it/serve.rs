//! The sidecar and the demo as processes: started, probed, called and stopped as their users do.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    process::{Child, ChildStdout, Command, Stdio},
};

use futures::future::join_all;
use tonic::{
    Code,
    transport::{Channel, Endpoint},
};
use toolbooth::grpc::proto::{ErrorCode, Open, VerdictReason, run_response::Frame as Hear};

use crate::{
    program::Folder,
    stand::{Stream, batch, call, code, outcome, text},
};

const ECHO: &str = "name: echo\nparameters: {type: object, properties: {n: {type: integer}}}\nexecute: {echo: {}}\n";

const ASK: &str = "name: ask\nparameters: {type: object}\nexecute: {host: {}}\n";

/// `toolbooth serve`, running in a folder. It is killed when the test is over.
pub(crate) struct Served {
    pub(crate) child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    pub(crate) tcp: String,
}

impl Served {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Self {
        Self::at(folder, "booth.sock", arguments)
    }

    /// The same, on this socket.
    pub(crate) fn at(folder: &Folder, socket: &str, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolbooth"))
            .args(["serve", "--tcp", "127.0.0.1:0", "--socket", socket])
            .args(arguments)
            .current_dir(folder.path(""))
            .env_remove("TOOLBOOTH_POSTGRES")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), format!("listening on unix://{socket}"));
        let tcp = lines.next().unwrap().unwrap().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, lines, tcp }
    }

    /// A connection over TCP.
    pub(crate) async fn channel(&self) -> Channel {
        Endpoint::try_from(format!("http://{}", self.tcp)).unwrap().connect().await.unwrap()
    }

    /// Sends a signal, and waits for the end.
    pub(crate) fn end(mut self, signal: &str) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }

    fn signal(&self, signal: &str) {
        Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
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
fn a_booth_that_was_replaced_leaves_the_socket_of_its_successor_alone() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO)]);
    let first = Served::start(&folder, &["--tools", "tools"]);
    std::fs::remove_file(folder.path("booth.sock")).unwrap();
    let second = Served::start(&folder, &["--tools", "tools"]);
    assert_eq!(first.end("-TERM"), Some(0));
    assert_eq!(folder.run(&["probe", "--to", "unix:booth.sock"], b"").code, 0, "the second one can still be reached");
    assert_eq!(second.end("-TERM"), Some(0));
    assert!(!folder.path("booth.sock").exists());
}

#[tokio::test]
async fn a_draining_booth_leaves_the_socket_of_its_successor_alone() {
    let folder = Folder::of(&[("tools/ask.yaml", ASK)]);
    let mut first = Served::start(&folder, &["--tools", "tools", "--grace", "1m"]);
    let mut stream = Stream::over(first.channel().await).await.open(Open::default()).await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    first.signal("-TERM");
    stream.hear_until(|frame| matches!(frame, Hear::Draining(_))).await;
    let second = Served::start(&folder, &["--tools", "tools"]);
    stream.say_at("b1", 0, outcome("done"));
    stream.rest().await;
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.run(&["probe", "--to", "unix:booth.sock"], b"").code, 0, "the successor can be reached");
    assert_eq!(second.end("-TERM"), Some(0));
    assert!(!folder.path("booth.sock").exists());
}

#[tokio::test]
async fn a_second_signal_ends_a_booth_at_once_and_is_its_exit_code() {
    let folder = Folder::of(&[("tools/ask.yaml", ASK)]);
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let served = Served::start(&folder, &["--tools", "tools", "--grace", "1m"]);
        let mut stream = Stream::over(served.channel().await).await.open(Open::default()).await;
        stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
        stream.asked().await;
        served.signal("-TERM");
        stream.hear_until(|frame| matches!(frame, Hear::Draining(_))).await;
        assert_eq!(served.end(signal), Some(code));
        assert!(!folder.path("booth.sock").exists());
    }
}

#[test]
fn the_socket_belongs_to_whom_it_was_given() {
    let folder = Folder::of(&[("tools/echo.yaml", ECHO), ("booth.yaml", "listen: {socket_mode: '0600'}\n")]);
    let file = || std::fs::metadata(folder.path("booth.sock")).unwrap();
    let standard = Served::start(&folder, &["--tools", "tools"]);
    let own = file().gid();
    assert_eq!(file().permissions().mode() & 0o777, 0o660);
    assert_eq!(standard.end("-TERM"), Some(0));
    // Its own group is one that every user may give.
    let given = Served::start(&folder, &["--config", "booth.yaml", "--socket-group", &own.to_string()]);
    assert_eq!((file().permissions().mode() & 0o777, file().gid()), (0o600, own));
    assert_eq!(given.end("-TERM"), Some(0));
    let flag = Served::start(&folder, &["--config", "booth.yaml", "--socket-mode", "0666"]);
    assert_eq!(file().permissions().mode() & 0o777, 0o666, "flags go before the settings file");
    assert_eq!(flag.end("-TERM"), Some(0));
}

/// The status and the body of a plain HTTP answer.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut connection = TcpStream::connect(address).unwrap();
    write!(connection, "GET {path} HTTP/1.1\r\nHost: booth\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.trim().to_owned())
}

#[tokio::test]
async fn health_is_told_over_plain_http_and_readiness_ends_with_the_first_signal() {
    let folder = Folder::of(&[("tools/ask.yaml", ASK)]);
    let mut served = Served::start(&folder, &["--tools", "tools", "--diagnostics", "127.0.0.1:0", "--grace", "1m"]);
    let line = served.lines.next().unwrap().unwrap();
    let address = line.strip_prefix("diagnostics on http://").unwrap();
    assert_eq!(get(address, "/livez"), (200, "ok".to_owned()));
    assert_eq!(get(address, "/readyz"), (200, "ready".to_owned()));
    assert_eq!(get(address, "/else").0, 404);
    // While a batch runs, the booth drains and is not gone.
    let mut stream = Stream::over(served.channel().await).await.open(Open::default()).await;
    stream.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    stream.asked().await;
    served.signal("-TERM");
    stream.hear_until(|frame| matches!(frame, Hear::Draining(_))).await;
    assert_eq!(get(address, "/readyz"), (503, "draining".to_owned()));
    assert_eq!(get(address, "/livez"), (200, "ok".to_owned()));
    stream.say_at("b1", 0, outcome("done"));
    stream.rest().await;
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn b8_a_signal_during_a_hundred_running_batches_loses_no_call() {
    let folder = Folder::of(&[("tools/ask.yaml", ASK), ("tools/echo.yaml", ECHO)]);
    let mut served = Served::start(&folder, &["--tools", "tools", "--grace", "1s"]);
    let channel = served.channel().await;
    let open = async |_| Stream::over(channel.clone()).await.open(Open::default()).await;
    let mut streams = join_all((0..100).map(open)).await;
    for stream in &mut streams {
        stream.say_of("b1", batch(vec![call("a", "ask", "{}"), call("b", "echo", r#"{"n":7}"#)]));
        stream.asked().await;
    }
    served.signal("-TERM");
    // Every second host answers within the grace.
    for (number, stream) in streams.iter_mut().enumerate() {
        stream.hear_until(|frame| matches!(frame, Hear::Draining(_))).await;
        if number % 2 == 0 {
            stream.say_at("b1", 0, outcome("in time"));
        }
    }
    for (number, stream) in streams.iter_mut().enumerate() {
        let (mut results, finished) = stream.rest().await;
        results.sort_by_key(|result| result.index);
        let answers: Vec<(ErrorCode, String)> = results.iter().map(|result| (code(result), text(result))).collect();
        assert_eq!(answers[1], (ErrorCode::Unspecified, r#"{"n":7}"#.to_owned()));
        let verdict = finished.verdict.unwrap();
        if number % 2 == 0 {
            assert_eq!(answers[0], (ErrorCode::Unspecified, "in time".to_owned()));
            assert_eq!(verdict.reason(), VerdictReason::NotAll);
        } else {
            assert_eq!((answers[0].0, results[0].executed), (ErrorCode::Cancelled, true));
            assert_eq!(verdict.reason(), VerdictReason::Cancelled);
        }
        assert_eq!(stream.end().await.unwrap_err().code(), Code::Unavailable);
    }
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(!folder.path("booth.sock").exists());
}

#[test]
fn what_keeps_a_booth_from_starting_is_said_with_its_remedy() {
    let folder = Folder::of(&[("booth.yaml", "tools: [tools]\nlisten: {sockett: a}\n"), ("file", "")]);
    for (arguments, says) in [
        (vec!["serve", "--tcp", "0.0.0.0:0"], "listens on loopback only; use 127.0.0.1 or a Unix socket"),
        (vec!["serve", "--tools", "nowhere"], "nowhere: No such file or directory (os error 2): name a contract file"),
        (vec!["serve", "--tcp", "127.0.0.1:0", "--diagnostics", "192.0.2.1:1"], "192.0.2.1:1: "),
        (
            vec!["serve", "--socket", "x", "--socket-mode", "999"],
            "`999` is no file mode: write it in octal, like `0660`",
        ),
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
        "  < execute call_1 add {\"a\":1,\"b\":2}",
        "      repair    string_to_number at /a: string became number",
        "  < execute call_2 read_file {\"path\":\"notes.txt\"}",
        "      sent      {\"filePath\": \"notes.txt\"}",
        "      executed  {\"path\":\"notes.txt\"}",
        "      | 3",
        "What to try next:",
    ] {
        assert!(demo.out.lines().any(|printed| printed == line), "{line}\nis missing in\n{}", demo.out);
    }
}

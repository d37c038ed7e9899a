//! A stream that is cut at every point of a conversation: the run is cancelled, and its id is free again.

use std::{sync::Arc, time::Duration};

use toolbooth::grpc::proto::{
    self, Open, PolicyStage, policy_decision::Decision, run_request::Frame as Say, run_response::Frame as Hear,
};

use proto::ErrorCode::{Cancelled, Truncated};

use crate::stand::{Stand, Stream, call, outcome, text};

/// Nothing here has a time-out: what ends, ends because its stream was cut.
const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"sleep","parameters":{"type":"object"},"execute":{"command":{"argv":["sleep","1000"]}}},
  {"name":"keep","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"run","in_doubt":"retry"}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

const STEPS: usize = 13;

/// How the host goes away.
#[derive(Debug, Clone, Copy)]
enum Cut {
    /// Both halves are dropped.
    Reset,
    /// It half-closes, hears a frame or nothing, and goes.
    HalfCloseFirst,
    /// Its process ends: the connection is gone.
    Crash,
}

fn open() -> Open {
    Open {
        run_id: "r".into(),
        ask_before: true,
        ask_after: true,
        policy_timeout: Some(prost_types::Duration { seconds: 3600, nanos: 0 }),
        ..Open::default()
    }
}

fn allow(stage: PolicyStage) -> Say {
    let decision = Some(Decision::Allow(proto::Allow {}));
    Say::PolicyDecision(proto::PolicyDecision { stage: stage.into(), decision })
}

fn start(name: &str) -> Say {
    Say::CallStart(proto::CallStart { name: name.into(), ..proto::CallStart::default() })
}

/// Takes a call that needs no arguments to its end, and its policy says yes.
async fn begin_call(stream: &mut Stream, index: u32, name: &str) {
    stream.say_at("b1", index, start(name));
    stream.say_at("b1", index, Say::CallEnd(proto::CallEnd {}));
    stream.hear_until(|frame| matches!(frame, Hear::AskPolicy(_))).await;
    stream.say_at("b1", index, allow(PolicyStage::Before));
    stream.hear_until(|frame| matches!(frame, Hear::CallStarted(_))).await;
}

/// The steps of the conversation, each waiting for what it brings.
async fn step(stream: &mut Stream, number: usize) {
    match number {
        0 => {
            stream.say(Say::Open(open()));
            stream.hear_until(|frame| matches!(frame, Hear::Opened(_))).await;
        }
        1 => stream.say_of("b1", Say::BatchStart(proto::BatchStart { eager: true, ..proto::BatchStart::default() })),
        2 => stream.say_at("b1", 0, start("ask")),
        3 => stream.say_at("b1", 0, Say::ArgumentsDelta(proto::ArgumentsDelta { data: "{}".into() })),
        4 => {
            stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
            stream.hear_until(|frame| matches!(frame, Hear::AskPolicy(_))).await;
        }
        5 => {
            stream.say_at("b1", 0, allow(PolicyStage::Before));
            stream.asked().await;
        }
        6 => begin_call(stream, 1, "sleep").await,
        7 => begin_call(stream, 2, "keep").await,
        8 => {
            stream.say_at("b1", 0, Say::ToolProgress(proto::ToolProgress::default()));
            stream.hear_until(|frame| matches!(frame, Hear::Progress(_))).await;
        }
        9 => {
            stream.say_at("b1", 0, outcome("done"));
            stream.hear_until(|frame| matches!(frame, Hear::AskPolicy(_))).await;
        }
        10 => {
            stream.say_at("b1", 0, allow(PolicyStage::After));
            stream.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
        }
        11 => stream.say_of("b1", Say::BatchEnd(proto::BatchEnd::default())),
        _ => stream.say(Say::EndRun(proto::EndRun::default())),
    }
}

async fn play(stand: &Stand, steps: usize, cut: Cut) {
    let mut stream = stand.stream().await;
    for number in 0..steps {
        step(&mut stream, number).await;
    }
    if matches!(cut, Cut::HalfCloseFirst) {
        stream.half_close();
        // Something comes of it, or the end: then the half-close has arrived before the cut.
        drop(stream.end().await);
    }
}

/// Plays so many steps and goes away.
async fn cut_after(stand: &Arc<Stand>, steps: usize, cut: Cut) {
    if !matches!(cut, Cut::Crash) {
        return play(stand, steps, cut).await;
    }
    let stand = Arc::clone(stand);
    let crash = move || {
        let process = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stream = process.block_on(async {
            let mut stream = stand.stream().await;
            for number in 0..steps {
                step(&mut stream, number).await;
            }
            stream
        });
        // Nothing is closed in order: the runtime goes with everything in it.
        process.spawn(async move {
            let _held = stream;
            std::future::pending::<()>().await;
        });
        process.shutdown_background();
    };
    tokio::task::spawn_blocking(crash).await.unwrap();
}

/// Opens the run anew, as soon as its id is free.
async fn reopened(stand: &Stand) -> Stream {
    let reopen = async {
        loop {
            let mut stream = stand.stream().await;
            stream.say(Say::Open(Open { run_id: "r".into(), ..Open::default() }));
            match stream.end().await {
                Ok(Some(_)) => return stream,
                Ok(None) => panic!("a run that is not opened gets a status"),
                Err(status) => assert_eq!(status.code(), tonic::Code::AlreadyExists),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), reopen).await.expect("the run is freed soon after the cut")
}

async fn check(cut: Cut) {
    let stand = Arc::new(Stand::with(TOOLS).await);
    for steps in 0..=STEPS {
        cut_after(&stand, steps, cut).await;
        let mut stream = reopened(&stand).await;
        let (results, _) = stream.batch("b1", vec![call("a", "echo", r#"{"x":1}"#)]).await;
        assert_eq!(text(&results[0]), r#"{"x":1}"#, "{cut:?} after {steps} steps");
        stream.say(Say::EndRun(proto::EndRun::default()));
        assert!(stream.end().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn b8_a_reset_cancels_the_run_wherever_it_comes() {
    check(Cut::Reset).await;
}

#[tokio::test]
async fn b8_a_reset_after_half_close_cancels_what_still_runs() {
    check(Cut::HalfCloseFirst).await;
}

#[tokio::test]
async fn b8_a_host_that_crashes_leaves_nothing_behind() {
    check(Cut::Crash).await;
}

#[tokio::test]
async fn b8_half_close_and_end_run_finish_what_runs_and_flush_it() {
    let stand = Stand::with(TOOLS).await;
    let batch = || crate::stand::batch(vec![call("a", "echo", "{}"), call("b", "ask", "{}")]);
    let mut stream = stand.run().await;
    stream.say_of("b1", batch());
    stream.asked().await;
    stream.say(Say::EndRun(proto::EndRun::default()));
    stream.say_of("b2", batch());
    assert_eq!(stream.rejected().await.1, proto::RejectReason::Closing);
    stream.say_at("b1", 1, outcome("after the end of the run"));
    let (results, finished) = stream.rest().await;
    assert_eq!(text(results.iter().find(|result| result.index == 1).unwrap()), "after the end of the run");
    assert_eq!((results.len(), finished.call_ids.len()), (2, 2));
    assert!(stream.end().await.unwrap().is_none(), "closed cleanly");

    // A host that has half-closed cannot answer: its calls do not wait for it.
    let mut stream = stand.run().await;
    stream.say_of("b1", batch());
    stream.asked().await;
    stream.half_close();
    let (results, finished) = stream.rest().await;
    let asked = results.iter().find(|result| result.index == 1).unwrap();
    assert_eq!((crate::stand::code(asked), asked.executed), (proto::ErrorCode::ExecutionFailed, true));
    assert_eq!((results.len(), finished.verdict.unwrap().terminate), (2, false));
    assert!(stream.end().await.unwrap().is_none(), "closed cleanly");
}

#[tokio::test]
async fn b8_a_cancel_of_the_run_answers_every_call_that_runs_or_is_to_come() {
    let stand = Stand::with(TOOLS).await;
    let cancel = || Say::Cancel(proto::Cancel::default());
    for eager in [false, true] {
        let mut stream = stand.run().await;
        let begin = proto::BatchStart { eager, ..proto::BatchStart::default() };
        stream.say_of("b1", Say::BatchStart(begin));
        for index in 0..3 {
            stream.say_at("b1", index, start("ask"));
        }
        // 0 is complete and, in an eager batch, running; 1 is open; 2 is complete and waits for 1.
        stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
        stream.say_at("b1", 2, Say::CallEnd(proto::CallEnd {}));
        if eager {
            stream.asked().await;
        }
        stream.say(cancel());
        let (mut results, finished) = stream.rest().await;
        results.sort_by_key(|result| result.index);
        let told: Vec<_> = results.iter().map(|result| (crate::stand::code(result), result.executed)).collect();
        assert_eq!(told, [(Cancelled, eager), (Truncated, false), (Cancelled, false)], "eager: {eager}");
        assert_eq!(finished.verdict.unwrap().reason(), proto::VerdictReason::Cancelled);
        let (results, _) = stream.batch("b2", vec![call("a", "echo", "{}")]).await;
        assert_eq!(crate::stand::code(&results[0]), Cancelled, "a cancelled run runs nothing more");
    }
    // A batch that is whole, and one that is cancelled while it is streamed.
    let mut stream = stand.run().await;
    stream.say_of("b1", crate::stand::batch(vec![call("a", "ask", "{}"), call("b", "sleep", "{}")]));
    stream.asked().await;
    stream.say(cancel());
    let (results, _) = stream.rest().await;
    assert_eq!(results.iter().map(crate::stand::code).collect::<Vec<_>>(), [Cancelled; 2]);
    let mut stream = stand.run().await;
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    stream.say_at("b1", 0, start("echo"));
    stream.say_at("b1", 0, Say::CallEnd(proto::CallEnd {}));
    stream.say_of("b1", cancel());
    let (results, _) = stream.rest().await;
    assert_eq!((crate::stand::code(&results[0]), results[0].executed), (Cancelled, false));
    let (results, _) = stream.batch("b2", vec![call("a", "echo", "{}")]).await;
    assert!(!results[0].is_error, "the run goes on");
}

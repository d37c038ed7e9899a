//! One batch over the wire: eager streaming, order, limits, time, ids and the verdict (rules B1 to B9).

use toolbooth::grpc::proto::{
    self, Budget, ErrorCode, ExecutionMode, Limits, Open, VerdictReason, run_request::Frame as Say,
    run_response::Frame as Hear,
};

use ErrorCode::{DuplicateCallId, InvalidArguments, MalformedArguments, ToolNotFound, ToolQuarantined, Unspecified};
use VerdictReason::{AllTerminate, NotAll};

use crate::stand::{Stand, Stream, batch, call, code, outcome, text, text_content};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object","properties":{"x":{"type":"integer"}}},"execute":{"host":{}}},
  {"name":"end","parameters":{"type":"object"},"execute":{"host":{}},"terminate":true},
  {"name":"one","parameters":{"type":"object"},"execute":{"host":{}},"mode":"sequential"},
  {"name":"idle","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"400ms"},
  {"name":"hard","parameters":{"type":"object"},"execute":{"host":{}},"deadline":"400ms","side_effect":true},
  {"name":"broken","parameters":{"type":"nope"}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

fn begin(stream: &Stream, batch_id: &str, eager: bool) {
    stream.say_of(batch_id, Say::BatchStart(proto::BatchStart { eager, ..proto::BatchStart::default() }));
}

fn start(stream: &Stream, index: u32, name: &str) {
    let start = proto::CallStart { id: format!("c{index}"), name: name.into(), ..proto::CallStart::default() };
    stream.say_at("b1", index, Say::CallStart(start));
}

fn complete(stream: &Stream, index: u32) {
    stream.say_at("b1", index, Say::CallEnd(proto::CallEnd {}));
}

fn finish(stream: &Stream, raw: &str) {
    let finish = Some(proto::Finish { raw: raw.into(), ..proto::Finish::default() });
    stream.say_of("b1", Say::BatchEnd(proto::BatchEnd { finish }));
}

fn by_index(mut results: Vec<proto::CallResult>) -> Vec<proto::CallResult> {
    results.sort_by_key(|result| result.index);
    results
}

fn agreeing(terminate: Option<bool>) -> Say {
    Say::ToolOutcome(proto::ToolOutcome { terminate, ..proto::ToolOutcome::default() })
}

#[tokio::test]
async fn an_eager_batch_runs_calls_before_it_has_ended_and_in_the_order_of_their_index() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    begin(&stream, "b1", true);
    (0..3).for_each(|index| start(&stream, index, "ask"));
    complete(&stream, 2);
    complete(&stream, 0);
    assert_eq!(stream.asked().await.1, 0);
    complete(&stream, 1);
    assert_eq!(stream.asked().await.1, 1, "call 2 was complete first, and waited for its turn");
    assert_eq!(stream.asked().await.1, 2);
    (0..3).for_each(|index| stream.say_at("b1", index, outcome("x")));
    for _ in 0..3 {
        stream.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
    }
    finish(&stream, "stop");
    assert_eq!(stream.rest().await.1.call_ids, ["c0", "c1", "c2"]);
}

#[tokio::test]
async fn b4_an_eager_response_that_is_cut_off_has_run_its_earlier_calls_and_no_other() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    begin(&stream, "b1", true);
    (0..3).for_each(|index| start(&stream, index, "end"));
    complete(&stream, 0);
    complete(&stream, 2);
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 0, outcome("ran"));
    finish(&stream, "MAX_TOKENS");
    let (results, finished) = stream.rest().await;
    let results = by_index(results);
    assert_eq!((text(&results[0]).as_str(), results[0].terminate), ("ran", true));
    assert!(results[1..].iter().all(|result| code(result) == ErrorCode::Truncated && !result.executed));
    let verdict = finished.verdict.unwrap();
    assert_eq!((verdict.terminate, verdict.reason(), verdict.blocking), (false, VerdictReason::Truncated, vec![1, 2]));
    assert_eq!(verdict.tool_choice, "end");
}

#[tokio::test]
async fn b4_an_unknown_finish_reason_is_warned_of_and_not_taken_as_cut_off() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let finish = Some(proto::Finish { raw: "CONTENT_FILTER".into(), ..proto::Finish::default() });
    let calls = vec![call("a", "echo", "{}")];
    stream.say_of("b1", Say::Batch(proto::Batch { calls, finish, ..proto::Batch::default() }));
    let (results, finished) = stream.rest().await;
    assert!(!results[0].is_error);
    assert_eq!(finished.warnings[0].code, "unknown_finish_reason");
    assert!(finished.warnings[0].message.contains("CONTENT_FILTER"));
}

#[tokio::test]
async fn b3_a_batch_is_sequential_by_its_own_word_by_the_runs_or_by_one_of_its_tools() {
    let stand = Stand::with(TOOLS).await;
    let sequential = || ExecutionMode::Sequential.into();
    let two = |name| vec![call("a", "ask", "{}"), call("b", name, "{}")];
    for (case, run, mode, calls) in [
        ("batch", Open::default(), sequential(), two("ask")),
        ("run", Open { mode: sequential(), ..Open::default() }, 0, two("ask")),
        ("tool", Open::default(), ExecutionMode::Parallel.into(), two("one")),
    ] {
        let mut stream = stand.open(run).await;
        stream.say_of("b1", Say::Batch(proto::Batch { calls, mode, finish: None }));
        assert_eq!(stream.asked().await.1, 0);
        stream.say_at("b1", 0, outcome("first"));
        let heard = stream.hear_until(|frame| matches!(frame, Hear::Execute(_))).await;
        let finished = heard.iter().position(|heard| matches!(heard.frame, Some(Hear::CallFinished(_))));
        assert!(finished.is_some_and(|place| place + 1 < heard.len()), "{case}: the second starts after the first");
        stream.say_at("b1", 1, outcome("second"));
        assert_eq!(stream.rest().await.0.len(), 2, "{case}");
    }
    // A batch may say that it is parallel though the run is not.
    let mut stream = stand.open(Open { mode: sequential(), ..Open::default() }).await;
    let mode = ExecutionMode::Parallel.into();
    stream.say_of("b1", Say::Batch(proto::Batch { calls: two("ask"), mode, finish: None }));
    stream.asked().await;
    stream.asked().await;
}

#[tokio::test]
async fn p1_an_earlier_stage_refuses_before_a_later_one_looks() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let calls = vec![
        call("a", "nowhere", "{"),
        call("b", "broken", "{"),
        call("c", "ask", "{"),
        call("d", "ask", "[1]"),
        call("e", "ask", r#"{"x":"y"}"#),
        call("f", "ask", "{\"x\":\"\u{0}\"}"),
        call("g", "ask", r#"{"x":1,"x":2}"#),
    ];
    let (results, verdict) = stream.batch("b1", calls).await;
    let codes: Vec<ErrorCode> = results.iter().map(code).collect();
    assert_eq!(
        codes,
        [
            ToolNotFound,
            ToolQuarantined,
            MalformedArguments,
            MalformedArguments,
            InvalidArguments,
            MalformedArguments,
            MalformedArguments
        ]
    );
    assert!(results.iter().all(|result| !result.executed && result.arguments.is_empty() && !result.terminate));
    assert_eq!(results[2].raw_arguments, "{");
    assert_eq!(verdict.blocking, [0, 1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn b7_progress_is_heard_before_the_end_moves_the_idle_time_and_not_the_deadline() {
    let stand = Stand::with(TOOLS).await;
    for (tool, expected) in [("idle", ErrorCode::TimedOut), ("hard", ErrorCode::OutcomeUnknown)] {
        let mut stream = stand.run().await;
        stream.say_of("b1", batch(vec![call("a", tool, "{}")]));
        stream.asked().await;
        let (results, _) = stream.rest().await;
        assert_eq!((code(&results[0]), results[0].executed), (expected, true), "{tool}");
        let reason = if tool == "idle" { "idle" } else { "deadline" };
        assert_eq!(results[0].error.as_ref().unwrap().reason, reason);
        // Late progress is dropped, and a late outcome too.
        stream.say_at("b1", 0, Say::ToolProgress(proto::ToolProgress::default()));
        stream.say_at("b1", 0, outcome("late"));
        stream.say_of("b2", batch(vec![call("a", "echo", "{}")]));
        let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
        assert!(!heard.iter().any(|heard| matches!(heard.frame, Some(Hear::Progress(_) | Hear::FrameRejected(_)))));
    }
    // Signs of life for longer than the idle time; the same do not help against the deadline.
    for (tool, expected) in [("idle", Unspecified), ("hard", ErrorCode::OutcomeUnknown)] {
        let mut stream = stand.run().await;
        stream.say_of("b1", batch(vec![call("a", tool, "{}")]));
        stream.asked().await;
        let begun = tokio::time::Instant::now();
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(50));
        let mut number = 0.0;
        while begun.elapsed() < std::time::Duration::from_millis(900) {
            ticks.tick().await;
            number += 1.0;
            let progress = proto::ToolProgress { progress: number, total: 9.5, message: "on it".into() };
            stream.say_at("b1", 0, Say::ToolProgress(progress));
        }
        stream.say_at("b1", 0, outcome("alive"));
        let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
        let first = heard.iter().find_map(|heard| match &heard.frame {
            Some(Hear::Progress(progress)) => Some((progress.progress, progress.total, progress.message.as_str())),
            _ => None,
        });
        assert_eq!(first, Some((1.0, 9.5, "on it")));
        let place = |kind: fn(&Hear) -> bool| heard.iter().rposition(|heard| heard.frame.as_ref().is_some_and(kind));
        let (progress, end) =
            (place(|f| matches!(f, Hear::Progress(_))), place(|f| matches!(f, Hear::CallFinished(_))));
        assert!(progress < end, "{tool}: no progress after the end");
        let Some(Hear::CallFinished(result)) = &heard[end.unwrap()].frame else {
            panic!("the frame that was waited for")
        };
        assert_eq!(code(result), expected, "{tool}");
    }
}

#[tokio::test]
async fn b7_each_limit_refuses_what_is_over_it_and_is_named() {
    let stand = Stand::with(TOOLS).await;
    let open = |limits| Open { limits: Some(limits), ..Open::default() };
    let echo = |id: &str| call(id, "echo", "{}");
    let budget = |verdict: &proto::Verdict| verdict.remaining.clone().unwrap();

    let mut stream = stand.open(open(Limits { max_turns: Some(1), ..Limits::default() })).await;
    assert_eq!(stream.opened.limits.as_ref().unwrap().max_turns, Some(1));
    let (results, verdict) = stream.batch("b1", vec![echo("a")]).await;
    assert!(!results[0].is_error);
    assert_eq!(
        (verdict.stop, verdict.limit.as_str(), verdict.reason()),
        (true, "max_turns", VerdictReason::LimitReached)
    );
    assert_eq!(budget(&verdict), Budget { turns: Some(0), ..Budget::default() });
    let (results, verdict) = stream.batch("b2", vec![echo("a"), echo("b")]).await;
    assert!(results.iter().all(|result| code(result) == ErrorCode::LimitReached && !result.executed));
    assert_eq!(results[1].error.as_ref().unwrap().reason, "max_turns");
    assert_eq!((verdict.stop, verdict.limit.as_str()), (true, "max_turns"));

    let mut stream = stand.open(open(Limits { max_calls: Some(3), ..Limits::default() })).await;
    let (_, verdict) = stream.batch("b1", vec![echo("a"), echo("b")]).await;
    assert_eq!((verdict.stop, verdict.limit.as_str(), budget(&verdict).calls), (false, "", Some(1)));
    let (results, verdict) = stream.batch("b2", vec![echo("a"), echo("b")]).await;
    assert_eq!(results.iter().map(code).collect::<Vec<_>>(), [Unspecified, ErrorCode::LimitReached]);
    assert_eq!((verdict.stop, verdict.limit.as_str(), budget(&verdict).calls), (true, "max_calls", Some(0)));

    let mut stream = stand.open(open(Limits { max_calls_per_batch: Some(1), ..Limits::default() })).await;
    for id in ["b1", "b2"] {
        let (results, verdict) = stream.batch(id, vec![echo("a"), echo("b")]).await;
        assert_eq!(results.iter().map(code).collect::<Vec<_>>(), [Unspecified, ErrorCode::LimitReached]);
        assert_eq!((verdict.stop, verdict.limit.as_str()), (false, "max_calls_per_batch"), "the run goes on");
    }

    let mut stream = stand.open(open(Limits { max_consecutive_invalid: Some(2), ..Limits::default() })).await;
    let (_, verdict) = stream.batch("b1", vec![call("a", "nowhere", "{}"), echo("b"), call("c", "ask", "{")]).await;
    assert_eq!((verdict.stop, budget(&verdict).consecutive_invalid), (false, Some(1)), "a call that ran resets it");
    let (results, verdict) = stream.batch("b2", vec![call("a", "ask", r#"{"x":"y"}"#)]).await;
    assert!(text(&results[0]).ends_with("invalid call 2 in a row, and the last one allowed: the run stops here."));
    assert_eq!(results[0].error.as_ref().unwrap().message, text(&results[0]));
    assert_eq!((verdict.stop, verdict.limit.as_str()), (true, "max_consecutive_invalid"));
    let (results, _) = stream.batch("b3", vec![echo("a")]).await;
    assert_eq!(results[0].error.as_ref().unwrap().reason, "max_consecutive_invalid");

    let max_wall = Some(prost_types::Duration { seconds: 0, nanos: 1 });
    let mut stream = stand.open(open(Limits { max_wall, ..Limits::default() })).await;
    let (results, verdict) = stream.batch("b1", vec![echo("a")]).await;
    assert_eq!(results[0].error.as_ref().unwrap().reason, "max_wall");
    assert_eq!((verdict.stop, verdict.limit.as_str()), (true, "max_wall"));
    assert_eq!(budget(&verdict).wall, Some(prost_types::Duration::default()));
}

#[tokio::test]
async fn b6_the_run_ends_only_if_every_result_says_so() {
    let stand = Stand::with(TOOLS).await;
    for (case, said, expected, blocking) in [
        ("term-004", vec![Some(true), Some(false)], NotAll, vec![1]),
        ("term-005", vec![Some(true), Some(true)], AllTerminate, vec![]),
        ("term-006", vec![Some(false), Some(false), Some(true)], NotAll, vec![0, 1]),
        ("term-007", vec![Some(true)], AllTerminate, vec![]),
        ("unset means what the contract says", vec![None, None], AllTerminate, vec![]),
        ("the executor has the last word", vec![None, Some(false)], NotAll, vec![1]),
    ] {
        let mut stream = stand.run().await;
        stream.say_of("b1", batch(said.iter().map(|_| call("", "end", "{}")).collect()));
        for _ in &said {
            stream.asked().await;
        }
        // Answered backwards: the verdict does not depend on who is first.
        for (index, terminate) in said.iter().enumerate().rev() {
            stream.say_at("b1", u32::try_from(index).unwrap(), agreeing(*terminate));
        }
        let verdict = stream.rest().await.1.verdict.unwrap();
        assert_eq!((verdict.reason(), verdict.terminate), (expected, expected == AllTerminate), "{case}");
        assert_eq!((verdict.blocking, verdict.stop), (blocking, false), "{case}");
    }
    // A failure does not say that the run may end, unless the executor does.
    for (terminate, expected) in [(None, false), (Some(true), true)] {
        let mut stream = stand.run().await;
        stream.say_of("b1", batch(vec![call("", "end", "{}")]));
        stream.asked().await;
        let content = vec![text_content("broke")];
        let outcome = proto::ToolOutcome { content, is_error: true, terminate, ..proto::ToolOutcome::default() };
        stream.say_at("b1", 0, Say::ToolOutcome(outcome));
        assert_eq!(stream.rest().await.1.verdict.unwrap().terminate, expected);
    }
}

#[tokio::test]
async fn b5_ids_are_echoed_to_the_letter_and_assigned_where_there_is_none() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let long = "ü ".repeat(5_000);
    let ids = ["", "null", "None", "undefined", " ", "NULL", long.as_str(), "b1-0"];
    let (results, _) = stream.batch("b1", ids.iter().map(|id| call(id, "echo", "{}")).collect()).await;
    let told: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
    assert_eq!(told[4..], ids[4..]);
    let mut unique = told.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), ids.len(), "{told:?}");
    assert!(results.iter().all(|result| result.executed && !result.replayed));
}

#[tokio::test]
async fn b5_the_same_id_again_is_the_same_call_or_a_refused_one_and_a_new_one_in_the_next_batch() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let calls = vec![
        call("a", "ask", r#"{"x":1}"#),
        call("a", "ask", r#"{ "x": 1.0 }"#),
        call("a", "ask", r#"{"x":2}"#),
        call("a", "echo", r#"{"x":1}"#),
    ];
    stream.say_of("b1", batch(calls));
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 0, outcome("once"));
    let (results, finished) = stream.rest().await;
    let results = by_index(results);
    let told: Vec<_> = results.iter().map(|result| (code(result), result.executed, result.replayed)).collect();
    let clash = (DuplicateCallId, false, false);
    assert_eq!(told, [(Unspecified, true, false), (Unspecified, false, true), clash, clash]);
    assert_eq!((text(&results[1]).as_str(), &results[1].raw_arguments[..]), ("once", &b"{ \"x\": 1.0 }"[..]));
    assert_eq!(finished.call_ids, ["a", "a", "a", "a"]);
    stream.say_of("b2", batch(vec![call("a", "ask", r#"{"x":1}"#)]));
    assert_eq!(stream.asked().await.0, "b2");
}

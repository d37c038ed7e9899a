//! What a run may use of one tool, and all runs of a booth together.

use std::{sync::Arc, time::Duration};

use toolbooth::{
    call::Mode,
    grpc::proto::{self, ErrorCode, run_request::Frame as Say},
    refusal::{Code, Reason},
    run::{BatchOutcome, BytesInFlight, Capacity, Limits, Run, RunOptions},
};

use crate::{
    inside::{Does, Heard, Player, Script, feed, options, play, refusals},
    stand::{Stand, batch, booth, call, code, outcome},
};

const FEW: Option<(Code, Option<Reason>)> = Some((Code::LimitReached, Some(Reason::MaxCallsOfTool)));
const CROWD: Option<(Code, Option<Reason>)> = Some((Code::Overloaded, Some(Reason::MaxCallsInFlightOfTool)));
const BULK: Option<(Code, Option<Reason>)> = Some((Code::Overloaded, Some(Reason::MaxBytesInFlightOfTool)));
const BULK_IN_ALL: Option<(Code, Option<Reason>)> = Some((Code::Overloaded, Some(Reason::MaxBytesInFlightInAll)));

const TOOLS: &str = r#"{"tools":[
  {"name":"few","parameters":{"type":"object","properties":{"v":{"type":"integer"}}},"limits":{"max_calls":2}},
  {"name":"narrow","parameters":{"type":"object","properties":{"v":{}}},"limits":{"max_calls_in_flight":1}},
  {"name":"light","parameters":{"type":"object","properties":{"v":{}}},"limits":{"max_bytes_in_flight":20}},
  {"name":"free","parameters":{"type":"object","properties":{"v":{}}}}
]}"#;

fn playing(script: Script) -> (RunOptions, Arc<Player>) {
    let player = Player::new(script);
    (options(TOOLS, Arc::<Player>::clone(&player)), player)
}

fn left(outcome: &Arc<BatchOutcome>) -> Vec<(&str, u32)> {
    outcome.verdict.remaining.tool_calls.iter().map(|(tool, left)| (&**tool, *left)).collect()
}

#[tokio::test(start_paused = true)]
async fn b7_the_calls_of_one_tool_are_counted_over_the_whole_run_and_the_other_tools_go_on() {
    let (options, player) = playing(|_, _| Does::Answer);
    let run = Run::open(options);
    let outcome = play(&run, "b1", &[("few", "{}"), ("free", "{}")]).await;
    assert_eq!((refusals(&outcome), left(&outcome)), (vec![None, None], vec![("few", 1)]));
    let outcome = play(&run, "b2", &[("few", "{}"), ("few", "{}"), ("free", "{}")]).await;
    assert_eq!((refusals(&outcome), left(&outcome)), (vec![None, FEW, None], vec![("few", 0)]));
    assert_eq!(outcome.verdict.limit.map(toolbooth::run::Limit::as_str), Some("max_calls_of_tool"));
    assert!(!outcome.verdict.stop, "the run has other tools");
    assert_eq!(outcome.results[1].text(), r#"Tool "few" was not executed: the limit max_calls_of_tool is reached."#);
    assert_eq!(player.tries().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn b7_an_invalid_call_of_a_tool_counts_and_a_repetition_within_its_batch_does_not() {
    let (options, _) = playing(|_, _| Does::Answer);
    let run = Run::open(options);
    assert_eq!(left(&play(&run, "b1", &[("few", r#"{"v":"x"}"#)]).await), [("few", 1)]);
    let call = |index| toolbooth::call::ToolCall {
        index,
        id: "same".into(),
        name: "few".into(),
        arguments: "{}".into(),
        idempotency_key: None,
    };
    let calls = vec![call(0), call(1)];
    let twice =
        toolbooth::call::Batch { id: "b2".into(), calls, finish: toolbooth::call::Finish::Complete, mode: None };
    let outcome = run.batch(twice.into(), Arc::new(Heard::default())).await;
    assert_eq!((refusals(&outcome), outcome.results[1].replayed), (vec![None, None], true));
}

#[tokio::test(start_paused = true)]
async fn b7_the_limits_are_those_of_the_tool_that_a_repaired_name_means() {
    let (mut options, _) = playing(|_, _| Does::Answer);
    options.scope.profile = toolbooth::tools::Profile::Safe;
    let run = Run::open(options);
    let outcome = play(&run, "b1", &[("few", "{}"), ("functions.few", "{}"), ("Few", "{}")]).await;
    assert_eq!((refusals(&outcome), left(&outcome)), (vec![None, None, FEW], vec![("few", 0)]));
}

#[tokio::test(start_paused = true)]
async fn b7_more_calls_of_a_tool_in_flight_than_it_allows_are_refused_until_one_has_ended() {
    let (options, player) = playing(|_, _| Does::AnswerAfter(Duration::from_secs(1)));
    let run = Run::open(options);
    let three = [("narrow", "{}"), ("narrow", "{}"), ("free", "{}")];
    assert_eq!(refusals(&play(&run, "b1", &three).await), [None, CROWD, None]);
    assert_eq!(refusals(&play(&run, "b2", &three).await), [None, CROWD, None], "the first has ended");
    assert_eq!(player.tries().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn b7_calls_that_come_one_after_the_other_are_never_too_many_at_once() {
    let (mut options, player) = playing(|_, _| Does::AnswerAfter(Duration::from_secs(1)));
    options.mode = Mode::Sequential;
    let outcome = play(&Run::open(options), "b1", &[("narrow", "{}"), ("narrow", "{}"), ("narrow", "{}")]).await;
    assert_eq!((refusals(&outcome), player.tries().len()), (vec![None; 3], 3));
}

#[tokio::test(start_paused = true)]
async fn b7_whatever_ends_a_call_gives_back_what_it_held() {
    let scripts: [Script; 4] = [|_, _| Does::Fail, |_, _| Does::Refuse, |_, _| Does::MissHost, |_, _| Does::Nonsense];
    for script in scripts {
        let (options, player) = playing(script);
        let run = Run::open(options);
        for batch in ["b1", "b2"] {
            play(&run, batch, &[("narrow", "{}")]).await;
        }
        assert_eq!(player.tries().len(), 2);
    }
    // Refused at its preflight, and cancelled.
    let (options, player) = playing(|_, _| Does::Hang);
    let run = Run::open(options);
    play(&run, "b1", &[("narrow", "{")]).await;
    for (batch, tries) in [("b2", 1), ("b3", 2)] {
        let running = tokio::spawn(run.batch(feed(batch, &[("narrow", "{}")]), Arc::new(Heard::default())));
        player.tried(tries).await;
        assert!(run.cancel_in_batch(batch, None));
        assert_eq!(refusals(&running.await.unwrap()), [Some((Code::Cancelled, None))]);
    }
}

#[tokio::test(start_paused = true)]
async fn b7_more_bytes_of_a_tool_in_flight_than_it_allows_are_refused() {
    let (options, _) = playing(|_, _| Does::AnswerAfter(Duration::from_secs(1)));
    let run = Run::open(options);
    let (ten, eleven) = (r#"{"v":1234}"#, r#"{"v":12345}"#);
    let outcome = play(&run, "b1", &[("light", ten), ("light", eleven), ("light", ten), ("free", eleven)]).await;
    assert_eq!(refusals(&outcome), [None, BULK, None, None], "what does not fit leaves its room to the next");
    assert_eq!(refusals(&play(&run, "b2", &[("light", ten)]).await), [None]);
}

#[tokio::test(start_paused = true)]
async fn b7_all_runs_together_hold_so_many_bytes_and_each_batch_gives_its_own_back() {
    let capacity = Capacity { max_bytes_in_flight_in_all: 25, ..Capacity::default() };
    let bytes_in_flight = BytesInFlight::default();
    let opened = |script: Script| {
        let (options, player) = playing(script);
        (Run::open(RunOptions { capacity, bytes_in_flight: bytes_in_flight.clone(), ..options }), player)
    };
    let ((one, player), (two, _)) = (opened(|_, _| Does::Hang), opened(|_, _| Does::Answer));
    let ten = r#"{"v":1234}"#;
    let running = tokio::spawn(one.batch(feed("b1", &[("free", ten)]), Arc::new(Heard::default())));
    player.tried(1).await;
    let three = [("free", ten), ("free", ten), ("free", "{}")];
    let outcome = play(&two, "b1", &three).await;
    assert_eq!(refusals(&outcome), [None, BULK_IN_ALL, None]);
    assert_eq!(outcome.results[1].call.arguments, ten, "it is echoed all the same");
    one.cancel();
    running.await.unwrap();
    let outcome = play(&two, "b2", &three).await;
    assert_eq!(refusals(&outcome), [None; 3]);
    // Where a response was cut off nothing runs, and nothing else is wrong with its calls.
    let calls = (0..2).map(|index| toolbooth::call::ToolCall {
        index,
        id: format!("c{index}").into(),
        name: "free".into(),
        arguments: format!("\"{}\"", "x".repeat(30)).into(),
        idempotency_key: None,
    });
    let finish = toolbooth::call::Finish::CutOff;
    let cut = toolbooth::call::Batch { id: "b3".into(), calls: calls.collect(), finish, mode: None };
    let outcome = two.batch(cut.into(), Arc::new(Heard::default())).await;
    assert_eq!(refusals(&outcome), [Some((Code::Truncated, None)); 2]);
}

#[tokio::test]
async fn b7_bytes_that_come_in_pieces_count_from_the_first_piece_over_all_streams() {
    let mut booth =
        booth(r#"{"name":"ask","parameters":{"type":"object","properties":{"v":{}}},"execute":{"host":{}}}"#);
    booth.capacity.max_bytes_in_flight_in_all = 25;
    let stand = Stand::serving(booth, Duration::from_secs(5)).await;
    let (mut one, mut two) = (stand.run().await, stand.run().await);
    for eager in [false, true] {
        let id = if eager { "b2" } else { "b1" };
        one.say_of(id, Say::BatchStart(proto::BatchStart { eager, ..proto::BatchStart::default() }));
        let start = proto::CallStart { name: "ask".into(), ..proto::CallStart::default() };
        one.say_at(id, 0, Say::CallStart(start.clone()));
        for piece in ["{\"v\":\"12345", "67890123\"}"] {
            one.say_at(id, 0, Say::ArgumentsDelta(proto::ArgumentsDelta { data: piece.into() }));
        }
        // What cannot be used is answered, so that all before it has been taken.
        one.say_at(id, 7, Say::CallEnd(proto::CallEnd {}));
        one.rejected().await;
        let (results, _) = two.batch(id, vec![call("a", "ask", r#"{"v":1}"#)]).await;
        assert_eq!(results[0].error.as_ref().unwrap().reason, "max_bytes_in_flight_in_all");
        // One more call of the first is too much as well, and takes nothing.
        one.say_at(id, 1, Say::CallStart(start));
        one.say_at(id, 1, Say::ArgumentsDelta(proto::ArgumentsDelta { data: "{       }".into() }));
        for index in [0, 1] {
            one.say_at(id, index, Say::CallEnd(proto::CallEnd {}));
        }
        one.say_of(id, Say::BatchEnd(proto::BatchEnd::default()));
        assert_eq!(one.asked().await.1, 0);
        one.say_at(id, 0, outcome("done"));
        let (mut results, _) = one.rest().await;
        results.sort_by_key(|result| result.index);
        assert_eq!(results.iter().map(code).collect::<Vec<_>>(), [ErrorCode::Unspecified, ErrorCode::Overloaded]);
    }
    two.say_of("b3", batch(vec![call("a", "ask", r#"{"v":1}"#)]));
    two.asked().await;
}

#[tokio::test]
async fn b9_what_is_left_of_each_tool_crosses_the_wire() {
    let tools = r#"{"tools":[
      {"name":"few","parameters":{"type":"object"},"execute":{"echo":{}},"limits":{"max_calls":2}},
      {"name":"free","parameters":{"type":"object"},"execute":{"echo":{}}}
    ]}"#;
    let stand = Stand::with(tools).await;
    let own = r#"{"name":"own","parameters":{"type":"object"},"execute":{"echo":{}},"limits":{"max_calls":7}}"#;
    let mut stream = stand.open(proto::Open { contracts: vec![own.into()], ..proto::Open::default() }).await;
    let calls = vec![call("a", "few", "{}"), call("b", "own", "{}"), call("c", "own", "{}"), call("d", "free", "{}")];
    let (_, verdict) = stream.batch("b1", calls).await;
    let mut left: Vec<_> = verdict.remaining.unwrap().tool_calls.into_iter().collect();
    left.sort();
    assert_eq!(left, [("few".to_owned(), 1), ("own".to_owned(), 5)]);
    let (results, verdict) = stream.batch("b2", vec![call("a", "few", "{}"), call("b", "few", "{}")]).await;
    assert_eq!(results[1].error.as_ref().unwrap().reason, "max_calls_of_tool");
    assert_eq!((verdict.stop, verdict.limit.as_str()), (false, "max_calls_of_tool"));
}

#[tokio::test(start_paused = true)]
async fn b9_a_tool_that_may_not_be_called_any_more_is_not_named_for_the_next_turn() {
    let (options, _) = playing(|_, _| Does::Answer);
    let run = Run::open(options);
    for (batch, named) in [("b1", Some("few")), ("b2", None)] {
        let outcome = play(&run, batch, &[("few", "{")]).await;
        assert_eq!(outcome.verdict.tool_choice.as_deref(), named, "{batch}");
    }
}

#[tokio::test(start_paused = true)]
async fn b7_the_limits_of_the_run_come_before_those_of_the_tool() {
    let (options, _) = playing(|_, _| Does::Answer);
    let run = Run::open(RunOptions { limits: Limits { max_calls: Some(1), ..Limits::default() }, ..options });
    let outcome = play(&run, "b1", &[("few", "{}"), ("few", "{}")]).await;
    assert_eq!(refusals(&outcome), [None, Some((Code::LimitReached, Some(Reason::MaxCalls)))]);
    assert_eq!(left(&outcome), [("few", 1)], "a call that the run refuses takes nothing of the tool");
}

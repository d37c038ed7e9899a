//! Runs that outlive their streams: resumed within their grace, taken over by rule, and batches that are sent again (rules B5, B8).

mod lost;

use std::time::Duration;

use tonic::Code;
use toolbooth::grpc::proto::{
    self, Batch, ErrorCode, Limits, OnDisconnect, Open, RejectReason, run_request::Frame as Say,
    run_response::Frame as Hear,
};

use crate::stand::{Line, Stand, batch, booth, call, code, outcome, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"brief","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"200ms"},
  {"name":"line","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","echo x >> \"$FILE\"; sleep 0.2; echo done"],"env":{"FILE":"FILE_PATH"}}}},
  {"name":"wait","parameters":{"type":"object"},"execute":{"command":{"argv":["sleep","1000"]}}},
  {"name":"echo","parameters":{"type":"object","properties":{"n":{"type":"integer"}}},"execute":{"echo":{}}},
  {"name":"submit","parameters":{"type":"object"},"submit":{"once_per":"run"}}
]}"#;

fn kept(id: &str, on_disconnect: OnDisconnect) -> Open {
    Open {
        run_id: id.into(),
        resume_grace: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        on_disconnect: on_disconnect.into(),
        ..Open::default()
    }
}

fn again(id: &str) -> Open {
    Open { run_id: id.into(), resume: true, ..Open::default() }
}

/// The state of a run, once it is as it should be.
async fn state(stand: &Stand, id: &str, fits: impl Fn(&proto::RunState) -> bool) -> proto::RunState {
    let mut client = stand.client().await;
    for _ in 0..500 {
        let request = proto::GetRunRequest { run_id: id.into() };
        let state = client.get_run(request).await.unwrap().into_inner().run.unwrap();
        if fits(&state) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the run never came into that state");
}

async fn left(stand: &Stand, line: Line, id: &str) -> proto::RunState {
    line.cut();
    state(stand, id, |state| !state.is_led).await
}

fn results(heard: &[proto::RunResponse]) -> Vec<(u32, String)> {
    let result = |heard: &proto::RunResponse| match &heard.frame {
        Some(Hear::CallFinished(result)) => Some((result.index, text(result))),
        _ => None,
    };
    heard.iter().filter_map(result).collect()
}

#[tokio::test]
async fn b8_calls_go_on_without_their_host_and_it_hears_all_of_them_when_it_comes_back() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    assert_eq!(stream.opened.resume_grace.unwrap().seconds, 60);
    let calls = vec![call("a", "echo", r#"{"n":1}"#), call("b", "ask", "{}"), call("c", "ask", "{}")];
    stream.say_of("b1", batch(calls.clone()));
    let first = [stream.asked().await, stream.asked().await];
    assert!(first.iter().all(|(_, _, execute)| !execute.again));
    stream.say_at("b1", 1, outcome("before"));
    stream.hear_until(|frame| matches!(frame, Hear::CallFinished(result) if result.index == 1)).await;
    let waits = left(&stand, line, "r").await;
    assert!(waits.waits.is_some_and(|left| left.seconds <= 60));
    assert_eq!((waits.running_batch_id.as_str(), waits.running_calls), ("b1", 3));

    let mut stream = stand.open(again("r")).await;
    assert!(stream.opened.resumed);
    assert_eq!((stream.opened.running_batch_id.as_str(), stream.opened.last_batch_id.as_str()), ("b1", ""));
    // Sent again while it runs: nothing runs twice, and nothing is refused.
    stream.say_of("b1", batch(calls));
    let (batch_id, index, execute) = {
        let mut heard = stream.hear_until(|frame| matches!(frame, Hear::Execute(_))).await;
        assert_eq!(results(&heard), [(0, r#"{"n":1}"#.to_owned()), (1, "before".to_owned())]);
        let last = heard.pop().unwrap();
        let Some(Hear::Execute(execute)) = last.frame else { panic!("the frame that was waited for") };
        (last.batch_id, last.index.unwrap(), execute)
    };
    assert_eq!((batch_id.as_str(), index, execute.again), ("b1", 2, true));
    assert_eq!(execute.idempotency_key, first[1].2.idempotency_key);
    stream.say_at("b1", 2, outcome("after"));
    let (results, finished) = stream.rest().await;
    let told: Vec<_> = results.iter().map(|result| (result.index, text(result), result.replayed)).collect();
    assert_eq!(told.last(), Some(&(2, "after".to_owned(), false)));
    assert_eq!(finished.call_ids, ["a", "b", "c"]);
    assert_eq!(stream.batch("b2", vec![call("d", "echo", "{}")]).await.0.len(), 1, "the run goes on");
}

#[tokio::test]
async fn b8_a_stream_that_is_reset_cancels_what_runs_and_the_run_can_still_be_resumed() {
    let stand = Stand::with(TOOLS).await;
    for (id, on_disconnect) in [("r1", OnDisconnect::Cancel), ("r2", OnDisconnect::Keep)] {
        let mut stream = stand.open(kept(id, on_disconnect)).await;
        stream.say_of("b1", batch(vec![call("a", "echo", "{}"), call("b", "wait", "{}")]));
        stream.hear_until(|frame| matches!(frame, Hear::CallStarted(started) if started.call_id == "b")).await;
        drop(stream);
        state(&stand, id, |state| !state.is_led && state.running_batch_id.is_empty()).await;
        let mut stream = stand.open(again(id)).await;
        assert_eq!(stream.opened.running_batch_id, "b1", "its end was not heard");
        let (results, _) = stream.rest().await;
        let codes: Vec<_> = results.iter().map(|result| (result.index, code(result))).collect();
        assert_eq!(codes, [(0, ErrorCode::Unspecified), (1, ErrorCode::Cancelled)], "{id}");
    }
}

#[tokio::test]
async fn b5_a_batch_that_is_sent_again_gets_its_recorded_results_and_nothing_runs_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let stand = Stand::with(&TOOLS.replace("FILE_PATH", &file.display().to_string())).await;
    let limits = Some(Limits { max_turns: Some(2), max_calls: Some(4), ..Limits::default() });
    let (mut stream, line) = stand.open_on_line(Open { limits, ..kept("r", OnDisconnect::Keep) }).await;
    let calls = vec![call("a", "line", "{}"), call("b", "echo", r#"{"n":"x"}"#), call("", "submit", r#"{"v":1}"#)];
    let (first, verdict) = stream.batch("b1", calls.clone()).await;
    assert_eq!(verdict.remaining.as_ref().unwrap().calls, Some(1));
    left(&stand, line, "r").await;

    let mut stream = stand.open(again("r")).await;
    assert_eq!((stream.opened.running_batch_id.as_str(), stream.opened.last_batch_id.as_str()), ("", "b1"));
    let (second, verdict) = stream.batch("b1", calls.clone()).await;
    for (first, second) in first.iter().zip(&second) {
        let again = proto::CallResult { replayed: true, executed: false, attempts: 0, ..first.clone() };
        let stored = proto::CallResult { duration: second.duration, ..again };
        assert_eq!(*second, stored);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    let remaining = verdict.remaining.unwrap();
    assert_eq!((remaining.calls, remaining.turns), (Some(1), Some(1)), "sent again, it is no other turn");

    // The place of a call is its key: another call there is refused, and a further one is new.
    let mut others = calls.clone();
    others[1] = call("b", "echo", r#"{"n":2}"#);
    others.push(call("d", "echo", r#"{"n":3}"#));
    let (third, verdict) = stream.batch("b1", others).await;
    let told: Vec<_> = third.iter().map(|result| (code(result), result.replayed, result.executed)).collect();
    let replayed = (ErrorCode::Unspecified, true, false);
    let conflict = (ErrorCode::IdempotencyConflict, false, false);
    assert_eq!(told, [replayed, conflict, replayed, (ErrorCode::Unspecified, false, true)]);
    assert_eq!(verdict.remaining.unwrap().calls, Some(0));
    // What was refused by place does not take the place of the record.
    let (fourth, _) = stream.batch("b1", calls).await;
    assert_eq!((code(&fourth[1]), fourth[1].replayed), (ErrorCode::InvalidArguments, true));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
}

#[tokio::test]
async fn b5_without_a_grace_nothing_is_kept_and_a_batch_id_is_used_once() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.batch("b1", vec![call("a", "echo", "{}")]).await;
    stream.say_of("b1", batch(vec![call("a", "echo", "{}")]));
    assert_eq!(stream.rejected().await.1, RejectReason::BatchIdReused);
    let id = stream.opened.run_id.clone();
    drop(stream);
    let mut stream = stand.stream().await;
    stream.say(Say::Open(again(&id)));
    // The run is gone with its stream, as soon as the booth has seen that.
    match stream.end().await {
        Err(status) => assert_eq!(status.code(), Code::NotFound),
        Ok(opened) => panic!("{opened:?}"),
    }
}

#[tokio::test]
async fn what_was_cancelled_before_it_ran_can_be_sent_again_and_runs_then() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Cancel)).await;
    let calls = vec![call("a", "ask", "{}"), call("b", "ask", "{}")];
    let sequential =
        Say::Batch(Batch { calls: calls.clone(), mode: proto::ExecutionMode::Sequential.into(), ..Batch::default() });
    stream.say_of("b1", sequential.clone());
    assert_eq!(stream.asked().await.1, 0);
    left(&stand, line, "r").await;
    state(&stand, "r", |state| state.running_batch_id.is_empty()).await;
    let mut stream = stand.open(again("r")).await;
    let (first, _) = stream.rest().await;
    let told: Vec<_> = first.iter().map(|result| (code(result), result.executed)).collect();
    assert_eq!(told, [(ErrorCode::Cancelled, true), (ErrorCode::Cancelled, false)]);
    stream.say_of("b1", sequential);
    assert_eq!(stream.asked().await.1, 1, "the first one may have had its effect, and is not asked for again");
    stream.say_at("b1", 1, outcome("now"));
    let (second, _) = stream.rest().await;
    let told: Vec<_> = second.iter().map(|result| (code(result), result.replayed, result.executed)).collect();
    assert_eq!(told, [(ErrorCode::Cancelled, true, false), (ErrorCode::Unspecified, false, true)]);
}

#[tokio::test]
async fn b5_the_same_id_twice_is_one_call_and_an_assigned_id_stays_when_the_batch_is_sent_again() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Cancel)).await;
    let calls = vec![call("a", "ask", "{}"), call("a", "ask", "{}"), call("", "echo", "{}"), call("a", "echo", "{}")];
    let sequential =
        Say::Batch(Batch { calls: calls.clone(), mode: proto::ExecutionMode::Sequential.into(), ..Batch::default() });
    stream.say_of("b1", sequential.clone());
    stream.asked().await;
    left(&stand, line, "r").await;
    state(&stand, "r", |state| state.running_batch_id.is_empty()).await;
    let mut stream = stand.open(again("r")).await;
    let (mut first, _) = stream.rest().await;
    first.sort_by_key(|result| result.index);
    let told: Vec<_> = first.iter().map(|result| (result.call_id.as_str(), code(result), result.executed)).collect();
    let cancelled = ErrorCode::Cancelled;
    assert_eq!(
        told,
        [("a", cancelled, true), ("a", cancelled, false), ("b1-2", cancelled, false), ("a", cancelled, false)]
    );
    for turn in 0..2 {
        stream.say_of("b1", sequential.clone());
        // Nobody is asked: the first may have had its effect, and the second is the same call.
        let (mut results, _) = stream.rest().await;
        results.sort_by_key(|result| result.index);
        let told: Vec<_> =
            results.iter().map(|result| (result.call_id.as_str(), code(result), result.executed)).collect();
        let (none, duplicate) = (ErrorCode::Unspecified, ErrorCode::DuplicateCallId);
        let expected =
            [("a", cancelled, false), ("a", cancelled, false), ("b1-2", none, turn == 0), ("a", duplicate, false)];
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn of_a_batch_in_pieces_that_was_cut_nothing_ran_and_it_is_sent_again_as_a_new_one() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", Say::BatchStart(proto::BatchStart::default()));
    stream.say_of("b1", Say::CallStart(proto::CallStart { name: "echo".into(), ..proto::CallStart::default() }));
    stream.say_of("b1", Say::ArgumentsDelta(proto::ArgumentsDelta { data: "{".into() }));
    stream.say(Say::Open(Open::default()));
    assert_eq!(stream.rejected().await.1, RejectReason::AlreadyOpen, "all of it has come");
    left(&stand, line, "r").await;
    let mut stream = stand.open(again("r")).await;
    assert_eq!(stream.opened.running_batch_id, "");
    let (results, _) = stream.batch("b1", vec![call("a", "echo", "{}")]).await;
    assert_eq!((code(&results[0]), results[0].replayed), (ErrorCode::Unspecified, false));
}

#[tokio::test]
async fn of_two_streams_for_a_run_the_one_that_resumes_it_leads_and_the_other_is_told() {
    let stand = Stand::with(TOOLS).await;
    let mut first = stand.open(kept("r", OnDisconnect::Cancel)).await;
    first.say_of("b1", batch(vec![call("a", "ask", "{}")]));
    first.asked().await;
    let mut refused = stand.stream().await;
    refused.say(Say::Open(kept("r", OnDisconnect::Cancel)));
    assert_eq!(refused.end().await.unwrap_err().code(), Code::AlreadyExists);
    let mut second = stand.open(again("r")).await;
    let ended = first.end().await.unwrap_err();
    assert_eq!(
        (ended.code(), ended.message()),
        (Code::Aborted, "another stream has resumed the run `r`, and leads it now")
    );
    // Not cancelled by it: the lead went over, and with it the question.
    assert!(second.asked().await.2.again);
    second.say_at("b1", 0, outcome("led"));
    assert_eq!(text(&second.rest().await.0[0]), "led");
}

#[tokio::test]
async fn a_question_has_its_time_while_the_host_is_away() {
    let stand = Stand::with(TOOLS).await;
    let (mut stream, line) = stand.open_on_line(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", batch(vec![call("a", "brief", "{}")]));
    stream.asked().await;
    left(&stand, line, "r").await;
    state(&stand, "r", |state| state.running_batch_id.is_empty()).await;
    let mut stream = stand.open(again("r")).await;
    assert_eq!(code(&stream.rest().await.0[0]), ErrorCode::TimedOut);
}

#[tokio::test]
async fn a_run_that_nobody_resumes_ends_with_its_grace_and_one_that_was_ended_does_not_wait() {
    let stand = Stand::with(TOOLS).await;
    let brief = Some(prost_types::Duration { seconds: 0, nanos: 50_000_000 });
    let mut stream = stand.open(Open { resume_grace: brief, ..kept("r", OnDisconnect::Keep) }).await;
    stream.say_of("b1", batch(vec![call("a", "wait", "{}")]));
    stream.hear_until(|frame| matches!(frame, Hear::CallStarted(_))).await;
    drop(stream);
    gone(&stand, "r").await;

    let mut stream = stand.open(kept("e", OnDisconnect::Keep)).await;
    stream.batch("b1", vec![call("a", "echo", "{}")]).await;
    stream.say(Say::EndRun(proto::EndRun::default()));
    assert!(stream.end().await.unwrap().is_none());
    gone(&stand, "e").await;
    stand.open(kept("e", OnDisconnect::Keep)).await;
}

async fn gone(stand: &Stand, id: &str) {
    let mut client = stand.client().await;
    for _ in 0..500 {
        match client.get_run(proto::GetRunRequest { run_id: id.into() }).await {
            Err(status) => return assert_eq!(status.code(), Code::NotFound),
            Ok(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("the run is still held");
}

#[tokio::test]
async fn a_half_closed_run_can_be_resumed_for_the_results_that_were_lost_on_the_way() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.open(kept("r", OnDisconnect::Keep)).await;
    stream.say_of("b1", batch(vec![call("a", "echo", r#"{"n":1}"#)]));
    stream.half_close();
    stream.rest().await;
    assert!(stream.end().await.unwrap().is_none());
    state(&stand, "r", |state| !state.is_led).await;
    let mut stream = stand.open(again("r")).await;
    let (results, _) = stream.batch("b1", vec![call("a", "echo", r#"{"n":1}"#)]).await;
    assert!(results[0].replayed);
    stream.say_of("b2", batch(vec![call("b", "ask", "{}")]));
    assert_eq!(stream.asked().await.0, "b2", "the host answers again");
}

#[tokio::test]
async fn a_unary_batch_that_is_sent_again_is_answered_with_what_the_first_one_brings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let stand = Stand::with(&TOOLS.replace("FILE_PATH", &file.display().to_string())).await;
    let request = |open: Open| proto::ExecuteBatchRequest {
        open: Some(open),
        batch_id: "b1".into(),
        batch: Some(Batch { calls: vec![call("a", "line", "{}")], ..Batch::default() }),
    };
    let mut client = stand.client().await;
    let lost = {
        let request = request(kept("r", OnDisconnect::Keep));
        let mut client = client.clone();
        tokio::spawn(async move { client.execute_batch(request).await })
    };
    state_of_line(&file).await;
    lost.abort();
    let other = {
        let calls = vec![call("a", "line", r#"{"other":1}"#)];
        let batch = Some(Batch { calls, ..Batch::default() });
        let request = proto::ExecuteBatchRequest { batch, ..request(again("r")) };
        let mut client = client.clone();
        tokio::spawn(async move { client.execute_batch(request).await })
    };
    let answer = client.execute_batch(request(again("r"))).await.unwrap().into_inner();
    let other = other.await.unwrap().unwrap().into_inner();
    assert_eq!(
        code(&other.results[0]),
        ErrorCode::IdempotencyConflict,
        "it is not answered with what another call brought"
    );
    assert_eq!((text(&answer.results[0]).as_str(), answer.results[0].replayed), ("done\n", false), "it was waited for");
    let answer = client.execute_batch(request(again("r"))).await.unwrap().into_inner();
    assert_eq!((text(&answer.results[0]).as_str(), answer.results[0].replayed), ("done\n", true));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    // A run of requests is gone on with by requests.
    let mut stream = stand.stream().await;
    stream.say(Say::Open(again("r")));
    assert_eq!(stream.end().await.unwrap_err().code(), Code::FailedPrecondition);
    let none = client.execute_batch(request(again("nobody"))).await.unwrap_err();
    assert_eq!(none.code(), Code::NotFound);
}

async fn state_of_line(file: &std::path::Path) {
    for _ in 0..1000 {
        if file.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the program was never started");
}

#[tokio::test]
async fn a_drain_waits_for_what_runs_without_its_host_and_not_for_runs_that_only_wait() {
    let stand = Stand::serving(booth(TOOLS), Duration::from_mins(10)).await;
    let (mut busy, line) = stand.open_on_line(kept("busy", OnDisconnect::Keep)).await;
    busy.say_of("b1", batch(vec![call("a", "brief", "{}")]));
    busy.asked().await;
    left(&stand, line, "busy").await;
    let (_idle, line) = stand.open_on_line(kept("idle", OnDisconnect::Keep)).await;
    left(&stand, line, "idle").await;
    stand.stop.cancel();
    tokio::time::timeout(Duration::from_secs(20), stand.server).await.expect("the server returns").unwrap();
}

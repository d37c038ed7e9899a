//! Plays a case over gRPC, with the test as the host. Time is paused: it goes on only while both sides wait, so that the times of
//! a case are exact whatever the machine does.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Mutex,
    time::{Instant, sleep_until},
};
use toolbooth::grpc::proto::{
    self, Batch, CallResult, Cancel, Execute, ExecutionMode, Limits, Open, Profile, RunRequest, ToolOutcome,
    run_request::Frame as Say, run_response::Frame as Hear,
};

use super::{
    plan::{Made, Manner, Plan},
    played::{Played, Said, Turn},
};
use crate::stand::{Stand, Stream, code, text_content};

/// How long work takes, so that calls overlap.
const WORK: Duration = Duration::from_millis(10);
/// The frame behind everything else: its rejection tells that all before it was taken.
const LAST_FRAME: u64 = 77;

/// What the host does later.
struct Deed {
    at: Instant,
    batch: String,
    index: u32,
    frame: Say,
    /// It ends the execution.
    is_end: bool,
}

/// The host.
struct Host<'a> {
    plan: &'a Plan,
    stream: Stream,
    deeds: Vec<Deed>,
    at_once: usize,
    played: Played,
    unknown: bool,
}

/// Plays a case.
pub(super) async fn play(plan: &Plan) -> Played {
    let effects = Arc::new(Mutex::new(Vec::new()));
    let address = lost_after_effect(Arc::clone(&effects)).await;
    let execute = |name: &str| {
        let is_lost = plan.manners[name] == Manner::FailAfterEffect;
        if is_lost { json!({"http": {"url": address}}) } else { json!({"host": {}}) }
    };
    let contract = |contract: &serde_json::Map<String, Value>| {
        let mut contract = contract.clone();
        let name = contract["name"].as_str().unwrap().to_owned();
        contract.insert("execute".to_owned(), execute(&name));
        Value::from(contract)
    };
    let tools: Vec<Value> = plan.contracts.iter().map(contract).collect();
    let stand = Stand::with(&json!({"tools": tools}).to_string()).await;
    let stream = stand.open(open(plan)).await;
    let played = Played { most_at_once: Some(0), ..Played::default() };
    let mut host = Host { plan, stream, deeds: Vec::new(), at_once: 0, played, unknown: false };
    let begun = Instant::now();
    for (number, batch) in plan.batches.iter().enumerate() {
        host.batch(&format!("b{number}"), batch).await;
    }
    host.played.took = Some(begun.elapsed());
    host.last().await;
    let mut played = host.played;
    played.executed.append(&mut *effects.lock().await);
    played
}

fn open(plan: &Plan) -> Open {
    let number = |key: &str| plan.limits.get(key).map(|value| u32::try_from(value.as_u64().unwrap()).unwrap());
    let limits = Limits {
        max_calls_per_batch: number("max_calls_per_batch"),
        max_consecutive_invalid: number("max_consecutive_invalid"),
        ..Limits::default()
    };
    assert!(plan.limits.keys().all(|key| ["max_calls_per_batch", "max_consecutive_invalid"].contains(&key.as_str())));
    let profile = if plan.profile == "strict" { Profile::Strict } else { Profile::Safe };
    let mode = match plan.mode.as_str() {
        "sequential" => ExecutionMode::Sequential,
        "parallel" => ExecutionMode::Parallel,
        _ => ExecutionMode::Unspecified,
    };
    Open { profile: profile.into(), mode: mode.into(), limits: Some(limits), ..Open::default() }
}

/// A service that takes each call and hangs up: it keeps the ids.
async fn lost_after_effect(effects: Arc<Mutex<Vec<String>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut seen = Vec::new();
            while !seen.ends_with(b"}}") {
                socket.read_buf(&mut seen).await.unwrap();
            }
            let text = String::from_utf8(seen).unwrap();
            let request: Value = serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap();
            effects.lock().await.push(request["call"]["id"].as_str().unwrap().to_owned());
            drop(socket.shutdown().await);
        }
    });
    address
}

impl Host<'_> {
    /// Plays one batch to its end.
    async fn batch(&mut self, id: &str, made: &[Made]) {
        let call = |made: &Made| proto::ToolCall {
            id: made.id.clone(),
            name: made.name.clone(),
            arguments: made.raw.clone().into(),
            idempotency_key: made.key.clone(),
        };
        let calls = made.iter().map(call).collect();
        self.stream.say_of(id, Say::Batch(Batch { calls, ..Batch::default() }));
        let cancel = self.plan.cancel_after.map(|after| Instant::now() + after);
        let mut cancelled = cancel.is_none();
        let mut results: Vec<CallResult> = Vec::new();
        loop {
            tokio::select! {
                biased;
                heard = self.stream.hear() => match heard.frame {
                    Some(Hear::Execute(execute)) => self.execute(&heard.batch_id, heard.index.unwrap(), &execute),
                    Some(Hear::CallFinished(result)) => results.push(result),
                    Some(Hear::FrameRejected(_)) => self.unknown = true,
                    Some(Hear::BatchFinished(finished)) => break self.played.turns.push(turn(results, finished)),
                    _ => {}
                },
                () = sleep_until(cancel.unwrap_or_else(far)), if !cancelled => {
                    cancelled = true;
                    self.stream.say_of(id, Say::Cancel(Cancel::default()));
                }
                deed = next(&mut self.deeds) => self.perform(deed),
            }
        }
    }

    /// Begins what the tool does.
    fn execute(&mut self, batch: &str, index: u32, execute: &Execute) {
        self.played.executed.push(execute.call_id.clone());
        self.at_once += 1;
        self.played.most_at_once = self.played.most_at_once.max(Some(self.at_once));
        let arguments: Value = serde_json::from_slice(&execute.arguments).unwrap();
        let time = |key: &str| super::plan::milliseconds(&arguments[key]).unwrap();
        let answer =
            |outcome: ToolOutcome| Say::ToolOutcome(ToolOutcome { content: vec![text_content("done")], ..outcome });
        let own = || ToolOutcome { call_id: execute.call_id.clone(), ..ToolOutcome::default() };
        let now = Instant::now();
        let mut later = |after: Duration, frame: Say, is_end: bool| {
            self.deeds.push(Deed { at: now + after, batch: batch.to_owned(), index, frame, is_end });
        };
        match &self.plan.manners[&execute.tool] {
            Manner::Work => later(WORK, answer(own()), true),
            Manner::Fail => later(WORK, answer(ToolOutcome { is_error: true, ..own() }), true),
            Manner::Say { terminate, is_error } => {
                later(WORK, answer(ToolOutcome { terminate: *terminate, is_error: *is_error, ..own() }), true);
            }
            Manner::Misaddress(id) => later(WORK, answer(ToolOutcome { call_id: id.clone(), ..own() }), true),
            Manner::Slow => later(time("ms"), answer(own()), true),
            Manner::Progressing => {
                let mut at = time("every");
                while at < time("ms") {
                    later(at, Say::ToolProgress(proto::ToolProgress::default()), false);
                    at += time("every");
                }
                later(time("ms"), answer(own()), true);
            }
            Manner::Hang => {}
            Manner::FailAfterEffect => panic!("another executes it"),
        }
    }

    fn perform(&mut self, deed: Deed) {
        self.at_once -= usize::from(deed.is_end);
        self.stream.say_at(&deed.batch, deed.index, deed.frame);
    }

    /// Does what is left to do after the last batch, and hears what the booth says to it.
    async fn last(&mut self) {
        let has_late = !self.deeds.is_empty();
        while !self.deeds.is_empty() {
            let deed = next(&mut self.deeds).await;
            self.perform(deed);
        }
        let nobody = Some(Say::ToolOutcome(ToolOutcome::default()));
        let probe = RunRequest { frame_id: LAST_FRAME, batch_id: "nowhere".into(), index: Some(0), frame: nobody };
        self.stream.send(probe);
        let mut silent = true;
        loop {
            let heard = self.stream.hear().await;
            match heard.frame {
                Some(Hear::FrameRejected(_)) if heard.reply_to == LAST_FRAME => break,
                Some(Hear::FrameRejected(_)) => (silent, self.unknown) = (false, true),
                _ => silent = false,
            }
        }
        self.played.unknown_reported = Some(self.unknown);
        self.played.late_recorded = Some(has_late && silent);
    }
}

/// The next deed, when its time has come.
async fn next(deeds: &mut Vec<Deed>) -> Deed {
    let first = deeds.iter().enumerate().min_by_key(|(_, deed)| deed.at).map(|(place, deed)| (place, deed.at));
    let Some((place, at)) = first else { return std::future::pending().await };
    sleep_until(at).await;
    deeds.remove(place)
}

/// Never, as far as a test is concerned.
fn far() -> Instant {
    Instant::now() + Duration::from_hours(1)
}

fn turn(mut results: Vec<CallResult>, finished: proto::BatchFinished) -> Turn {
    results.sort_by_key(|result| result.index);
    let verdict = finished.verdict.unwrap();
    assert!(results.iter().map(|result| &result.call_id).eq(&finished.call_ids), "the end names them in call order");
    Turn {
        results: results.iter().map(said).collect(),
        terminate: verdict.terminate,
        stop: verdict.stop,
        blocking: verdict.blocking.iter().copied().map(u64::from).collect(),
        accepted: verdict.accepted.len(),
    }
}

pub(super) fn said(result: &CallResult) -> Said {
    let code = code(result).as_str_name().trim_start_matches("ERROR_CODE_").to_lowercase();
    Said {
        id: result.call_id.clone(),
        is_error: result.is_error,
        code: if result.is_error { code } else { String::new() },
        terminate: result.terminate,
    }
}

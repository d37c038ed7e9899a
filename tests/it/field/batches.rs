//! Batches and runs that went wrong for somebody: the field cases of the stages `batch`, `loop`, `terminate` and `stream`, over
//! gRPC with the test as the host, and through `pipe` where no host is needed.

use serde_json::{Value, json};
use tokio::time::Instant;
use toolbooth::grpc::proto::{
    ArgumentsDelta, BatchEnd, BatchStart, CallEnd, CallStart, ConcludeBatchRequest, ConcludedCall,
    run_request::Frame as Say, run_response::Frame as Hear,
};

use super::{
    host, piped,
    plan::{Manner, both, cases, plans},
    played::{Played, Turn, compare, compare_with},
};
use crate::stand::{Stand, Stream, outcome};

#[tokio::test(start_paused = true)]
async fn every_batch_of_the_field_is_answered_as_it_should_be_over_grpc() {
    for (stage, count) in [("batch", 18), ("loop", 2), ("terminate", 5)] {
        let plans = plans(&[stage]);
        assert_eq!(plans.len(), 2 * count, "the stage `{stage}` has its cases");
        for plan in &plans {
            compare(plan, &host::play(plan).await);
        }
    }
}

#[test]
fn every_batch_of_the_field_that_needs_no_host_is_answered_as_it_should_be_through_pipe() {
    for (stage, count) in [("batch", 13), ("loop", 2), ("terminate", 5)] {
        let plans: Vec<_> = plans(&[stage]).into_iter().filter(|plan| !plan.needs_host()).collect();
        assert_eq!(plans.len(), 2 * count, "of the stage `{stage}`");
        for plan in &plans {
            compare(plan, &piped::play(plan));
        }
    }
}

#[tokio::test]
async fn b6_every_verdict_of_the_field_is_the_same_for_a_host_that_executes_by_itself() {
    let stand = Stand::with(r#"{"tools":[]}"#).await;
    let mut client = stand.client().await;
    for plan in plans(&["terminate"]) {
        let says = |name: &str| match plan.manners.get(name) {
            Some(Manner::Say { terminate, .. }) => terminate.unwrap_or_default(),
            _ => false,
        };
        let calls = plan.batches[0].iter().map(|made| ConcludedCall { terminate: says(&made.name) }).collect();
        let answer = client.conclude_batch(ConcludeBatchRequest { calls, finish: None }).await.unwrap().into_inner();
        let verdict = answer.verdict.unwrap();
        assert_eq!(verdict.terminate, plan.expected["batch_terminates"], "{}", plan.case);
        if let Some(blocking) = plan.expected.get("blocking_calls") {
            assert_eq!(json!(verdict.blocking), *blocking, "{}", plan.case);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_stream_of_the_field_is_put_together_as_it_should_be() {
    let cases = cases(&["stream"]);
    assert_eq!(cases.len(), 2, "the stage has its cases");
    for case in &cases {
        for (profile, expected) in both(case) {
            for eager in [false, true] {
                let place = format!("{} under {profile}, eager: {eager}", case["id"]);
                let deltas = case["input"]["deltas"].as_array().unwrap();
                let sent: Vec<String> =
                    deltas.iter().filter_map(|delta| Some(delta["id"].as_str()?.to_owned())).collect();
                let played = streamed(deltas, case["input"]["end"].as_str(), eager).await;
                compare_with(&place, expected, &sent, &played);
            }
        }
    }
}

/// Streams the pieces of a response, and executes what is asked for.
async fn streamed(deltas: &[Value], end: Option<&str>, eager: bool) -> Played {
    let named = deltas.iter().filter_map(|delta| delta["name"].as_str());
    let tools: Vec<Value> =
        named.map(|name| json!({"name": name, "parameters": {"type": "object"}, "execute": {"host": {}}})).collect();
    let stand = Stand::with(&json!({"tools": tools}).to_string()).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", Say::BatchStart(BatchStart { eager, ..BatchStart::default() }));
    for delta in deltas {
        let index = u32::try_from(delta["index"].as_u64().unwrap()).unwrap();
        if let (Some(id), Some(name)) = (delta["id"].as_str(), delta["name"].as_str()) {
            let start = CallStart { id: id.to_owned(), name: name.to_owned(), ..CallStart::default() };
            stream.say_at("b1", index, Say::CallStart(start));
        }
        let data = delta["args"].as_str().unwrap().to_owned().into();
        stream.say_at("b1", index, Say::ArgumentsDelta(ArgumentsDelta { data }));
    }
    match end {
        None => {
            for index in (0..).take(tools.len()) {
                stream.say_at("b1", index, Say::CallEnd(CallEnd {}));
            }
            stream.say_of("b1", Say::BatchEnd(BatchEnd::default()));
        }
        Some("disconnect") => stream.half_close(),
        Some(other) => panic!("no stream ends by `{other}`"),
    }
    executed(stream).await
}

/// Executes what is asked for until the batch is over.
async fn executed(mut stream: Stream) -> Played {
    let mut played = Played::default();
    let (mut results, begun) = (Vec::new(), Instant::now());
    loop {
        let heard = stream.hear().await;
        match heard.frame {
            Some(Hear::Execute(execute)) => {
                stream.say_at(&heard.batch_id, heard.index.unwrap(), outcome("done"));
                played.executed.push(execute.call_id.clone());
                played.arguments.push((execute.call_id, serde_json::from_slice(&execute.arguments).unwrap()));
            }
            Some(Hear::CallFinished(result)) => results.push(result),
            Some(Hear::BatchFinished(_)) => break,
            _ => {}
        }
    }
    results.sort_by_key(|result| result.index);
    played.turns.push(Turn { results: results.iter().map(host::said).collect(), ..Turn::default() });
    Played { took: Some(begun.elapsed()), ..played }
}

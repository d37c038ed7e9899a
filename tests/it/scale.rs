//! Many calls at once, and many tools. No speed is meant by these tests; they print what they took.

use std::{collections::BTreeSet, time::Instant};

use toolbooth::grpc::proto::ErrorCode;

use crate::stand::{Stand, batch, call, code, outcome, text};

/// Contracts of that many tools, named `tool_0` and so on: each wants a number that is its own.
fn tools(count: usize, executor: &str) -> String {
    let tool = |number: usize| {
        format!(
            r#"{{"name":"tool_{number}","parameters":{{"type":"object","required":["n"],"properties":{{"n":{{"const":{number}}}}}}},"execute":{{"{executor}":{{}}}}}}"#
        )
    };
    format!(r#"{{"tools":[{}]}}"#, (0..count).map(tool).collect::<Vec<_>>().join(","))
}

#[tokio::test]
async fn ten_thousand_calls_are_in_flight_on_one_stream_and_each_is_answered_once() {
    const CALLS: u32 = 10_000;
    let start = Instant::now();
    let host = r#"{"tools":[{"name":"add_one","parameters":{"type":"object"},"execute":{"host":{}},"timeout":"10m"}]}"#;
    let stand = Stand::with(host).await;
    let mut stream = stand.run().await;
    let calls = (0..CALLS).map(|number| call(&format!("c{number}"), "add_one", &format!(r#"{{"n":{number}}}"#)));
    stream.say_of("b1", batch(calls.collect()));
    let mut asked = BTreeSet::new();
    while asked.len() < 10_000 {
        let (batch_id, index, execute) = stream.asked().await;
        assert_eq!((batch_id.as_str(), execute.arguments), ("b1", format!(r#"{{"n":{index}}}"#).into()));
        assert!(asked.insert(index), "call {index} is asked for once");
    }
    println!("10,000 calls in flight after {:?}", start.elapsed());
    // The last comes first, so that no answer can be taken for another by its place.
    for index in (0..CALLS).rev() {
        stream.say_at("b1", index, outcome(&format!("{}", index + 1)));
    }
    let (mut results, finished) = stream.rest().await;
    results.sort_by_key(|result| result.index);
    assert_eq!(results.len(), 10_000);
    for (index, result) in (0..).zip(&results) {
        assert_eq!((result.index, result.is_error, text(result)), (index, false, format!("{}", index + 1)));
    }
    assert_eq!(finished.call_ids, (0..CALLS).map(|number| format!("c{number}")).collect::<Vec<_>>());
    println!("10,000 results after {:?}", start.elapsed());
    drop(stream);
    stand.stop.cancel();
    stand.server.await.unwrap();
}

#[tokio::test]
async fn a_thousand_tools_are_each_called_and_none_is_taken_for_another() {
    let start = Instant::now();
    let stand = Stand::with(&tools(1_000, "echo")).await;
    let mut stream = stand.run().await;
    let calls = (0..1_000).map(|number| call("", &format!("tool_{number}"), &format!(r#"{{"n":{number}}}"#)));
    let (results, _) = stream.batch("b1", calls.collect()).await;
    assert_eq!(results.len(), 1_000);
    for (number, result) in results.iter().enumerate() {
        assert_eq!((result.is_error, text(result)), (false, format!(r#"{{"n":{number}}}"#)));
    }
    let (results, _) = stream.batch("b2", vec![call("", "tool_1", r#"{"n":2}"#)]).await;
    assert_eq!(code(&results[0]), ErrorCode::InvalidArguments);
    println!("1,000 tools after {:?}", start.elapsed());
}

#[tokio::test]
async fn ten_thousand_tools_serve_and_the_hints_of_an_unknown_name_stay_short() {
    let start = Instant::now();
    let stand = Stand::with(&tools(10_000, "echo")).await;
    println!("10,000 tools loaded after {:?}", start.elapsed());
    let mut stream = stand.run().await;
    let (results, _) =
        stream.batch("b1", vec![call("", "tool_4711", r#"{"n":4711}"#), call("", "tol_4711", "{}")]).await;
    assert_eq!((results[0].is_error, text(&results[0])), (false, r#"{"n":4711}"#.to_owned()));
    assert_eq!(code(&results[1]), ErrorCode::ToolNotFound);
    let hint = text(&results[1]);
    assert!(hint.contains("tool_4711,") && hint.ends_with("and 9980 more"), "{hint}");
    assert_eq!(hint.matches("tool_").count(), 20, "{hint}");
    assert!(hint.len() < 1_000, "{hint}");
    println!("10,000 tools after {:?}", start.elapsed());
}

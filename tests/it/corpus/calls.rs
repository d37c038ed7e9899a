//! Recorded and gold calls, through one `Run` stream.

use std::time::Instant;

use toolbooth::grpc::proto::{CallResult, ErrorCode};

use super::{CallLine, SchemaLine, corpus, count, document, json, read, referred};
use crate::stand::{Stand, Stream, call, code, text};

/// Calls in one batch.
const BATCH: usize = 32;

/// Calls that the corpus calls other than valid and the booth accepts: source, status, tool, and why.
const ACCEPTED: [[&str; 4]; 1] = [[
    "pydantic-ai/cassettes",
    "unparsable",
    "find_education_content",
    "the provider left the arguments out, which is `{}` (rule P3), and the schema requires nothing",
]];

/// Calls that the corpus calls valid and the booth refuses, in the same form: neither exact numbers nor formats refuse any.
const REFUSED: [[&str; 4]; 0] = [];

#[tokio::test]
async fn the_recorded_calls_are_accepted_exactly_where_they_are_valid_and_go_through_unchanged() {
    let (Some(calls), Some(schemas)) = (corpus("calls.jsonl"), corpus("schemas.jsonl")) else { return };
    let start = Instant::now();
    let schemas: Vec<SchemaLine<'_>> = read(&schemas);
    let calls: Vec<CallLine<'_>> = read(&calls);
    let calls: Vec<&CallLine<'_>> =
        calls.iter().filter(|call| ["gold", "model"].contains(&call.kind.as_str())).collect();
    assert!(calls.len() > 7_000, "the corpus has its calls: {}", calls.len());
    let stand = Stand::with(&document(referred(&schemas, calls.iter().copied()))).await;
    let mut stream = stand.run().await;
    let mut outcomes = Vec::with_capacity(calls.len());
    for (batch, calls) in calls.chunks(BATCH).enumerate() {
        let results = play(&mut stream, batch, calls).await;
        outcomes.extend(calls.iter().copied().zip(results));
    }
    for (call, result) in &outcomes {
        check(call, result);
    }
    let wrongly = |is_error: bool| {
        let differs = move |(call, result): &&(&CallLine<'_>, CallResult)| {
            result.is_error == is_error && (call.status == "valid") == is_error
        };
        let name =
            |(call, _): &(&CallLine<'_>, CallResult)| [&call.source, &call.status, &call.tool].map(String::clone);
        outcomes.iter().filter(differs).map(name).collect::<Vec<_>>()
    };
    assert_eq!(wrongly(false), ACCEPTED.map(|[source, status, tool, _]| [source, status, tool].map(str::to_owned)));
    assert_eq!(wrongly(true), REFUSED.map(|[source, status, tool, _]| [source, status, tool].map(str::to_owned)));
    println!(
        "{} calls of {} sources in {:?}",
        calls.len(),
        count(calls.iter().map(|c| &c.source)).len(),
        start.elapsed()
    );
    for ((kind, status, outcome), count) in
        count(outcomes.iter().map(|(call, result)| (&call.kind, &call.status, outcome(result))))
    {
        println!("{count:6} {kind:5} {status:20} {outcome}");
    }
}

async fn play(stream: &mut Stream, batch: usize, calls: &[&CallLine<'_>]) -> Vec<CallResult> {
    let sent = calls.iter().enumerate().map(|(index, it)| call(&format!("c{index}"), &it.name(), it.text()));
    let (results, _) = stream.batch(&format!("b{batch}"), sent.collect()).await;
    let indexes: Vec<_> = results.iter().map(|result| usize::try_from(result.index).unwrap()).collect();
    assert_eq!(indexes, (0..calls.len()).collect::<Vec<_>>(), "batch {batch}: each call has one result");
    results
}

/// What holds for a call whatever the corpus thinks of it.
fn check(call: &CallLine<'_>, result: &CallResult) {
    let place = format!("{} {} {}", call.source, call.name(), call.text());
    assert_eq!(result.raw_arguments, call.text().as_bytes(), "{place}");
    assert!(result.repairs.is_empty(), "{place}: strict repairs nothing");
    if result.is_error {
        let expected = match call.status.as_str() {
            "no-schema" => ErrorCode::ToolNotFound,
            "schema-error" => ErrorCode::ToolQuarantined,
            _ => ErrorCode::InvalidArguments,
        };
        assert_eq!(code(result), expected, "{place}");
        assert!(!result.executed && result.arguments.is_empty(), "{place}");
        return;
    }
    let sent = json(if call.text().is_empty() { "{}" } else { call.text() });
    assert_eq!(json(std::str::from_utf8(&result.arguments).unwrap()), sent, "{place}");
    // Byte for byte: the spelling of numbers and the order of keys are kept.
    assert_eq!(result.arguments, sent.to_text(), "{place}");
    assert_eq!((text(result), &result.structured), (sent.to_text(), &result.arguments), "{place}");
}

fn outcome(result: &CallResult) -> &'static str {
    if result.is_error { code(result).as_str_name() } else { "accepted" }
}

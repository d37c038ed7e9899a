//! What became of a case, whichever way it was played, and whether that is what the case expects.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};

use super::plan::{Plan, milliseconds};

/// What a result says.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) is_error: bool,
    pub(super) code: String,
    pub(super) terminate: bool,
}

/// What a batch brought.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn {
    /// In call order.
    pub(super) results: Vec<Said>,
    pub(super) terminate: bool,
    pub(super) stop: bool,
    pub(super) blocking: Vec<u64>,
    pub(super) accepted: usize,
}

/// What a whole case brought. `None` is what this way of playing cannot see.
#[derive(Debug, Default)]
pub(super) struct Played {
    pub(super) turns: Vec<Turn>,
    /// Ids of the calls, in the order in which they were executed.
    pub(super) executed: Vec<String>,
    pub(super) most_at_once: Option<usize>,
    /// An answer under a wrong id was rejected.
    pub(super) unknown_reported: Option<bool>,
    /// An answer came after its call had a result, and was neither delivered nor rejected.
    pub(super) late_recorded: Option<bool>,
    /// In the time of the test, which stands still while something is done.
    pub(super) took: Option<Duration>,
    /// The arguments that were executed, by the id of their call.
    pub(super) arguments: Vec<(String, Value)>,
}

/// The booth's word for a code of a case.
fn code(word: &str) -> &str {
    match word {
        "schema" => "invalid_arguments",
        "timeout" => "timed_out",
        "batch_limit" => "limit_reached",
        "unknown_tool" => "tool_not_found",
        word => word,
    }
}

/// Compares everything that is expected; a word that nobody knows is a fault of the test.
pub(super) fn compare(plan: &Plan, played: &Played) {
    let sent: Vec<String> = plan.batches.iter().flatten().map(|made| made.id.clone()).collect();
    compare_with(&plan.case, &plan.expected, &sent, played);
}

pub(super) fn compare_with(case: &str, expected: &Map<String, Value>, sent: &[String], played: &Played) {
    let place = format!("{case}: {played:?}");
    let all: Vec<&Said> = played.turns.iter().flat_map(|turn| &turn.results).collect();
    assert_eq!(all.len(), sent.len(), "{place}: every call is answered, and once");
    let last = played.turns.last().unwrap();
    for (word, value) in expected {
        let place = format!("{word} of {place}");
        match word.as_str() {
            "executions" => assert_eq!(played.executed.len(), number(value), "{place}"),
            "all" => assert!(all.iter().all(|said| said.is_error == (value != "ok")), "{place}"),
            "every_call_answered" => assert!(all.iter().map(|said| &said.id).eq(sent), "{place}"),
            "assigned_ids_unique" => {
                let ids: BTreeSet<&String> = all.iter().map(|said| &said.id).collect();
                assert!(ids.len() == all.len() && ids.iter().all(|id| !id.is_empty()), "{place}");
            }
            "id_echoed_verbatim" => {
                assert!(all.iter().map(|said| &said.id).eq(sent) && played.executed == sent, "{place}");
            }
            "second" => said(&last.results[0], value, &place),
            "results" => {
                assert_eq!(all.len(), value.as_array().unwrap().len(), "{place}");
                all.iter().zip(value.as_array().unwrap()).for_each(|(own, value)| said(own, value, &place));
            }
            "results_tail" => {
                let (head, tail) = all.split_at(all.len() - value.as_array().unwrap().len());
                assert!(head.iter().all(|said| !said.is_error), "{place}");
                tail.iter().zip(value.as_array().unwrap()).for_each(|(own, value)| said(own, value, &place));
            }
            "winner" => {
                let winners: Vec<_> = all.iter().filter(|said| !said.is_error).map(|said| said.id.as_str()).collect();
                assert_eq!(winners, [value.as_str().unwrap()], "{place}");
                assert_eq!(played.executed, winners, "{place}: nobody else was executed");
            }
            "batch_terminates" => assert_eq!(last.terminate, *value, "{place}"),
            "accepted" => assert_eq!(last.accepted == 1, *value, "{place}"),
            "blocking_calls" => {
                let blocking: Vec<Value> = last.blocking.iter().copied().map(Value::from).collect();
                assert_eq!(Value::from(blocking), *value, "{place}");
            }
            "verdicts" => {
                let verdicts: Vec<_> = played.turns.iter().map(verdict).collect();
                assert_eq!(Value::from(verdicts), *value, "{place}");
            }
            "start_order" => assert_eq!(Value::from(played.executed.clone()), *value, "{place}"),
            "calls" => {
                let calls = played.arguments.iter().map(|(id, own)| serde_json::json!({"id": id, "args": own}));
                assert_eq!(Value::from(calls.collect::<Vec<_>>()), *value, "{place}");
            }
            "results_for_a" => {
                let own = all.iter().filter(|said| said.id == "a").count();
                assert_eq!(own, number(value), "{place}");
            }
            "max_concurrency" => assert!(played.most_at_once.is_none_or(|most| most <= number(value)), "{place}"),
            "unknown_result_reported" => assert!(played.unknown_reported.is_none_or(|seen| seen == *value), "{place}"),
            "late_result" => {
                assert_eq!(value, "recorded_not_delivered");
                assert!(played.late_recorded.is_none_or(|recorded| recorded), "{place}");
            }
            "max_ms" => assert!(played.took.is_none_or(|took| took <= milliseconds(value).unwrap()), "{place}"),
            other => panic!("nobody looks for `{other}`"),
        }
    }
}

/// One result against what is expected of it.
fn said(own: &Said, expected: &Value, place: &str) {
    for (key, value) in expected.as_object().unwrap() {
        match key.as_str() {
            "id" => assert_eq!(own.id, *value, "{place}"),
            "terminate" => assert_eq!(own.terminate, *value, "{place}"),
            "code" => assert_eq!(own.code, code(value.as_str().unwrap()), "{place}"),
            "outcome" => match value.as_str().unwrap() {
                "ok" => assert!(!own.is_error, "{place}"),
                "error" => assert!(own.is_error, "{place}"),
                code => assert_eq!((own.is_error, own.code.as_str()), (true, code), "{place}"),
            },
            other => panic!("nobody looks for `{other}`"),
        }
    }
}

/// The word for what a turn of one call came to.
fn verdict(turn: &Turn) -> &'static str {
    let said = &turn.results[0];
    match (said.is_error, said.code.as_str(), turn.stop) {
        (true, "limit_reached", _) => "rejected",
        (true, _, true) => "error+stop",
        (true, _, false) => "error",
        (false, ..) => "ok",
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

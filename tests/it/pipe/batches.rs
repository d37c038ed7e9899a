//! Runs and batches through the pipe: limits, order, duplicates, submissions, time. Names start with the rule or the case of the
//! field (`cases/field/cases.jsonl`) that they hold.

use std::time::Instant;

use serde_json::{Value, json};

use crate::program::Folder;

/// Appends a line to `log` for each execution, and answers.
const INC: &str = r#"{"name":"inc","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","echo run >> log; echo done"]}}}"#;
const FAIL: &str =
    r#"{"name":"fail","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","exit 3"]}}}"#;
const ADD: &str = r#"{"name":"add","parameters":{"type":"object","required":["a"]},"execute":{"echo":{}}}"#;
/// A submission that something runs: the lower value takes longer.
const SUBMIT: &str = r#"{"name":"submit","parameters":{"type":"object","properties":{"v":{"type":"integer"}},"required":["v"]},
    "accept":{"once_per":"run"},"terminate":true,
    "execute":{"command":{"argv":["sh","-c","echo run >> log; grep -q '\"v\":1' && sleep 0.2; echo kept"]}}}"#;

fn folder(tools: &[&str]) -> Folder {
    Folder::of(&[("tools/all.json", &format!("{{\"tools\":[{}]}}", tools.join(",")))])
}

/// A batch line of calls, each an id, a tool and its arguments.
fn batch(calls: &[(&str, &str, &str)]) -> String {
    let calls: Vec<Value> =
        calls.iter().map(|(id, name, arguments)| json!({"id": id, "name": name, "arguments": arguments})).collect();
    json!({"batch": {"calls": calls}}).to_string()
}

fn piped(folder: &Folder, lines: &[&str]) -> Vec<Value> {
    let (answers, code) = folder.pipe(lines);
    assert_eq!(code, 0, "{answers:?}");
    answers
}

/// Code, or `ok`, of each result.
fn codes(answer: &Value) -> Vec<&str> {
    let results = answer["batch"]["results"].as_array().unwrap();
    results.iter().map(|result| result["code"].as_str().unwrap_or("ok")).collect()
}

fn executions(folder: &Folder) -> usize {
    folder.read("log").lines().count()
}

#[test]
fn b7_the_last_invalid_call_in_a_row_stops_the_run() {
    let folder = folder(&[ADD]);
    let wrong = batch(&[("c", "add", "{}")]);
    let open = r#"{"open":{"limits":{"max_consecutive_invalid":3}}}"#;
    let right = batch(&[("c", "add", "{\"a\":1}")]);
    let answers = piped(&folder, &[open, &wrong, &right, &wrong, &wrong, &wrong, &right, open, &right]);
    let told: Vec<_> = answers
        .iter()
        .map(|answer| {
            let verdict = &answer["batch"]["verdict"];
            (
                codes(answer)[0],
                verdict["stop"].as_bool().unwrap(),
                verdict["limit"].as_str(),
                verdict["remaining"].clone(),
            )
        })
        .collect();
    let (wrong, limit, left) =
        ("invalid_arguments", Some("max_consecutive_invalid"), |left| json!({"consecutive_invalid": left}));
    assert_eq!(
        told,
        [
            (wrong, false, None, left(2)),
            ("ok", false, None, left(3)),
            (wrong, false, None, left(2)),
            (wrong, false, None, left(1)),
            (wrong, true, limit, left(0)),
            ("limit_reached", true, limit, left(0)),
            ("ok", false, None, left(3)),
        ]
    );
    assert_eq!(answers[4]["batch"]["verdict"]["reason"], "limit_reached");
    let last = answers[4]["batch"]["results"][0]["text"].as_str().unwrap();
    assert!(last.contains("This was invalid call 3 in a row"), "{last}");
}

#[test]
fn b7_other_limits_are_reached_in_their_words() {
    let folder = folder(&[ADD]);
    let right = batch(&[("c", "add", "{\"a\":1}")]);
    let answers = piped(&folder, &[r#"{"open":{"limits":{"max_turns":1,"max_wall":"10m"}}}"#, &right, &right]);
    assert_eq!((codes(&answers[0]), codes(&answers[1])), (vec!["ok"], vec!["limit_reached"]));
    assert_eq!(answers[1]["batch"]["results"][0]["reason"], "max_turns");
    let remaining = &answers[0]["batch"]["verdict"]["remaining"];
    assert_eq!(remaining["turns"], 0);
    assert!(humantime::parse_duration(remaining["wall"].as_str().unwrap()).unwrap().as_secs() >= 500, "{remaining}");
}

#[test]
fn par_008_what_is_over_the_limit_of_a_batch_is_refused_by_name() {
    let folder = folder(&[INC]);
    let calls: Vec<_> = ["0", "1", "2", "3", "4"].map(|id| (id, "inc", "{}")).into();
    let answers = piped(&folder, &[r#"{"open":{"limits":{"max_calls_per_batch":3}}}"#, &batch(&calls)]);
    assert_eq!(codes(&answers[0]), ["ok", "ok", "ok", "limit_reached", "limit_reached"]);
    assert_eq!(executions(&folder), 3);
    assert_eq!(answers[0]["batch"]["verdict"]["limit"], "max_calls_per_batch");
}

#[test]
fn b4_nothing_of_a_response_that_was_cut_off_runs() {
    for word in ["length", "MAX_TOKENS"] {
        let folder = folder(&[INC]);
        let line =
            json!({"batch": {"finish_reason": word, "calls": [{"name": "inc"}, {"name": "inc", "arguments": "{\"a"}]}});
        let answers = piped(&folder, &[&line.to_string()]);
        assert_eq!(codes(&answers[0]), ["truncated", "truncated"]);
        let verdict = &answers[0]["batch"]["verdict"];
        assert_eq!((&verdict["reason"], &verdict["terminate"]), (&json!("truncated"), &json!(false)));
        assert_eq!(executions(&folder), 0);
    }
}

#[test]
fn b5_one_id_is_one_call_of_a_batch() {
    let folder = folder(&[INC]);
    let answers = piped(&folder, &[&batch(&[("a", "inc", "{}"), ("a", "inc", "{ }"), ("a", "inc", "{\"b\":1}")])]);
    assert_eq!(codes(&answers[0]), ["ok", "ok", "duplicate_call_id"]);
    let results = &answers[0]["batch"]["results"];
    assert_eq!((&results[1]["replayed"], &results[1]["executed"]), (&json!(true), &json!(false)));
    assert_eq!(executions(&folder), 1);
}

#[test]
fn id_003_the_same_id_in_a_later_batch_is_a_new_call() {
    let folder = folder(&[INC]);
    let line = batch(&[("call_0", "inc", "{}")]);
    let answers = piped(&folder, &[&line, &line]);
    assert_eq!((codes(&answers[0]), codes(&answers[1]), executions(&folder)), (vec!["ok"], vec!["ok"], 2));
    let ids: Vec<_> = answers.iter().map(|answer| answer["batch"]["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b1", "b2"]);
}

#[test]
fn id_004_calls_without_an_id_get_one_each() {
    let folder = folder(&[INC]);
    let answers = piped(&folder, &[&batch(&[("", "inc", "{}"), ("", "inc", "{}")])]);
    let id = |call: usize| answers[0]["batch"]["results"][call]["id"].as_str().unwrap();
    assert!(id(0) != id(1) && !id(0).is_empty() && !id(1).is_empty());
    assert_eq!(executions(&folder), 2);
}

#[test]
fn id_005_a_long_id_is_echoed_to_the_letter() {
    let id = "x".repeat(83);
    let answers = piped(&folder(&[INC]), &[&batch(&[(&id, "inc", "{}")])]);
    assert_eq!(answers[0]["batch"]["results"][0]["id"], id.as_str());
}

#[test]
fn batches_of_one_id_keep_apart_the_keys_of_their_calls() {
    let tool = r#"{"name":"key","parameters":{},"execute":{"command":{"argv":["sh","-c","cat"]}}}"#;
    let line = r#"{"batch":{"id":"same","calls":[{"name":"key"}]}}"#;
    let answers = piped(&folder(&[tool]), &[line, line]);
    let told = |answer: usize| {
        let batch = &answers[answer]["batch"];
        (batch["id"].as_str().unwrap(), batch["results"][0]["structured"]["call"]["idempotency_key"].as_str().unwrap())
    };
    assert_eq!((told(0).0, told(1).0), ("same", "same"));
    assert_ne!(told(0).1, told(1).1);
}

#[test]
fn par_003_a_failure_leaves_its_siblings_alone() {
    let answers = piped(&folder(&[INC, FAIL]), &[&batch(&[("a", "fail", "{}"), ("b", "inc", "{}")])]);
    assert_eq!(codes(&answers[0]), ["execution_failed", "ok"]);
    assert_eq!(answers[0]["batch"]["results"][0]["executed"], true);
}

#[test]
fn par_006_a_sequential_tool_makes_its_batch_sequential() {
    let script = |name: &str, mode: &str| {
        let run = format!("echo start {name} >> log; sleep 0.1; echo end {name} >> log");
        json!({"name": name, "parameters": {}, "mode": mode, "execute": {"command": {"argv": ["sh", "-c", run]}}})
            .to_string()
    };
    let folder = folder(&[&script("git", "sequential"), &script("read", "parallel")]);
    piped(&folder, &[&batch(&[("a", "git", "{}"), ("b", "git", "{}"), ("c", "read", "{}")])]);
    assert_eq!(folder.read("log"), "start git\nend git\nstart git\nend git\nstart read\nend read\n");
}

#[test]
fn par_007_a_sequential_run_answers_every_call() {
    let folder = folder(&[INC]);
    let calls = batch(&[("a", "inc", "{}"), ("b", "inc", "{}")]);
    let answers = piped(&folder, &[r#"{"open":{"mode":"sequential"}}"#, &calls]);
    assert_eq!((codes(&answers[0]), executions(&folder)), (vec!["ok", "ok"], 2));
}

#[test]
fn time_001_a_tool_that_hangs_is_given_up_in_time() {
    let hang = r#"{"name":"hang","parameters":{},"timeout":"100ms","execute":{"command":{"argv":["sh","-c","sleep 5; echo late >> log"]}}}"#;
    let folder = folder(&[hang]);
    let started = Instant::now();
    let answers = piped(&folder, &[&batch(&[("a", "hang", "{}")])]);
    assert_eq!(codes(&answers[0]), ["timed_out"]);
    // The program's own start is in it, on a machine that others use.
    assert!(started.elapsed().as_millis() < 3_000, "{:?}", started.elapsed());
}

#[test]
fn once_002_the_first_submission_wins_and_the_second_is_told() {
    let folder = folder(&[SUBMIT]);
    let answers = piped(&folder, &[&batch(&[("a", "submit", "{\"v\":1}"), ("b", "submit", "{\"v\":2}")])]);
    assert_eq!(codes(&answers[0]), ["ok", "already_accepted"]);
    let results = &answers[0]["batch"]["results"];
    assert_eq!((&results[0]["terminate"], &results[1]["terminate"]), (&json!(true), &json!(false)));
    let verdict = &answers[0]["batch"]["verdict"];
    assert_eq!((&verdict["terminate"], &verdict["blocking"]), (&json!(false), &json!([1])));
    let accepted = &verdict["accepted"][0];
    assert_eq!(
        (&accepted["tool"], &accepted["call_id"], &accepted["arguments"]),
        (&json!("submit"), &json!("a"), &json!({"v": 1}))
    );
    assert_eq!(executions(&folder), 1);
}

#[test]
fn once_003_an_invalid_submission_does_not_use_up_the_slot() {
    let folder = folder(&[SUBMIT]);
    let answers = piped(&folder, &[&batch(&[("a", "submit", "{\"v\":\"x\"}"), ("b", "submit", "{\"v\":2}")])]);
    assert_eq!(codes(&answers[0]), ["invalid_arguments", "ok"]);
    let verdict = &answers[0]["batch"]["verdict"];
    assert_eq!((&verdict["terminate"], verdict["accepted"].as_array().unwrap().len()), (&json!(false), 1));
    assert_eq!(executions(&folder), 1);
}

#[test]
fn once_004_the_lowest_index_wins_and_not_the_fastest() {
    let folder = folder(&[SUBMIT]);
    let calls = batch(&[("a", "submit", "{\"v\":1}"), ("b", "submit", "{\"v\":2}")]);
    let answers = piped(&folder, &[r#"{"open":{"mode":"parallel"}}"#, &calls]);
    assert_eq!(answers[0]["batch"]["verdict"]["accepted"][0]["call_id"], "a");
    assert_eq!(executions(&folder), 1);
}

#[test]
fn s3_what_a_task_accepted_outlives_its_run() {
    let tool = r#"{"name":"submit","parameters":{},"submit":{"once_per":"task"}}"#;
    let open = r#"{"open":{"run_id":"r1","task_key":"t"}}"#;
    let submit = batch(&[("a", "submit", "{\"v\":1.0}")]);
    let again = batch(&[("b", "submit", "{\"v\":1}")]);
    let other = batch(&[("c", "submit", "{\"v\":2}")]);
    let answers = piped(&folder(&[tool]), &[open, &submit, open, &again, &other]);
    assert_eq!(
        (codes(&answers[0]), codes(&answers[1]), codes(&answers[2])),
        (vec!["ok"], vec!["ok"], vec!["already_accepted"])
    );
    assert_eq!(answers[1]["batch"]["results"][0]["replayed"], true);
    assert_eq!(
        (&answers[0]["batch"]["verdict"]["terminate"], &answers[1]["batch"]["verdict"]["terminate"]),
        (&json!(true), &json!(true))
    );
}

#[test]
fn b7_limits_of_a_tool_and_the_kept_slot_are_told_in_the_same_words() {
    let few = r#"{"name":"few","parameters":{"type":"object"},"execute":{"echo":{}},"limits":{"max_calls":1}}"#;
    let answers = piped(
        &folder(&[few, r#"{"name":"submit","parameters":{"type":"object"},"submit":{}}"#]),
        &[
            r#"{"open":{"limits":{"max_turns":2,"reserve_delivery":true}}}"#,
            &batch(&[("a", "few", "{}"), ("b", "few", "{}")]),
            &batch(&[("c", "few", "{}"), ("d", "submit", "{}")]),
        ],
    );
    assert_eq!(codes(&answers[0]), ["ok", "limit_reached"]);
    assert_eq!(answers[0]["batch"]["results"][1]["reason"], "max_calls_of_tool");
    let verdict = &answers[0]["batch"]["verdict"];
    assert_eq!(verdict["remaining"], json!({"turns": 1, "tool_calls": {"few": 0}}));
    assert_eq!((&verdict["stop"], &verdict["tool_choice"]), (&json!(false), &json!("submit")));
    assert_eq!(codes(&answers[1]), ["limit_reached", "ok"]);
    assert_eq!(answers[1]["batch"]["results"][0]["reason"], "reserved_for_delivery");
    assert_eq!(answers[1]["batch"]["verdict"]["stop"], true);
}

#[test]
fn p7_a_call_that_was_tried_more_than_once_says_how_often() {
    let gone = r#"{"name":"gone","parameters":{"type":"object"},"idempotent":true,"retries":1,
        "execute":{"command":{"argv":["./nowhere"]}}}"#;
    let answers = piped(&folder(&[gone, INC]), &[&batch(&[("a", "gone", "{}"), ("b", "inc", "{}")])]);
    let results = &answers[0]["batch"]["results"];
    assert_eq!((&results[0]["reason"], &results[0]["attempts"]), (&json!("unreachable"), &json!(2)));
    assert_eq!((&results[1]["executed"], results[1].get("attempts")), (&json!(true), None));
}

//! Contracts that people registered and what became of them: the field cases of the stage `registration`, through `pipe`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::Folder;

#[test]
fn v6_every_contract_of_the_field_is_registered_as_it_should_be_in_both_profiles() {
    let cases: Vec<Value> = super::written().lines().map(|case| serde_json::from_str(case).unwrap()).collect();
    let cases: Vec<_> = cases.iter().filter(|case| case["stage"] == "registration").collect();
    assert_eq!(cases.len(), 12, "the stage has its cases");
    for case in cases {
        for (profile, expected) in [("strict", &case["expected_strict"]), ("safe", &case["expected_coerce"])] {
            play(profile, case, expected);
        }
    }
}

fn play(profile: &str, case: &Value, expected: &Value) {
    let place = format!("{} under {profile}", case["id"]);
    let tool = &case["input"]["tool"];
    // What the strict view delivers is no matter of registration.
    let probes = expected["probe"].as_array().into_iter().flatten().filter(|probe| probe["valid"].is_boolean());
    let probes: Vec<_> = probes.collect();
    let call = |probe: &&Value| json!({"batch": {"calls": [{"id": "c", "name": tool["name"], "arguments": probe["args"].to_string()}]}});
    let mut lines = vec![json!({"register": tool}).to_string()];
    lines.extend(probes.iter().map(|probe| call(probe).to_string()));
    let start = Instant::now();
    let ended = Folder::of(&[]).run(&["pipe", "--profile", profile, "--execute", "echo"], lines.join("\n").as_bytes());
    // A pattern that is tried in all ways takes hours.
    assert!(start.elapsed() < Duration::from_secs(30), "{place}: {:?}", start.elapsed());
    let answers = ended.lines();
    assert_eq!(answers.len(), lines.len(), "{place}: {answers:?}");
    let registered = &answers[0]["registered"];
    let said = format!("{place}: {registered}");
    assert_eq!(registered["status"], expected["outcome"], "{said}");
    if expected["dialect"].is_string() {
        assert_eq!(registered["dialect"], expected["dialect"], "{said}");
    }
    let notes = registered["notes"].as_array().unwrap();
    for path in ["paths", "warning_paths"].iter().flat_map(|key| expected[key].as_array().into_iter().flatten()) {
        assert!(notes.iter().any(|note| note["path"] == *path), "{said}");
    }
    for repair in expected["repairs"].as_array().into_iter().flatten() {
        let is_it = |note: &Value| note["path"] == repair["path"] && note["code"] == repair["op"];
        assert!(notes.iter().any(is_it), "{said}");
    }
    for (probe, answer) in probes.iter().zip(&answers[1..]) {
        let outcome = &answer["batch"]["results"][0]["outcome"];
        assert_eq!(*outcome == "ok", probe["valid"], "{place}: {probe}: {answer}");
    }
}

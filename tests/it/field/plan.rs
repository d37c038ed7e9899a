//! What a case of the field asks for: its tools and how they behave, its batches, and what is expected of them.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

/// How a tool behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Manner {
    /// It does its work and answers.
    Work,
    /// It answers that it failed.
    Fail,
    /// It takes effect and is lost before it has answered.
    FailAfterEffect,
    /// It never answers.
    Hang,
    /// It answers after the `ms` of its arguments.
    Slow,
    /// The same, with a sign of life `every` so many.
    Progressing,
    /// It answers under another call's id.
    Misaddress(String),
    /// It answers so.
    Say { terminate: Option<bool>, is_error: bool },
}

/// A call that the model makes.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) raw: String,
    pub(super) key: String,
}

/// A case, to be played under one profile.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) case: String,
    pub(super) profile: &'static str,
    /// Contracts without what runs them.
    pub(super) contracts: Vec<Map<String, Value>>,
    pub(super) manners: BTreeMap<String, Manner>,
    pub(super) limits: Map<String, Value>,
    pub(super) mode: String,
    pub(super) batches: Vec<Vec<Made>>,
    pub(super) cancel_after: Option<Duration>,
    pub(super) expected: Map<String, Value>,
}

/// The cases of these stages, each under both profiles.
pub(super) fn plans(stages: &[&str]) -> Vec<Plan> {
    cases(stages)
        .iter()
        .flat_map(|case| both(case).map(|(profile, expected)| Plan::of(case, profile, expected)))
        .collect()
}

/// The cases of these stages, as they are written.
pub(super) fn cases(stages: &[&str]) -> Vec<Value> {
    let cases = super::written().lines().map(|case| serde_json::from_str::<Value>(case).unwrap()).collect::<Vec<_>>();
    cases.into_iter().filter(|case| stages.contains(&case["stage"].as_str().unwrap())).collect()
}

/// What a case expects under each profile.
pub(super) fn both(case: &Value) -> [(&'static str, &Map<String, Value>); 2] {
    [("strict", "expected_strict"), ("safe", "expected_coerce")]
        .map(|(profile, key)| (profile, case[key].as_object().unwrap()))
}

pub(super) fn milliseconds(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}

impl Plan {
    fn of(case: &Value, profile: &'static str, expected: &Map<String, Value>) -> Self {
        let input = &case["input"];
        let place = format!("{} under {profile}", case["id"]);
        let known = [
            "calls",
            "turns",
            "replay",
            "results",
            "tools",
            "schema",
            "limits",
            "mode",
            "executor",
            "executor_reply",
            "timeout_ms",
            "max_total_ms",
            "cancel_after_ms",
        ];
        for key in input.as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{place}: nobody plays `{key}`");
        }
        let (batches, said) = batches(input);
        let mut manners = said;
        for made in batches.iter().flatten().filter(|made| made.name != "nowhere") {
            let manner = manner(input, &made.name);
            manners.entry(made.name.clone()).or_insert(manner);
        }
        Self {
            case: place,
            profile,
            contracts: manners.keys().map(|name| contract(input, name)).collect(),
            manners,
            limits: input["limits"].as_object().cloned().unwrap_or_default(),
            mode: input["mode"].as_str().unwrap_or_default().to_owned(),
            batches,
            cancel_after: milliseconds(&input["cancel_after_ms"]),
            expected: expected.clone(),
        }
    }

    /// Whether only a host can play it: it speaks while a call runs, or not as it should.
    pub(super) fn needs_host(&self) -> bool {
        let is_of_host = |manner: &Manner| {
            matches!(manner, Manner::Slow | Manner::Progressing | Manner::Misaddress(_) | Manner::FailAfterEffect)
        };
        self.cancel_after.is_some() || self.manners.values().any(is_of_host)
    }
}

/// The batches, and the manners of tools that only say what they are told.
fn batches(input: &Value) -> (Vec<Vec<Made>>, BTreeMap<String, Manner>) {
    if let Some(results) = input["results"].as_array() {
        let made = |(index, result): (usize, &Value)| {
            let name = if result["code"] == "unknown_tool" { "nowhere".to_owned() } else { format!("r{index}") };
            Made { id: format!("c{index}"), name, raw: "{}".to_owned(), key: String::new() }
        };
        let said = results.iter().enumerate().filter(|(_, result)| result["code"].is_null()).map(|(index, result)| {
            let (terminate, is_error) = (result["terminate"].as_bool(), result["is_error"] == true);
            (format!("r{index}"), Manner::Say { terminate, is_error })
        });
        return (vec![results.iter().enumerate().map(made).collect()], said.collect());
    }
    let of = |calls: &Value| calls.as_array().unwrap().iter().map(made).collect::<Vec<_>>();
    let batches = if let Some(turns) = input["turns"].as_array() {
        turns.iter().map(of).collect()
    } else if input["calls"][0].is_string() {
        // Each call comes in a turn of its own.
        input["calls"].as_array().unwrap().iter().map(|call| vec![made(call)]).collect()
    } else {
        [&input["calls"], &input["replay"]].into_iter().filter(|calls| calls.is_array()).map(of).collect()
    };
    (batches, BTreeMap::new())
}

fn made(call: &Value) -> Made {
    let word = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
    match call.as_str() {
        Some(raw) => Made { id: "c".to_owned(), name: "t".to_owned(), raw: raw.to_owned(), key: String::new() },
        None => Made { id: word("id"), name: word("name"), raw: word("raw"), key: word("idempotency_key") },
    }
}

fn manner(input: &Value, name: &str) -> Manner {
    match (name, input["executor"].as_str()) {
        ("fail", _) => Manner::Fail,
        ("hang", _) => Manner::Hang,
        ("slow", _) => Manner::Slow,
        ("progressing", _) => Manner::Progressing,
        ("remote", _) => Manner::Misaddress(input["executor_reply"]["call_id"].as_str().unwrap().to_owned()),
        (_, Some("fails_after_effect")) => Manner::FailAfterEffect,
        // A case that waits for a tool of any other name has a tool that does not answer.
        (_, None) if input["timeout_ms"].is_u64() => Manner::Hang,
        (_, None) => Manner::Work,
        (_, Some(other)) => panic!("nobody behaves like `{other}`"),
    }
}

fn contract(input: &Value, name: &str) -> Map<String, Value> {
    let mut contract = Map::new();
    contract.insert("name".to_owned(), json!(name));
    let open = json!({"type": "object"});
    contract.insert("parameters".to_owned(), input.get("schema").unwrap_or(&open).clone());
    for (key, value) in input["tools"][name].as_object().into_iter().flatten() {
        let (key, value) = match (key.as_str(), value) {
            ("accept_once", Value::Bool(true)) => ("accept", json!({"once_per": "run"})),
            ("execution", mode) => ("mode", mode.clone()),
            (key @ ("terminate" | "side_effect" | "idempotent"), value) => (key, value.clone()),
            (other, _) => panic!("no contract says `{other}`"),
        };
        contract.insert(key.to_owned(), value);
    }
    for (key, word) in [("timeout", "timeout_ms"), ("deadline", "max_total_ms")] {
        if let Some(time) = input[word].as_u64() {
            contract.insert(key.to_owned(), json!(format!("{time}ms")));
        }
    }
    contract
}

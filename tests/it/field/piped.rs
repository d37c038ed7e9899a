//! Plays a case through `pipe`, with programs as tools. Each writes down the call that it was given.

use serde_json::{Map, Value, json};

use super::{
    plan::{Made, Manner, Plan},
    played::{Played, Said, Turn},
};
use crate::program::Folder;

pub(super) fn play(plan: &Plan) -> Played {
    let contract = |contract: &Map<String, Value>| {
        let mut contract = contract.clone();
        let script = script(&plan.manners[contract["name"].as_str().unwrap()]);
        contract.insert("execute".to_owned(), json!({"command": {"argv": ["sh", "-c", script]}}));
        Value::from(contract)
    };
    let tools: Vec<Value> = plan.contracts.iter().map(contract).collect();
    let folder = Folder::of(&[("tools/all.json", &json!({"tools": tools}).to_string())]);
    let mut open = json!({"limits": plan.limits});
    if !plan.mode.is_empty() {
        open["mode"] = json!(plan.mode);
    }
    let mut lines = vec![json!({"open": open}).to_string()];
    lines.extend(plan.batches.iter().map(|batch| line(batch)));
    let ended = folder.run(&["pipe", "--tools", "tools", "--profile", plan.profile], lines.join("\n").as_bytes());
    assert_eq!(ended.code, 0, "{}: {ended:?}", plan.case);
    let log = folder.read("log");
    let executed = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Played {
        turns: ended.lines().iter().map(|answer| turn(&answer["batch"])).collect(),
        executed: executed.map(|request| request["call"]["id"].as_str().unwrap().to_owned()).collect(),
        ..Played::default()
    }
}

fn script(manner: &Manner) -> String {
    let end = match manner {
        Manner::Work => "echo done".to_owned(),
        Manner::Fail => "exit 3".to_owned(),
        Manner::Hang => "exec sleep 600".to_owned(),
        Manner::Say { terminate, is_error } => {
            let mut envelope = json!({"content": "done", "is_error": is_error});
            if let Some(terminate) = terminate {
                envelope["terminate"] = json!(terminate);
            }
            format!("echo '{envelope}'")
        }
        Manner::Slow | Manner::Progressing | Manner::Misaddress(_) | Manner::FailAfterEffect => {
            panic!("only a host does that")
        }
    };
    format!(r#"printf '%s\n' "$(cat)" >> log; {end}"#)
}

fn line(batch: &[Made]) -> String {
    let call = |made: &Made| {
        let mut call = json!({"id": made.id, "name": made.name, "arguments": made.raw});
        if !made.key.is_empty() {
            call["idempotency_key"] = json!(made.key);
        }
        call
    };
    json!({"batch": {"calls": batch.iter().map(call).collect::<Vec<_>>()}}).to_string()
}

fn turn(batch: &Value) -> Turn {
    let said = |result: &Value| Said {
        id: result["id"].as_str().unwrap().to_owned(),
        is_error: result["outcome"] == "error",
        code: result["code"].as_str().unwrap_or_default().to_owned(),
        terminate: result["terminate"] == true,
    };
    let verdict = &batch["verdict"];
    Turn {
        results: batch["results"].as_array().unwrap().iter().map(said).collect(),
        terminate: verdict["terminate"] == true,
        stop: verdict["stop"] == true,
        blocking: verdict["blocking"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap()).collect(),
        accepted: verdict["accepted"].as_array().unwrap().len(),
    }
}

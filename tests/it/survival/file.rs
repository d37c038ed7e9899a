//! `pipe --state`, killed at any moment.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    arguments, folder,
    tally::{Dice, Tally, Told},
    task, tool,
};
use crate::program::Folder;

const KILLS: usize = 250;
/// Batches that are on their way when the booth is killed, and calls in each.
const BATCHES: usize = 3;
const CALLS: usize = 4;

/// A run of the task, and a batch of its submissions.
fn batch(ids: &[usize]) -> String {
    let open = json!({"open": {"task_key": task(ids[0])}});
    let call = |id: &usize| json!({"id": id.to_string(), "name": tool(*id), "arguments": arguments(*id)});
    let batch = json!({"batch": {"calls": ids.iter().map(call).collect::<Vec<_>>()}});
    format!("{open}\n{batch}\n")
}

fn told(result: &Value) -> (usize, Told) {
    let id = result["id"].as_str().unwrap().parse().unwrap();
    let told = match (result["code"].as_str(), &result["replayed"], &result["executed"]) {
        (None, Value::Bool(true), _) => Told::Replayed,
        (None, _, Value::Bool(true)) => Told::Executed,
        (Some("outcome_unknown"), ..) => Told::Unknown,
        _ => panic!("{result}"),
    };
    (id, told)
}

/// Runs batches until they are answered, or until the booth is killed after so many answers and so much time.
fn run(folder: &Folder, tally: &mut Tally, batches: &[Vec<usize>], kill: Option<(usize, Duration)>) {
    let mut booth = Command::new(env!("CARGO_BIN_EXE_toolbooth"))
        .args(["pipe", "--tools", "tools", "--state", "state"])
        .current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = batches.iter().map(|ids| batch(ids)).collect::<String>();
    tally.asked.extend(batches.iter().flatten());
    let mut input = booth.stdin.take().unwrap();
    let (written, end) = mpsc::channel::<()>();
    // Whoever is killed has not read all of it, and the answers are read meanwhile.
    let writing = std::thread::spawn(move || {
        drop(input.write_all(lines.as_bytes()));
        // The end of the input would end it, too.
        let _ended = end.recv();
    });
    let mut answers = BufReader::new(booth.stdout.take().unwrap()).lines();
    let mut take = |answers: &mut dyn Iterator<Item = std::io::Result<String>>| {
        for line in answers {
            // The last line may be cut.
            let Ok(answer) = serde_json::from_str::<Value>(&line.unwrap()) else { return };
            for result in answer["batch"]["results"].as_array().unwrap() {
                let (id, told) = told(result);
                tally.tell(id, told);
            }
        }
    };
    if let Some((answered, delay)) = kill {
        take(&mut answers.by_ref().take(answered));
        let since = Instant::now();
        while since.elapsed() < delay {
            std::thread::yield_now();
        }
        booth.kill().unwrap();
    }
    drop(written);
    take(&mut answers);
    booth.wait().unwrap();
    writing.join().unwrap();
}

#[test]
fn s2_a_booth_that_is_killed_at_any_moment_forgets_nothing_and_accepts_nothing_twice() {
    let folder = folder();
    let (mut dice, mut tally, mut next) = (Dice::new(), Tally::default(), 0);
    for _ in 0..KILLS {
        let mut batches: Vec<Vec<usize>> = (0..BATCHES)
            .map(|_| {
                next += CALLS;
                (next - CALLS..next).collect()
            })
            .collect();
        // Something that was accepted before is asked for again, and something of which nobody has heard.
        let accepted = tally.accepted();
        if !accepted.is_empty() {
            batches.insert(0, vec![accepted[dice.roll(accepted.len())]]);
        }
        batches.insert(1, vec![dice.roll(next)]);
        let kill = (dice.roll(5), Duration::from_micros(u64::try_from(dice.roll(12_000)).unwrap()));
        run(&folder, &mut tally, &batches, Some(kill));
    }
    let all: Vec<usize> = tally.asked.iter().copied().collect();
    let (heard, known) = (tally.accepted().len(), tally.count(Told::Unknown));
    run(&folder, &mut tally, &all.chunks(CALLS).map(<[usize]>::to_vec).collect::<Vec<_>>(), None);
    tally.check(&folder, &["--state", "state"]);
    println!(
        "{KILLS} kills, {} submissions: {heard} acknowledged before the last start, {} accepted, {} in doubt",
        all.len(),
        tally.accepted().len(),
        tally.count(Told::Unknown) - known,
    );
}

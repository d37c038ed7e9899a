//! What everybody was told, held against what is there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::tool;
use crate::program::Folder;

/// Numbers that look random, from a seed that is printed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new() -> Self {
        let (seed, _) = uuid::Uuid::new_v4().as_u64_pair();
        println!("seed {seed}");
        Self(seed)
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        usize::try_from(number % u64::try_from(sides).unwrap()).unwrap()
    }
}

/// What a submission was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It was executed, and accepted.
    Executed,
    /// It was accepted before.
    Replayed,
    /// Nobody knows whether it was executed.
    Unknown,
    /// It was not executed, since nothing can be recorded.
    Unavailable,
}

/// All that was told, by submission.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Everything that was asked for.
    pub(super) asked: BTreeSet<usize>,
    told: BTreeMap<usize, Vec<Told>>,
}

impl Tally {
    pub(super) fn tell(&mut self, id: usize, told: Told) {
        self.told.entry(id).or_default().push(told);
    }

    /// What has been acknowledged.
    pub(super) fn accepted(&self) -> Vec<usize> {
        let is_accepted = |told: &&Told| matches!(told, Told::Executed | Told::Replayed);
        self.told.iter().filter(|(_, told)| told.iter().any(|told| is_accepted(&told))).map(|(id, _)| *id).collect()
    }

    pub(super) fn count(&self, wanted: Told) -> usize {
        self.told.values().flatten().filter(|told| **told == wanted).count()
    }

    /// Once everything was asked for again: what was told holds together, and with the effects and the ledger.
    pub(super) fn check(&self, folder: &Folder, store: &[&str]) {
        let exported = folder.run(&[&["submissions", "--jsonl"], store].concat(), b"");
        assert_eq!(exported.code, 0, "{}", exported.err);
        let (mut listed, mut effects) = (BTreeMap::<usize, usize>::new(), BTreeMap::<usize, usize>::new());
        for line in exported.lines() {
            *listed.entry(id(&line["arguments"])).or_default() += 1;
        }
        for line in folder.read("ran").lines() {
            let request: Value = serde_json::from_str(line).unwrap();
            *effects.entry(id(&request["arguments"])).or_default() += 1;
        }
        for asked in &self.asked {
            let told = self.told.get(asked).map(Vec::as_slice).unwrap_or_default();
            let times = told.iter().filter(|told| **told == Told::Executed).count();
            assert!(times <= 1, "{asked} was accepted {times} times: {told:?}");
            let first = told.iter().position(|told| matches!(told, Told::Executed | Told::Replayed));
            let after = first.map(|first| &told[first + 1..]).unwrap_or_default();
            let holds = |told: &Told| matches!(told, Told::Replayed | Told::Unavailable);
            assert!(after.iter().all(holds), "{asked} was accepted, and then not any more: {told:?}");
            let is_accepted = first.is_some();
            assert_eq!(listed.remove(asked), is_accepted.then_some(1), "{asked}: {told:?}");
            let had_effect = effects.remove(asked).unwrap_or_default();
            match tool(*asked) {
                "count" if is_accepted => assert_eq!(had_effect, 1, "{asked}: {told:?}"),
                "count" => assert!(had_effect <= 1, "{asked} had its effect {had_effect} times: {told:?}"),
                _ => assert_eq!(had_effect, 0),
            }
        }
        assert!(listed.is_empty() && effects.is_empty(), "nobody has asked for {listed:?}, {effects:?}");
    }
}

fn id(arguments: &Value) -> usize {
    usize::try_from(arguments["id"].as_u64().unwrap()).unwrap()
}

//! The compatibility shim of a contract (rule P4): brings old shapes that models still send into the new one.
//!
//! It only reshapes. It borrows when it changes nothing, lists each change, and refuses a call that says two things at once.

mod apply;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    document::{Exact, Note},
    excerpt::excerpt,
    json::{Json, Pointer},
    refusal::Repair,
};

/// One step, as a contract writes it. Places are JSON Pointers into the arguments; a place that is not there is left alone.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    /// Gives a member another name within its object. If both names are there with equal values, the old one is dropped; with
    /// different values the call is refused.
    Rename {
        /// The old place.
        #[schemars(extend("examples" = ["/functionName"]))]
        from: String,
        /// The new place: the same but for its last step.
        #[schemars(extend("examples" = ["/name"]))]
        to: String,
    },
    /// Puts a member elsewhere; objects that are missing on the way are made. Both places filled: as with `rename`.
    Move {
        /// The old place.
        #[schemars(extend("examples" = ["/options/limit"]))]
        from: String,
        /// The new place.
        #[schemars(extend("examples" = ["/limit"]))]
        to: String,
    },
    /// Fills in a member that is absent from an object that is there; null is not absent.
    Default {
        /// The place.
        #[schemars(extend("examples" = ["/limit"]))]
        at: String,
        /// What is put there.
        value: Exact,
    },
    /// Makes a value that is no array the one item of an array.
    Wrap {
        /// The place.
        #[schemars(extend("examples" = ["/ids"]))]
        at: String,
    },
    /// Moves the members of an object up into the object that holds it. A name that is already there: as with `rename`.
    Unwrap {
        /// The place.
        #[schemars(extend("examples" = ["/input"]))]
        at: String,
    },
    /// Takes a member away.
    Drop {
        /// The place.
        #[schemars(extend("examples" = ["/reasoning"]))]
        at: String,
    },
}

/// A checked step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    /// Rename and move differ in what may be made on the way, which a rename never needs.
    Move {
        op: &'static str,
        from: Pointer,
        to: Pointer,
    },
    Default {
        at: Pointer,
        value: Json,
    },
    Wrap {
        at: Pointer,
    },
    Unwrap {
        at: Pointer,
        parent: Pointer,
    },
    Drop {
        at: Pointer,
    },
}

/// The checked steps of a contract, applied in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shim(Vec<Change>);

/// Why arguments cannot be brought into the new shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShimConflict {
    /// An old and a new place both hold a value, and not the same.
    Differ {
        /// The old place.
        from: Pointer,
        /// The new place.
        to: Pointer,
    },
    /// The new shape would have more levels than anything after it can walk.
    TooDeep {
        /// The place that would be filled.
        at: Pointer,
    },
}

/// Steps of one shim: each may copy the arguments, and add levels.
const MAX_STEPS: usize = 100;
/// Steps of one place.
const MAX_POINTER: usize = 64;
/// Levels that shaped arguments may have. Everything after this walks them recursively.
const MAX_DEPTH: usize = 256;

impl Shim {
    /// Checks the steps; the remarks' paths start at the list of steps.
    pub(super) fn compile(steps: &[Step]) -> Result<Self, Vec<Note>> {
        if steps.len() > MAX_STEPS {
            let message = format!("{} steps, of at most {MAX_STEPS}: drop what no model sends any more", steps.len());
            return Err(vec![Note::error("too_many_steps", Pointer::root(), message)]);
        }
        let mut notes = Vec::new();
        let mut changes = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            match Change::of(step) {
                Ok(change) => changes.push(change),
                Err((keys, message)) => {
                    let path = keys.iter().fold(Pointer::root().join(index), |path, key| path.join(key));
                    notes.push(Note::error("wrong_value", path, message));
                }
            }
        }
        if notes.is_empty() { Ok(Self(changes)) } else { Err(notes) }
    }

    /// Whether there is nothing to do, whatever the arguments are.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a step takes something out of the argument of that name.
    pub fn speaks_of(&self, name: &str) -> bool {
        let starts = |place: &Pointer| place.steps().first().is_some_and(|first| *first == name);
        self.0.iter().any(|change| match change {
            Change::Move { from, .. } => starts(from),
            Change::Wrap { at } | Change::Unwrap { at, .. } | Change::Drop { at } => starts(at),
            Change::Default { .. } => false,
        })
    }

    /// Brings arguments into the new shape and lists what was changed.
    pub fn apply<'a>(&self, arguments: &'a Json) -> Result<(Cow<'a, Json>, Vec<Repair>), Box<ShimConflict>> {
        let mut shaped = Cow::Borrowed(arguments);
        let mut repairs = Vec::new();
        for change in &self.0 {
            change.apply(&mut shaped, &mut repairs)?;
        }
        Ok((shaped, repairs))
    }
}

/// The keys below the step that are wrong, and what to do.
type Wrong = ([&'static str; 2], String);

impl Change {
    fn of(step: &Step) -> Result<Self, Wrong> {
        match step {
            Step::Rename { from, to } => {
                let (from, to) = (place(["rename", "from"], from)?, place(["rename", "to"], to)?);
                if from.split_last().map(|(parent, _)| parent) != to.split_last().map(|(parent, _)| parent) {
                    let (from, to) = (excerpt(&from.to_string()), excerpt(&to.to_string()));
                    let message = format!("`rename` stays in one object, and `{from}` and `{to}` do not: use `move`");
                    return Err((["rename", "to"], message));
                }
                Self::relocation(["rename", "rename_key"], from, to)
            }
            Step::Move { from, to } => {
                Self::relocation(["move", "move_key"], place(["move", "from"], from)?, place(["move", "to"], to)?)
            }
            Step::Default { at, value } => {
                Ok(Self::Default { at: place(["default", "at"], at)?, value: value.0.clone() })
            }
            Step::Wrap { at } => Ok(Self::Wrap { at: place(["wrap", "at"], at)? }),
            Step::Unwrap { at } => {
                let at = place(["unwrap", "at"], at)?;
                let parent = at.split_last().map_or_else(Pointer::root, |(parent, _)| parent);
                Ok(Self::Unwrap { at, parent })
            }
            Step::Drop { at } => Ok(Self::Drop { at: place(["drop", "at"], at)? }),
        }
    }

    fn relocation([step, op]: [&'static str; 2], from: Pointer, to: Pointer) -> Result<Self, Wrong> {
        if from.is_within(&to) || to.is_within(&from) {
            let (from, to) = (excerpt(&from.to_string()), excerpt(&to.to_string()));
            let message = format!("`{from}` and `{to}` are one inside the other: `unwrap` lifts what an object holds");
            return Err(([step, "to"], message));
        }
        Ok(Self::Move { op, from, to })
    }
}

fn place(keys: [&'static str; 2], text: &str) -> Result<Pointer, Wrong> {
    match Pointer::parse(text) {
        Some(pointer) if pointer.len() > MAX_POINTER => {
            let (shown, steps) = (excerpt(text), pointer.len());
            Err((
                keys,
                format!("`{shown}` has {steps} steps, of at most {MAX_POINTER}: name a place nearer to the root"),
            ))
        }
        Some(pointer) if pointer != Pointer::root() => Ok(pointer),
        _ => Err((keys, format!("`{}` is no JSON Pointer to a member: write it like `/name`", excerpt(text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    pub(super) fn json(text: &str) -> Json {
        parse(text.as_bytes(), &ParseLimits::default()).unwrap()
    }

    pub(super) fn steps(text: &str) -> Vec<Step> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn every_broken_step_is_reported_at_its_key() {
        let notes = Shim::compile(&steps(
            r#"[{"rename":{"from":"a","to":"/b"}},{"rename":{"from":"/a/x","to":"/b"}},{"move":{"from":"/a","to":"/a/b"}},
                {"drop":{"at":""}},{"wrap":{"at":"/ok"}}]"#,
        ))
        .unwrap_err();
        let found: Vec<_> = notes.iter().map(|note| (note.path.to_string(), note.message.as_str())).collect();
        assert_eq!(
            found,
            [
                ("/0/rename/from".to_owned(), "`a` is no JSON Pointer to a member: write it like `/name`"),
                ("/1/rename/to".to_owned(), "`rename` stays in one object, and `/a/x` and `/b` do not: use `move`"),
                (
                    "/2/move/to".to_owned(),
                    "`/a` and `/a/b` are one inside the other: `unwrap` lifts what an object holds"
                ),
                ("/3/drop/at".to_owned(), "`` is no JSON Pointer to a member: write it like `/name`"),
            ]
        );
    }

    #[test]
    fn a_place_with_too_many_steps_and_too_many_steps_are_refused() {
        let deep = format!(r#"[{{"move":{{"from":"/x","to":"{}"}}}}]"#, "/a".repeat(200_000));
        let notes = Shim::compile(&steps(&deep)).unwrap_err();
        assert!(notes[0].message.ends_with("has 200000 steps, of at most 64: name a place nearer to the root"));
        assert!(notes[0].message.len() < 200, "{}", notes[0].message);
        let many = format!("[{}]", vec![r#"{"drop":{"at":"/a"}}"#; 101].join(","));
        let notes = Shim::compile(&steps(&many)).unwrap_err();
        assert_eq!((notes.len(), notes[0].code), (1, "too_many_steps"));
    }
}

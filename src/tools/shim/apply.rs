//! What the steps of a shim do to arguments.

use std::{borrow::Cow, fmt::Display, mem};

use super::{Change, MAX_DEPTH, ShimConflict};
use crate::{
    json::{Json, Object, Pointer},
    refusal::Repair,
};

/// What a repair says of a place that holds nothing.
const ABSENT: &str = "absent";

type Applied = Result<(), Box<ShimConflict>>;

impl Change {
    /// Changes `shaped`, which is copied only then.
    pub(super) fn apply(&self, shaped: &mut Cow<'_, Json>, repairs: &mut Vec<Repair>) -> Applied {
        match self {
            Self::Move { op, from, to } => relocate(op, (from, to), shaped, repairs)?,
            Self::Default { at, value } => {
                if vacant(at, shaped) {
                    fits(value, at)?;
                    insert(shaped.to_mut(), at, value.clone(), None);
                    repairs.push(repair("apply_default", at, &ABSENT, &value.kind()));
                }
            }
            Self::Wrap { at } => {
                let Some(value) = member(at, shaped).filter(|value| value.as_array().is_none()) else { return Ok(()) };
                fits(value, &at.join(0))?;
                let kind = value.kind();
                if let Some(value) = at.find_mut(shaped.to_mut()) {
                    *value = Json::Array(vec![mem::take(value)]);
                    repairs.push(repair("wrap_in_array", at, &kind, &"array"));
                }
            }
            Self::Unwrap { at, parent } => unwrap(at, parent, shaped, repairs)?,
            Self::Drop { at } => {
                if let Some(kind) = member(at, shaped).map(Json::kind) {
                    remove(shaped.to_mut(), at);
                    repairs.push(Repair { lossy: true, ..repair("drop_key", at, &kind, &ABSENT) });
                }
            }
        }
        Ok(())
    }
}

fn repair(op: &'static str, path: &Pointer, from: &dyn Display, to: &dyn Display) -> Repair {
    Repair::of_arguments(path.clone(), op, from.to_string(), to.to_string())
}

fn relocate(
    op: &'static str,
    (from, to): (&Pointer, &Pointer),
    shaped: &mut Cow<'_, Json>,
    repairs: &mut Vec<Repair>,
) -> Applied {
    let Some(old) = member(from, shaped) else { return Ok(()) };
    match member(to, shaped) {
        Some(new) if new != old => {
            return Err(Box::new(ShimConflict::Differ { from: from.clone(), to: to.clone() }));
        }
        Some(_) => drop(remove(shaped.to_mut(), from)),
        // Something on the way to the new place is no object: validation will say so.
        None if !reachable(to, shaped) => return Ok(()),
        None => {
            fits(old, to)?;
            let arguments = shaped.to_mut();
            let Some((index, value)) = remove(arguments, from) else { return Ok(()) };
            make_way(arguments, to);
            // A renamed member keeps its position, so that the text shown later is in the order that was sent.
            let index = (from.split_last().map(|(parent, _)| parent) == to.split_last().map(|(parent, _)| parent))
                .then_some(index);
            insert(arguments, to, value, index);
        }
    }
    repairs.push(repair(op, to, from, to));
    Ok(())
}

fn unwrap(at: &Pointer, parent: &Pointer, shaped: &mut Cow<'_, Json>, repairs: &mut Vec<Repair>) -> Applied {
    let Some(inner) = member(at, shaped).and_then(Json::as_object) else { return Ok(()) };
    let Some(outer) = parent.find(shaped).and_then(Json::as_object) else { return Ok(()) };
    let (_, own_name) = at.split_last().unwrap_or_default();
    // A member may have the name of its wrapper, which is about to go.
    let clash = inner
        .iter()
        .find(|(name, value)| &***name != own_name && outer.get(&***name).is_some_and(|present| present != *value));
    if let Some((name, _)) = clash {
        return Err(Box::new(ShimConflict::Differ { from: at.join(name), to: parent.join(name) }));
    }
    let arguments = shaped.to_mut();
    let Some((_, Json::Object(inner))) = remove(arguments, at) else { return Ok(()) };
    if let Some(outer) = parent.find_mut(arguments).and_then(Json::as_object_mut) {
        for (name, value) in *inner {
            outer.entry(name).or_insert(value);
        }
    }
    repairs.push(repair("unwrap_envelope", at, at, parent));
    Ok(())
}

/// Whether the value may be put there: a few steps that each go down a little could make any depth.
fn fits(value: &Json, at: &Pointer) -> Applied {
    match MAX_DEPTH.checked_sub(at.len()) {
        Some(left) if !value.is_deeper_than(left) => Ok(()),
        _ => Err(Box::new(ShimConflict::TooDeep { at: at.clone() })),
    }
}

/// The object that holds a place, and the place's name in it.
fn holder<'a>(at: &Pointer, value: &'a Json) -> Option<(&'a Object, String)> {
    let (parent, name) = at.split_last()?;
    Some((parent.find(value)?.as_object()?, name.to_owned()))
}

/// The value of a member; items of arrays are not members, because taking one away would move the others.
fn member<'a>(at: &Pointer, value: &'a Json) -> Option<&'a Json> {
    let (members, name) = holder(at, value)?;
    members.get(name.as_str())
}

/// Whether the object is there and the member is not.
fn vacant(at: &Pointer, value: &Json) -> bool {
    holder(at, value).is_some_and(|(members, name)| !members.contains_key(name.as_str()))
}

/// Whether nothing but objects and absent members is on the way to a place.
fn reachable(at: &Pointer, value: &Json) -> bool {
    let mut value = Some(value);
    for step in at.steps() {
        match value {
            None => return true,
            Some(Json::Object(members)) => value = members.get(step),
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_)) => return false,
        }
    }
    true
}

/// Makes the objects that are missing above a place.
fn make_way(value: &mut Json, at: &Pointer) {
    let Some((parent, _)) = at.split_last() else { return };
    let mut value = value;
    for step in parent.steps() {
        let Some(members) = value.as_object_mut() else { return };
        value = members.entry(step.into()).or_insert_with(Json::empty_object);
    }
}

fn insert(value: &mut Json, at: &Pointer, new: Json, index: Option<usize>) {
    let Some((parent, name)) = at.split_last() else { return };
    if let Some(members) = parent.find_mut(value).and_then(Json::as_object_mut) {
        let index = index.unwrap_or(members.len()).min(members.len());
        members.shift_insert(index, name.into(), new);
    }
}

fn remove(value: &mut Json, at: &Pointer) -> Option<(usize, Json)> {
    let (parent, name) = at.split_last()?;
    let (index, _, value) = parent.find_mut(value)?.as_object_mut()?.shift_remove_full(name)?;
    Some((index, value))
}

#[cfg(test)]
mod tests {
    use super::super::{
        Shim, ShimConflict,
        tests::{json, steps},
    };
    use std::borrow::Cow;

    /// The shaped text and its repairs as `op path from to`, or the conflict.
    fn shape(shim: &str, arguments: &str) -> Result<(String, Vec<String>), String> {
        let shim = Shim::compile(&steps(shim)).unwrap();
        let arguments = json(arguments);
        let (shaped, repairs) = shim.apply(&arguments).map_err(|conflict| match *conflict {
            ShimConflict::Differ { from, to } => format!("{from} {to}"),
            ShimConflict::TooDeep { at } => format!("too deep: {} steps", at.len()),
        })?;
        assert_eq!(matches!(shaped, Cow::Borrowed(_)), repairs.is_empty(), "borrows if and only if nothing changed");
        let repairs = repairs
            .iter()
            .map(|repair| {
                let lossy = if repair.lossy { " lossy" } else { "" };
                format!("{} {} {} {}{lossy}", repair.op, repair.path, repair.from, repair.to)
            })
            .collect();
        Ok((shaped.to_text(), repairs))
    }

    fn check(shim: &str, cases: &[(&str, &str, &[&str])]) {
        for (sent, expected, repairs) in cases {
            let (text, found) = shape(shim, sent).unwrap();
            assert_eq!(
                (text.as_str(), found),
                (*expected, repairs.iter().map(ToString::to_string).collect()),
                "{sent}"
            );
        }
    }

    const RENAME: &str = r#"[{"rename":{"from":"/functionName","to":"/name"}}]"#;

    #[test]
    fn p4_an_old_name_becomes_the_new_one_in_its_position() {
        let listed = ["rename_key /name /functionName /name"];
        check(
            RENAME,
            &[
                (r#"{"a":1,"functionName":"f","b":2}"#, r#"{"a":1,"name":"f","b":2}"#, &listed),
                (r#"{"name":"f"}"#, r#"{"name":"f"}"#, &[]),
                (r#"{"name":1.0,"functionName":1}"#, r#"{"name":1.0}"#, &listed),
                (r#"["functionName"]"#, r#"["functionName"]"#, &[]),
            ],
        );
    }

    #[test]
    fn p4_an_old_and_a_new_name_with_different_values_are_a_conflict() {
        assert_eq!(shape(RENAME, r#"{"name":"f","functionName":"g"}"#), Err("/functionName /name".to_owned()));
        assert_eq!(shape(RENAME, r#"{"name":null,"functionName":"g"}"#), Err("/functionName /name".to_owned()));
    }

    #[test]
    fn p4_a_move_makes_the_objects_on_its_way_and_stops_at_what_is_none() {
        check(
            r#"[{"move":{"from":"/limit","to":"/page/size"}}]"#,
            &[
                (r#"{"limit":3}"#, r#"{"page":{"size":3}}"#, &["move_key /page/size /limit /page/size"]),
                (
                    r#"{"limit":3,"page":{"n":1}}"#,
                    r#"{"page":{"n":1,"size":3}}"#,
                    &["move_key /page/size /limit /page/size"],
                ),
                (r#"{"limit":3,"page":"x"}"#, r#"{"limit":3,"page":"x"}"#, &[]),
                (r#"{"limit":3,"page":[]}"#, r#"{"limit":3,"page":[]}"#, &[]),
            ],
        );
    }

    #[test]
    fn p4_a_default_fills_what_is_absent_and_null_is_not() {
        check(
            r#"[{"default":{"at":"/n/x","value":12345678901234567890.10}}]"#,
            &[
                (r#"{"n":{}}"#, r#"{"n":{"x":12345678901234567890.10}}"#, &["apply_default /n/x absent number"]),
                (r#"{"n":{"x":null}}"#, r#"{"n":{"x":null}}"#, &[]),
                ("{}", "{}", &[]),
            ],
        );
    }

    #[test]
    fn p4_wrap_makes_an_array_of_what_is_none() {
        check(
            r#"[{"wrap":{"at":"/ids"}}]"#,
            &[
                (r#"{"ids":"a"}"#, r#"{"ids":["a"]}"#, &["wrap_in_array /ids string array"]),
                (r#"{"ids":["a"]}"#, r#"{"ids":["a"]}"#, &[]),
                ("{}", "{}", &[]),
            ],
        );
    }

    #[test]
    fn p4_unwrap_lifts_members_and_refuses_what_differs() {
        let shim = r#"[{"unwrap":{"at":"/input"}}]"#;
        check(
            shim,
            &[
                (r#"{"input":{"a":1,"b":2},"a":1}"#, r#"{"a":1,"b":2}"#, &["unwrap_envelope /input /input "]),
                (r#"{"input":{"input":5}}"#, r#"{"input":5}"#, &["unwrap_envelope /input /input "]),
                (r#"{"input":"text"}"#, r#"{"input":"text"}"#, &[]),
            ],
        );
        assert_eq!(shape(shim, r#"{"input":{"a":1},"a":2}"#), Err("/input/a /a".to_owned()));
    }

    #[test]
    fn p4_drop_is_the_one_lossy_step() {
        check(
            r#"[{"drop":{"at":"/why"}}]"#,
            &[(r#"{"why":"x","a":1}"#, r#"{"a":1}"#, &["drop_key /why string absent lossy"]), ("{}", "{}", &[])],
        );
    }

    #[test]
    fn p4_no_steps_together_make_arguments_that_nobody_can_walk() {
        let mut deepening = Vec::new();
        for step in 0..50 {
            let (from, to) = if step % 2 == 0 { ("/x", "/y") } else { ("/y", "/x") };
            deepening.push(format!(r#"{{"move":{{"from":"{from}","to":"{to}{}"}}}}"#, "/a".repeat(60)));
        }
        let shim = format!("[{}]", deepening.join(","));
        assert_eq!(shape(&shim, r#"{"x":1}"#), Err("too deep: 61 steps".to_owned()));
        assert_eq!(shape(&shim, r#"{"z":1}"#).unwrap().0, r#"{"z":1}"#);
    }

    #[test]
    fn p4_steps_compose_in_order() {
        check(
            r#"[{"unwrap":{"at":"/input"}},{"rename":{"from":"/id","to":"/ids"}},{"wrap":{"at":"/ids"}}]"#,
            &[(
                r#"{"input":{"id":7}}"#,
                r#"{"ids":[7]}"#,
                &["unwrap_envelope /input /input ", "rename_key /ids /id /ids", "wrap_in_array /ids number array"],
            )],
        );
    }
}

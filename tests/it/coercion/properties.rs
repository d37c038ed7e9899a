//! What holds for every schema and every value (rule C2).

use proptest::{prelude::*, sample::select};
use toolbooth::{
    json::{Json, Object, Pointer},
    refusal::Repair,
    tools::{Schema, SchemaOptions},
};

use super::json;
use crate::stages::{Checked, check_bytes, tool};

/// Values that models send, right and wrong.
const SCALARS: [&str; 24] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "5",
    "-3",
    "2.5",
    "5.0",
    "1e2",
    "12345678901234567890",
    r#""""#,
    r#""a""#,
    r#""A ""#,
    r#""b""#,
    r#""5""#,
    r#"" 7 ""#,
    r#""2.5""#,
    r#""true""#,
    r#""None""#,
    r#""null""#,
    r#""[1,\"2\"]""#,
    r#""{\"a\":\"1\"}""#,
    r#""x, y""#,
];
const NAMES: [&str; 6] = ["a", "b", "kind", "file_path", "filePath", "arguments"];

fn values() -> impl Strategy<Value = Json> {
    select(&SCALARS[..]).prop_map(json).prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec((select(&NAMES[..]), inner.clone()), 0..4).prop_map(Json::object),
            1 => prop::collection::vec(inner, 0..3).prop_map(Json::Array),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Json> {
    prop::collection::vec((select(&NAMES[..]), values()), 0..4).prop_map(Json::object)
}

const LEAVES: [&str; 22] = [
    r#"{"type":"integer"}"#,
    r#"{"type":"integer","minimum":2}"#,
    r#"{"type":"number"}"#,
    r#"{"type":"boolean"}"#,
    r#"{"type":"string"}"#,
    r#"{"type":"string","minLength":2}"#,
    r#"{"type":"string","pattern":"^[a-z]+$"}"#,
    r#"{"type":"null"}"#,
    r#"{"type":["integer","null"]}"#,
    r#"{"type":["string","array"]}"#,
    r#"{"enum":["a","b"]}"#,
    r#"{"enum":["A","B","none"]}"#,
    r#"{"enum":[1,5,"x"]}"#,
    r#"{"const":true}"#,
    r#"{"const":"a"}"#,
    r#"{"type":"object"}"#,
    r#"{"type":"array"}"#,
    r##"{"$ref":"#/$defs/n"}"##,
    r##"{"$ref":"#/$defs/o"}"##,
    r#"{"not":{"type":"string"}}"#,
    "true",
    "false",
];

fn schemas() -> impl Strategy<Value = Json> {
    select(&LEAVES[..]).prop_map(json).prop_recursive(3, 20, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Json::Array);
        let combined = (select(&["anyOf", "oneOf", "allOf"][..]), list)
            .prop_map(|(keyword, branches)| Json::object([(keyword, branches)]));
        let items = inner.clone().prop_map(|items| Json::object([("type", Json::from("array")), ("items", items)]));
        prop_oneof![3 => objects(inner), 2 => combined, 1 => items]
    })
}

/// What an object may say beside its properties: it may be closed, and more may be said under a condition.
const REST: [&str; 8] = [
    "{}",
    "{}",
    r#"{"additionalProperties":false}"#,
    r#"{"additionalProperties":false}"#,
    r#"{"unevaluatedProperties":false,"allOf":[{"properties":{"b":{"type":["integer","string"]}}}]}"#,
    r#"{"unevaluatedProperties":{"type":"integer"},"anyOf":[{"properties":{"b":{"type":["string","null"]}}},{"required":["a"]}]}"#,
    r#"{"if":{"properties":{"a":{"const":1}}},"then":{"properties":{"b":{"type":"integer"}}},"else":{"properties":{"b":{"type":"string"}}}}"#,
    r##"{"$ref":"#/components/c"}"##,
];

fn objects(inner: impl Strategy<Value = Json>) -> impl Strategy<Value = Json> {
    let properties = prop::collection::vec((select(&NAMES[..]), inner), 0..4);
    (properties, prop::collection::vec(select(&NAMES[..]), 0..2), select(&REST[..])).prop_map(
        |(properties, required, rest)| {
            let mut names: Vec<&str> = required;
            names.dedup();
            let mut object = Json::object([
                ("type", Json::from("object")),
                ("properties", Json::object(properties)),
                ("required", Json::Array(names.into_iter().map(Json::from).collect())),
            ]);
            object.as_object_mut().unwrap().extend(json(rest).as_object().unwrap().clone());
            object
        },
    )
}

/// A schema for arguments, with what its references lead to.
fn roots() -> impl Strategy<Value = Json> {
    objects(schemas()).prop_map(|mut root| {
        let definitions =
            r#"{"n":{"type":"integer"},"o":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}"#;
        root.as_object_mut().unwrap().insert("$defs".into(), json(definitions));
        // No keyword that JSON Schema knows.
        let components = r#"{"c":{"properties":{"b":{"type":["integer","string","null"],"minLength":1}}}}"#;
        root.as_object_mut().unwrap().insert("components".into(), json(components));
        root
    })
}

fn checked(schema: &Json, arguments: &Json) -> Option<Checked> {
    check_bytes(&tool(&schema.to_text(), r#""profile":"safe""#), arguments.to_text().as_bytes()).ok()
}

fn reversed(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let members = members.iter().rev().map(|(name, value)| (std::sync::Arc::clone(name), reversed(value)));
            members.collect::<Object>().into()
        }
        Json::Array(items) => Json::Array(items.iter().map(reversed).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.clone(),
    }
}

/// The same schema with its unions and its members the other way round.
fn turned(schema: &Json) -> Json {
    let Json::Object(keywords) = schema else { return schema.clone() };
    let turn = |(keyword, held): (&std::sync::Arc<str>, &Json)| {
        let held = match (&**keyword, held) {
            ("anyOf" | "oneOf" | "allOf", Json::Array(branches)) => {
                Json::Array(branches.iter().rev().map(turned).collect())
            }
            ("properties" | "$defs", Json::Object(members)) => {
                let members = members.iter().rev().map(|(name, held)| (std::sync::Arc::clone(name), turned(held)));
                members.collect::<Object>().into()
            }
            ("items", held) => turned(held),
            (_, held) => held.clone(),
        };
        (std::sync::Arc::clone(keyword), held)
    };
    keywords.iter().rev().map(turn).collect::<Object>().into()
}

/// Where two values differ, as deep as possible.
fn differences(before: &Json, after: &Json, at: &Pointer, found: &mut Vec<Pointer>) {
    match (before, after) {
        (Json::Object(before), Json::Object(after)) => {
            for name in before.keys().chain(after.keys()) {
                match (before.get(name), after.get(name)) {
                    (Some(before), Some(after)) => differences(before, after, &at.join(name), found),
                    _ => found.push(at.join(name)),
                }
            }
        }
        (Json::Array(before), Json::Array(after)) if before.len() == after.len() => {
            for (position, (before, after)) in before.iter().zip(after).enumerate() {
                differences(before, after, &at.join(position), found);
            }
        }
        _ if before == after => {}
        _ => found.push(at.clone()),
    }
}

fn is_listed(place: &Pointer, repairs: &[Repair]) -> bool {
    repairs.iter().any(|repair| place.is_within(&repair.path) || renamed_from(repair).as_ref() == Some(place))
}

/// The place that a renamed member had.
fn renamed_from(repair: &Repair) -> Option<Pointer> {
    let above = repair.path.split_last().filter(|_| repair.op == "rename_key")?.0;
    Some(above.append(&Pointer::parse(&repair.from)?))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn c2_what_comes_out_validates_and_is_never_converted_again(schema in roots(), arguments in arguments()) {
        let Some(Checked { arguments: first, .. }) = checked(&schema, &arguments) else { return Ok(()) };
        let (proven, _) = Schema::compile(&schema, SchemaOptions::default()).unwrap();
        prop_assert!(proven.is_valid(&first));
        let again = checked(&schema, &first).expect("what was accepted is accepted");
        prop_assert_eq!(again.arguments.text(), first.text());
        prop_assert!(again.repairs.is_empty(), "{:?}", again.repairs);
    }

    #[test]
    fn c1_what_validates_stays_as_it_is_but_for_what_is_listed(schema in roots(), arguments in arguments()) {
        let (proven, _) = Schema::compile(&schema, SchemaOptions::default()).unwrap();
        if !proven.is_valid(&arguments) {
            return Ok(());
        }
        let Some(Checked { arguments: after, repairs }) = checked(&schema, &arguments) else {
            prop_assert!(arguments.get("arguments").is_some(), "what validates is accepted");
            return Ok(());
        };
        // What was in a wrapper had not been judged.
        if repairs.first().is_some_and(|repair| repair.op == "unwrap_envelope") {
            return Ok(());
        }
        prop_assert!(repairs.iter().all(|repair| repair.op == "float_to_integer"), "{:?}", repairs);
        if repairs.is_empty() {
            prop_assert_eq!(after.text(), arguments.to_text());
        }
    }

    #[test]
    fn c7_every_change_is_listed_at_its_place(schema in roots(), arguments in arguments()) {
        let Some(Checked { arguments: after, repairs }) = checked(&schema, &arguments) else { return Ok(()) };
        let mut changed = Vec::new();
        differences(&arguments, &after, &Pointer::root(), &mut changed);
        for place in changed {
            prop_assert!(is_listed(&place, &repairs), "{} is not in {:?}", place, repairs);
        }
        prop_assert!(repairs.iter().all(|repair| !repair.lossy));
    }

    #[test]
    fn c2_nothing_is_changed_that_could_have_stayed(schema in roots(), arguments in arguments()) {
        let Some(Checked { arguments: after, repairs }) = checked(&schema, &arguments) else { return Ok(()) };
        if repairs.iter().any(|repair| ["unwrap_envelope", "rename_key"].contains(&repair.op)) {
            return Ok(());
        }
        let (proven, _) = Schema::compile(&schema, SchemaOptions::default()).unwrap();
        let mut changed = Vec::new();
        differences(&arguments, &after, &Pointer::root(), &mut changed);
        for place in changed {
            let mut before = (*after).clone();
            let (above, name) = place.split_last().unwrap();
            let sent = place.find(&arguments).unwrap().clone();
            let above = above.find_mut(&mut before).unwrap();
            match above.as_object_mut() {
                Some(members) => drop(members.insert(name.into(), sent)),
                None => *Pointer::root().join(name).find_mut(above).unwrap() = sent,
            }
            prop_assert!(!proven.is_valid(&before), "{} could have stayed: {}", place, before.to_text());
        }
    }

    #[test]
    fn c2_the_order_of_branches_members_and_keys_does_not_matter(schema in roots(), arguments in arguments()) {
        let one = checked(&schema, &arguments).map(|checked| checked.arguments);
        let other = checked(&turned(&schema), &reversed(&arguments)).map(|checked| checked.arguments);
        prop_assert_eq!(one.as_deref(), other.as_deref());
    }

    #[test]
    fn p3_no_bytes_at_all_make_a_stage_panic(schema in roots(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _any_outcome = check_bytes(&tool(&schema.to_text(), ""), &bytes);
    }

    #[test]
    fn p3_no_damage_to_a_text_makes_a_stage_panic(
        schema in roots(), arguments in arguments(), damage in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = arguments.to_text().into_bytes();
        for (at, byte) in damage {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let _any_outcome = check_bytes(&tool(&schema.to_text(), ""), &bytes);
    }
}

//! The official suite through what calls use: schemas that are shared and dropped, and the way of a call.

use std::{collections::BTreeMap, sync::Arc};

use toolbooth::{
    call::ToolCall,
    executors::Executors,
    json::{Json, ParseLimits},
    pipeline::{self, Scope},
    result::Trace,
    tools::{LoadOptions, Profile, Schema, SchemaOptions, Schemas, load_document},
};

use super::{EXCEPTIONS, Group, Test, corpus, count, json, read};

/// Keywords whose meaning depends on where the schema stands: these schemas cannot be put into another one.
const PLACED: [&str; 9] = [
    "$ref",
    "$id",
    "\"id\"",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$schema",
];

/// What the profile `safe` does to valid arguments (rule C1).
const OF_VALID: [&str; 2] = ["float_to_integer", "unwrap_envelope"];

fn is_exception(group: &Group<'_>) -> bool {
    EXCEPTIONS.iter().any(|[file, title, _]| *file == group.file && *title == group.title)
}

#[test]
fn shared_schemas_judge_the_suite_the_same_after_their_compiled_forms_were_dropped() {
    let Some(text) = corpus("json-schema-test-suite.jsonl") else { return };
    // Each that is asked drops the one before.
    let schemas = Schemas::with_capacity(0);
    let options = SchemaOptions { formats: false, ..SchemaOptions::default() };
    let groups: Vec<Group<'_>> =
        read(&text).into_iter().filter(|group: &Group<'_>| !group.optional && !is_exception(group)).collect();
    let compile = |group: &Group<'_>| Some(schemas.compile(&group.source(), options).ok()?.0);
    let compiled: Vec<(&Group<'_>, Schema)> =
        groups.iter().filter_map(|group| Some((group, compile(group)?))).collect();
    let mut judged = 0;
    for _ in 0..2 {
        for (group, schema) in &compiled {
            for Test { d, data, valid } in &group.tests {
                assert_eq!(schema.is_valid(&json(data.get())), *valid, "{} {} {d}", group.file, group.title);
                judged += 1;
            }
        }
    }
    assert!(judged > 4_000, "{judged}");
}

/// The arguments for a value.
type Arguments = fn(&Json) -> Json;

/// Schemas of arguments in which the group's schema stands.
fn contracts(group: &Group<'_>) -> Vec<(Json, Arguments)> {
    let mut contracts: Vec<(Json, Arguments)> = Vec::new();
    if group.source().as_object().is_some() {
        contracts.push((group.source(), Json::clone));
    }
    if !PLACED.iter().any(|keyword| group.schema.get().contains(keyword)) {
        let mut whole = Json::object([
            ("type", Json::from("object")),
            ("properties", Json::object([("v", json(group.schema.get()))])),
        ]);
        if let (Some(keywords), Some(dialect)) = (whole.as_object_mut(), group.source().get("$schema").cloned()) {
            keywords.insert("$schema".into(), dialect);
        }
        contracts.push((whole, |value| Json::object([("v", value.clone())])));
    }
    contracts
}

fn scope(schema: &Json, profile: Profile) -> Option<Scope> {
    let contract = format!(
        r#"{{"name":"t","parameters":{},"arguments":{{"formats":false,"allow_nul":true}},"execute":{{"echo":{{}}}}}}"#,
        schema.to_text()
    );
    let loaded = load_document(contract.as_bytes(), &LoadOptions { profile, ..LoadOptions::default() });
    loaded.catalog.served().next()?;
    Some(Scope {
        catalog: loaded.catalog,
        executor: Arc::new(Executors::new(BTreeMap::new())),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile,
    })
}

#[test]
fn calls_with_the_values_of_the_suite_run_where_they_are_valid_and_safe_changes_no_valid_one() {
    let Some(text) = corpus("json-schema-test-suite.jsonl") else { return };
    let (mut outcomes, mut changes) = (Vec::new(), Vec::new());
    for group in read::<Group<'_>>(&text).iter().filter(|group| !group.optional && !is_exception(group)) {
        for (schema, arguments_of) in contracts(group) {
            for profile in [Profile::Strict, Profile::Safe] {
                let Some(scope) = scope(&schema, profile) else { continue };
                for test in &group.tests {
                    let sent = arguments_of(&json(test.data.get()));
                    // Arguments are an object, whatever the schema says.
                    if sent.as_object().is_none() {
                        continue;
                    }
                    let place = format!("{profile:?} {} {} {} {}", group.file, group.title, test.d, sent.to_text());
                    let (is_run, ops) = call(&scope, &sent, &place);
                    assert!(profile == Profile::Safe || is_run == test.valid, "{place}");
                    assert!(is_run || !test.valid, "{place}");
                    assert!(!test.valid || ops.iter().all(|op| OF_VALID.contains(op)), "{place} {ops:?}");
                    outcomes.push(format!("{profile:?} valid {} run {is_run}", test.valid));
                    changes.extend(ops.into_iter().filter(|_| is_run));
                }
            }
        }
    }
    assert!(outcomes.len() > 3_000, "{}", outcomes.len());
    println!("{:?}", count(&outcomes));
    println!("changes: {:?}", count(&changes));
}

/// Whether it is run, and what was changed. What is run satisfies the schema, and is what was sent if nothing was changed.
fn call(scope: &Scope, sent: &Json, place: &str) -> (bool, Vec<&'static str>) {
    let (id, name, arguments) = ("c".into(), "t".into(), sent.to_text().into());
    let call = ToolCall { index: 0, id, name, arguments, idempotency_key: None };
    let mut trace = Trace::default();
    let Ok(valid) = pipeline::check(scope, &call, &mut trace) else { return (false, Vec::new()) };
    assert!(valid.tool().input.is_valid(valid.value()), "{place}");
    let ops: Vec<_> = trace.repairs.iter().map(|repair| repair.op).collect();
    assert!(!ops.is_empty() || valid.value().text() == sent.to_text(), "{place}");
    (true, ops)
}

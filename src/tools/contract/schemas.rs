//! The two schemas of a contract, each under whatever key it stands.

use super::{defaults, format::Contract, remarks::Remarks};
use crate::{
    document::{Exact, Note},
    json::{Json, Object, Pointer},
    tools::schema::{Schema, SchemaOptions},
};

/// The schema of the arguments. Its remarks' paths start at the schema itself.
pub(super) fn input(contract: &mut Contract, options: SchemaOptions, remarks: &mut Remarks<'_>) -> Option<Schema> {
    let spellings = [
        ("parameters", contract.parameters.take()),
        ("inputSchema", contract.input_schema_of_mcp.take()),
        ("input_schema", contract.input_schema_of_anthropic.take()),
    ];
    let Some((key, source)) = one_of(spellings, remarks) else {
        let message = "no `parameters`: any object is accepted; write a JSON Schema";
        remarks.add(Note::warning("no_parameters", Pointer::root(), message));
        return compile(&Pointer::root(), any_object(), options, remarks, Remarks::extend_inside);
    };
    let base = Pointer::root().join(key);
    if let Some(note) = root_is_no_object(&source) {
        remarks.extend_inside(&base, vec![note]);
        // What else is wrong is said in one go.
        if source.as_object().is_some() {
            compile(&base, source, options, remarks, Remarks::extend_inside);
        }
        return None;
    }
    if source.as_object().is_some_and(Object::is_empty) {
        let message = "an empty schema: any object is accepted; write `properties`";
        remarks.extend_inside(&base, vec![Note::warning("nothing_checked", Pointer::root(), message)]);
    }
    let schema = compile(&base, source, options, remarks, Remarks::extend_inside)?;
    remarks.extend_inside(&base, defaults::check(schema.source(), options));
    Some(schema)
}

/// The schema of the structured result. Its remarks' paths start at the contract.
pub(super) fn output(contract: &mut Contract, options: SchemaOptions, remarks: &mut Remarks<'_>) -> Option<Schema> {
    let spellings =
        [("outputSchema", contract.output_schema.take()), ("output_schema", contract.output_schema_snake.take())];
    let (key, source) = one_of(spellings, remarks)?;
    compile(&Pointer::root().join(key), source, options, remarks, Remarks::extend_below)
}

/// The one schema that stands under one or more of its names.
fn one_of<const N: usize>(
    spellings: [(&'static str, Option<Exact>); N],
    remarks: &mut Remarks<'_>,
) -> Option<(&'static str, Json)> {
    let mut present = spellings.into_iter().filter_map(|(key, schema)| Some((key, schema?.0)));
    let (first, schema) = present.next()?;
    for (key, _) in present.filter(|(_, other)| *other != schema) {
        let message = format!("`{first}` and `{key}` mean the same and differ: remove one of them");
        remarks.add(Note::error("conflicting_keys", Pointer::root().join(key), message));
    }
    Some((first, schema))
}

fn compile<'a>(
    base: &Pointer,
    source: Json,
    options: SchemaOptions,
    remarks: &mut Remarks<'a>,
    add: impl FnOnce(&mut Remarks<'a>, &Pointer, Vec<Note>),
) -> Option<Schema> {
    let (schema, notes) = match Schema::compile(source, &options) {
        Ok((schema, notes)) => (Some(schema), notes),
        Err(notes) => (None, notes),
    };
    add(remarks, base, notes);
    schema
}

fn any_object() -> Json {
    Json::object([("type", Json::from("object"))])
}

/// Arguments are always an object.
fn root_is_no_object(schema: &Json) -> Option<Note> {
    let message = |got: &str| format!("arguments are always an object, this says {got}: write `type: object`");
    if schema.as_object().is_none() {
        let message = message(&schema.to_text().chars().take(80).collect::<String>());
        return Some(Note::error("root_not_object", Pointer::root(), message));
    }
    let stated = schema.get("type")?;
    // Foreign schemas spell types in upper case; that is for the schema's own check to judge.
    let is_object = |name: &Json| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case("object"));
    if is_object(stated) || stated.as_array().is_some_and(|names| names.iter().any(is_object)) {
        return None;
    }
    let message = message(&format!("`type: {}`", stated.to_text().chars().take(80).collect::<String>()));
    Some(Note::error("root_not_object", Pointer::root().join("type"), message))
}

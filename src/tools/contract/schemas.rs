//! The two schemas of a contract, each under whatever key it stands. They are read where they stand and not copied: what is kept
//! of them is their text.

use std::sync::LazyLock;

use super::{format::Contract, remarks::Remarks};
use crate::{
    document::{Elsewhere, Note},
    json::{Json, Object, Pointer},
    tools::schema::{Schema, SchemaOptions, Schemas},
};

/// The keys that the schema of the arguments may stand under.
pub(super) const INPUT: [&str; 3] = ["parameters", "inputSchema", "input_schema"];

/// What is read, and how.
pub(super) struct Reading<'a, 'r, 'n> {
    /// The contract.
    pub(super) written: &'a Json,
    pub(super) options: SchemaOptions,
    /// Where equal schemas are found.
    pub(super) shared: &'a Schemas,
    pub(super) remarks: &'r mut Remarks<'n>,
}

/// What arguments satisfy where the contract says nothing.
static ANY_OBJECT: LazyLock<Json> = LazyLock::new(|| Json::object([("type", Json::from("object"))]));

impl<'a> Reading<'a, '_, '_> {
    /// The schema of the arguments. Its remarks' paths start at the schema itself.
    pub(super) fn input(&mut self, contract: &Contract) -> Option<Schema> {
        let [own, of_mcp, of_anthropic] = INPUT;
        let spellings = [
            (own, &contract.parameters),
            (of_mcp, &contract.input_schema_of_mcp),
            (of_anthropic, &contract.input_schema_of_anthropic),
        ];
        let Some((key, source)) = self.one_of(spellings) else {
            let message = "no `parameters`: any object is accepted; write a JSON Schema";
            self.remarks.add(Note::warning("no_parameters", Pointer::root(), message));
            return Some(self.shared.compile(&ANY_OBJECT, self.options).ok()?.0);
        };
        let base = Pointer::root().join(key);
        if let Some(note) = root_is_no_object(source) {
            self.remarks.extend_inside(&base, vec![note]);
            // What else is wrong is said in one go.
            if source.as_object().is_some() {
                let notes = self.shared.compile(source, self.options).map_or_else(|notes| notes, |(_, notes)| notes);
                self.remarks.extend_inside(&base, notes);
            }
            return None;
        }
        if source.as_object().is_some_and(Object::is_empty) {
            let message = "an empty schema: any object is accepted; write `properties`";
            self.remarks.extend_inside(&base, vec![Note::warning("nothing_checked", Pointer::root(), message)]);
        }
        let compiled = self.shared.compile(source, self.options);
        let (schema, notes) = compiled.map_err(|notes| self.remarks.extend_inside(&base, notes)).ok()?;
        self.remarks.extend_inside(&base, notes);
        self.remarks.extend_inside(&base, schema.on_defaults());
        Some(schema)
    }

    /// The schema of the structured result. Its remarks' paths start at the contract.
    pub(super) fn output(&mut self, contract: &Contract) -> Option<Schema> {
        let spellings = [("outputSchema", &contract.output_schema), ("output_schema", &contract.output_schema_snake)];
        let (key, source) = self.one_of(spellings)?;
        let base = Pointer::root().join(key);
        let compiled = self.shared.compile(source, self.options);
        let (schema, notes) = compiled.map_err(|notes| self.remarks.extend_below(&base, notes)).ok()?;
        self.remarks.extend_below(&base, notes);
        Some(schema)
    }

    /// The one schema that stands under one or more of its names.
    fn one_of<const N: usize>(
        &mut self,
        spellings: [(&'static str, &Option<Elsewhere>); N],
    ) -> Option<(&'static str, &'a Json)> {
        let written = self.written;
        let present = spellings.into_iter().filter(|(_, schema)| schema.is_some());
        let mut present = present.filter_map(|(key, _)| Some((key, written.get(key)?)));
        let (first, schema) = present.next()?;
        for (key, _) in present.filter(|(_, other)| *other != schema) {
            let message = format!("`{first}` and `{key}` mean the same and differ: remove one of them");
            self.remarks.add(Note::error("conflicting_keys", Pointer::root().join(key), message));
        }
        Some((first, schema))
    }
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

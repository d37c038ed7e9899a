//! Contracts: the format that people write, and the way from it to a compiled tool.

mod blocks;
mod compile;
pub(super) mod executor;
pub(super) mod format;
mod lints;
mod remarks;
mod schemas;

use std::sync::LazyLock;

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::json;

pub(super) use compile::{Terms, compile};

use crate::{
    document::{Format, Note},
    json::{Json, Pointer},
};

/// The format, made once.
pub(super) static FORMAT: LazyLock<Format> = LazyLock::new(|| Format::new(contract_schema()));

/// Where in its schema contracts stand.
pub(super) const CONTRACT: &str = "/$defs/Contract";

/// Where in its schema `defaults` of a file stand.
pub(super) const DEFAULTS: &str = "/$defs/Defaults";

/// The remark about something that the format knows and this build lacks.
fn not_in_this_build(path: Pointer, what: &str, instead: &str) -> Note {
    Note::error("not_in_this_build", path, format!("`{what}` is not in this build: {instead}"))
}

/// The JSON Schema of contract files: one contract, or several as `tools` with `defaults`. For editors.
pub fn contract_schema() -> Json {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let contract = generator.subschema_for::<format::Contract>();
    let defaults = generator.subschema_for::<format::Defaults>();
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Toolbooth contracts",
        "description": "A tool that an agent may call, or several of them.",
        "anyOf": [contract, {"$ref": "#/$defs/ToolsFile"}],
        "$defs": {
            "ToolsFile": {
                "description": "Several tools; an MCP `tools/list` result is one, too.",
                "type": "object",
                "properties": {
                    "tools": {"description": "The tools.", "type": "array", "items": contract},
                    "defaults": {"description": "What the tools take where they say nothing.", "anyOf": [defaults, {"type": "null"}]},
                    "nextCursor": {"description": "MCP's mark of a list that goes on.", "type": ["string", "null"]},
                    "_meta": {"description": "MCP's `_meta`; not read.", "type": ["object", "null"]},
                },
                "additionalProperties": false,
                "required": ["tools"],
            },
        },
    });
    if let Some(definitions) = schema.get_mut("$defs").and_then(serde_json::Value::as_object_mut) {
        definitions.extend(generator.take_definitions(true));
    }
    Json::from(&schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    #[test]
    fn the_schema_describes_every_key() {
        fn undescribed(schema: &Json, path: &Pointer, found: &mut Vec<String>) {
            for (name, member) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
                // The branches of a choice are described as a whole.
                if member.get("description").is_none() && schema.get("description").is_none() {
                    found.push(path.join(name).to_string());
                }
            }
            match schema {
                Json::Object(members) => {
                    members.iter().for_each(|(name, member)| undescribed(member, &path.join(name), found));
                }
                Json::Array(items) => {
                    items.iter().enumerate().for_each(|(index, item)| undescribed(item, &path.join(index), found));
                }
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
            }
        }
        let mut found = Vec::new();
        undescribed(&contract_schema(), &Pointer::root(), &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn the_schema_knows_every_key_of_the_documented_format() {
        let keys = FORMAT.keys_of(CONTRACT);
        for key in [
            "name",
            "title",
            "description",
            "parameters",
            "inputSchema",
            "input_schema",
            "outputSchema",
            "prepare",
            "arguments",
            "rules",
            "execute",
            "submit",
            "accept",
            "terminate",
            "mode",
            "timeout",
            "deadline",
            "side_effect",
            "idempotent",
            "output",
            "constrained_sampling",
            "annotations",
            "icons",
            "_meta",
            "execution",
        ] {
            assert!(keys.contains(&key), "{key}");
        }
    }

    fn notes(contract: &str) -> Vec<String> {
        let value = parse(contract.as_bytes(), &ParseLimits::default()).unwrap();
        FORMAT
            .check(CONTRACT, &value)
            .iter()
            .map(|note| format!("{} {}: {}", note.code, note.path, note.message))
            .collect()
    }

    #[test]
    fn every_key_and_type_that_does_not_fit_is_reported() {
        assert_eq!(
            notes(
                r#"{"timout":"30s","timeout":30,"side_effect":"yes","arguments":{"sensitive":"/a","profil":"safe"},
                    "output":{"max_bytes":-1},"icons":[1],"completely_else":1}"#
            ),
            [
                "unknown_key /timout: unknown key `timout`; did you mean `timeout`?",
                "wrong_type /timeout: expected string such as `30s`, got number",
                "wrong_type /side_effect: expected boolean, got string",
                "wrong_type /arguments/sensitive: expected array, got string",
                "unknown_key /arguments/profil: unknown key `profil`; did you mean `profile`?",
                "wrong_type /output/max_bytes: expected whole number from 0, got number",
                "wrong_type /icons/0: expected object, got number",
                &format!(
                    "unknown_key /completely_else: unknown key `completely_else`; known here: {}",
                    FORMAT.keys_of(CONTRACT).join(", ")
                ),
                "missing_key : the key `name` is missing: add it",
            ]
        );
    }

    #[test]
    fn choices_name_what_there_is() {
        assert_eq!(
            notes(
                r#"{"name":"t","mode":"sequental","execute":{"htp":{}},"accept":{"once_per":{"argument":1},"in_doubt":7},
                    "prepare":[{"rename":{"from":"/a"}},{"drop":{"at":"/a"},"wrap":{"at":"/a"}},"x"]}"#
            ),
            [
                "wrong_value /mode: `sequental` is not known here, expected one of `parallel`, `sequential`; did you mean \
                 `sequential`?",
                "unknown_key /execute/htp: unknown key `htp`; did you mean `http`?",
                "wrong_type /accept/once_per/argument: expected string, got number",
                "wrong_type /accept/in_doubt: expected one of `refuse`, `retry`, got number",
                "missing_key /prepare/0/rename: the key `to` is missing: add it",
                "wrong_value /prepare/1: expected one of `{rename: ...}`, `{move: ...}`, `{default: ...}`, `{wrap: ...}`, \
                 `{unwrap: ...}`, `{drop: ...}`, got 2 keys",
                "wrong_type /prepare/2: expected one of `{rename: ...}`, `{move: ...}`, `{default: ...}`, `{wrap: ...}`, \
                 `{unwrap: ...}`, `{drop: ...}`, got string",
            ]
        );
    }

    #[test]
    fn what_fits_is_not_remarked_on() {
        assert_eq!(
            notes(
                r#"{"name":"t","parameters":{"any":["thing",1.5]},"title":null,"execute":{"command":{"argv":["x"],"env":{"A":"b"}}},
                    "accept":{"once_per":{"argument":"/id"},"in_doubt":"retry"},"mode":"sequential","_meta":{"x":1},"output":null,
                    "arguments":{"profile":"pi","received":"omit"},"rules":[{"deny":"x"}],"prepare":[{"default":{"at":"/a","value":null}}]}"#
            ),
            Vec::<String>::new()
        );
    }
}

//! Contracts: the format that people write, and the way from it to a compiled tool.

mod blocks;
pub(super) mod check;
mod compile;
mod defaults;
pub(super) mod executor;
pub(super) mod format;
mod remarks;
mod schemas;

use schemars::{SchemaGenerator, generate::SchemaSettings};
use serde_json::json;

pub(super) use compile::{Terms, compile};

use super::note::Note;
use crate::json::{Json, Pointer};

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
    use crate::json::Pointer;

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
        let keys = check::keys_of("Contract");
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
}

//! Lints on the contract around the schema.

use super::{
    codes::{
        IDEMPOTENT_DIFFERS, LARGE_SCHEMA, LONG_TOOL_DESCRIPTION, NO_TOOL_DESCRIPTION, SIDE_EFFECT_DIFFERS, TOOL_NAME,
    },
    findings::Findings,
    names::is_plain,
};
use crate::{json::Pointer, tools::Tool};

/// Characters of a description that every provider takes.
pub(super) const MAX_DESCRIPTION: usize = 1_024;

/// Bytes of a schema that are sent with every request before anybody notices: some 4,000 tokens.
const MAX_SCHEMA: usize = 16 << 10;

/// Characters of a name that every provider takes.
const MAX_NAME: usize = 64;

pub(super) fn lint(tool: &Tool, findings: &mut Findings) {
    name(tool, findings);
    description(tool, findings);
    side_effect(tool, findings);
    idempotent(tool, findings);
    let size = tool.input.bytes().len();
    if size > MAX_SCHEMA {
        findings.add(LARGE_SCHEMA, || at("parameters"), || {
            format!(
                "the schema has {size} bytes, and is sent with every request: shorten descriptions and lists, or split the tool"
            )
        });
    }
}

fn at(key: &str) -> Pointer {
    Pointer::root().join(key)
}

fn name(tool: &Tool, findings: &mut Findings) {
    let name = &tool.name;
    let message = if !is_plain(name, "") || name.chars().count() > MAX_NAME {
        "OpenAI and Anthropic refuse every request with a name that is not 1 to 64 letters, digits, `_` and `-`: rename the tool"
    } else if !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        "Gemini refuses every request with a name that does not start with a letter or `_`: rename the tool"
    } else {
        return;
    };
    findings.add(TOOL_NAME, || at("name"), || message.to_owned());
}

fn description(tool: &Tool, findings: &mut Findings) {
    let description = tool.description.as_deref().unwrap_or_default().trim();
    let length = description.chars().count();
    if length == 0 {
        findings.add(
            NO_TOOL_DESCRIPTION,
            || at("description"),
            || {
                "the model chooses among tools by what they say they do, and this one says nothing: write `description`"
                    .to_owned()
            },
        );
    }
    if length > MAX_DESCRIPTION {
        findings.add(LONG_TOOL_DESCRIPTION, || at("description"), || {
            format!("{length} characters, and OpenAI has refused more than {MAX_DESCRIPTION}: shorten it, or move details to the properties")
        });
    }
}

/// One of MCP's hints, if it is given.
fn hint(tool: &Tool, name: &str) -> Option<bool> {
    tool.kept.get("annotations")?.get(name)?.as_bool()
}

/// MCP's hint and the contract say the same thing, if they say it: whether the booth tries again depends on it. A hint alone makes
/// it try nothing.
fn idempotent(tool: &Tool, findings: &mut Findings) {
    if tool.idempotent && hint(tool, "idempotentHint") == Some(false) && hint(tool, "readOnlyHint") != Some(true) {
        let message = "`idempotentHint` says that the same call takes effect each time, and `idempotent` that it does no harm: correct one \
                       of them, because the booth tries an idempotent tool again when a try fails";
        findings.add(IDEMPOTENT_DIFFERS, || at("annotations"), || message.to_owned());
    }
}

/// MCP's hints and the contract say the same thing, if they say it: what may be done after a time-out depends on it.
fn side_effect(tool: &Tool, findings: &mut Findings) {
    let hint = |name: &str| hint(tool, name);
    let message = if hint("destructiveHint") == Some(true) && hint("readOnlyHint") != Some(true) && !tool.side_effect {
        "`destructiveHint` says that it changes something, and `side_effect` does not: write `side_effect: true`, so that a call \
         that did not answer counts as one that may have happened"
    } else if hint("readOnlyHint") == Some(true) && tool.side_effect {
        "`readOnlyHint` says that it changes nothing, and `side_effect` that it may: correct one of them"
    } else {
        return;
    };
    findings.add(SIDE_EFFECT_DIFFERS, || at("annotations"), || message.to_owned());
}

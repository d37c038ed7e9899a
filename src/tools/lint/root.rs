//! Lints on the schema as a whole: providers want a plain object.

use super::{
    codes::{ROOT_COMBINED, ROOT_WITHOUT_TYPE},
    findings::Findings,
};
use crate::{
    json::{Json, Pointer},
    tools::schema::Compiled,
};

/// Keywords that providers refuse at the root, whatever they say.
const REFUSED: [&str; 6] = ["allOf", "anyOf", "oneOf", "enum", "const", "not"];

pub(super) fn lint(schema: &Compiled, findings: &mut Findings) {
    let Some(keywords) = schema.source().as_object() else { return };
    // Of an empty one, loading says enough.
    if keywords.get("type") != Some(&Json::from("object")) && !keywords.is_empty() {
        findings.add(ROOT_WITHOUT_TYPE, Pointer::root, || {
            "OpenAI and Anthropic refuse every request with parameters that are not `type: object`: write it at the root".to_owned()
        });
    }
    for keyword in REFUSED.into_iter().filter(|keyword| keywords.contains_key(*keyword)) {
        findings.add(ROOT_COMBINED, || Pointer::root().join(keyword), || {
            format!(
                "OpenAI and Anthropic refuse every request with `{keyword}` at the root of the parameters: merge it into `properties`, \
                 or put the choice into a property of its own"
            )
        });
    }
}

//! Keywords that providers refuse or pass over when they constrain what a model writes. The booth checks them all the same.
//!
//! What the engines do was measured with llguidance 1.9.1 (with and without its lenient mode), Outlines 0.2.14 and `XGrammar`
//! 0.2.9. What the services do is from the documents of `OpenAI`, Anthropic and Gemini and from the sources of clients that
//! prepare schemas for their strict modes; it changes.

use super::{codes::PROVIDER_KEYWORD, findings::Findings, site::Site};
use crate::json::Json;

/// A keyword, and who does not do what it says when decoding is constrained.
#[derive(Debug, Clone, Copy)]
pub struct ProviderKeyword {
    /// The keyword.
    pub keyword: &'static str,
    /// Who refuses the schema for it.
    pub refused_by: &'static [&'static str],
    /// Who passes it over, so that the model may write what it forbids.
    pub ignored_by: &'static [&'static str],
}

const fn keyword(
    keyword: &'static str,
    refused_by: &'static [&'static str],
    ignored_by: &'static [&'static str],
) -> ProviderKeyword {
    ProviderKeyword { keyword, refused_by, ignored_by }
}

/// The keywords that some provider does not have.
pub const PROVIDER_KEYWORDS: [ProviderKeyword; 26] = [
    keyword("additionalProperties", &["OpenAI", "Anthropic"], &[]),
    keyword("allOf", &["OpenAI"], &["Gemini", "XGrammar"]),
    keyword("const", &[], &["Gemini"]),
    keyword("contains", &["OpenAI", "Anthropic", "llguidance"], &["Gemini", "Outlines", "XGrammar"]),
    keyword("dependentRequired", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines", "XGrammar"]),
    keyword("dependentSchemas", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines", "XGrammar"]),
    keyword("exclusiveMaximum", &["Anthropic"], &["Gemini", "Outlines"]),
    keyword("exclusiveMinimum", &["Anthropic"], &["Gemini", "Outlines"]),
    keyword("if", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines", "XGrammar"]),
    keyword("maxItems", &["Anthropic"], &[]),
    keyword("maxLength", &[], &["Anthropic", "Gemini"]),
    keyword("maxProperties", &["OpenAI", "Anthropic"], &["Gemini", "Outlines"]),
    keyword("maximum", &["Anthropic"], &["Outlines"]),
    keyword("minItems", &["Anthropic"], &[]),
    keyword("minLength", &[], &["Anthropic", "Gemini"]),
    keyword("minProperties", &["OpenAI", "Anthropic"], &["Gemini", "Outlines"]),
    keyword("minimum", &["Anthropic"], &["Outlines"]),
    keyword("multipleOf", &["Anthropic"], &["Gemini", "Outlines"]),
    keyword("not", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines", "XGrammar"]),
    keyword("oneOf", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines", "XGrammar"]),
    keyword("pattern", &[], &["Gemini"]),
    keyword("patternProperties", &["OpenAI", "Outlines"], &["Anthropic", "Gemini"]),
    keyword("prefixItems", &["OpenAI"], &["Anthropic"]),
    keyword("propertyNames", &["OpenAI", "llguidance"], &["Anthropic", "Gemini", "Outlines"]),
    keyword("unevaluatedProperties", &["OpenAI", "llguidance"], &["Anthropic", "Gemini"]),
    keyword("uniqueItems", &["OpenAI", "Anthropic", "llguidance"], &["Gemini", "Outlines", "XGrammar"]),
];

pub(super) fn keywords(site: &Site<'_, '_>, findings: &mut Findings) {
    for ProviderKeyword { keyword, refused_by, ignored_by } in PROVIDER_KEYWORDS {
        // The root is a matter of its own.
        let is_of_root = site.place.is_root() && ["allOf", "const", "not", "oneOf"].contains(&keyword);
        if is_of_root || site.get(keyword).is_none_or(|held| everybody_has(keyword, held)) {
            continue;
        }
        findings.add(PROVIDER_KEYWORD, || site.at(keyword), || {
            let by = |what: &str, who: &[&str]| (!who.is_empty()).then(|| format!("{what} by {}", who.join(", ")));
            let by = [by("refused", refused_by), by("passed over", ignored_by)];
            let by = by.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            format!(
                "where decoding is constrained, `{keyword}` is {by}; the booth checks it all the same: say it in the description, too"
            )
        });
    }
}

/// Whether everybody has what a keyword says here: objects that are closed, and lists that are not empty.
fn everybody_has(keyword: &str, held: &Json) -> bool {
    match keyword {
        "additionalProperties" => held.as_object().is_none(),
        "minItems" => held.as_number().and_then(crate::json::Number::as_u64).is_some_and(|least| least <= 1),
        _ => false,
    }
}

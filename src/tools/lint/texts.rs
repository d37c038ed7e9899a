//! Lints on lists of values, and on formats.

use super::{
    codes::{EMPTY_ENUM_VALUE, LARGE_ENUM, SIMILAR_ENUM_VALUES, UNKNOWN_FORMAT},
    findings::Findings,
    site::Site,
    words::first_pair,
};
use crate::{excerpt::excerpt, json::Json};

/// Values of a list that are sent with every request before anybody notices.
const MAX_VALUES: usize = 100;

pub(super) fn enums(site: &Site<'_, '_>, findings: &mut Findings) {
    let values = site.list("enum");
    let texts = || values.iter().filter_map(Json::as_str);
    if let Some((first, second)) = first_pair(texts(), without_case_and_blanks) {
        findings.add(SIMILAR_ENUM_VALUES, || site.at("enum"), || {
            format!(
                "`{}` and `{}` differ in case and blanks only: models mix them up, and a misspelt one is not repaired; keep or rename one",
                excerpt(first),
                excerpt(second)
            )
        });
    }
    if texts().any(str::is_empty) {
        findings.add(EMPTY_ENUM_VALUE, || site.at("enum"), || {
            "Gemini refuses every request with an empty text in an `enum`: give it a name such as `none`, or make the property optional"
                .to_owned()
        });
    }
    if values.len() > MAX_VALUES {
        findings.add(
            LARGE_ENUM,
            || site.at("enum"),
            || format!("{} values are sent with every request: take a text, and let the tool look it up", values.len()),
        );
    }
}

fn without_case_and_blanks(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).flat_map(char::to_lowercase).collect()
}

pub(super) fn formats(site: &Site<'_, '_>, findings: &mut Findings) {
    let Some(format) = site.text("format").filter(|_| site.arguments.formats) else { return };
    if !site.dialect.asserts_format(format) {
        findings.add(
            UNKNOWN_FORMAT,
            || site.at("format"),
            || {
                format!(
                    "nobody asserts `{}` in {}: write a `pattern` or limits, or say it in the description",
                    excerpt(format),
                    site.dialect.name()
                )
            },
        );
    }
}

//! Lints on names: of tools and of properties.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    codes::{PROPERTY_NAME, SIMILAR_PROPERTY_NAMES, SIMILAR_TOOL_NAMES},
    findings::Findings,
    site::Site,
    words::{first_pair, folded},
};
use crate::{
    document::Note,
    excerpt::excerpt,
    json::Pointer,
    tools::{Catalog, ContractReport, Status},
};

/// Characters of a property's name that Anthropic takes.
const MAX_PROPERTY: usize = 64;

/// Whether a name has only ASCII letters, digits, `_`, `-` and those of `more`.
pub(super) fn is_plain(name: &str, more: &str) -> bool {
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-') || more.contains(letter);
    !name.is_empty() && name.chars().all(is_plain)
}

pub(super) fn property_names(site: &Site<'_, '_>, findings: &mut Findings) {
    if !site.place.is_root() {
        return;
    }
    for (name, _) in site.properties() {
        if !is_plain(name, ".") || name.len() > MAX_PROPERTY {
            findings.add(PROPERTY_NAME, || site.at_property(name), || {
                "Anthropic refuses every request with a property whose name is not 1 to 64 letters, digits, `_`, `-` and `.`: \
                 rename it, and let a step of `prepare` move it where the tool wants it"
                    .to_owned()
            });
        }
    }
}

pub(super) fn similar_properties(site: &Site<'_, '_>, findings: &mut Findings) {
    if let Some((first, second)) = first_pair(site.properties().map(|(name, _)| &**name), folded) {
        findings.add(SIMILAR_PROPERTY_NAMES, || site.at_property(second), || {
            format!(
                "`{}` and `{}` differ in case and punctuation only: models mix them up, and a misspelt one is not repaired; rename one",
                excerpt(first),
                excerpt(second)
            )
        });
    }
}

/// Tools whose names differ in case and punctuation only. Each of them is told the first one.
pub(in crate::tools) fn similar_tools(catalog: &Catalog, reports: &mut [ContractReport]) {
    let mut known: BTreeMap<String, Arc<str>> = BTreeMap::new();
    for report in reports.iter_mut().filter(|report| report.status != Status::Quarantined) {
        // Later contracts of the same name are quarantined, and names that nobody serves are in nobody's way.
        if report.name.is_empty() || catalog.get(&report.name).is_none() {
            continue;
        }
        let Some(first) = known.insert(folded(&report.name), Arc::clone(&report.name)) else { continue };
        let message = format!(
            "`{}` and `{}` differ in case and punctuation only: models mix them up, and a misspelt call is not repaired; rename one",
            excerpt(&first),
            excerpt(&report.name)
        );
        let mut findings = Findings::default();
        findings.add(SIMILAR_TOOL_NAMES, || Pointer::root().join("name"), || message);
        let place = report.place.clone();
        report.lints.extend(findings.into_notes().into_iter().map(|note| Note { place: place.clone(), ..note }));
    }
}

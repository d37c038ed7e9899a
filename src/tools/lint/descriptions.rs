//! Lints on what the model is told about the arguments.

use super::{
    codes::{LONG_DESCRIPTION, NO_PROPERTY_DESCRIPTION},
    contract::MAX_DESCRIPTION,
    findings::Findings,
    site::Site,
};
use crate::json::Json;

pub(super) fn of_properties(site: &Site<'_, '_>, findings: &mut Findings) {
    long(site, findings);
    if !site.place.is_root() {
        return;
    }
    for (name, schema) in site.properties().filter(|(_, schema)| schema.as_object().is_some()) {
        let place = site.at_property(name);
        let says = |schema: &Json| {
            let text =
                |keyword: &str| schema.get(keyword).and_then(Json::as_str).is_some_and(|text| !text.trim().is_empty());
            text("description") || text("title") || schema.get("const").is_some()
        };
        if !says(schema) && !says(site.resolved(schema, place)) {
            findings.add(NO_PROPERTY_DESCRIPTION, || site.at_property(name), || {
                "the model knows no more of it than its name: write `description`, with an example where there is a format".to_owned()
            });
        }
    }
}

fn long(site: &Site<'_, '_>, findings: &mut Findings) {
    let length = site.text("description").map_or(0, |text| text.chars().count());
    if length > MAX_DESCRIPTION {
        findings.add(
            LONG_DESCRIPTION,
            || site.at("description"),
            || {
                format!(
                    "{length} characters are sent with every request, of which {MAX_DESCRIPTION} are long: shorten it"
                )
            },
        );
    }
}

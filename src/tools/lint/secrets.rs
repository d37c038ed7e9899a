//! Finds arguments that are secrets by their names and may be shown.

use super::{
    codes::UNMARKED_SECRET,
    findings::Findings,
    site::{Site, admits},
    words::words,
};
use crate::json::Json;

/// Last words of names of secrets.
const SECRETS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "credential",
    "credentials",
    "apikey",
    "authorization",
    "cvv",
];

/// Words that make a `key` a secret.
const KEYS: [&str; 8] = ["access", "api", "auth", "encryption", "master", "private", "secret", "signing"];

/// Words that make a `token` a mark in a list.
const MARKS: [&str; 12] = [
    "continuation",
    "continue",
    "cursor",
    "last",
    "max",
    "next",
    "page",
    "pagination",
    "prev",
    "previous",
    "start",
    "sync",
];

pub(super) fn unmarked(site: &Site<'_, '_>, findings: &mut Findings) {
    for (name, schema) in site.properties().filter(|(name, _)| is_secret(name)) {
        let Some(keywords) = site.resolved(schema, site.at_property(name)).as_object() else { continue };
        let is_marked = |schema: Option<&Json>| schema == Some(&Json::Bool(true));
        let is_write_only = is_marked(schema.get("writeOnly")) || is_marked(keywords.get("writeOnly"));
        let instance = site.place.instance().map(|object| object.join(name));
        let is_sensitive = instance
            .as_ref()
            .is_some_and(|place| site.arguments.sensitive.iter().any(|sensitive| place.is_within(sensitive)));
        if is_write_only || is_sensitive || !admits(keywords, "string") {
            continue;
        }
        findings.add(UNMARKED_SECRET, || site.at_property(name), || {
            let listed = instance.map(|place| format!(", or list `{place}` in `arguments.sensitive`")).unwrap_or_default();
            format!("it looks like a secret, and an error text would show it to the model and to logs: mark it `writeOnly: true`{listed}")
        });
    }
}

fn is_secret(name: &str) -> bool {
    let words = words(name);
    let before = words.iter().rev().nth(1).map(String::as_str);
    match words.last().map(String::as_str) {
        Some("key") => before.is_some_and(|word| KEYS.contains(&word)),
        Some("token") => before.is_none_or(|word| !MARKS.contains(&word)),
        Some(last) => SECRETS.contains(&last),
        None => false,
    }
}

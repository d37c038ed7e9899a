//! Lints on patterns. A pattern matches anywhere in a text, unless it is anchored.

use super::{
    codes::{PARTLY_ANCHORED_PATTERN, UNANCHORED_PATTERN},
    findings::Findings,
    site::Site,
};
use crate::json::Json;

pub(super) fn anchors(site: &Site<'_, '_>, findings: &mut Findings) {
    let Some(pattern) = site.get("pattern").and_then(Json::as_str) else { return };
    let branches = alternatives(pattern);
    let starts = branches.iter().filter(|branch| branch.starts_with('^') || branch.starts_with("\\A")).count();
    let ends = branches.iter().filter(|branch| is_end(branch)).count();
    let is_mixed = |count: usize| count > 0 && count < branches.len();
    if is_mixed(starts) || is_mixed(ends) {
        findings.add(PARTLY_ANCHORED_PATTERN, || site.at("pattern"), || {
            "`^` and `$` belong to one side of `|` only, and the other matches anywhere: put the alternatives into `(?:...)`".to_owned()
        });
    } else if starts == 0 && ends == 0 && !says_that_it_is_in_there(pattern) {
        findings.add(UNANCHORED_PATTERN, || site.at("pattern"), || {
            "it matches anywhere in a text, and some constrained decoders take it for the whole: write `^` and `$` if the whole was meant"
                .to_owned()
        });
    }
}

fn is_end(branch: &str) -> bool {
    let escapes = branch.strip_suffix('$').map(|before| before.len() - before.trim_end_matches('\\').len());
    escapes.is_some_and(|count| count % 2 == 0) || branch.ends_with("\\z") || branch.ends_with("\\Z")
}

/// `\S`, `.` and `[a-z]` ask for one such character somewhere: there is nothing to anchor.
fn says_that_it_is_in_there(pattern: &str) -> bool {
    let is_class = pattern.starts_with('[') && pattern.find(']') == Some(pattern.len() - 1);
    pattern.chars().count() <= 2 || is_class || pattern.trim_start_matches(".*").is_empty() || pattern == ".+"
}

/// The sides of `|` that stand in no group and in no class.
fn alternatives(pattern: &str) -> Vec<&str> {
    let (mut groups, mut in_class, mut is_escaped) = (0_i32, false, false);
    pattern
        .split(|letter: char| {
            let was_escaped = std::mem::take(&mut is_escaped);
            match letter {
                _ if was_escaped => {}
                '\\' => is_escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '(' if !in_class => groups += 1,
                ')' if !in_class => groups -= 1,
                '|' => return groups == 0 && !in_class,
                _ => {}
            }
            false
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_those_outside_of_groups_and_classes() {
        assert_eq!(alternatives("^a|b$"), ["^a", "b$"]);
        assert_eq!(alternatives(r"^(a|b)[|]\|c$"), [r"^(a|b)[|]\|c$"]);
        assert_eq!(alternatives(""), [""]);
    }

    #[test]
    fn an_escaped_dollar_is_no_end() {
        assert!(is_end("a$") && is_end(r"a\\$") && !is_end(r"a\$") && !is_end("a"));
    }
}

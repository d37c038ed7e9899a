//! Unions: one explanation by the branch that was meant, never "matches none of the schemas" (rule V4).

use super::{
    Explanation, Spot, Walk, hint,
    leaf::{MAX_CHOICES, MAX_SHORT, any_of_words, short},
};
use crate::json::{Json, Object};

/// Explains a union that the value may break.
pub(super) fn explain<'a>(
    walk: &mut Walk<'a>,
    keyword: &'static str,
    branches: &'a [Json],
    spot: &Spot<'a>,
) -> Explanation {
    let mut explained = Vec::with_capacity(branches.len());
    let mut matching = 0;
    for (position, schema) in branches.iter().enumerate() {
        let explanation = walk.at(&spot.under(schema, &[keyword, &position.to_string()]));
        if explanation.is_empty() {
            matching += 1;
            if keyword == "anyOf" {
                return Explanation::default();
            }
        } else {
            explained.push((resolved(walk, schema), explanation));
        }
    }
    let mut found = Explanation::default();
    match matching {
        0 => {}
        1 => return found,
        _ => {
            let message = "matches more than one alternative";
            found.push(spot.violation(keyword, message, "exactly one alternative"));
            return found;
        }
    }
    if let Some(tag) = Tag::of(walk, &explained, spot.value) {
        return tag.explain(walk, explained, keyword, spot);
    }
    by_kind_or_keys(explained, keyword, spot)
}

/// The branch itself, behind a reference.
pub(super) fn resolved<'a>(walk: &Walk<'a>, schema: &'a Json) -> &'a Json {
    let document = walk.schema.document();
    let mut references = schema.as_object().into_iter().flat_map(|keywords| document.references(keywords));
    match references.next().map(|(_, reference)| document.resolve(reference)) {
        Some(super::Reference::Found(_, schema)) => schema,
        Some(super::Reference::Dangling | super::Reference::ByAddress) | None => schema,
    }
}

/// A property that every branch fixes to values of its own, and that the value has.
struct Tag<'a> {
    name: &'a str,
    sent: &'a Json,
}

impl<'a> Tag<'a> {
    fn of(walk: &Walk<'a>, explained: &[(&'a Json, Explanation)], value: &'a Json) -> Option<Self> {
        let (first, _) = explained.first()?;
        let names = properties(first)?.keys();
        names.map(|name| &**name).find_map(|name| {
            let sent = value.get(name).filter(|_| walk.steps.take_for(explained.len()))?;
            explained.iter().all(|(branch, _)| tag_values(branch, name).is_some()).then_some(Self { name, sent })
        })
    }

    /// The branch with this tag; for a tag that no branch has, the tags there are.
    fn explain(
        &self,
        walk: &Walk<'a>,
        explained: Vec<(&'a Json, Explanation)>,
        keyword: &'static str,
        spot: &Spot<'a>,
    ) -> Explanation {
        let mut tags = Vec::new();
        for (branch, explanation) in explained {
            let values = tag_values(branch, self.name).unwrap_or_default();
            if values.contains(self.sent) {
                return explanation;
            }
            tags.extend(values);
        }
        let expected = format!("one of {}", named(&tags));
        let mut violation = spot.violation(keyword, format!("expected {expected}"), expected);
        violation.hint = hint::nearest_choice(walk, tags.iter().copied(), self.sent);
        violation.path = spot.path.join(self.name);
        violation.actual = Some(self.sent.kind());
        let mut found = Explanation::default();
        found.push(violation);
        found
    }
}

/// Tags on one line, as words where they are.
fn named(tags: &[&Json]) -> String {
    let is_word = |text: &&str| {
        (1..=MAX_SHORT).contains(&text.len())
            && text.chars().all(|letter| letter.is_alphanumeric() || "_-.:/".contains(letter))
    };
    let shown = tags.iter().take(MAX_CHOICES).map(|tag| match tag.as_str().filter(is_word) {
        Some(word) => word.to_owned(),
        None => short(tag),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    match tags.len().saturating_sub(MAX_CHOICES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// What a branch declares.
pub(super) fn properties(branch: &Json) -> Option<&Object> {
    branch.get("properties")?.as_object()
}

/// The values to which a branch fixes a property.
fn tag_values<'a>(branch: &'a Json, name: &str) -> Option<&'a [Json]> {
    let property = properties(branch)?.get(name)?;
    match (property.get("const"), property.get("enum")) {
        (Some(value), _) => Some(std::slice::from_ref(value)),
        (None, Some(Json::Array(values))) => Some(values),
        _ => None,
    }
}

/// Without a tag: the branches that take a value of this kind; among them the one that names most of its keys.
fn by_kind_or_keys(explained: Vec<(&Json, Explanation)>, keyword: &'static str, spot: &Spot<'_>) -> Explanation {
    let is_kind_error = |explanation: &Explanation| {
        explanation.violations.iter().any(|violation| violation.keyword == "type" && violation.path == spot.path)
    };
    let (wrong_kind, mut right_kind): (Vec<_>, Vec<_>) =
        explained.into_iter().partition(|(_, explanation)| is_kind_error(explanation));
    let named = |branch: &Json| {
        let names = properties(branch).into_iter().flat_map(Object::keys);
        names.filter(|name| spot.value.get(name).is_some()).count()
    };
    // Among equals the one of which something was nearly right, and else the first: `max_by_key` would take the last.
    let is_far = |explanation: &Explanation| explanation.violations.iter().all(|violation| violation.hint.is_none());
    right_kind.sort_by_cached_key(|(branch, explanation)| {
        (std::cmp::Reverse(named(branch)), explanation.count, is_far(explanation))
    });
    if let Some((_, explanation)) = right_kind.into_iter().next() {
        return explanation;
    }
    let mut kinds: Vec<&str> = Vec::new();
    for violation in wrong_kind.iter().flat_map(|(_, explanation)| &explanation.violations) {
        for kind in violation.expected.split(", ").flat_map(|kinds| kinds.split(" or ")) {
            if violation.path == spot.path && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let expected = any_of_words(&kinds);
    let mut violation = spot.violation(keyword, format!("expected {expected}, got {}", spot.value.kind()), expected);
    violation.hint =
        wrong_kind.iter().flat_map(|(_, explanation)| &explanation.violations).find_map(|one| one.hint.clone());
    Explanation::of(violation)
}

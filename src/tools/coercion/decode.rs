//! JSON text in the place of a value: it is read as the arguments themselves are, with the repairs that have one reading.

use crate::{
    json::{Extent, Json, ParseLimits, Pointer, parse, parse_repaired},
    refusal::Repair,
    tools::ArgumentRules,
};

/// Levels of a value with everything that is decoded in it: as many as arguments may have as they come.
pub(super) const MAX_DEPTH: usize = 64;

/// What may be decoded at a place that is so many levels down.
pub(super) fn limits(rules: &ArgumentRules, depth: usize) -> ParseLimits {
    ParseLimits { max_depth: MAX_DEPTH.saturating_sub(depth), allow_nul: rules.allow_nul, ..ParseLimits::default() }
}

/// The value that a text is the JSON of, and what was repaired in the text; its places start at `base`.
pub(super) fn decode(text: &str, limits: &ParseLimits, base: impl FnOnce() -> Pointer) -> Option<(Json, Vec<Repair>)> {
    // It may stand for half of a pair that was in a key: a changed key could be another one.
    if text.contains('\u{fffd}') {
        return None;
    }
    if let Ok(value) = parse(text.as_bytes(), limits) {
        return Some((value, Vec::new()));
    }
    let repaired = parse_repaired(text.as_bytes(), limits, Extent::Nested).ok()?;
    let base = base();
    Some((repaired.value, repaired.repairs.into_iter().map(|repair| Repair::of_text(&base, repair)).collect()))
}

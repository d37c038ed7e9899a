//! Help that costs few words (rule E4): what was probably meant, and what to send instead.

use super::{Walk, leaf::MAX_SHORT};
use crate::json::{Json, Object, ParseLimits, parse};

/// Bytes of a text that may be a typing mistake.
const MAX_COMPARED: usize = 200;
/// Bytes of a text that may be a value.
const MAX_TEXT: usize = 64 << 10;

/// The choice that a text is most like.
pub(super) fn nearest_choice<'n>(
    walk: &Walk<'_>,
    choices: impl Iterator<Item = &'n Json>,
    value: &Json,
) -> Option<String> {
    let sent = value.as_str()?;
    nearest(walk, choices.filter_map(Json::as_str), sent, |_| true)
        .map(|choice| format!("did you mean {}?", Json::from(choice).to_text()))
}

/// The most similar name, if any is similar. A name that is no candidate costs a comparison, too.
pub(super) fn nearest<'n>(
    walk: &Walk<'_>,
    names: impl Iterator<Item = &'n str>,
    sent: &str,
    is_candidate: impl Fn(&str) -> bool,
) -> Option<&'n str> {
    // Long texts are no typing mistakes, and comparing them is quadratic.
    if sent.len() > MAX_COMPARED || walk.comparisons.is_spent() {
        return None;
    }
    let folded = |name: &str| name.to_lowercase().replace(['-', '_', '.', ' '], "");
    let sent = folded(sent);
    names
        .take_while(|_| walk.comparisons.take())
        .filter(|name| name.len() <= MAX_COMPARED && is_candidate(name))
        .map(|name| (strsim::normalized_damerau_levenshtein(&folded(name), &sent), name))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, name)| name)
}

/// A text that holds the JSON text of a value of the kind that was asked for.
pub(super) fn value_in_text(sent: &Json, is_asked_for: impl Fn(&Json) -> bool) -> Option<String> {
    let text = sent.as_str().filter(|text| text.len() <= MAX_TEXT)?;
    let value = parse(text.trim().as_bytes(), &ParseLimits::default()).ok().filter(is_asked_for)?;
    match value {
        Json::Object(_) | Json::Array(_) => Some(format!("send the {} itself, not its JSON text", value.kind())),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            let text = value.to_text();
            (text.len() <= MAX_SHORT).then(|| format!("send it as {text}, not as text"))
        }
    }
}

/// What a format looks like, where its name does not say it.
pub(super) fn for_format<'a>(walk: &mut Walk<'a>, format: &'a Json, sent: &str) -> Option<String> {
    let (example, has_offset) = match format.as_str()? {
        "date-time" => ("2026-01-31T09:30:00Z", true),
        "time" => ("09:30:00Z", true),
        "date" => ("2026-01-31", false),
        "duration" => ("P1DT12H", false),
        _ => return None,
    };
    if has_offset && sent.len() <= MAX_COMPARED {
        let with_offset = Json::from(format!("{sent}Z").as_str());
        if walk.keyword_accepts("format", format, &with_offset) {
            return Some("the offset from UTC is missing: end it with `Z`, or with one such as `+02:00`".to_owned());
        }
    }
    let offset = if has_offset { ", with the offset from UTC" } else { "" };
    Some(format!("such as {example}{offset}"))
}

/// A missing field that stands one level too deep, as in an envelope.
pub(super) fn wrapped(
    walk: &Walk<'_>,
    members: &Object,
    name: &str,
    is_undeclared: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut envelopes = members.iter().take_while(|_| walk.comparisons.take());
    let (envelope, _) = envelopes.find(|(sent, value)| value.get(name).is_some() && is_undeclared(sent))?;
    Some(format!("it stands inside of `{envelope}`: send it beside the other fields"))
}

//! Stage 2: the model's text becomes one JSON object (rule P3).

mod pi;

use bytes::Bytes;

use crate::{
    json::{self, Extent, Json, ParseError, ParseErrorKind, ParseLimits, Pointer, SharedJson},
    refusal::{Code, Reason, Refusal, Repair, Violation},
    result::Trace,
    tools::{Profile, Tool},
    wording,
};

/// Parses the text. Empty, blank and `null` text is `{}`.
pub(super) fn parse(
    tool: &Tool,
    profile: Profile,
    text: &Bytes,
    limits: &ParseLimits,
    trace: &mut Trace,
) -> Result<SharedJson, Box<Refusal>> {
    let limits = ParseLimits { allow_nul: tool.arguments.allow_nul, ..limits.clone() };
    if profile == Profile::Pi {
        return pi::parse(tool, text, &limits, trace);
    }
    let value = if text.trim_ascii().is_empty() {
        Json::Null.into()
    } else {
        read(profile, text, &limits, trace).map_err(|error| malformed(tool, profile, &tool.without_names_in(error)))?
    };
    let value = match *value {
        Json::Null => Json::empty_object().into(),
        Json::Object(_) => value,
        Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            return Err(not_object(tool, &value).into());
        }
    };
    trace.received = Some(value.clone());
    Ok(value)
}

/// The value as it is spelled, or else, under `safe`, the one that is meant: a text where an object should be may spell one.
fn read(profile: Profile, text: &Bytes, limits: &ParseLimits, trace: &mut Trace) -> Result<SharedJson, ParseError> {
    let read = json::parse_shared(text, limits);
    let is_meant = |value: &SharedJson| !matches!(**value, Json::String(_));
    if profile != Profile::Safe || read.as_ref().is_ok_and(is_meant) {
        return read;
    }
    let repaired = json::parse_repaired(text, limits, Extent::Whole)?;
    trace.repairs.extend(repaired.repairs.into_iter().map(|repair| Repair::of_text(&Pointer::root(), repair)));
    Ok(repaired.value.into())
}

fn malformed(tool: &Tool, profile: Profile, error: &ParseError) -> Refusal {
    let reason = match &error.kind {
        // Profile `strict` makes no difference between a text that is wrong and one that is cut.
        ParseErrorKind::Truncated if profile != Profile::Strict => Reason::Truncated,
        ParseErrorKind::MultipleObjects => Reason::MultipleObjects,
        ParseErrorKind::Syntax(_)
        | ParseErrorKind::Backslash
        | ParseErrorKind::Truncated
        | ParseErrorKind::Trailing => Reason::InvalidJson,
        ParseErrorKind::DuplicateKey(_) => Reason::DuplicateKey,
        ParseErrorKind::InvalidUnicode => Reason::InvalidUnicode,
        ParseErrorKind::ForbiddenNul => Reason::ForbiddenChar,
        ParseErrorKind::TooDeep(_) => Reason::TooDeep,
        ParseErrorKind::TooLarge(_) | ParseErrorKind::TooManyKeys(_) => Reason::TooLarge,
    };
    let text = wording::malformed_arguments(&tool.name, error);
    let mut refusal = Refusal::new(Code::MalformedArguments, Some(reason), text);
    // Only where one value is to blame, and not the text, is there a place to name.
    if matches!(reason, Reason::DuplicateKey | Reason::ForbiddenChar) {
        refusal = refusal.at(violation(error.path.clone(), error.kind.to_string()));
    }
    refusal
}

fn not_object(tool: &Tool, value: &Json) -> Refusal {
    let text = wording::not_an_object(&tool.name, value.kind());
    let message = format!("expected object, got {}", value.kind());
    let violation = Violation { actual: Some(value.kind()), ..violation(Pointer::root(), message) };
    Refusal::new(Code::MalformedArguments, Some(Reason::NotObject), text).at(violation)
}

fn violation(path: Pointer, message: String) -> Violation {
    Violation {
        path,
        property: None,
        schema_path: Pointer::root(),
        keyword: "",
        message,
        expected: "one JSON object".to_owned(),
        actual: None,
        hint: None,
    }
}

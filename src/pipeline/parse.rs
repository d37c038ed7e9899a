//! Stage 2: the model's text becomes one JSON object (rule P3).

use bytes::Bytes;

use crate::{
    json::{self, Json, ParseError, ParseErrorKind, ParseLimits, Pointer, SharedJson},
    refusal::{Code, Reason, Refusal, Violation},
    result::Trace,
    tools::Tool,
    wording,
};

/// Parses the text. Empty, blank and `null` text is `{}`.
pub(super) fn parse(
    tool: &Tool,
    text: &Bytes,
    limits: &ParseLimits,
    trace: &mut Trace,
) -> Result<SharedJson, Box<Refusal>> {
    let limits = ParseLimits { allow_nul: tool.arguments.allow_nul, ..limits.clone() };
    let value = if text.trim_ascii().is_empty() {
        Json::Null.into()
    } else {
        json::parse_shared(text, &limits).map_err(|error| malformed(tool, &error))?
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

fn malformed(tool: &Tool, error: &ParseError) -> Refusal {
    let reason = match &error.kind {
        // Profile `strict` makes no difference between a text that is wrong and one that is cut.
        ParseErrorKind::Syntax(_) | ParseErrorKind::Truncated | ParseErrorKind::Trailing => Reason::InvalidJson,
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

//! The JSON that programs and HTTP services get and give.
//!
//! They get one object, with every number spelled as the model spelled it:
//!
//! ```text
//! {"call": {"id", "tool", "run", "batch", "index", "attempt", "idempotency_key", "deadline_ms"}, "arguments": {...}}
//! ```
//!
//! `deadline_ms` is the hard time that is granted, in milliseconds, or null. What comes back is read by these rules, the
//! first that fits:
//!
//! 1. Nothing at all is a result without content.
//! 2. An answer above its cap is cut, with the warning `output_truncated`; what is left is text, whatever it was.
//! 3. Bytes that are not UTF-8 become U+FFFD, with the warning `lossy_text`; reading goes on.
//! 4. One JSON value and nothing else: an envelope (see `envelope`) is read as one. Any other object or array is the
//!    structured result, and its text, as it came, is the content. A string, number, boolean or null is text as it came.
//! 5. Everything else is text as it came. That includes JSON that cannot be kept: lone surrogates, U+0000 in a string, the
//!    same key twice, or more than 128 levels.

use std::time::Duration;

use crate::{
    call::{BatchPlace, ToolCall},
    content::{Content, ToolOutput, Warning},
    json::{Json, ParseLimits, parse},
    ports::{Execution, ExecutorError},
};

use super::envelope;

/// Bytes are capped before they come here, and what a tool sends is not the model's doing: the limits are wide.
const LIMITS: ParseLimits =
    ParseLimits { max_depth: 128, max_bytes: usize::MAX, max_keys: 1_000_000, allow_nul: false };

/// What a tool is told about its call.
pub(super) struct Request<'a> {
    tool: &'a str,
    call: &'a ToolCall,
    place: &'a BatchPlace,
    attempt: u32,
    idempotency_key: &'a str,
    deadline: Option<Duration>,
    arguments: &'a Json,
}

impl<'a> Request<'a> {
    /// The request for an execution.
    pub(super) fn of(execution: &'a Execution) -> Self {
        Self {
            tool: &execution.tool.name,
            call: &execution.call,
            place: &execution.place,
            attempt: execution.attempt,
            idempotency_key: &execution.idempotency_key,
            deadline: execution.deadline,
            arguments: &execution.arguments,
        }
    }

    /// Its JSON text.
    pub(super) fn to_text(&self) -> String {
        let call = serde_json::json!({
            "id": &*self.call.id,
            "tool": self.tool,
            "run": &*self.place.run,
            "batch": &*self.place.batch,
            "index": self.call.index,
            "attempt": self.attempt,
            "idempotency_key": self.idempotency_key,
            "deadline_ms": self.deadline.map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX)),
        });
        // The arguments go in as text: `serde_json::Value` would round their numbers.
        format!(r#"{{"call":{call},"arguments":{}}}"#, self.arguments.to_text())
    }
}

/// Bytes that a tool sends, as far as there is room.
pub(super) struct Capped {
    bytes: Vec<u8>,
    cap: usize,
    overflowed: bool,
}

impl Capped {
    /// Room for `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), cap, overflowed: false }
    }

    /// Keeps what there is room for; `false` once something had to be dropped.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.cap - self.bytes.len();
        self.overflowed |= bytes.len() > room;
        self.bytes.extend(bytes.iter().take(room));
        !self.overflowed
    }
}

/// What a tool sent back.
pub(super) struct Answer {
    /// The text as it came.
    pub(super) text: String,
    /// What was lost on the way.
    pub(super) warnings: Vec<Warning>,
    /// Whether it was not cut.
    whole: bool,
}

impl Answer {
    /// Reads bytes as text. `source` names them in warnings.
    pub(super) fn new(capped: Capped, source: &str) -> Self {
        let mut warnings = Vec::new();
        if capped.overflowed {
            let message = format!("{source} was longer than {} bytes: the rest was dropped", capped.cap);
            warnings.push(Warning { code: "output_truncated", message });
        }
        let text = String::from_utf8(capped.bytes).unwrap_or_else(|error| {
            let (valid, cut_inside) = (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_none());
            let mut bytes = error.into_bytes();
            if capped.overflowed && cut_inside {
                // The cap fell into the last character: that one is part of the rest.
                bytes.truncate(valid);
            } else {
                let message = format!("{source} was not UTF-8: what is no character became U+FFFD");
                warnings.push(Warning { code: "lossy_text", message });
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { text, warnings, whole: !capped.overflowed }
    }

    /// The result of a tool that succeeded, unless its answer says otherwise.
    pub(super) fn into_output(self) -> Result<ToolOutput, ExecutorError> {
        let output = match self.json() {
            Some(Json::Object(members)) if envelope::is_envelope(&members) => envelope::read(members)?,
            Some(value @ (Json::Object(_) | Json::Array(_))) => {
                ToolOutput { structured: Some(value), ..ToolOutput::text(self.text) }
            }
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) | None => {
                ToolOutput { content: text_or_nothing(self.text), ..ToolOutput::default() }
            }
        };
        Ok(ToolOutput { warnings: self.warnings, ..output })
    }

    /// The result of a tool that is known to have failed, if its answer is an envelope; it is an error whatever it says.
    pub(super) fn into_envelope_of_failure(self) -> Result<ToolOutput, Self> {
        match self.json() {
            Some(Json::Object(members)) if envelope::is_envelope(&members) => {
                envelope::read(members)
                    .map(|output| ToolOutput { is_error: true, warnings: self.warnings.clone(), ..output })
                    // It failed, and says so badly: then its text says more than a complaint about its form.
                    .map_err(|_complaint| self)
            }
            _ => Err(self),
        }
    }

    /// Its value, if it is whole and JSON.
    fn json(&self) -> Option<Json> {
        if self.whole { parse(self.text.as_bytes(), &LIMITS).ok() } else { None }
    }
}

/// A piece of text, unless it is empty.
pub(super) fn text_or_nothing(text: impl Into<std::sync::Arc<str>>) -> Vec<Content> {
    let text = text.into();
    if text.is_empty() { Vec::new() } else { vec![Content::Text(text)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8], cap: usize) -> Answer {
        let mut capped = Capped::new(cap);
        capped.push(bytes);
        Answer::new(capped, "the answer")
    }

    fn output(text: &str) -> ToolOutput {
        answer(text.as_bytes(), 1_000).into_output().unwrap()
    }

    #[test]
    fn a_request_names_the_call_and_keeps_every_number() {
        let arguments = r#"{"id":12345678901234567890,"rate":1.50,"e":1E400}"#;
        let call = ToolCall {
            index: 2,
            id: "call \"7\"".into(),
            name: "old_name".into(),
            arguments: bytes::Bytes::new(),
            idempotency_key: None,
        };
        let request = Request {
            tool: "lookup",
            call: &call,
            place: &BatchPlace { run: "r1".into(), batch: "b1".into() },
            attempt: 3,
            idempotency_key: "key",
            deadline: Some(Duration::from_secs(30)),
            arguments: &parse(arguments.as_bytes(), &LIMITS).unwrap(),
        };
        let head = r#"{"call":{"id":"call \"7\"","tool":"lookup","run":"r1","batch":"b1","index":2,"attempt":3,"#;
        let expected = format!(r#"{head}"idempotency_key":"key","deadline_ms":30000}},"arguments":{arguments}}}"#);
        assert_eq!(request.to_text(), expected);
        assert!(Request { deadline: None, ..request }.to_text().contains(r#""deadline_ms":null}"#));
    }

    #[test]
    fn text_is_never_read_in_part() {
        for text in
            ["3.0 + 5.0", "12345678901234567890", "true", "null", "\"quoted\"", "{\"a\":1} and more", "a\n", "[1"]
        {
            assert_eq!(output(text), ToolOutput::text(text), "{text}");
        }
        assert_eq!(output(""), ToolOutput::default());
    }

    #[test]
    fn another_object_or_array_is_text_and_structured() {
        for text in [r#" {"id": 12345678901234567890, "x": 1.50}"#, "[1,\n2]", "{}", r#"{"content":"a","id":1}"#] {
            let value = parse(text.as_bytes(), &LIMITS).unwrap();
            assert_eq!(output(text), ToolOutput { structured: Some(value), ..ToolOutput::text(text) }, "{text}");
        }
        let exact = output(r#"{"id":12345678901234567890}"#).structured.unwrap();
        assert_eq!(exact.to_text(), r#"{"id":12345678901234567890}"#);
    }

    #[test]
    fn json_that_cannot_be_kept_is_text() {
        for text in [r#"{"content":"\ud800"}"#, r#"{"content":"a\u0000b"}"#, r#"{"a":1,"a":2}"#, "nul \0 itself"] {
            assert_eq!(output(text), ToolOutput::text(text), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let output = answer(deep.as_bytes(), deep.len()).into_output().unwrap();
        assert_eq!(output, ToolOutput::text(deep.as_str()));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_reported() {
        let message = "the answer was not UTF-8: what is no character became U+FFFD".to_owned();
        let warnings = vec![Warning { code: "lossy_text", message }];
        let text = answer(b"caf\xe9", 100).into_output().unwrap();
        assert_eq!(text, ToolOutput { warnings: warnings.clone(), ..ToolOutput::text("caf\u{fffd}") });
        let envelope = answer(b"{\"content\":\"caf\xe9\",\"is_error\":true}", 100).into_output().unwrap();
        assert_eq!(envelope, ToolOutput { warnings, ..ToolOutput::error("caf\u{fffd}") });
    }

    #[test]
    fn a_cut_answer_is_text_and_ends_with_a_whole_character() {
        let output = answer("[1] é".as_bytes(), 5).into_output().unwrap();
        assert_eq!((output.content, output.structured), (ToolOutput::text("[1] ").content, None));
        let message = "the answer was longer than 5 bytes: the rest was dropped".to_owned();
        assert_eq!(output.warnings, [Warning { code: "output_truncated", message }]);
    }

    #[test]
    fn a_failure_is_an_error_whatever_its_envelope_says() {
        let failure = answer(br#"{"content":"no","is_error":false}"#, 100).into_envelope_of_failure().ok().unwrap();
        assert_eq!(failure, ToolOutput::error("no"));
        let malformed = answer(br#"{"content":5}"#, 100).into_envelope_of_failure().err().unwrap();
        assert_eq!(malformed.text, r#"{"content":5}"#);
    }
}

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
//!    Half of a surrogate pair in it becomes U+FFFD.
//! 5. Everything else is text as it came. That includes JSON that cannot be kept, because a key stands in it twice or it has
//!    more than 128 levels; if that looks like an envelope, it is no result.

use std::{borrow::Cow, sync::LazyLock, time::Duration};

use regex::{Captures, Regex};

use crate::{
    call::{BatchPlace, ToolCall},
    content::{Content, ToolOutput, Warning},
    json::{Json, ParseLimits, parse},
    ports::{Execution, ExecutorError},
};

use super::envelope;

/// Bytes are capped before they come here, and what a tool sends is not the model's doing: the limits are wide.
const LIMITS: ParseLimits = ParseLimits { max_depth: 128, max_bytes: usize::MAX, max_keys: 1_000_000, allow_nul: true };

/// What a tool is told about its call.
pub(super) struct Request<'a> {
    tool: &'a str,
    call: &'a ToolCall,
    place: &'a BatchPlace,
    attempt: u32,
    idempotency_key: Cow<'a, str>,
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
            idempotency_key: execution.idempotency_key(),
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
    /// Bytes that there was no room for.
    dropped: usize,
}

impl Capped {
    /// Room for `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), cap, dropped: 0 }
    }

    /// Keeps what there is room for; `false` once something had to be dropped.
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let room = self.cap - self.bytes.len();
        self.dropped += bytes.len().saturating_sub(room);
        self.bytes.extend(bytes.iter().take(room));
        self.dropped == 0
    }

    /// Counts what will not be read, if it is known how much there is.
    pub(super) fn count_to(&mut self, announced: Option<usize>) {
        let unread = announced.map_or(0, |announced| announced.saturating_sub(self.bytes.len()));
        self.dropped = self.dropped.max(unread);
    }
}

/// What a tool sent back.
pub(super) struct Answer {
    /// The text as it came.
    pub(super) text: String,
    /// What was lost on the way.
    pub(super) warnings: Vec<Warning>,
    /// Bytes that it had at least, if it was cut.
    full_bytes: Option<usize>,
}

impl Answer {
    /// Reads bytes as text. `source` names them in warnings.
    pub(super) fn new(capped: Capped, source: &str) -> Self {
        let mut warnings = Vec::new();
        let full_bytes = (capped.dropped > 0).then(|| capped.bytes.len() + capped.dropped);
        if full_bytes.is_some() {
            let message = format!("{source} was longer than {} bytes: the rest was dropped", capped.cap);
            warnings.push(Warning { code: "output_truncated", message });
        }
        let text = String::from_utf8(capped.bytes).unwrap_or_else(|error| {
            let (valid, cut_inside) = (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_none());
            let mut bytes = error.into_bytes();
            if full_bytes.is_some() && cut_inside {
                // The cap fell into the last character: that one is part of the rest.
                bytes.truncate(valid);
            } else {
                let message = format!("{source} was not UTF-8: what is no character became U+FFFD");
                warnings.push(Warning { code: "lossy_text", message });
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { text, warnings, full_bytes }
    }

    /// The result of a tool that succeeded, unless its answer says otherwise.
    pub(super) fn into_output(self) -> Result<ToolOutput, ExecutorError> {
        let output = match self.json()? {
            Some(Json::Object(members)) if envelope::is_envelope(&members) => envelope::read(*members)?,
            Some(value @ (Json::Object(_) | Json::Array(_))) => {
                ToolOutput { structured: Some(value.into()), ..ToolOutput::text(self.text) }
            }
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) | None => {
                ToolOutput { content: text_or_nothing(self.text), ..ToolOutput::default() }
            }
        };
        Ok(ToolOutput { warnings: self.warnings, full_bytes: self.full_bytes, ..output })
    }

    /// The result of a tool that is known to have failed, if its answer is an envelope; it is an error whatever it says.
    pub(super) fn into_envelope_of_failure(self) -> Result<ToolOutput, Self> {
        match self.json() {
            Ok(Some(Json::Object(members))) if envelope::is_envelope(&members) => {
                envelope::read(*members)
                    .map(|output| ToolOutput { is_error: true, warnings: self.warnings.clone(), ..output })
                    // It failed, and says so badly: then its text says more than a complaint about its form.
                    .map_err(|_complaint| self)
            }
            _ => Err(self),
        }
    }

    /// Its value, if it is whole and JSON. An envelope that cannot be kept, because a key stands in it twice or it is too
    /// deep, is no result: read as text, its error would become a success.
    fn json(&self) -> Result<Option<Json>, ExecutorError> {
        if self.full_bytes.is_some() {
            return Ok(None);
        }
        match parse(without_lone_surrogates(&self.text).as_bytes(), &LIMITS) {
            Ok(value) => Ok(Some(value)),
            Err(error) if envelope::looks_like_one(&self.text) => {
                Err(ExecutorError::InvalidResult(format!("the tool's answer is not a valid result: {error}")))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Escapes of half a surrogate pair, which no text can hold, become U+FFFD: a scraped page may have any.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let Some(escapes) = &*ESCAPES else { return Cow::Borrowed(text) };
    escapes.replace_all(text, |escape: &Captures<'_>| match escape.name("half") {
        Some(_) => r"\ufffd".to_owned(),
        None => escape.get(0).map_or("", |whole| whole.as_str()).to_owned(),
    })
}

/// A whole pair, or half of one, or any other escape: so that none is cut in two.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let [high, low, half] =
        ["[dD][89abAB][0-9a-fA-F]{2}", "[dD][c-fC-F][0-9a-fA-F]{2}", "[dD][89a-fA-F][0-9a-fA-F]{2}"];
    Regex::new(&format!(r"\\u{high}\\u{low}|(?<half>\\u{half})|\\.")).ok()
});

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
            idempotency_key: "key".into(),
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
            assert_eq!(output(text), ToolOutput { structured: Some(value.into()), ..ToolOutput::text(text) }, "{text}");
        }
        let exact = output(r#"{"id":12345678901234567890}"#).structured.unwrap();
        assert_eq!(exact.to_text(), r#"{"id":12345678901234567890}"#);
    }

    #[test]
    fn json_that_cannot_be_kept_is_text() {
        for text in [r#"{"a":1,"a":2}"#, "nul \0 itself"] {
            assert_eq!(output(text), ToolOutput::text(text), "{text}");
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let output = answer(deep.as_bytes(), deep.len()).into_output().unwrap();
        assert_eq!(output, ToolOutput::text(deep.as_str()));
    }

    #[test]
    fn an_error_stays_an_error_whatever_text_is_in_it() {
        for (text, read) in [
            (r#"{"content":"a\ud835b","is_error":true}"#, "a\u{fffd}b"),
            (r#"{"content":"a\\ud835 \ud83d\ude00\udc00","is_error":true}"#, "a\\ud835 \u{1f600}\u{fffd}"),
            (r#"{"content":"a\u0000b","is_error":true}"#, "a\0b"),
        ] {
            assert_eq!(output(text), ToolOutput::error(read), "{text}");
        }
        for text in [
            r#"{"is_error":true,"content":"x","is_error":true}"#,
            r#"{"content":"x","is_error":true,"code":42}"#,
            r#"{"isError":true,"message":"x"}"#,
        ] {
            let complaint = answer(text.as_bytes(), 1_000).into_output().unwrap_err();
            assert!(matches!(complaint, ExecutorError::InvalidResult(_)), "{text}");
        }
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
        assert_eq!(output.full_bytes, Some(6));
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

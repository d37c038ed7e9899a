//! The answer of a tool that knows of the booth.
//!
//! ```text
//! {"content": [...] or "text", "structured": ..., "is_error": false, "terminate": false, "details": {...}}
//! ```
//!
//! The words of the Model Context Protocol are understood as well: `isError`, `structuredContent`, and `_meta`, which is not kept.
//!
//! An object is an envelope if it has no other keys than these, and at least one beside `details` and `_meta`. So a service that
//! answers `{"details": "..."}` or `{"content": "...", "id": 7}` in words of its own is not misread. One that says `is_error`
//! beside other keys is no valid result: read as anything else, its error could become a success.
//!
//! Every key may be missing or null. Where there is no `content`, the text of `structured` stands in for it, so that the
//! model reads something. Content items have the form of the Model Context Protocol; what else an item holds (such as
//! `annotations`) is not kept:
//!
//! ```text
//! {"type": "text", "text": "..."}
//! {"type": "image" or "audio", "data": "base64", "mimeType": "image/png"}
//! {"type": "resource", "resource": {"uri": "...", "mimeType": "...", "text": "..." or "blob": "base64"}}
//! {"type": "resource_link", "uri": "...", "mimeType": "..."}, which is a resource without text
//! ```
//!
//! A wrong type in an envelope is an invalid result: the tool ran, and what it meant is not guessed.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

use crate::{
    content::{Blob, Content, Resource, ResourceBody, ToolOutput},
    excerpt::excerpt,
    json::{Json, Object, SharedJson},
    ports::ExecutorError,
};

use super::wire::text_or_nothing;

/// The keys of an envelope.
const KEYS: [&str; 8] =
    ["content", "structured", "structuredContent", "is_error", "isError", "terminate", "details", "_meta"];

/// What bytes are that nobody has named.
const ANY_BYTES: &str = "application/octet-stream";

/// Whether an answer is an envelope, rather than an object of the tool's own.
pub(super) fn is_envelope(members: &Object) -> bool {
    let is_flagged = |key| matches!(members.get(key), Some(Json::Bool(_)));
    is_flagged("is_error")
        || is_flagged("isError")
        || (members.keys().all(is_key) && members.keys().any(|key| !matches!(&**key, "details" | "_meta")))
}

/// Whether a text that our parser does not take is an envelope to a more lenient one.
pub(super) fn looks_like_one(text: &str) -> bool {
    let members: Option<serde_json::Map<String, serde_json::Value>> = serde_json::from_str(text).ok();
    members.is_some_and(|members| !members.is_empty() && members.keys().all(|key| KEYS.contains(&key.as_str())))
}

fn is_key(key: &Arc<str>) -> bool {
    KEYS.contains(&&**key)
}

/// Reads an envelope.
pub(super) fn read(mut members: Object) -> Result<ToolOutput, ExecutorError> {
    if let Some(stranger) = members.keys().find(|key| !is_key(key)) {
        return Err(invalid(&excerpt(stranger), "absent, as an answer with `is_error` has no keys of its own"));
    }
    let mut take = |key| members.swap_remove(key).filter(|value| *value != Json::Null);
    let structured = take("structured").or_else(|| take("structuredContent")).map(SharedJson::from);
    Ok(ToolOutput {
        content: match take("content") {
            Some(content) => read_content(content)?,
            None => structured.iter().map(|value| Content::text(value.text())).collect(),
        },
        is_error: truth("is_error", take("is_error").or_else(|| take("isError")))?.unwrap_or(false),
        terminate: truth("terminate", take("terminate"))?,
        details: take("details").map(SharedJson::from),
        structured,
        warnings: Vec::new(),
        full_bytes: None,
    })
}

fn read_content(content: Json) -> Result<Vec<Content>, ExecutorError> {
    match content {
        Json::String(text) => Ok(text_or_nothing(text)),
        Json::Array(items) => items
            .iter()
            .enumerate()
            .map(|(position, item)| Item { value: item, path: format!("content[{position}]") }.read())
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => {
            Err(invalid("content", "a string or an array"))
        }
    }
}

fn truth(key: &str, value: Option<Json>) -> Result<Option<bool>, ExecutorError> {
    value.map(|value| value.as_bool().ok_or_else(|| invalid(key, "true or false"))).transpose()
}

fn invalid(path: &str, expected: &str) -> ExecutorError {
    ExecutorError::InvalidResult(format!("the tool's answer is not a valid result: `{path}` must be {expected}"))
}

/// A piece of content, or the resource in it, and where it stands.
struct Item<'a> {
    value: &'a Json,
    path: String,
}

impl Item<'_> {
    fn read(&self) -> Result<Content, ExecutorError> {
        match self.value.get("type").and_then(Json::as_str) {
            Some("text") => Ok(Content::Text(self.text("text")?)),
            Some("image") => Ok(Content::Image(self.blob()?)),
            Some("audio") => Ok(Content::Audio(self.blob()?)),
            Some("resource") => {
                let value = self.value.get("resource").ok_or_else(|| self.wrong("resource", "an object"))?;
                Item { value, path: format!("{}.resource", self.path) }.resource().map(Content::Resource)
            }
            Some("resource_link") => Ok(Content::Resource(Resource {
                uri: self.text("uri")?,
                mime_type: self.text_or("mimeType", "")?,
                body: ResourceBody::Text("".into()),
            })),
            _ => Err(self.wrong("type", "one of text, image, audio, resource, resource_link")),
        }
    }

    fn blob(&self) -> Result<Blob, ExecutorError> {
        Ok(Blob { data: self.bytes("data")?, mime_type: self.text_or("mimeType", ANY_BYTES)? })
    }

    fn resource(&self) -> Result<Resource, ExecutorError> {
        let has = |key| self.value.get(key).is_some_and(|value| *value != Json::Null);
        Ok(Resource {
            uri: self.text("uri")?,
            mime_type: self.text_or("mimeType", "")?,
            body: if has("blob") {
                ResourceBody::Blob(self.bytes("blob")?)
            } else {
                ResourceBody::Text(self.text("text")?)
            },
        })
    }

    fn text_or(&self, key: &str, missing: &str) -> Result<Arc<str>, ExecutorError> {
        if matches!(self.value.get(key), None | Some(Json::Null)) { Ok(missing.into()) } else { self.text(key) }
    }

    fn text(&self, key: &str) -> Result<Arc<str>, ExecutorError> {
        let value = self.value.get(key).and_then(Json::as_str);
        value.map(Into::into).ok_or_else(|| self.wrong(key, "a string"))
    }

    fn bytes(&self, key: &str) -> Result<Bytes, ExecutorError> {
        let decoded = self.value.get(key).and_then(Json::as_str).and_then(|text| STANDARD.decode(text).ok());
        decoded.map(Into::into).ok_or_else(|| self.wrong(key, "a string in base64"))
    }

    fn wrong(&self, key: &str, expected: &str) -> ExecutorError {
        invalid(&format!("{}.{key}", self.path), expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseLimits, parse};

    fn object(text: &str) -> Object {
        parse(text.as_bytes(), &ParseLimits::default()).unwrap().as_object().unwrap().clone()
    }

    fn output(text: &str) -> ToolOutput {
        read(object(text)).unwrap()
    }

    fn complaint(text: &str) -> String {
        read(object(text)).unwrap_err().to_string()
    }

    #[test]
    fn an_envelope_has_its_own_keys_and_says_more_than_details() {
        for text in
            [r#"{"content":"a"}"#, r#"{"structured":1}"#, r#"{"is_error":true}"#, r#"{"terminate":true,"details":1}"#]
        {
            assert!(is_envelope(&object(text)), "{text}");
        }
        for text in ["{}", r#"{"details":"x"}"#, r#"{"content":"a","id":7}"#, r#"{"_meta":{}}"#] {
            assert!(!is_envelope(&object(text)), "{text}");
        }
    }

    #[test]
    fn every_field_is_read_and_numbers_stay_exact() {
        let output = output(
            r#"{"content":"a","structured":{"n":12345678901234567890},"is_error":true,"terminate":false,"details":[1.50]}"#,
        );
        assert_eq!(output.content, [Content::text("a")]);
        assert_eq!(output.structured.unwrap().to_text(), r#"{"n":12345678901234567890}"#);
        assert_eq!(output.details.unwrap().to_text(), "[1.50]");
        assert_eq!((output.is_error, output.terminate), (true, Some(false)));
    }

    #[test]
    fn null_and_missing_are_the_same_and_a_value_without_content_is_its_own_text() {
        let nulls = r#"{"content":null,"structured":null,"is_error":null,"terminate":null,"details":null}"#;
        assert_eq!(output(nulls), ToolOutput::default());
        assert_eq!(output(r#"{"structured":{"a": 1.50}}"#).content, [Content::text(r#"{"a":1.50}"#)]);
        assert_eq!(output(r#"{"structured":{"a":1},"content":[]}"#).content, []);
        assert_eq!(output(r#"{"content":""}"#).content, []);
    }

    #[test]
    fn content_items_have_the_form_of_mcp() {
        let output = output(
            r#"{"content":[
                {"type":"text","text":"a","annotations":{}},
                {"type":"image","data":"AAH/","mimeType":"image/png"},
                {"type":"audio","data":"","mimeType":"audio/wav"},
                {"type":"resource","resource":{"uri":"a:b","text":"t"}},
                {"type":"resource","resource":{"uri":"a:c","mimeType":"x/y","blob":"AA=="}}]}"#,
        );
        let blob = |data: &'static [u8], mime_type: &str| Blob { data: data.into(), mime_type: mime_type.into() };
        let resource = |uri: &str, mime_type: &str, body| {
            Content::Resource(Resource { uri: uri.into(), mime_type: mime_type.into(), body })
        };
        let expected = [
            Content::text("a"),
            Content::Image(blob(&[0, 1, 255], "image/png")),
            Content::Audio(blob(&[], "audio/wav")),
            resource("a:b", "", ResourceBody::Text("t".into())),
            resource("a:c", "x/y", ResourceBody::Blob(Bytes::from_static(&[0]))),
        ];
        assert_eq!(output.content, expected);
    }

    #[test]
    fn a_wrong_type_is_named_by_its_place() {
        for (text, place) in [
            (r#"{"content":5}"#, "`content` must be a string or an array"),
            (r#"{"is_error":"no"}"#, "`is_error` must be true or false"),
            (r#"{"terminate":1}"#, "`terminate` must be true or false"),
            (r#"{"content":["a"]}"#, "`content[0].type` must be one of text, image, audio, resource, resource_link"),
            (r#"{"content":[{"type":"text"}]}"#, "`content[0].text` must be a string"),
            (
                r#"{"content":[{"type":"image","data":"?","mimeType":"a/b"}]}"#,
                "`content[0].data` must be a string in base64",
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"text":"a"}}]}"#,
                "`content[0].resource.uri` must be a string",
            ),
        ] {
            assert_eq!(complaint(text), format!("the tool's answer is not a valid result: {place}"));
        }
    }
}

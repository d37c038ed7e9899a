//! Results, cut where a message cannot hold them: a call that ran must not lose its answer to a limit of the transport.

use std::sync::Arc;

use bytes::Bytes;
use prost::Message as _;

use super::{encode, proto};
use crate::{
    call::ToolCall,
    content::{Content, Warning},
    excerpt::beginning,
    result::{CallResult, Trace},
    wording,
};

/// Room that a message needs beside its results.
const ENVELOPE_BYTES: usize = 64 << 10;

/// One result, for a message of its own.
pub(super) fn one(result: &CallResult, max_message_bytes: usize) -> proto::CallResult {
    share(result, encode::result(result), max_message_bytes.saturating_sub(ENVELOPE_BYTES))
}

/// Results that share one message with `beside` more bytes.
pub(super) fn all(results: &[Arc<CallResult>], beside: usize, max_message_bytes: usize) -> Vec<proto::CallResult> {
    let encoded: Vec<proto::CallResult> = results.iter().map(|result| encode::result(result)).collect();
    let room = max_message_bytes.saturating_sub(ENVELOPE_BYTES + beside);
    if encoded.iter().map(proto::CallResult::encoded_len).sum::<usize>() <= room {
        return encoded;
    }
    let most = room / results.len().max(1);
    results.iter().zip(encoded).map(|(result, encoded)| share(result, encoded, most)).collect()
}

fn share(result: &CallResult, encoded: proto::CallResult, most: usize) -> proto::CallResult {
    let size = encoded.encoded_len();
    if size <= most {
        return encoded;
    }
    // What a cut says of itself may be more than a small result has.
    Some(encode::result(&cut(result, size, most))).filter(|cut| cut.encoded_len() < size).unwrap_or(encoded)
}

/// What is left of a result that is too large: the beginning of its text, and no more than `most` bytes.
fn cut(result: &CallResult, size: usize, most: usize) -> CallResult {
    let message = format!("the result of {size} bytes does not fit the {most} that a message has for it, and was cut");
    let text = beginning(&result.text(), most / 4).to_owned();
    let mut small = result.clone();
    small.content = vec![Content::text(format!("{text}{}", wording::cut_marker(size)))];
    small.structured = None;
    small.details = None;
    small.trace = Trace::default();
    let name = beginning(&small.call.name, most / 8).into();
    small.call = Arc::new(ToolCall { name, arguments: Bytes::new(), ..(*small.call).clone() });
    if let Some(error) = &mut small.error {
        error.text = text;
        error.violations = Vec::new();
        error.developer = None;
    }
    small.warnings = vec![Warning { code: "output_truncated", message }];
    small
}

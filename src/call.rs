//! A tool call, as the model made it, and its place in a run.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;

/// One tool call. It is never changed: what the stages make of it stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Position in the batch, from 0. Run, batch and index name the call; its id is data (rule B5).
    pub index: u32,
    /// The model's id, or the one that was assigned where it gave none.
    pub id: Arc<str>,
    /// The tool's name as the model wrote it.
    pub name: Arc<str>,
    /// The model's text for the arguments, byte for byte.
    pub arguments: Bytes,
    /// The host's own key for this call; `None` takes one made from run, batch and index.
    pub idempotency_key: Option<Arc<str>>,
}

impl ToolCall {
    /// The host's own idempotency key, or one that no call at another place has.
    pub fn key_at(&self, place: &BatchPlace) -> Cow<'_, str> {
        let own = || {
            let BatchPlace { run, batch } = place;
            format!("{}/{}/{}", escaped(run), escaped(batch), self.index)
        };
        self.idempotency_key.as_deref().map_or_else(|| own().into(), Cow::Borrowed)
    }
}

/// So that no two places share a key.
fn escaped(id: &str) -> Cow<'_, str> {
    if id.contains(['%', '/']) { id.replace('%', "%25").replace('/', "%2F").into() } else { id.into() }
}

/// Spellings of "no id" that providers and their adapters send (rule B5).
const NO_ID: [&str; 4] = ["", "null", "None", "undefined"];

/// Whether the model's id names nothing, so that the booth assigns one.
pub fn is_blank_id(id: &str) -> bool {
    NO_ID.contains(&id)
}

/// The names of a run and of one of its batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPlace {
    /// The run.
    pub run: Arc<str>,
    /// The batch within the run.
    pub batch: Arc<str>,
}

/// A whole batch: all calls of one model response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The batch's id within its run.
    pub id: Arc<str>,
    /// The calls in the model's order.
    pub calls: Vec<ToolCall>,
    /// How the response ended.
    pub finish: Finish,
    /// Whether its calls may overlap; `None` takes the run's mode.
    pub mode: Option<Mode>,
}

/// Whether calls may overlap (rule B3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// They may.
    #[default]
    Parallel,
    /// One after the other, in call order.
    Sequential,
}

/// How the model's response ended (rule B4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It is whole.
    Complete,
    /// An output limit cut it off; nothing of it may run.
    CutOff,
    /// The provider used a word that the booth does not know. The response is taken as whole.
    Unknown(Arc<str>),
}

/// Words for a response that an output limit cut off, in lower case.
const CUT_OFF: [&str; 4] = ["length", "max_tokens", "model_length", "incomplete"];

/// Words for a response that is whole, in lower case.
const COMPLETE: [&str; 12] = [
    "",
    "stop",
    "end_turn",
    "tool_calls",
    "tool_use",
    "tool-calls",
    "function_call",
    "completed",
    "stop_sequence",
    "finish_reason_unspecified",
    "eos",
    "pause_turn",
];

impl Finish {
    /// Reads a provider's word, in any case.
    pub fn from_word(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        if CUT_OFF.contains(&lower.as_str()) {
            Self::CutOff
        } else if COMPLETE.contains(&lower.as_str()) {
            Self::Complete
        } else {
            Self::Unknown(word.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b4_cut_off_words_are_read_in_any_case_and_unknown_ones_are_kept() {
        for word in ["length", "MAX_TOKENS", "max_tokens", "model_length", "Incomplete"] {
            assert_eq!(Finish::from_word(word), Finish::CutOff, "{word}");
        }
        for word in ["stop", "tool_calls", "STOP", ""] {
            assert_eq!(Finish::from_word(word), Finish::Complete, "{word}");
        }
        assert_eq!(Finish::from_word("SAFETY"), Finish::Unknown("SAFETY".into()));
    }
}

//! The same call id twice in one batch (rule B5): the same call is answered twice and run once; another call is refused.

use std::{collections::HashMap, sync::Arc};

use crate::{
    call::{ToolCall, is_blank_id},
    json::{self, Json, ParseLimits},
};

/// The calls of a batch by the ids that the model gave them.
#[derive(Debug, Default)]
pub(super) struct Duplicates(HashMap<Arc<str>, Arc<ToolCall>>);

/// What a call is to the calls before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// A new call.
    New,
    /// The same as the call of this index.
    Same(u32),
    /// Another call with a taken id.
    Clash,
}

impl Duplicates {
    /// Judges the next call.
    pub(super) fn judge(&mut self, call: &Arc<ToolCall>) -> Kinship {
        if is_blank_id(&call.id) {
            return Kinship::New;
        }
        match self.0.get(&call.id) {
            Some(first) if is_same(first, call) => Kinship::Same(first.index),
            Some(_) => Kinship::Clash,
            None => {
                self.0.insert(Arc::clone(&call.id), Arc::clone(call));
                Kinship::New
            }
        }
    }
}

fn is_same(first: &ToolCall, second: &ToolCall) -> bool {
    let value = |call: &ToolCall| -> Option<Json> {
        let limits = ParseLimits { allow_nul: true, ..ParseLimits::default() };
        json::parse(&call.arguments, &limits).ok()
    };
    first.name == second.name
        && (first.arguments == second.arguments || value(first).is_some_and(|first| value(second) == Some(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u32, id: &str, name: &str, arguments: &'static str) -> Arc<ToolCall> {
        Arc::new(ToolCall {
            index,
            id: id.into(),
            name: name.into(),
            arguments: arguments.as_bytes().into(),
            idempotency_key: None,
        })
    }

    #[test]
    fn b5_equal_calls_under_one_id_are_one_call_and_others_clash() {
        let mut seen = Duplicates::default();
        assert_eq!(seen.judge(&call(0, "a", "f", r#"{"x":1,"y":2}"#)), Kinship::New);
        assert_eq!(seen.judge(&call(1, "a", "f", r#"{"y":2, "x":1.0}"#)), Kinship::Same(0));
        assert_eq!(seen.judge(&call(2, "a", "f", r#"{"x":1}"#)), Kinship::Clash);
        assert_eq!(seen.judge(&call(3, "a", "g", r#"{"x":1,"y":2}"#)), Kinship::Clash);
        assert_eq!(seen.judge(&call(4, "", "f", "{}")), Kinship::New);
        assert_eq!(seen.judge(&call(5, "", "f", "{}")), Kinship::New);
    }
}

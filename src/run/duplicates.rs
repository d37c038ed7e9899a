//! The same call id twice in one batch (rule B5): the same call is answered twice and run once; another call is refused.

use std::{cell::OnceCell, sync::Arc};

use crate::{
    call::{ToolCall, is_blank_id},
    json::{self, Json, ParseLimits},
};
use ahash::AHashMap;

/// The calls of a batch by the ids that the model gave them.
#[derive(Debug, Default)]
pub(super) struct Duplicates(AHashMap<Arc<str>, First>);

/// The first call of an id.
#[derive(Debug)]
struct First {
    call: Arc<ToolCall>,
    /// Its arguments, read when the id first comes again, and only once: there may be thousands of the same.
    arguments: OnceCell<Option<Json>>,
}

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
    /// Judges the next call. Names differ and mean the same tool where a contract lets them.
    pub(super) fn judge(&mut self, call: &Arc<ToolCall>, is_same_tool: impl Fn(&str, &str) -> bool) -> Kinship {
        if is_blank_id(&call.id) {
            return Kinship::New;
        }
        match self.0.get(&call.id) {
            Some(first) if is_same_tool(&first.call.name, &call.name) && first.has_same_arguments(call) => {
                Kinship::Same(first.call.index)
            }
            Some(_) => Kinship::Clash,
            None => {
                let first = First { call: Arc::clone(call), arguments: OnceCell::new() };
                self.0.insert(Arc::clone(&call.id), first);
                Kinship::New
            }
        }
    }
}

impl First {
    fn has_same_arguments(&self, other: &ToolCall) -> bool {
        if self.call.arguments == other.arguments {
            return true;
        }
        let first = self.arguments.get_or_init(|| arguments(&self.call)).as_ref();
        first.is_some_and(|first| arguments(other).as_ref() == Some(first))
    }
}

/// Whether two calls ask for the same.
pub(super) fn is_same_call(one: &ToolCall, other: &ToolCall) -> bool {
    one.name == other.name
        && (one.arguments == other.arguments
            || arguments(one).is_some_and(|arguments| Some(arguments) == self::arguments(other)))
}

fn arguments(call: &ToolCall) -> Option<Json> {
    let limits = ParseLimits { allow_nul: true, ..ParseLimits::default() };
    json::parse(&call.arguments, &limits).ok()
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

    fn judge(seen: &mut Duplicates, call: &Arc<ToolCall>) -> Kinship {
        seen.judge(call, |one, other| one == other || [one, other] == ["f", "functions.f"])
    }

    #[test]
    fn b5_equal_calls_under_one_id_are_one_call_and_others_clash() {
        let mut seen = Duplicates::default();
        assert_eq!(judge(&mut seen, &call(0, "a", "f", r#"{"x":1,"y":2}"#)), Kinship::New);
        assert_eq!(judge(&mut seen, &call(1, "a", "f", r#"{"y":2, "x":1.0}"#)), Kinship::Same(0));
        assert_eq!(judge(&mut seen, &call(2, "a", "f", r#"{"x":1}"#)), Kinship::Clash);
        assert_eq!(judge(&mut seen, &call(3, "a", "g", r#"{"x":1,"y":2}"#)), Kinship::Clash);
        assert_eq!(judge(&mut seen, &call(4, "a", "functions.f", r#"{"x":1,"y":2}"#)), Kinship::Same(0));
        assert_eq!(judge(&mut seen, &call(5, "", "f", "{}")), Kinship::New);
        assert_eq!(judge(&mut seen, &call(6, "", "f", "{}")), Kinship::New);
    }
}

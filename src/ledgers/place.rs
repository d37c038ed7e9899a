//! Where a key is found in a store: keys may be long and hold any character, places are short and hold bytes.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::ports::{KeyScope, OnceKey};

/// The place of a key: a digest of its parts, each with its length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place(pub(super) [u8; 32]);

impl Place {
    /// Where the key stands.
    pub(super) fn of(key: &OnceKey) -> Self {
        match &key.scope {
            KeyScope::Submission(tool) => Self::of_parts(&["submission", &key.task, tool, &key.key]),
            KeyScope::Call => Self::of_parts(&["call", &key.task, &key.key]),
        }
    }

    /// Where the submissions of a task are listed.
    pub(super) fn of_task(task: &str) -> Self {
        Self::of_parts(&["task", task])
    }

    fn of_parts(parts: &[&str]) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            // The length keeps `a`, `bc` from being `ab`, `c`.
            digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            digest.update(part.as_bytes());
        }
        Self(digest.finalize().into())
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third, ..] = self.0;
        write!(f, "Place({first:02x}{second:02x}{third:02x})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_one_place_if_and_only_if_they_are_the_same() {
        let key = |task: &str, scope: KeyScope, key: &str| OnceKey { task: task.into(), scope, key: key.into() };
        let tool = |tool: &str| KeyScope::Submission(tool.into());
        let keys = [
            key("a", tool("b"), "c"),
            key("ab", tool(""), "c"),
            key("a", tool("bc"), ""),
            key("", tool("ab"), "c"),
            key("a", KeyScope::Call, "c"),
            key("ac", KeyScope::Call, ""),
            key("a\0b", tool(""), "c"),
            key("a", tool("\0b"), "c"),
        ];
        for (first, one) in keys.iter().enumerate() {
            for (second, other) in keys.iter().enumerate() {
                assert_eq!(Place::of(one) == Place::of(other), first == second, "{one:?}, {other:?}");
            }
        }
        assert_ne!(Place::of_task("a"), Place::of_task("b"));
    }
}

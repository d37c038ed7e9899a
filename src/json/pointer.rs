//! Places inside a JSON value, as JSON Pointers (RFC 6901) and as the dotted form that models read.

use std::fmt;

use super::Json;
use crate::excerpt::excerpt;

/// A place inside a JSON value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// The place of the whole value.
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads `/a/b~1c`; the empty text is the root. `None` if it neither is empty nor starts with `/`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::root());
        }
        let steps = text.strip_prefix('/')?.split('/');
        Some(Self(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// One step further down.
    #[must_use]
    pub fn join(&self, step: impl fmt::Display) -> Self {
        let mut steps = self.0.clone();
        steps.push(step.to_string());
        Self(steps)
    }

    /// The place that is `inner` as seen from here.
    #[must_use]
    pub fn append(&self, inner: &Self) -> Self {
        Self(self.0.iter().chain(&inner.0).cloned().collect())
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[String] {
        &self.0
    }

    /// The place above and the last step; `None` at the root.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let (last, above) = self.0.split_last()?;
        Some((Self(above.to_vec()), last))
    }

    /// Whether this place is `other` or inside it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The steps with dots between them, as models read them; `root` for the whole.
    pub fn dotted(&self) -> String {
        if self.0.is_empty() {
            "root".to_owned()
        } else {
            self.0.iter().map(|step| excerpt(step)).collect::<Vec<_>>().join(".")
        }
    }

    /// The value at this place.
    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(value, |value, step| match value {
            Json::Object(members) => members.get(step.as_str()),
            Json::Array(items) => items.get(array_index(step)?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }

    /// The value at this place.
    pub fn find_mut<'a>(&self, value: &'a mut Json) -> Option<&'a mut Json> {
        self.0.iter().try_fold(value, |value, step| match value {
            Json::Object(members) => members.get_mut(step.as_str()),
            Json::Array(items) => items.get_mut(array_index(step)?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }
}

/// RFC 6901 allows no leading zeros and no sign.
fn array_index(step: &str) -> Option<usize> {
    let plain = step.bytes().all(|byte| byte.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    if plain { step.parse().ok() } else { None }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_reads_back_what_it_prints() {
        let pointer = Pointer::root().join("a/b").join("c~d").join(3);
        assert_eq!(pointer.to_string(), "/a~1b/c~0d/3");
        assert_eq!(Pointer::parse("/a~1b/c~0d/3"), Some(pointer));
        assert_eq!(Pointer::parse("a"), None);
    }

    #[test]
    fn array_steps_are_plain_numbers_only() {
        let value = Json::Array(vec![Json::Null, Json::Bool(true)]);
        assert_eq!(Pointer::root().join("1").find(&value), Some(&Json::Bool(true)));
        for step in ["01", "+1", "-", "2"] {
            assert_eq!(Pointer::root().join(step).find(&value), None, "{step}");
        }
    }
}

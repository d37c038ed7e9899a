//! Places inside a JSON value, as JSON Pointers (RFC 6901) and as the dotted form that models read.

use std::{
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::Json;
use crate::excerpt::excerpt;

/// A place inside a JSON value. It is cheap to clone, and so is a step further down: whoever walks through a value has a place at
/// each step, and speaks of few.
#[derive(Clone, Default)]
pub struct Pointer(Option<Arc<Step>>);

struct Step {
    above: Pointer,
    name: Box<str>,
    /// How many steps there are, with this one.
    length: usize,
}

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
        Some(steps.fold(Self::root(), |above, step| above.join(step.replace("~1", "/").replace("~0", "~"))))
    }

    /// One step further down.
    #[must_use]
    pub fn join(&self, step: impl fmt::Display) -> Self {
        let (name, length) = (step.to_string().into(), self.len() + 1);
        Self(Some(Arc::new(Step { above: self.clone(), name, length })))
    }

    /// The place that is `inner` as seen from here.
    #[must_use]
    pub fn append(&self, inner: &Self) -> Self {
        inner.steps().into_iter().fold(self.clone(), |above, step| above.join(step))
    }

    /// The steps from the root.
    pub fn steps(&self) -> Vec<&str> {
        let mut steps = Vec::with_capacity(self.len());
        let mut place = self;
        while let Some(step) = &place.0 {
            steps.push(&*step.name);
            place = &step.above;
        }
        steps.reverse();
        steps
    }

    /// How many steps it is from the root.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |step| step.length)
    }

    /// Whether it is the place of the whole value.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The place above and the last step; `None` at the root.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let step = self.0.as_ref()?;
        Some((step.above.clone(), &step.name))
    }

    /// Whether this place is `other` or inside it.
    pub fn is_within(&self, other: &Self) -> bool {
        let mut place = self;
        while let Some(step) = place.0.as_ref().filter(|step| step.length > other.len()) {
            place = &step.above;
        }
        place == other
    }

    /// The steps with dots between them, as models read them; `root` for the whole.
    pub fn dotted(&self) -> String {
        if self.is_empty() {
            "root".to_owned()
        } else {
            self.steps().into_iter().map(excerpt).collect::<Vec<_>>().join(".")
        }
    }

    /// The value at this place.
    pub fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        self.steps().into_iter().try_fold(value, |value, step| match value {
            Json::Object(members) => members.get(step),
            Json::Array(items) => items.get(array_index(step)?),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        })
    }

    /// The value at this place.
    pub fn find_mut<'a>(&self, value: &'a mut Json) -> Option<&'a mut Json> {
        self.steps().into_iter().try_fold(value, |value, step| match value {
            Json::Object(members) => members.get_mut(step),
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

/// Step by step, and not each inside of the one below: a text from outside can have half a million.
impl Drop for Pointer {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut step) = next.and_then(Arc::into_inner) {
            next = step.above.0.take();
        }
    }
}

impl PartialEq for Pointer {
    fn eq(&self, other: &Self) -> bool {
        let (mut left, mut right) = (self, other);
        loop {
            match (&left.0, &right.0) {
                (Some(one), Some(two)) if Arc::ptr_eq(one, two) => return true,
                (Some(one), Some(two)) if one.length == two.length && one.name == two.name => {
                    (left, right) = (&one.above, &two.above);
                }
                (one, two) => return one.is_none() && two.is_none(),
            }
        }
    }
}

impl Eq for Pointer {}

impl Hash for Pointer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.steps().hash(state);
    }
}

impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pointer").field(&self.to_string()).finish()
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.steps().into_iter().try_for_each(|step| write!(f, "/{}", step.replace('~', "~0").replace('/', "~1")))
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
    fn places_are_the_same_and_within_each_other_whoever_made_them() {
        let [root, a, b] = ["", "/a", "/a/b"].map(|text| Pointer::parse(text).unwrap());
        assert_eq!(a.join("b"), b);
        assert_ne!(a, b);
        assert_ne!(a.join("c"), b);
        assert_ne!(Pointer::parse("/c/b").unwrap(), b);
        assert!(b.is_within(&a) && b.is_within(&b) && b.is_within(&root) && !a.is_within(&b));
        assert!(!Pointer::parse("/ab").unwrap().is_within(&a));
        assert_eq!((a.append(&b).to_string(), root.len(), b.len()), ("/a/a/b".to_owned(), 0, 2));
        let set = std::collections::HashSet::from([a.join("b"), a, root]);
        assert!(set.contains(&b));
    }

    #[test]
    fn a_place_of_half_a_million_steps_is_read_and_let_go() {
        let place = Pointer::parse(&"/a".repeat(500_000)).unwrap();
        assert_eq!((place.len(), place.clone() == place), (500_000, true));
        assert_eq!(place.find(&Json::Null), None);
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

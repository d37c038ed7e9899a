//! A value that many hold, and its text, which is made once.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;

use super::Json;

/// A value that is never changed any more. Cloning it is cheap, and so is its text from the second time on: on its way from a
/// model to a tool and back to the host the same value is written several times.
#[derive(Clone)]
pub struct SharedJson(Arc<Kept>);

struct Kept {
    value: Json,
    holds: Holds,
    text: OnceLock<Bytes>,
}

/// What a value may hold, as far as its text has shown: nobody has to look for the rest.
#[derive(Clone, Copy)]
pub(super) struct Holds {
    pub(super) tags: bool,
    pub(super) fractions: bool,
}

impl SharedJson {
    /// A value that was read, and its compact text if that is known.
    pub(super) fn read(value: Json, holds: Holds, written: Option<Bytes>) -> Self {
        let text = written.map_or_else(OnceLock::new, OnceLock::from);
        Self(Arc::new(Kept { value, holds, text }))
    }

    /// Whether a text in it may hold a `<`.
    pub fn may_hold_tags(&self) -> bool {
        self.0.holds.tags
    }

    /// Whether a number in it may be spelled with a fraction or an exponent.
    pub fn may_hold_fractions(&self) -> bool {
        self.0.holds.fractions
    }

    /// The compact text, as bytes.
    pub fn bytes(&self) -> &Bytes {
        self.0.text.get_or_init(|| self.0.value.to_text().into())
    }

    /// The compact text.
    pub fn text(&self) -> &str {
        // It is what a parser has read, or what was written.
        std::str::from_utf8(self.bytes()).unwrap_or_default()
    }

    /// Whether this is the same value in the same place, so that nothing needs to be compared.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Json> for SharedJson {
    fn from(value: Json) -> Self {
        Self::read(value, Holds { tags: true, fractions: true }, None)
    }
}

impl Deref for SharedJson {
    type Target = Json;

    fn deref(&self) -> &Json {
        &self.0.value
    }
}

impl PartialEq for SharedJson {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl Eq for SharedJson {}

impl fmt::Debug for SharedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{ParseLimits, parse, parse_shared};

    #[test]
    fn the_text_is_the_compact_one_whether_it_was_kept_or_made() {
        for (text, is_kept) in [
            (r#"{"a":[1,-0.50,1E5,"x/y",null,true],"b":{}}"#, true),
            (r#"{"a": 1}"#, false),
            (r#" {"a":1}"#, false),
            (
                r#"{"a":1}
"#,
                false,
            ),
            (r#"{"a":"\/\u0041"}"#, false),
            ("{\"a\":\"\u{2028}é\"}", false),
        ] {
            let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
            let shared = parse_shared(&bytes, &ParseLimits::default()).unwrap();
            assert_eq!(shared.0.text.get().is_some(), is_kept, "{text}");
            let made = parse(text.as_bytes(), &ParseLimits::default()).unwrap().to_text();
            assert_eq!(shared.text(), made, "{text}");
        }
    }

    #[test]
    fn what_a_text_has_not_shown_is_not_in_its_value() {
        for (text, tags, fractions) in [
            (r#"{"a": [1, -20, "b"]}"#, false, false),
            (r#"["a \"b\" \n"]"#, false, false),
            (r#"["<"]"#, true, false),
            (r#"["\u003c"]"#, true, false),
            ("[1.0]", false, true),
            ("[1e2]", false, true),
            ("[-1E2]", false, true),
        ] {
            let shared = parse_shared(&bytes::Bytes::from(text), &ParseLimits::default()).unwrap();
            assert_eq!((shared.may_hold_tags(), shared.may_hold_fractions()), (tags, fractions), "{text}");
        }
        let made = super::SharedJson::from(crate::json::Json::Null);
        assert!(made.may_hold_tags() && made.may_hold_fractions(), "nobody knows");
    }
}

//! Text that is almost JSON, read where it has exactly one reading (rule P3).
//!
//! The parser has refused the text before it comes here, so a good text costs nothing. Each repair says beside its code why there
//! is no second reading. Nothing is closed, inserted or guessed: a text that ends inside of something was cut.

mod op;
mod reader;
mod string;
mod wrapping;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use super::{Json, ParseError, ParseErrorKind, ParseLimits, Pointer};
use op::TextOp;
use reader::Tolerant;

/// What the text is, which decides what may stand around its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All that a model wrote as arguments: perhaps fenced, with special tokens behind it, repeated, or encoded twice.
    Whole,
    /// The text of one value, which a string held.
    Nested,
}

/// A value that was read in spite of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The value. `null` for a whole text that is blank but for what stands around it.
    pub value: Json,
    /// What was repaired: first what concerns the text, in a fixed order, then places, in the order of the text.
    pub repairs: Vec<TextRepair>,
}

/// One kind of repair, at one place.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextRepair {
    /// The member or value that was changed; the root for what concerns the text.
    pub path: Pointer,
    /// What was done.
    pub op: &'static str,
    /// What there was.
    pub from: &'static str,
    /// What came of it.
    pub to: &'static str,
    /// Whether something was destroyed.
    pub lossy: bool,
}

/// Reads a text that the parser refuses. A text that it takes is read as the same value, without repairs, unless it is a whole
/// text that holds its object as JSON text.
pub fn parse_repaired(text: &[u8], limits: &ParseLimits, extent: Extent) -> Result<Repaired, ParseError> {
    let read = Read::of(text, limits, extent)?;
    match (&read.value, extent) {
        (Json::String(inner), Extent::Whole) => decoded(text, &Arc::clone(inner), read, limits),
        _ => Ok(read.finished()),
    }
}

/// The value of one text, before a string in it is decoded.
struct Read {
    value: Json,
    /// Where the value starts in the text.
    start: usize,
    ops: BTreeSet<TextOp>,
    places: Vec<TextRepair>,
}

impl Read {
    fn of(text: &[u8], limits: &ParseLimits, extent: Extent) -> Result<Self, ParseError> {
        let mut reader = Tolerant::new(limits);
        match reader.document(text, extent) {
            Ok((value, start)) => {
                Ok(Self { value, start, ops: reader.ops, places: reader.places.into_iter().collect() })
            }
            Err(kind) => Err(ParseError::at(text, reader.strict.at, kind, reader.path())),
        }
    }

    fn repairs(&self) -> impl Iterator<Item = TextRepair> + '_ {
        self.ops.iter().map(|op| op.at(Pointer::root())).chain(self.places.iter().cloned())
    }

    fn finished(self) -> Repaired {
        Repaired { repairs: self.repairs().collect(), value: self.value }
    }
}

/// The object whose JSON text the whole text is. Arguments are an object and never a text, so a text can only be meant as the
/// object that it spells; once, because nobody encodes three times by accident. Any other text stays what it is.
fn decoded(text: &[u8], inner: &str, outer: Read, limits: &ParseLimits) -> Result<Repaired, ParseError> {
    let place = |kind, path| ParseError::at(text, outer.start, kind, path);
    let with = |value, op: TextOp, inner: Vec<TextRepair>| {
        let mut repairs: Vec<TextRepair> = outer.repairs().chain([op.at(Pointer::root())]).collect();
        // What was done to both texts is listed once.
        let more: Vec<TextRepair> = inner.into_iter().filter(|repair| !repairs.contains(repair)).collect();
        repairs.extend(more);
        Ok(Repaired { value, repairs })
    };
    if inner.trim_ascii().is_empty() {
        return with(Json::empty_object(), TextOp::EmptyTextToObject, Vec::new());
    }
    match Read::of(inner.as_bytes(), limits, Extent::Whole) {
        // A replaced surrogate may have stood in a key, and a changed key may be another one.
        Ok(read) if read.value.as_object().is_some() && outer.places.is_empty() => {
            let repairs = read.repairs().collect();
            with(read.value, TextOp::JsonStringToObject, repairs)
        }
        Ok(read) if read.value.as_object().is_some() => Err(place(ParseErrorKind::InvalidUnicode, Pointer::root())),
        Err(error) if wrapping::opens_object(inner) => Err(place(error.kind, error.path)),
        Ok(_) | Err(_) => Ok(outer.finished()),
    }
}

//! What is repaired, what is not, and what holds for every text.

mod properties;
mod value;
mod wrapping;

use super::*;

fn read(text: &str) -> Result<Repaired, ParseError> {
    parse_repaired(text.as_bytes(), &ParseLimits::default(), Extent::Whole)
}

/// The value as text, and what was done for it.
fn repaired(text: &str) -> (String, Vec<String>) {
    let read = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let place = |repair: &TextRepair| [repair.op, &repair.path.to_string()].join(" ").trim_end().to_owned();
    (read.value.to_text(), read.repairs.iter().map(place).collect())
}

fn refusal(text: &str) -> ParseErrorKind {
    read(text).map_or_else(|error| error.kind, |read| panic!("{text} is read as {}", read.value.to_text()))
}

fn all(cases: &[(&str, &str, &[&str])]) {
    for (text, value, repairs) in cases {
        let (read, done) = repaired(text);
        assert_eq!((read.as_str(), done), (*value, repairs.iter().map(|op| (*op).to_owned()).collect()), "{text}");
    }
}

fn none(kind: &ParseErrorKind, texts: &[&str]) {
    for text in texts {
        assert_eq!(refusal(text), *kind, "{text}");
    }
}

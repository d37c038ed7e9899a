//! A large JSON list, item by item: so that ten thousand contracts are never all in memory as trees, and are read by all cores.
//!
//! Only brackets, strings and commas are looked at. A text that is not JSON may be split anywhere: then some part of it cannot be
//! read, and whoever reads the whole says why.

use super::{Lines, MAX_BYTES, MAX_DEPTH, MAX_VALUES, Marked, Syntax};
use crate::json::{ParseLimits, parse};

/// Bytes of a text that is worth it.
const LARGE: usize = 64 << 10;

/// A document whose list is not read yet.
#[derive(Debug)]
pub struct Split<'t> {
    /// The document; its list is empty.
    pub around: Marked,
    /// The items of the list.
    pub items: Vec<Item<'t>>,
}

/// An item that is not read yet.
#[derive(Debug, Clone, Copy)]
pub struct Item<'t> {
    text: &'t str,
    /// The line where it starts, from 1.
    pub line: usize,
}

impl Item<'_> {
    /// Reads it. `None`: it is no JSON object, or too much.
    pub fn read(&self) -> Option<Marked> {
        read(self.text, self.line)
    }
}

fn read(text: &str, line: usize) -> Option<Marked> {
    // A list may itself stand inside of an object.
    let limits = ParseLimits { max_depth: MAX_DEPTH - 2, max_bytes: MAX_BYTES, max_keys: MAX_VALUES, allow_nul: false };
    let value = parse(text.as_bytes(), &limits).ok()?;
    Some(Marked { lines: Lines::of_json(text, line), value })
}

/// Splits a large text at its list of objects: the text itself, or what stands in it under a name. `None` where there is no such
/// list, or where the text has to be read whole.
pub fn split<'t>(text: &'t [u8], syntax: Syntax, name: &str) -> Option<Split<'t>> {
    if syntax != Syntax::Json || !(LARGE..=MAX_BYTES).contains(&text.len()) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let mut scan = Scan { text, at: 0, line: 1 };
    scan.blanks();
    if scan.peek()? == b'{' {
        scan.member(name)?;
    }
    let start = scan.at;
    let items = scan.items()?;
    // As long as before, and with its lines, so that what comes after has them, too.
    let blanked = text.get(start + 1..scan.at - 1)?.bytes().filter(|byte| *byte == b'\n').map(char::from);
    let around: String = text.get(..=start)?.chars().chain(blanked).chain(text.get(scan.at - 1..)?.chars()).collect();
    Some(Split { around: read(&around, 1)?, items })
}

/// Passes over JSON.
struct Scan<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += usize::from(byte == b'\n');
        Some(byte)
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.next();
        }
    }

    /// Goes to the value of a member of the object that is next.
    fn member(&mut self, name: &str) -> Option<()> {
        self.next()?;
        loop {
            self.blanks();
            let key = self.value()?;
            self.blanks();
            self.next().filter(|byte| *byte == b':')?;
            self.blanks();
            if key.strip_prefix('"')?.strip_suffix('"')? == name {
                return Some(());
            }
            self.value()?;
            self.blanks();
            self.next().filter(|byte| *byte == b',')?;
        }
    }

    /// The items of the array that is next.
    fn items(&mut self) -> Option<Vec<Item<'t>>> {
        self.next().filter(|byte| *byte == b'[')?;
        let mut items = Vec::new();
        loop {
            self.blanks();
            let line = self.line;
            let text = self.value().filter(|text| text.starts_with('{'))?;
            items.push(Item { text, line });
            self.blanks();
            match self.next()? {
                b',' => {}
                b']' => return Some(items),
                _ => return None,
            }
        }
    }

    /// Passes over a value.
    fn value(&mut self) -> Option<&'t str> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.checked_sub(1)?,
                b',' | b':' if depth == 0 => return None,
                _ => {}
            }
            self.next()?;
            let is_over =
                depth == 0 && matches!(self.peek()?, b',' | b':' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
            if is_over {
                return self.text.get(start..self.at);
            }
        }
    }

    /// To the quotation mark that ends the string that is next.
    fn string(&mut self) -> Option<()> {
        self.next()?;
        loop {
            match self.peek()? {
                b'"' => return Some(()),
                b'\\' => self.at += 2,
                _ => {
                    self.next()?;
                }
            }
        }
    }
}

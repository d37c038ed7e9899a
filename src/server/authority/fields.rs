//! The fields of header blocks, byte by byte (RFC 7541): which of them is `:authority`, and where its value stands.
//!
//! Of the header table only one fact matters, which of its entries are called `:authority`: a bit for each of the newest 128, and
//! no entry of a table of 4,096 bytes, the largest that the server allows, is older than that.

use super::{Foreign, value::Value};

/// The name, as it is.
const PLAIN: &[u8] = b":authority";
/// The name in Huffman's code.
const HUFFMAN: &[u8] = &[0xb8, 0x3b, 0x53, 0x39, 0xec, 0x32, 0x7d, 0x7f];
/// The name's place in the static table.
const STATIC_AUTHORITY: u32 = 1;
/// The newest entry of the header table has this index.
const NEWEST: u32 = 62;
/// Bytes of an integer behind its prefix, at most; the HTTP/2 library takes no more either.
const MORE_BYTES: u8 = 4;
/// Marks a string in Huffman's code.
const CODED: u8 = 0x80;

/// The fields of a connection, from the first to the last.
#[derive(Debug, Default)]
pub(super) struct Fields {
    place: Place,
    /// Which entries of the header table are called `:authority`: the newest one is the lowest bit.
    table: u128,
    /// The field that is being read goes into the header table,
    inserted: bool,
    /// and is called `:authority`.
    is_authority: bool,
}

/// Where the next byte stands.
#[derive(Debug, Clone, Copy, Default)]
enum Place {
    /// Before a field.
    #[default]
    Between,
    /// In an integer that did not fit its prefix.
    Integer { of: Integer, value: u32, seen: u8 },
    /// Before the length of a name.
    NameLength,
    /// In a name, of which so much is left, after so many bytes; while these are the bytes of the name that is looked for.
    Name { left: u32, matched: Option<(&'static [u8], usize)> },
    /// Before the length of a value.
    ValueLength,
    /// In a value, of which so much is left.
    Value { left: u32, value: Value },
}

/// What an integer says.
#[derive(Debug, Clone, Copy)]
enum Integer {
    /// Nothing that matters here: a whole field by its index, or the size of the table.
    Ignored,
    /// The index of a field's name.
    NameIndex,
    /// The length of a name.
    NameLength { coded: bool },
    /// The length of a value.
    ValueLength { coded: bool },
}

impl Fields {
    /// Whether a header block may end here.
    pub(super) fn is_between(&self) -> bool {
        matches!(self.place, Place::Between)
    }

    /// Reads the next byte, and overwrites it where it is wrong.
    pub(super) fn repair(&mut self, byte: &mut u8) -> Result<(), Foreign> {
        self.place = match self.place {
            Place::Between => self.begin(*byte),
            Place::Integer { of, value, seen } => {
                let value = value + (u32::from(*byte & 0x7f) << (7 * seen));
                let seen = seen + 1;
                match *byte & 0x80 {
                    0 => self.integer(of, value),
                    _ if seen == MORE_BYTES => return Err(Foreign),
                    _ => Place::Integer { of, value, seen },
                }
            }
            Place::NameLength => self.prefixed(*byte, 7, Integer::NameLength { coded: *byte & CODED != 0 }),
            Place::Name { left, matched } => self.name(left, matched, *byte),
            Place::ValueLength => self.prefixed(*byte, 7, Integer::ValueLength { coded: *byte & CODED != 0 }),
            Place::Value { left, mut value } => {
                if self.is_authority {
                    *byte = value.repaired(*byte);
                }
                self.value(left - 1, value)
            }
        };
        Ok(())
    }

    /// The first byte of a field says what kind of field it is.
    fn begin(&mut self, byte: u8) -> Place {
        self.inserted = byte & 0xc0 == 0x40;
        match byte {
            0x80.. => self.prefixed(byte, 7, Integer::Ignored),
            0x40.. => self.prefixed(byte, 6, Integer::NameIndex),
            0x20.. => self.prefixed(byte, 5, Integer::Ignored),
            _ => self.prefixed(byte, 4, Integer::NameIndex),
        }
    }

    /// An integer whose first bits are the last ones of a byte.
    fn prefixed(&mut self, byte: u8, bits: u8, of: Integer) -> Place {
        let most = (1 << bits) - 1;
        let value = u32::from(byte & most);
        if value < u32::from(most) { self.integer(of, value) } else { Place::Integer { of, value, seen: 0 } }
    }

    /// What comes after an integer.
    fn integer(&mut self, of: Integer, value: u32) -> Place {
        match of {
            Integer::Ignored => Place::Between,
            Integer::NameIndex if value == 0 => Place::NameLength,
            Integer::NameIndex => {
                let is_authority = |age| self.table.checked_shr(age).is_some_and(|table| table & 1 == 1);
                self.is_authority = value == STATIC_AUTHORITY || value.checked_sub(NEWEST).is_some_and(is_authority);
                Place::ValueLength
            }
            Integer::NameLength { coded } => {
                let wanted = if coded { HUFFMAN } else { PLAIN };
                let matched = (u32::try_from(wanted.len()) == Ok(value)).then_some((wanted, 0));
                self.is_authority = false;
                if value == 0 { Place::ValueLength } else { Place::Name { left: value, matched } }
            }
            Integer::ValueLength { coded } => self.value(value, Value::new(coded)),
        }
    }

    fn name(&mut self, left: u32, matched: Option<(&'static [u8], usize)>, byte: u8) -> Place {
        let matched = matched.filter(|(wanted, seen)| wanted.get(*seen) == Some(&byte));
        if left > 1 {
            return Place::Name { left: left - 1, matched: matched.map(|(wanted, seen)| (wanted, seen + 1)) };
        }
        self.is_authority = matched.is_some();
        Place::ValueLength
    }

    /// More of a value, or the end of its field.
    fn value(&mut self, left: u32, value: Value) -> Place {
        if left > 0 {
            return Place::Value { left, value };
        }
        if self.inserted {
            self.table = self.table << 1 | u128::from(self.is_authority);
        }
        Place::Between
    }
}

//! The value of an `:authority`, as it is or in Huffman's code: what is illegal is overwritten, and the length stays.

/// A value while it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    state: State,
    /// A colon came, as before a port: one is legal.
    has_colon: bool,
    /// The symbol that is being read; `None`: the value is not coded.
    symbol: Option<Symbol>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// All was legal so far.
    Legal,
    /// Something was not: from there on only what is legal everywhere stays.
    Repairing,
    /// An address in brackets has rules of its own, and is no path: it is left as it is.
    Bracketed,
}

impl Value {
    pub(super) fn new(coded: bool) -> Self {
        Self { state: State::Legal, has_colon: false, symbol: coded.then(Symbol::default) }
    }

    /// The next byte, as it should be.
    pub(super) fn repaired(&mut self, byte: u8) -> u8 {
        match self.symbol {
            None => self.repaired_plain(byte),
            Some(symbol) => self.repaired_coded(symbol, byte),
        }
    }

    fn repaired_plain(&mut self, byte: u8) -> u8 {
        if self.state == State::Legal {
            self.state = match byte {
                b'[' => State::Bracketed,
                b':' if !self.has_colon => State::Legal,
                _ if is_unreserved(byte) || b"!$&'()*+,;=".contains(&byte) => State::Legal,
                _ => State::Repairing,
            };
            self.has_colon |= byte == b':';
        }
        if self.state == State::Repairing && !is_unreserved(byte) { b'.' } else { byte }
    }

    /// In Huffman's code symbols stand across bytes, and what went before is gone already: each bit is decided when it comes.
    /// `%` and space become `.` and `-`, a slash becomes `3`, and a second colon becomes `B`: of the symbols of the same length
    /// those that differ in one late bit. Other symbols have no such neighbour, and no client sends them.
    fn repaired_coded(&mut self, mut symbol: Symbol, byte: u8) -> u8 {
        let mut repaired = 0;
        for position in (0..8).rev() {
            let mut bit = byte >> position & 1;
            let is_illegal = match symbol.so_far() {
                (4, 0b0101) | (5, 0b0_1100) => bit == 0,
                (6, 0b10_1110) if bit == 0 => {
                    let is_second = self.has_colon || self.state == State::Repairing;
                    self.has_colon = true;
                    is_second
                }
                _ => false,
            };
            if is_illegal && self.state != State::Bracketed {
                self.state = State::Repairing;
                bit = 1;
            }
            let ended = symbol.take(bit);
            if ended == Some(OPENING_BRACKET) && self.state == State::Legal {
                self.state = State::Bracketed;
            }
            repaired = repaired << 1 | bit;
        }
        self.symbol = Some(symbol);
        repaired
    }
}

/// Legal in every part of an authority (RFC 3986, section 2.3).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// Bits of `[`, and how many.
const OPENING_BRACKET: (u8, u32) = (13, 0x1ffb);

/// How many symbols of Huffman's code have 0, 1, 2, ... bits (RFC 7541, appendix B). The code is canonical: that is all that it
/// takes to tell where a symbol ends.
const SYMBOLS: [u32; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];

/// A symbol of Huffman's code while its bits come.
#[derive(Debug, Clone, Copy, Default)]
struct Symbol {
    bits: u8,
    code: u32,
    /// The first code of this length.
    first: u32,
}

impl Symbol {
    /// How many bits there are, and which.
    fn so_far(self) -> (u8, u32) {
        (self.bits, self.code)
    }

    /// Takes a bit; returns the symbol if it ends with it.
    fn take(&mut self, bit: u8) -> Option<(u8, u32)> {
        let shorter = SYMBOLS.get(usize::from(self.bits)).copied().unwrap_or_default();
        self.first = (self.first + shorter) << 1;
        self.code = self.code << 1 | u32::from(bit);
        self.bits += 1;
        let symbols = SYMBOLS.get(usize::from(self.bits)).copied().unwrap_or_default();
        let ended = (self.code.wrapping_sub(self.first) < symbols).then_some((self.bits, self.code));
        if ended.is_some() {
            *self = Self::default();
        }
        ended
    }
}

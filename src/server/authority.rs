//! Repairs the `:authority` of clients whose own is no authority, in place, before anybody reads it.
//!
//! gRPC's C core, and so every Python client, sends the percent-encoded path of a Unix socket as `:authority`
//! (`unix:///run/booth.sock` becomes `run%2Fbooth.sock`). The HTTP/2 library takes no `%` in a host and resets such a stream, so no
//! default Python client could use an absolute path. This walks the frames of a connection (RFC 9113) and the fields of
//! their header blocks (RFC 7541), and overwrites what is illegal in that one value. The value keeps its length: a longer
//! one would make the server's header table evict entries that the client still refers to. Nothing is buffered, and nobody
//! uses the authority afterwards.
//!
//! What is not understood is passed on as it is, from there to the end of the connection: the HTTP/2 library has the last word.

mod fields;
mod value;

use std::mem;

use fields::Fields;

/// What a client says first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes before the payload of a frame.
const HEAD_BYTES: usize = 9;
/// Frames that carry header blocks, and one that no client may send.
const HEADERS: u8 = 1;
const PUSH_PROMISE: u8 = 5;
const CONTINUATION: u8 = 9;
/// Flags of those frames.
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;
/// Bytes of a priority.
const PRIORITY_BYTES: usize = 5;

/// Something that this does not understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Foreign;

/// The repair of one connection.
#[derive(Debug)]
pub(super) struct AuthorityRepair {
    place: Place,
    /// The stream whose header block goes on in the next frame.
    unfinished: Option<u32>,
    fields: Fields,
}

/// Where in the connection the next byte stands.
#[derive(Debug)]
enum Place {
    /// In the preface, after so many bytes.
    Preface(usize),
    /// In the head of a frame, after so many bytes.
    Head([u8; HEAD_BYTES], usize),
    /// In the payload of a frame.
    Payload(Payload),
    /// Behind something that was not understood.
    Beyond,
}

/// What is left of a frame's payload, in the order in which it comes.
#[derive(Debug, Clone, Copy)]
struct Payload {
    /// The length of the padding comes next.
    padded: bool,
    /// Bytes of priority.
    priority: usize,
    /// Bytes of a header block.
    fragment: usize,
    /// Bytes that are nothing to us.
    rest: usize,
    /// The header block ends with the fragment.
    ends_block: bool,
}

impl AuthorityRepair {
    /// A connection on which nothing was said.
    pub(super) fn new() -> Self {
        Self { place: Place::Preface(0), unfinished: None, fields: Fields::default() }
    }

    /// Repairs the next bytes of the connection, however they are split.
    pub(super) fn repair(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let Ok((taken, place)) = self.step(bytes) else {
                self.place = Place::Beyond;
                return;
            };
            self.place = place;
            bytes = mem::take(&mut bytes).get_mut(taken..).unwrap_or_default();
        }
    }

    /// Takes some of the bytes, and says where the next one stands.
    fn step(&mut self, bytes: &mut [u8]) -> Result<(usize, Place), Foreign> {
        match self.place {
            Place::Preface(seen) => {
                let expected = PREFACE.get(seen..).unwrap_or_default();
                let taken = expected.len().min(bytes.len());
                if expected.get(..taken) != bytes.get(..taken) {
                    return Err(Foreign);
                }
                let seen = seen + taken;
                Ok((taken, if seen == PREFACE.len() { Place::head() } else { Place::Preface(seen) }))
            }
            Place::Head(mut head, seen) => {
                let missing = head.get_mut(seen..).unwrap_or_default();
                let taken = missing.len().min(bytes.len());
                missing.iter_mut().zip(&*bytes).for_each(|(to, from)| *to = *from);
                let seen = seen + taken;
                Ok((taken, if seen == HEAD_BYTES { self.frame(head)? } else { Place::Head(head, seen) }))
            }
            Place::Payload(payload) => self.payload(payload, bytes),
            Place::Beyond => Ok((bytes.len(), Place::Beyond)),
        }
    }

    /// A frame begins.
    fn frame(&mut self, head: [u8; HEAD_BYTES]) -> Result<Place, Foreign> {
        let [high, middle, low, kind, flags, stream @ ..] = head;
        let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        let carries_block = match (kind, self.unfinished) {
            (CONTINUATION, Some(unfinished)) => stream == unfinished,
            (CONTINUATION | PUSH_PROMISE, None) | (_, Some(_)) => return Err(Foreign),
            (HEADERS, None) => true,
            (_, None) => {
                let payload = Payload { padded: false, priority: 0, fragment: 0, rest: length, ends_block: false };
                return self.after(payload);
            }
        };
        if !carries_block {
            return Err(Foreign);
        }
        let has = |flag: u8| kind == HEADERS && flags & flag != 0;
        let (padded, priority) = (has(PADDED), if has(PRIORITY) { PRIORITY_BYTES } else { 0 });
        let fragment = length.checked_sub(usize::from(padded) + priority).ok_or(Foreign)?;
        let ends_block = flags & END_HEADERS != 0;
        self.unfinished = (!ends_block).then_some(stream);
        self.after(Payload { padded, priority, fragment, rest: 0, ends_block })
    }

    /// Takes some of a payload.
    fn payload(&mut self, mut payload: Payload, bytes: &mut [u8]) -> Result<(usize, Place), Foreign> {
        let available = bytes.len();
        let some = |left: usize| left.min(available);
        let taken = if payload.padded {
            payload.padded = false;
            payload.rest = bytes.first().copied().map_or(0, usize::from);
            payload.fragment = payload.fragment.checked_sub(payload.rest).ok_or(Foreign)?;
            1
        } else if payload.priority > 0 {
            let taken = some(payload.priority);
            payload.priority -= taken;
            taken
        } else if payload.fragment > 0 {
            let taken = some(payload.fragment);
            payload.fragment -= taken;
            bytes.iter_mut().take(taken).try_for_each(|byte| self.fields.repair(byte))?;
            taken
        } else {
            let taken = some(payload.rest);
            payload.rest -= taken;
            taken
        };
        Ok((taken, self.after(payload)?))
    }

    /// Where the next byte stands: in what is left of a payload, or in the next frame.
    fn after(&self, payload: Payload) -> Result<Place, Foreign> {
        let Payload { padded, priority, fragment, rest, ends_block } = payload;
        if !padded && priority + fragment == 0 && ends_block && !self.fields.is_between() {
            return Err(Foreign);
        }
        if padded || priority + fragment + rest > 0 { Ok(Place::Payload(payload)) } else { Ok(Place::head()) }
    }
}

impl Place {
    fn head() -> Self {
        Self::Head([0; HEAD_BYTES], 0)
    }
}

#[cfg(test)]
mod tests;

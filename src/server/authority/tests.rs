//! Against a real encoder and a real decoder of header blocks, with every way to write a field, every split of frames and reads.

use httlib_hpack::{Decoder, Encoder};
use proptest::{collection::vec, prelude::*, sample::select};
use tonic::codegen::http::uri::Authority;

use super::*;

const HOSTS: &[&str] =
    &["localhost", "localhost:7155", "[::1]:80", "[fe80::1%25eth0]:1", "user%40x:p@host", "a", "127.0.0.1:1"];
const NAMES: &[&str] =
    &[":path", ":method", "te", "content-type", "x-authority", "authority", "x-a-name-that-is-not-in-any-table"];

/// A name, a value, and flags that tell the encoder how to write them.
type Field = (Vec<u8>, Vec<u8>, u8);

/// How a block is put into frames.
#[derive(Debug, Clone)]
struct Framing {
    padding: Option<u8>,
    priority: bool,
    /// Where the block is cut, in thousandths.
    cuts: Vec<usize>,
    /// A frame of another kind behind it.
    other: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The frames of one block, and where the parts of the block stand in them.
fn framed(block: &[u8], stream: u32, framing: &Framing) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
    let mut cuts: Vec<usize> = framing.cuts.iter().map(|cut| block.len() * cut / 1000).collect();
    cuts.extend([0, block.len()]);
    cuts.sort_unstable();
    let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &block[pair[0]..pair[1]]).collect();
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let end = if index + 1 == parts.len() { END_HEADERS } else { 0 };
        let (mut flags, mut before, mut after) = (end, Vec::new(), Vec::new());
        if index == 0 {
            if let Some(padding) = framing.padding {
                flags |= PADDED;
                before.push(padding);
                after.resize(usize::from(padding), 0);
            }
            if framing.priority {
                flags |= PRIORITY;
                before.extend([0; PRIORITY_BYTES]);
            }
        }
        let start = bytes.len() + HEAD_BYTES + before.len();
        places.push(start..start + part.len());
        let payload = [before.as_slice(), part, &after].concat();
        bytes.extend(frame(if index == 0 { HEADERS } else { CONTINUATION }, flags, stream, &payload));
    }
    bytes.extend(frame(0, 0, stream, &framing.other));
    (bytes, places)
}

/// A whole connection: its bytes, and where the parts of each block stand.
fn connection(blocks: &[(Vec<Field>, Framing)]) -> (Vec<u8>, Vec<Vec<std::ops::Range<usize>>>) {
    let mut encoder = Encoder::with_dynamic_size(4096);
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    let mut places = Vec::new();
    for (index, (fields, framing)) in blocks.iter().enumerate() {
        let mut block = Vec::new();
        for field in fields {
            encoder.encode(field.clone(), &mut block).unwrap();
        }
        let (frames, parts) = framed(&block, u32::try_from(index * 2 + 1).unwrap(), framing);
        places.push(parts.into_iter().map(|part| part.start + bytes.len()..part.end + bytes.len()).collect());
        bytes.extend(frames);
    }
    (bytes, places)
}

/// What the repair makes of bytes that are read in pieces of these sizes, over and over.
fn repaired(bytes: &[u8], pieces: &[usize]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut repair = AuthorityRepair::new();
    let mut rest = bytes.as_mut_slice();
    for piece in pieces.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (next, after) = rest.split_at_mut((*piece).min(rest.len()));
        repair.repair(next);
        rest = after;
    }
    bytes
}

/// The fields of all blocks, read by a real decoder.
fn decoded(bytes: &[u8], places: &[Vec<std::ops::Range<usize>>]) -> Vec<Vec<(String, Vec<u8>)>> {
    let mut decoder = Decoder::with_dynamic_size(4096);
    let read = |parts: &Vec<std::ops::Range<usize>>| {
        let mut block: Vec<u8> = parts.iter().flat_map(|part| bytes[part.clone()].to_vec()).collect();
        let mut fields = Vec::new();
        decoder.decode(&mut block, &mut fields).unwrap();
        fields.into_iter().map(|(name, value, _)| (String::from_utf8(name).unwrap(), value)).collect()
    };
    places.iter().map(read).collect()
}

/// What the encoder can do: as literals, indexed or not, coded or not, in the shortest form.
fn flags() -> impl Strategy<Value = u8> {
    (any::<[bool; 4]>(), any::<bool>()).prop_map(|([name, value, index, never], best)| {
        u8::from(name)
            | u8::from(value) << 1
            | u8::from(index) << 2
            | u8::from(never && !index) << 3
            | u8::from(best) << 4
    })
}

/// Authorities that need a repair: paths as gRPC's C core writes them. `host` ones need none.
fn path() -> impl Strategy<Value = Vec<u8>> {
    "[a-z0-9._~-]{0,12}(%[0-9A-F]{2}[a-z0-9._~:@!-]{0,9}){1,12}".prop_map(String::into_bytes)
}

fn host() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        select(HOSTS).prop_map(|host| host.as_bytes().to_vec()),
        "[a-z0-9.-]{1,30}".prop_map(String::into_bytes)
    ]
}

fn field(authority: impl Strategy<Value = Vec<u8>> + 'static) -> impl Strategy<Value = Field> {
    let other = (select(NAMES), vec(any::<u8>(), 0..200));
    let authority = authority.prop_map(|value| (":authority", value));
    (prop_oneof![authority, other], flags()).prop_map(|((name, value), flags)| (name.as_bytes().to_vec(), value, flags))
}

fn framing() -> impl Strategy<Value = Framing> {
    let (padding, cuts) = (proptest::option::of(0_u8..20), vec(0_usize..=1000, 0..4));
    (padding, any::<bool>(), cuts, vec(any::<u8>(), 0..60)).prop_map(|(padding, priority, cuts, other)| Framing {
        padding,
        priority,
        cuts,
        other,
    })
}

fn blocks<A: Strategy<Value = Vec<u8>> + 'static>(
    authority: impl Fn() -> A,
) -> impl Strategy<Value = Vec<(Vec<Field>, Framing)>> {
    vec((vec(field(authority()), 0..12), framing()), 1..8)
}

proptest! {
    #[test]
    fn a_path_becomes_an_authority_of_the_same_length_and_nothing_else_changes(
        blocks in blocks(path), pieces in vec(1_usize..400, 1..20),
    ) {
        let (bytes, places) = connection(&blocks);
        let repaired = repaired(&bytes, &pieces);
        let (sent, read) = (decoded(&bytes, &places), decoded(&repaired, &places));
        prop_assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), read.iter().map(Vec::len).collect::<Vec<_>>());
        for (sent, read) in sent.iter().flatten().zip(read.iter().flatten()) {
            if sent.0 == ":authority" {
                prop_assert_eq!(&sent.0, &read.0);
                prop_assert_eq!(sent.1.len(), read.1.len());
                prop_assert!(!read.1.contains(&b'%'));
                let coded_at_sign = read.1.contains(&b'@');
                prop_assert!(coded_at_sign || Authority::try_from(read.1.as_slice()).is_ok(), "{:?}", read.1.escape_ascii().to_string());
            } else {
                prop_assert_eq!(sent, read);
            }
        }
    }

    #[test]
    fn a_client_that_is_fine_is_not_touched_beyond_what_stays_legal(
        blocks in blocks(host), pieces in vec(1_usize..400, 1..20),
    ) {
        let (bytes, places) = connection(&blocks);
        let repaired = repaired(&bytes, &pieces);
        let (sent, read) = (decoded(&bytes, &places), decoded(&repaired, &places));
        prop_assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), read.iter().map(Vec::len).collect::<Vec<_>>());
        for (sent, read) in sent.iter().flatten().zip(read.iter().flatten()) {
            if sent.0 == ":authority" && sent.1.contains(&b'@') {
                prop_assert!(Authority::try_from(read.1.as_slice()).is_ok());
            } else {
                prop_assert_eq!(sent, read);
            }
        }
    }

    #[test]
    fn how_the_bytes_are_split_does_not_matter(blocks in blocks(path), pieces in vec(1_usize..50, 1..20)) {
        let (bytes, _) = connection(&blocks);
        prop_assert_eq!(repaired(&bytes, &pieces), repaired(&bytes, &[usize::MAX]));
    }

    #[test]
    fn bytes_that_are_no_http2_end_the_repair_and_nothing_else(
        blocks in blocks(path), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..30), pieces in vec(1_usize..400, 1..20),
    ) {
        let (whole, _) = connection(&blocks);
        let mut bytes = whole.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let first = whole.iter().zip(&bytes).position(|(before, after)| before != after).unwrap_or(whole.len());
        prop_assert_eq!(&repaired(&bytes, &pieces)[..first], &repaired(&whole, &[usize::MAX])[..first]);
    }

    #[test]
    fn what_does_not_begin_with_the_preface_is_passed_on_as_it_is(bytes in vec(any::<u8>(), 0..2000), pieces in vec(1_usize..400, 1..20)) {
        prop_assert_eq!(repaired(&bytes, &pieces), bytes);
    }
}

/// One request of a client whose authority is this, not coded: what the server reads.
fn plain(authority: &str) -> String {
    read(authority, Encoder::WITH_INDEXING)
}

/// The same in Huffman's code.
fn coded(authority: &str) -> String {
    read(authority, Encoder::WITH_INDEXING | Encoder::HUFFMAN_VALUE)
}

fn read(authority: &str, flags: u8) -> String {
    let fields = vec![(b":authority".to_vec(), authority.as_bytes().to_vec(), flags)];
    let framing = Framing { padding: None, priority: false, cuts: vec![], other: vec![] };
    let (bytes, places) = connection(&[(fields, framing)]);
    let read = decoded(&repaired(&bytes, &[1]), &places).remove(0).remove(0).1;
    String::from_utf8(read).unwrap()
}

#[test]
fn each_illegal_byte_becomes_a_legal_one() {
    for (sent, expected) in [
        ("run%2Fbooth.sock", "run.2Fbooth.sock"),
        ("tmp%2Fa%20b:c%2F@d", "tmp.2Fa.20b.c.2F.d"),
        ("a:b:c", "a:b.c"),
        ("x@", "x."),
        ("localhost:7155", "localhost:7155"),
        ("[::1]:7155", "[::1]:7155"),
        ("[fe80::1%25eth0]", "[fe80::1%25eth0]"),
        ("a b/c", "a.b.c"),
    ] {
        assert_eq!(plain(sent), expected, "{sent}");
    }
}

#[test]
fn coded_symbols_become_legal_ones_of_the_same_length() {
    for (sent, expected) in [
        ("run%2Fbooth.sock", "run.2Fbooth.sock"),
        ("a%20b:c:d", "a.20bBcBd"),
        ("a:b:c", "a:bBc"),
        ("a b/c", "a-b3c"),
        ("localhost:7155", "localhost:7155"),
        ("[fe80::1%25eth0]", "[fe80::1%25eth0]"),
    ] {
        assert_eq!(coded(sent), expected, "{sent}");
    }
}

#[test]
fn what_no_client_may_send_ends_the_repair() {
    let authority = || {
        let mut block = Vec::new();
        let field = (b":authority".to_vec(), b"a%2Fb".to_vec(), Encoder::WITH_INDEXING);
        Encoder::default().encode(field, &mut block).unwrap();
        block
    };
    let tail = frame(HEADERS, END_HEADERS, 1, &authority());
    for (what, before) in [
        ("a push promise", frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 8])),
        ("a continuation of nothing", frame(CONTINUATION, END_HEADERS, 1, &authority())),
        ("another frame inside a block", [frame(HEADERS, 0, 1, &[]), frame(0, 0, 1, b"x")].concat()),
        ("another stream inside a block", [frame(HEADERS, 0, 1, &[]), frame(CONTINUATION, 4, 3, &[])].concat()),
        ("more padding than payload", frame(HEADERS, END_HEADERS | PADDED, 1, &[9, 0])),
        ("less payload than a priority", frame(HEADERS, END_HEADERS | PRIORITY, 1, &[0; 4])),
        ("a block that ends within a field", frame(HEADERS, END_HEADERS, 1, &[0x41, 9, b'a'])),
        ("an integer without an end", frame(HEADERS, END_HEADERS, 1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
    ] {
        let bytes = [PREFACE.as_slice(), &before, &tail].concat();
        assert_eq!(repaired(&bytes, &[7]), bytes, "{what}");
    }
    let bytes = [PREFACE.as_slice(), &tail].concat();
    assert_ne!(repaired(&bytes, &[7]), bytes, "without any of that it is repaired");
}

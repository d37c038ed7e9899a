//! Lists, page by page: as many things as were asked for, and as fit one message.

use prost::Message;

/// Things on a page where the caller does not say.
const STANDARD: usize = 100;
/// Most things on a page.
const MOST: usize = 1000;

/// How many things a page holds at most, when so many were asked for; 0: the caller does not say.
pub(super) fn most(asked: u32) -> usize {
    match usize::try_from(asked).unwrap_or(MOST) {
        0 => STANDARD,
        asked => asked.min(MOST),
    }
}

/// The first things, at least one, and whether they are the last.
pub(super) fn of<T: Message>(all: impl Iterator<Item = T>, asked: u32, max_message_bytes: usize) -> (Vec<T>, bool) {
    let most = most(asked);
    let mut room = max_message_bytes / 2;
    let mut page = Vec::new();
    for one in all {
        let size = one.encoded_len();
        if page.len() == most || (size > room && !page.is_empty()) {
            return (page, false);
        }
        room = room.saturating_sub(size);
        page.push(one);
    }
    (page, true)
}

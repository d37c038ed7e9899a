//! Finding the rare byte in a long text.

/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// Where the first byte of that kind stands. Blocks without one are passed over whole, which the compiler turns into a few
/// instructions for all their bytes.
pub(super) fn position(text: &str, is_meant: impl Fn(u8) -> bool) -> Option<usize> {
    let text = text.as_bytes();
    let has_none = |block: &[u8; BLOCK]| !block.iter().fold(false, |found, byte| found | is_meant(*byte));
    let passed = text.as_chunks().0.iter().take_while(|block| has_none(block)).count() * BLOCK;
    let found = text.get(passed..)?.iter().position(|byte| is_meant(*byte))?;
    Some(passed + found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_is_found_wherever_it_stands() {
        for length in 0..100 {
            let plain = "a".repeat(length);
            assert_eq!(position(&plain, |byte| byte == b'x'), None);
            for at in 0..length {
                let mut text = plain.clone();
                text.replace_range(at..=at, "x");
                assert_eq!(position(&text, |byte| byte == b'x'), Some(at));
                assert_eq!(position(&format!("{text}x"), |byte| byte == b'x'), Some(at));
            }
        }
    }
}

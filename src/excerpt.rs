//! Parts of texts that may be long.

/// Characters that are shown.
const MAX_CHARS: usize = 80;

/// The beginning of a text from outside, for logs and remarks: on one line, with everything escaped that could break a line or move a cursor.
pub fn excerpt(text: &str) -> String {
    text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect()
}

/// As many bytes of the text as allowed, in whole characters.
pub fn beginning(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_stays_on_its_line() {
        assert_eq!(excerpt("a\nb\u{1b}[2K"), "a\\nb\\u{1b}[2K");
        assert_eq!(excerpt(&"x".repeat(1000)).len(), 80);
    }

    #[test]
    fn a_beginning_ends_with_a_whole_character() {
        assert_eq!(
            (beginning("ää", 3), beginning("ää", 4), beginning("ää", 9), beginning("ää", 0)),
            ("ä", "ää", "ää", "")
        );
    }
}

//! Texts from outside as remarks show them: on one line, and short.

/// Characters that are shown.
const MAX_SHOWN: usize = 80;

/// The beginning of a text. It cannot forge a line, and no text of any size makes a remark long.
pub fn excerpt(text: &str) -> String {
    text.chars().take(MAX_SHOWN).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn a_long_text_of_many_lines_is_one_short_line() {
        assert_eq!(excerpt("a\n\"b"), "a\\n\\\"b");
        assert_eq!(excerpt(&"x".repeat(1 << 20)).len(), 80);
    }
}

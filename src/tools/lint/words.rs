//! How names are compared: as models confuse them.

/// The name without case, `-`, `_`, `.` and blanks: names that are equal so are one to the repair of names.
pub(super) fn folded(name: &str) -> String {
    let is_letter = |letter: &char| !matches!(letter, '-' | '_' | '.') && !letter.is_whitespace();
    name.chars().filter(is_letter).flat_map(char::to_lowercase).collect()
}

/// The words of a name, in lower case: `apiKey`, `api_key` and `API-Key` have the same ones.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut starts_word = true;
    let mut after_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            starts_word = true;
            continue;
        }
        if starts_word || (after_lower && letter.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        (starts_word, after_lower) = (false, letter.is_lowercase());
    }
    words
}

/// The first two names that are equal when folded.
pub(super) fn first_pair<'a>(
    names: impl Iterator<Item = &'a str>,
    fold: impl Fn(&str) -> String,
) -> Option<(&'a str, &'a str)> {
    let mut known = std::collections::HashMap::new();
    names.into_iter().find_map(|name| known.insert(fold(name), name).map(|first| (first, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_same_words_however_they_are_joined() {
        for name in ["apiKey", "api_key", "API-Key", "api.key", "ApiKey"] {
            assert_eq!(words(name), ["api", "key"], "{name}");
        }
        assert_eq!(words("x"), ["x"]);
        assert_eq!(words("--"), Vec::<String>::new());
        assert_eq!(folded("API-Key.x y"), "apikeyxy");
    }
}

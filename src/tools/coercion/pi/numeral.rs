//! Texts that JavaScript takes for numbers. Where it would round, the value stays exact.

use crate::json::{Json, Number, ParseLimits, parse};

/// The greatest integer up to which a double holds every one: what ends in `n` is converted up to here.
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// The number that a text is taken for.
pub(super) struct Numeral {
    pub(super) number: Number,
    /// The text said something else than this number.
    pub(super) lossy: bool,
}

impl Numeral {
    /// Everything that the wider conversion takes: what JavaScript's `Number` takes, words for truth values, and `12n`.
    pub(super) fn of(text: &str) -> Option<Self> {
        if let Some(number) = plain(text) {
            return Some(Self { number, lossy: is_blank(text) });
        }
        let number = match &*text.to_ascii_lowercase() {
            "true" => Number::from(1),
            "false" => Number::from(0),
            _ => {
                let digits = text.strip_suffix('n')?;
                let is_decimal = digits == "0" || !digits.trim_start_matches('-').starts_with(['0', '+']);
                Number::from(digits.parse::<i64>().ok().filter(|int| is_decimal && int.abs() <= MAX_SAFE_INTEGER)?)
            }
        };
        Some(Self { number, lossy: true })
    }
}

/// Whether nothing stands there. JavaScript takes that for zero.
pub(super) fn is_blank(text: &str) -> bool {
    trimmed(text).is_empty()
}

/// What JavaScript's `Number(text)` is, if it is finite.
pub(super) fn plain(text: &str) -> Option<Number> {
    let text = trimmed(text);
    if text.is_empty() {
        return Some(Number::from(0));
    }
    let number = match text.get(..2) {
        Some("0x" | "0X") => of_radix(text, 16)?,
        Some("0o" | "0O") => of_radix(text, 8)?,
        Some("0b" | "0B") => of_radix(text, 2)?,
        _ => decimal(text)?,
    };
    number.to_f64().is_finite().then_some(number)
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|letter: char| letter == '\u{feff}' || (letter.is_whitespace() && letter != '\u{85}'))
}

/// Digits of another base after two letters that say which.
fn of_radix(text: &str, radix: u32) -> Option<Number> {
    let digits = text.get(2..).filter(|digits| !digits.starts_with('+'))?;
    json_number(&u128::from_str_radix(digits, radix).ok()?.to_string())
}

/// JSON's grammar, and also: a plus, leading zeros, a point without digits on one of its sides.
fn decimal(text: &str) -> Option<Number> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => unsigned.split_at_checked(at)?,
        None => (unsigned, ""),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if (whole.is_empty() && fraction.is_empty()) || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    // Whatever else stands there, JSON's own grammar refuses.
    json_number(&format!("{sign}{whole}{point}{fraction}{exponent}"))
}

fn json_number(text: &str) -> Option<Number> {
    match parse(text.as_bytes(), &ParseLimits::wide()) {
        Ok(Json::Number(number)) => Some(number),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_javascript_takes_for_a_number_is_one_and_no_digit_is_lost() {
        for (text, number) in [
            (" 1 ", "1"),
            ("\n2\t\u{feff}\u{a0}", "2"),
            ("", "0"),
            ("007", "7"),
            ("+5", "5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-0", "-0"),
            ("1e3", "1e3"),
            ("00.50E+2", "0.50E+2"),
            ("0x1F", "31"),
            ("0b11", "3"),
            ("0O17", "15"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            assert_eq!(plain(text).map(|number| number.to_string()).as_deref(), Some(number), "{text}");
        }
    }

    #[test]
    fn what_javascript_does_not_take_for_a_finite_number_is_none() {
        for text in [
            "1,000", "1_000", "ten", "Infinity", "1e999", "12px", ".", "-", "+-1", "--1", "0x", "-0x1", "0x+1", "1e",
            "1 2", "\u{85}1", "true",
        ] {
            assert!(plain(text).is_none(), "{text}");
        }
    }

    #[test]
    fn words_and_big_integers_are_numbers_that_lose_something() {
        for (text, number) in [("True", "1"), ("FALSE", "0"), ("12n", "12"), ("-7n", "-7"), ("  ", "0")] {
            let numeral = Numeral::of(text).unwrap();
            assert_eq!((numeral.number.to_string().as_str(), numeral.lossy), (number, true), "{text}");
        }
        for text in ["n", "007n", "+1n", "-0xn", "9007199254740993n", "1.5n", "yes"] {
            assert!(Numeral::of(text).is_none(), "{text}");
        }
    }
}

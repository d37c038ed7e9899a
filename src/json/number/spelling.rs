//! Other spellings of a number: of the same value, or of what is left of it.

use super::{Decimal, Number};

/// Zeros at the end of an integer that are written out.
const MAX_ZEROS: usize = 100;

impl Number {
    /// The one spelling that all numbers of this value share.
    pub fn canonical(&self) -> String {
        let spelling = self.spelling();
        let decimal = Decimal::of(&spelling);
        let digits: String = decimal.digits().map(char::from).collect();
        if digits.is_empty() {
            return "0".to_owned();
        }
        let sign = if decimal.negative { "-" } else { "" };
        match usize::try_from(decimal.exponent) {
            Ok(zeros) if zeros <= 20 => format!("{sign}{digits}{}", "0".repeat(zeros)),
            _ => format!("{sign}{digits}e{}", decimal.exponent),
        }
    }

    /// The same value, spelled without fraction and exponent; `None` if it has a fraction, or too many zeros to write out.
    pub fn to_plain_integer(&self) -> Option<Self> {
        let spelling = self.spelling();
        let decimal = Decimal::of(&spelling);
        if decimal.is_zero() {
            return Some(Self::from(0));
        }
        let zeros = usize::try_from(decimal.exponent).ok().filter(|zeros| *zeros <= MAX_ZEROS)?;
        let sign = if decimal.negative { "-" } else { "" };
        let digits: String = decimal.digits().map(char::from).collect();
        Some(Self::from_spelling(&format!("{sign}{digits}{}", "0".repeat(zeros))))
    }

    /// The spelling of JavaScript's `String(number)`, but with every digit that there is.
    pub fn to_ecmascript(&self) -> String {
        let spelling = self.spelling();
        let decimal = Decimal::of(&spelling);
        let digits: String = decimal.digits().map(char::from).collect();
        let sign = if decimal.negative { "-" } else { "" };
        let zeros = |count: i128| "0".repeat(usize::try_from(count).unwrap_or_default());
        // The digits before the point, as the standard counts them.
        let point = decimal.magnitude();
        match point {
            _ if digits.is_empty() => "0".to_owned(),
            1..=21 if decimal.exponent >= 0 => format!("{sign}{digits}{}", zeros(decimal.exponent)),
            1..=21 => {
                let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
                format!("{sign}{whole}.{fraction}")
            }
            -5..=0 => format!("{sign}0.{}{digits}", zeros(-point)),
            _ => {
                let (first, rest) = digits.split_at(1);
                let dot = if rest.is_empty() { "" } else { "." };
                format!("{sign}{first}{dot}{rest}e{:+}", point - 1)
            }
        }
    }

    /// The integer that is left without the fraction.
    #[must_use]
    pub fn truncated(&self) -> Self {
        if self.is_integer() {
            return self.to_plain_integer().unwrap_or_else(|| self.clone());
        }
        let spelling = self.spelling();
        let decimal = Decimal::of(&spelling);
        let whole = usize::try_from(decimal.magnitude()).unwrap_or_default();
        let digits: String = decimal.digits().take(whole).map(char::from).collect();
        let sign = if decimal.negative && whole > 0 { "-" } else { "" };
        Self::from_spelling(&format!("{sign}{}", if whole > 0 { &digits } else { "0" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_spelling(text)
    }

    #[test]
    fn c1_an_integral_number_is_spelled_out_with_the_same_value() {
        for (text, plain) in [
            ("1e3", Some("1000")),
            ("230.0", Some("230")),
            ("-5.50e1", Some("-55")),
            ("0.0e7", Some("0")),
            ("5.5", None),
            ("1e-1", None),
            ("1e100", Some(&*format!("1{}", "0".repeat(100)))),
            ("1e101", None),
            ("1e999999999999", None),
        ] {
            assert_eq!(number(text).to_plain_integer().map(|plain| plain.spelling().into_owned()).as_deref(), plain);
        }
    }

    #[test]
    fn s4_equal_numbers_have_one_canonical_spelling() {
        for (text, canonical) in
            [("1.0", "1"), ("1e2", "100"), ("-0.0", "0"), ("0.10", "1e-1"), ("1e30", "1e30"), ("-5.50", "-55e-1")]
        {
            assert_eq!(number(text).canonical(), canonical, "{text}");
        }
    }

    #[test]
    fn numbers_are_spelled_as_javascript_does_with_no_digit_lost() {
        for (text, spelled) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("3.50", "3.5"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("-12.5e-9", "-1.25e-8"),
            ("1234567890123456789", "1234567890123456789"),
            ("12345678901234567890123", "1.2345678901234567890123e+22"),
            ("1e400", "1e+400"),
        ] {
            assert_eq!(number(text).to_ecmascript(), spelled, "{text}");
        }
    }

    #[test]
    fn a_truncated_number_is_the_integer_towards_zero() {
        for (text, whole) in [
            ("3.9", "3"),
            ("-3.9", "-3"),
            ("-0.5", "0"),
            ("1.0", "1"),
            ("1.5e1", "15"),
            ("1.55e1", "15"),
            ("1e-400", "0"),
        ] {
            assert_eq!(number(text).truncated().to_string(), whole, "{text}");
        }
    }
}

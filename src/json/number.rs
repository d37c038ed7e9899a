//! Numbers by their exact value (rule V5): no number is ever rounded, whatever its size.

mod spelling;

use std::{
    cmp::Ordering,
    fmt::{self, Write as _},
    sync::Arc,
};

/// A JSON number: its spelling, compared by its value.
#[derive(Clone)]
pub struct Number(Repr);

/// Most numbers are small integers: they need no allocation.
#[derive(Clone)]
enum Repr {
    Int(i64),
    Spelled(Arc<str>),
}

/// A number as `± digits × 10^exponent`, the digits without leading or trailing zeros; zero has none.
struct Decimal<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i128,
}

impl Number {
    /// Takes text that follows JSON's number grammar; the parser has checked it.
    pub(super) fn from_spelling(text: &str) -> Self {
        match text.parse::<i64>() {
            // `-0` is spelled otherwise than `0`, and keeps its spelling.
            Ok(int) if text != "-0" => Self(Repr::Int(int)),
            _ => Self(Repr::Spelled(text.into())),
        }
    }

    /// The number as it was spelled.
    pub fn spelling(&self) -> std::borrow::Cow<'_, str> {
        match &self.0 {
            Repr::Int(int) => int.to_string().into(),
            Repr::Spelled(text) => (&**text).into(),
        }
    }

    /// Writes the spelling.
    pub(super) fn write_to(out: &mut String, number: &Self) {
        match &number.0 {
            // Writing to a `String` cannot fail.
            Repr::Int(int) => drop(write!(out, "{int}")),
            Repr::Spelled(text) => out.push_str(text),
        }
    }

    /// Whether the value has no fraction, however it is spelled: `1.0` and `1e2` are integers.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Spelled(text) => {
                let decimal = Decimal::of(text);
                decimal.is_zero() || decimal.exponent >= 0
            }
        }
    }

    /// Whether the spelling has neither fraction nor exponent, as draft 4 defines an integer.
    pub fn is_spelled_as_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Spelled(text) => !text.contains(['.', 'e', 'E']),
        }
    }

    /// The value, if it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(int) => Some(*int),
            Repr::Spelled(text) => text.parse().ok(),
        }
    }

    /// The value, if it is spelled as an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Int(int) => u64::try_from(*int).ok(),
            Repr::Spelled(text) => text.parse().ok(),
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        self.spelling().parse().unwrap_or(f64::NAN)
    }

    /// Whether the value is an integral multiple of `divisor`; `None` if the divisor is zero or has more than 19 digits.
    pub fn is_multiple_of(&self, divisor: &Self) -> Option<bool> {
        let (spelling, divisor) = (self.spelling(), divisor.spelling());
        let (value, divisor) = (Decimal::of(&spelling), Decimal::of(&divisor));
        let modulus =
            divisor.digits().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
        if modulus == 0 {
            return None;
        }
        if value.is_zero() {
            return Some(true);
        }
        // The digits end in no zero, so a value of a smaller power of ten cannot be a multiple.
        let Ok(shift) = u128::try_from(value.exponent - divisor.exponent) else {
            return Some(false);
        };
        let modulus = u128::from(modulus);
        let rest = value.digits().fold(0, |rest, digit| (rest * 10 + u128::from(digit - b'0')) % modulus);
        Some((rest * power_of_ten(shift, modulus)).is_multiple_of(modulus))
    }
}

/// `10^exponent mod modulus`, for a modulus of at most 64 bits.
fn power_of_ten(mut exponent: u128, modulus: u128) -> u128 {
    let (mut base, mut power) = (10 % modulus, 1 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    power
}

impl<'a> Decimal<'a> {
    fn of(spelling: &'a str) -> Self {
        let (negative, text) = spelling.strip_prefix('-').map_or((false, spelling), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut whole = whole.trim_start_matches('0').as_bytes();
        let mut fraction = fraction.trim_end_matches('0').as_bytes();
        // An exponent beyond 18 digits saturates: two such numbers differ in their digits or are equally absurd.
        let mut exponent = saturating_exponent(exponent) - size(fraction);
        if fraction.is_empty() {
            let kept = whole.len() - whole.iter().rev().take_while(|digit| **digit == b'0').count();
            exponent += size(whole.get(kept..).unwrap_or_default());
            whole = whole.get(..kept).unwrap_or_default();
        }
        if whole.is_empty() {
            let leading = fraction.iter().take_while(|digit| **digit == b'0').count();
            fraction = fraction.get(leading..).unwrap_or_default();
        }
        Self { negative, whole, fraction, exponent }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    /// The power of ten above the first digit.
    fn magnitude(&self) -> i128 {
        self.exponent + size(self.whole) + size(self.fraction)
    }

    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => {
                return if other.negative { Ordering::Greater } else { Ordering::Less };
            }
            (false, true) => return if self.negative { Ordering::Less } else { Ordering::Greater },
            (false, false) => {}
        }
        if self.negative != other.negative {
            return if self.negative { Ordering::Less } else { Ordering::Greater };
        }
        let by_size = self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits().cmp(other.digits()));
        if self.negative { by_size.reverse() } else { by_size }
    }
}

fn size(digits: &[u8]) -> i128 {
    i128::try_from(digits.len()).unwrap_or(i128::MAX)
}

fn saturating_exponent(text: &str) -> i128 {
    let digits = text.trim_start_matches(['+', '-']).trim_start_matches('0');
    let size = if digits.is_empty() { 0 } else { digits.parse::<i64>().unwrap_or(i64::MAX) };
    let size = i128::from(size);
    if text.starts_with('-') { -size } else { size }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Repr::Int(left), Repr::Int(right)) = (&self.0, &other.0) {
            return left.cmp(right);
        }
        Decimal::of(&self.spelling()).cmp(&Decimal::of(&other.spelling()))
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelling())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelling())
    }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Int(int))
    }
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        Self::from_spelling(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_spelling(text)
    }

    #[test]
    fn v5_numbers_are_compared_by_their_exact_value() {
        for (left, right, order) in [
            ("1", "1.0", Ordering::Equal),
            ("1e2", "100", Ordering::Equal),
            ("-0", "0", Ordering::Equal),
            ("0.10", "1e-1", Ordering::Equal),
            ("0.001", "1e-3", Ordering::Equal),
            ("18446744073709551616", "18446744073709551617", Ordering::Less),
            ("9007199254740993", "9007199254740992.5", Ordering::Greater),
            ("-2", "-1", Ordering::Less),
            ("-2", "0", Ordering::Less),
            ("0.5", "0", Ordering::Greater),
            ("99", "1e2", Ordering::Less),
            ("1.5", "1.49999999999999999999", Ordering::Greater),
            ("1e999999999999", "1e999999999998", Ordering::Greater),
        ] {
            assert_eq!(number(left).cmp(&number(right)), order, "{left} against {right}");
            assert_eq!(number(right).cmp(&number(left)), order.reverse(), "{right} against {left}");
        }
    }

    #[test]
    fn v5_a_fraction_makes_no_integer_however_large_the_number_is() {
        for (text, integer) in [
            ("9007199254740993.5", false),
            ("1.0", true),
            ("1e2", true),
            ("1.5e1", true),
            ("1.55e1", false),
            ("0.0", true),
            ("1e-1", false),
            ("10e-1", true),
            ("123456789012345678901234567890", true),
        ] {
            assert_eq!(number(text).is_integer(), integer, "{text}");
        }
    }

    #[test]
    fn v5_multiples_are_exact() {
        for (value, divisor, multiple) in [
            ("0.3", "0.1", Some(true)),
            ("4.35", "0.01", Some(true)),
            ("9007199254740993", "2", Some(false)),
            ("1e400", "7", Some(false)),
            ("7e400", "7", Some(true)),
            ("0", "3", Some(true)),
            ("5", "0", None),
            ("1e-5", "1", Some(false)),
            ("100", "25", Some(true)),
        ] {
            assert_eq!(number(value).is_multiple_of(&number(divisor)), multiple, "{value} of {divisor}");
        }
    }
}

//! What holds for every text.

use proptest::{collection::vec, prelude::*, sample::select};

use crate::json::{Extent, Json, Number, Object, ParseErrorKind, ParseLimits, parse, parse_repaired};

/// Values of every kind, with strings that look like what is repaired.
fn value() -> impl Strategy<Value = Json> {
    let string = || {
        let odd = select(vec![
            "```", "<|x|>", "'", "\"", "\\", "\\d", "\n", "\u{1}", "{}", "True", "\u{fffd}", "é", "😀", ",",
        ]);
        vec(prop_oneof![odd.prop_map(str::to_owned), "[a-z ]{0,3}"], 0..4).prop_map(|parts| parts.concat())
    };
    let number = select(vec!["0", "-0", "1.10", "1E5", "-3.5e-7", "123456789012345678901234567890"]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(|int| Json::Number(Number::from(int))),
        number.prop_map(|spelling| Json::Number(Number::from_spelling(spelling))),
        string().prop_map(|text| Json::from(text.as_str())),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((string(), inner), 0..4).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Object>().into()
            }),
        ]
    })
}

fn object() -> impl Strategy<Value = Json> {
    vec(("[a-z]{1,2}", value()), 0..4)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Object>().into())
}

/// Text of the pieces that the reader looks at, in any order: some of it is read, with any mix of repairs.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "{}",
        "[",
        "]",
        ",",
        ":",
        "\"a\":",
        "'b':",
        "\"a\"",
        "'x'",
        "1",
        "1.10",
        "true",
        "True",
        "None",
        "null",
        "\\n",
        "\\",
        "\\d",
        "\\'",
        "\"\\ud800\"",
        "\"\\d\"",
        "\"\\n\\d\"",
        "\"\t\"",
        "'\\x41'",
        "```",
        "```json\n",
        "~~~",
        "\n",
        " ",
        "<|x|>",
        "<｜",
        "\u{feff}",
        "\0",
        "\"{\\\"a\\\":1}\"",
    ];
    vec(select(pieces.to_vec()), 0..14).prop_map(|pieces| pieces.concat())
}

/// Texts that are nearly good: an object, printed, and then spoilt at some places.
fn spoilt() -> impl Strategy<Value = String> {
    let spoil = select(vec![
        ("\"", "'"),
        ("}", ",}"),
        ("]", ",]"),
        ("\\n", "\n"),
        ("null", "None"),
        ("true", "True"),
        ("\\\\", "\\"),
        ("{", "{}{"),
        ("}", "}}"),
        (",", "\\n,"),
        ("\\u0001", "\u{1}"),
        ("\u{fffd}", "\\ud800"),
    ]);
    (object(), vec((spoil, any::<bool>()), 0..3)).prop_map(|(value, spoils)| {
        spoils.into_iter().fold(value.to_text(), |text, ((from, to), everywhere)| {
            if everywhere { text.replace(from, to) } else { text.replacen(from, to, 1) }
        })
    })
}

fn extent() -> impl Strategy<Value = Extent> {
    select(vec![Extent::Whole, Extent::Nested])
}

/// What holds for whatever is read: it prints and reads back the same, and there is nothing left to repair in it.
fn settles(text: &[u8], extent: Extent) -> Result<(), TestCaseError> {
    let limits = ParseLimits::default();
    let Ok(read) = parse_repaired(text, &limits, extent) else { return Ok(()) };
    let printed = read.value.to_text();
    prop_assert_eq!(&parse(printed.as_bytes(), &limits).unwrap(), &read.value);
    if read.value.as_object().is_some() {
        let again = parse_repaired(printed.as_bytes(), &limits, extent).unwrap();
        prop_assert_eq!(again.value.to_text(), printed);
        prop_assert!(again.repairs.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn p3_valid_text_is_never_touched(value in value(), pretty in any::<bool>(), extent in extent()) {
        let text = if pretty { value.to_pretty_text() } else { value.to_text() };
        // Only a whole text that is a string is looked into.
        if extent == Extent::Nested || value.as_str().is_none() {
            let read = parse_repaired(text.as_bytes(), &ParseLimits::default(), extent).unwrap();
            prop_assert_eq!(read.value.to_text(), value.to_text());
            prop_assert!(read.repairs.is_empty());
        }
    }

    #[test]
    fn p3_every_cut_of_a_valid_text_is_truncated(value in object(), pretty in any::<bool>(), extent in extent()) {
        let text = if pretty { value.to_pretty_text() } else { value.to_text() };
        for end in 1..text.len() {
            let read = parse_repaired(&text.as_bytes()[..end], &ParseLimits::default(), extent);
            prop_assert_eq!(read.map_err(|error| error.kind), Err(ParseErrorKind::Truncated), "cut at {}", end);
        }
    }

    #[test]
    fn p3_every_cut_in_a_fence_is_truncated(value in object(), close in select(vec!["\n```", "```"])) {
        let text = format!("```json\n{}{close}", value.to_text());
        for end in 1..text.len() {
            let read = parse_repaired(&text.as_bytes()[..end], &ParseLimits::default(), Extent::Whole);
            prop_assert_eq!(read.map_err(|error| error.kind), Err(ParseErrorKind::Truncated), "cut at {}", end);
        }
        let read = parse_repaired(text.as_bytes(), &ParseLimits::default(), Extent::Whole).unwrap();
        prop_assert_eq!(read.value.to_text(), value.to_text());
    }

    #[test]
    fn p3_no_bytes_make_the_reader_fall(bytes in vec(any::<u8>(), 0..64), extent in extent()) {
        settles(&bytes, extent)?;
    }

    #[test]
    fn p3_what_is_read_is_settled(text in prop_oneof![soup(), spoilt()], extent in extent()) {
        settles(text.as_bytes(), extent)?;
    }

    #[test]
    fn p3_a_text_that_spells_an_object_is_that_object(value in object()) {
        let text = Json::from(value.to_text().as_str()).to_text();
        let read = parse_repaired(text.as_bytes(), &ParseLimits::default(), Extent::Whole).unwrap();
        prop_assert_eq!(read.value.to_text(), value.to_text());
        prop_assert_eq!(read.repairs.iter().map(|repair| repair.op).collect::<Vec<_>>(), ["json_string_to_object"]);
    }
}

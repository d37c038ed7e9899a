//! What stands in the value.

use super::{all, none, read, refusal};
use crate::json::{Extent, ParseErrorKind, ParseLimits, parse_repaired};

#[test]
fn p3_control_characters_in_strings_are_themselves() {
    all(&[
        ("{\"a\":\"x\ty\r\nz\"}", r#"{"a":"x\ty\r\nz"}"#, &["escape_control"]),
        ("{\"a\nb\":\"\u{1b}[0m\"}", r#"{"a\nb":"\u001b[0m"}"#, &["escape_control"]),
        ("{\"a\":\"tab\there, \\n there\"}", r#"{"a":"tab\there, \n there"}"#, &["escape_control"]),
    ]);
    none(&ParseErrorKind::ForbiddenNul, &["{\"a\":\"\0\"}", "{\"\0\":1}", r#"{"a":"\u0000",}"#, r"{'\u0000':1}"]);
    let limits = ParseLimits { allow_nul: true, ..ParseLimits::default() };
    let allowed = parse_repaired(b"{\"a\":\"\0\\u0000\"}", &limits, Extent::Whole).unwrap();
    assert_eq!(allowed.value.to_text(), r#"{"a":"\u0000\u0000"}"#);
}

#[test]
fn p3_backslashes_are_themselves_in_a_string_that_escapes_nothing() {
    all(&[
        (r#"{"re":"\d+\.txt"}"#, r#"{"re":"\\d+\\.txt"}"#, &["escape_backslash"]),
        (
            r#"{"p":"C:\Windows\System32","q":"a\nb"}"#,
            r#"{"p":"C:\\Windows\\System32","q":"a\nb"}"#,
            &["escape_backslash"],
        ),
        (r#"{"t":"\usepackage"}"#, r#"{"t":"\\usepackage"}"#, &["escape_backslash"]),
        (r#"{"\d":"é\ü"}"#, r#"{"\\d":"é\\ü"}"#, &["escape_backslash"]),
        ("{\"sh\":\"a \\\n b\"}", r#"{"sh":"a \\\n b"}"#, &["escape_control", "escape_backslash"]),
    ]);
    none(
        &ParseErrorKind::Backslash,
        &[
            r#"{"p":"C:\bin\app.exe"}"#,
            r#"{"p":"\d\\w"}"#,
            r#"{"p":"say \"\d\""}"#,
            r#"{"p":"\u00e9 \ulm"}"#,
            r#"{"p":"it\'s"}"#,
            r#"{"\d\n":1}"#,
        ],
    );
    let error = read("{\n \"a\": \"x\\n\\d\"}").unwrap_err();
    assert_eq!((error.line, error.column), (2, 11));
}

#[test]
fn p3_escaped_white_space_between_tokens_is_white_space() {
    all(&[
        (r#"{"a": \n[1,\t2]\r\n}"#, r#"{"a":[1,2]}"#, &["escaped_whitespace"]),
        (r#"\n{\n"a"\t:"\n"\n}\n"#, r#"{"a":"\n"}"#, &["escaped_whitespace"]),
        (r"\n", "null", &["escaped_whitespace"]),
    ]);
    for text in [r#"{"a":1\b}"#, r#"{\"a\":1}"#, r#"{"a":1\}"#] {
        assert!(matches!(refusal(text), ParseErrorKind::Syntax(_)), "{text}");
    }
}

#[test]
fn p3_one_comma_before_a_closing_bracket_is_stripped() {
    all(&[
        (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#, &["strip_trailing_comma"]),
        ("{\"a\":[\n 1,\n],\n}", r#"{"a":[1]}"#, &["strip_trailing_comma"]),
    ]);
    for text in ["[,]", "[1,,]", "{,}", r#"{"a":1,,}"#, r#"{"a":1},"#, r#"{"a":,}"#, "[1 2]", r#"{"a":1 "b":2}"#] {
        assert!(matches!(refusal(text), ParseErrorKind::Syntax(_) | ParseErrorKind::Trailing), "{text}");
    }
}

#[test]
fn p3_python_is_read_where_it_can_only_be_python() {
    let python: &[&str] = &["python_literal"];
    all(&[
        ("{'a': True, 'b': [False, None]}", r#"{"a":true,"b":[false,null]}"#, python),
        (r#"{"a": True, 'b': "it's"}"#, r#"{"a":true,"b":"it's"}"#, python),
        (
            r#"{'a': 'say "hi"', 'b': 'it\'s', 'c': '\\ \n \u00e9 \"'}"#,
            r#"{"a":"say \"hi\"","b":"it's","c":"\\ \n é \""}"#,
            python,
        ),
        ("{'a': '', 'b': {}}", r#"{"a":"","b":{}}"#, python),
        (r"{'re': '\d+'}", r#"{"re":"\\d+"}"#, &["escape_backslash", "python_literal"]),
        ("{'a': 'x\ny'}", r#"{"a":"x\ny"}"#, &["escape_control", "python_literal"]),
        ("{'n': 1.10, 'm': -0}", r#"{"n":1.10,"m":-0}"#, python),
    ]);
    for text in [
        "{'a': 'it's'}",
        "{'a': ('x', 'y')}",
        "{'a': 'x' 'y'}",
        "{'a': u'x'}",
        "{'a': '''x'''}",
        "{'a': {'x'}}",
        "{1: 2}",
        "{None: 2}",
        "{'a': TRUE}",
        "{'a': true1}",
        "{a: 'x'}",
        "{'a': nan}",
        "{'a': undefined}",
    ] {
        assert!(matches!(refusal(text), ParseErrorKind::Syntax(_)), "{text}");
    }
    // Escapes that Python and JSON, or Python and a path, read in different ways.
    none(
        &ParseErrorKind::Backslash,
        &[
            r"{'a': '\x41'}",
            r"{'a': 'C:\new\dir'}",
            r"{'a': 'a\/b'}",
            r#"{"a": True, "b": "a\/b"}"#,
            r#"{"a": "\x41", 'b': 1}"#,
        ],
    );
}

#[test]
fn p3_a_key_that_stands_twice_with_one_value_is_one_member() {
    all(&[
        (r#"{"a":1,"a":1.0,"a":1}"#, r#"{"a":1}"#, &["dedupe_key /a"]),
        (r#"{"x":[{"a/b":{"c":[]},"a/b":{"c":[]}}]}"#, r#"{"x":[{"a/b":{"c":[]}}]}"#, &["dedupe_key /x/0/a~1b"]),
    ]);
    for (text, key, path) in [
        (r#"{"a":1,"a":2}"#, "a", "/a"),
        (r#"{"x":{"a":1,"b":2,"a":"1"}}"#, "a", "/x/a"),
        (r#"{"a":"\ud800","a":"\ufffd"}"#, "a", "/a"),
        (r#"{"a":"\ufffd","a":"\udfff"}"#, "a", "/a"),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!((error.kind, error.path.to_string()), (ParseErrorKind::DuplicateKey(key.into()), path.to_owned()));
    }
}

#[test]
fn p3_halves_of_surrogate_pairs_are_replaced_in_values_only() {
    all(&[
        (r#"{"t":"a\ud99c b"}"#, "{\"t\":\"a\u{fffd} b\"}", &["replace_surrogate /t"]),
        (
            r#"{"t":["\udc00\ud83d\ude00\ud83d","\ud83d\ud83d\ude00"]}"#,
            "{\"t\":[\"\u{fffd}😀\u{fffd}\",\"\u{fffd}😀\"]}",
            &["replace_surrogate /t/0", "replace_surrogate /t/1"],
        ),
    ]);
    none(&ParseErrorKind::InvalidUnicode, &[r#"{"\ud800":"x"}"#, r#"{"a":{"x\udfff":1}}"#]);
    assert!(read(r#"{"t":"\ud99c"}"#).unwrap().repairs.iter().all(|repair| repair.lossy));
    assert!(!read("{'t':1,}").unwrap().repairs.iter().any(|repair| repair.lossy));
}

#[test]
fn p3_bytes_that_are_no_text_are_never_repaired() {
    for text in [&b"\xff"[..], b"{}\xff", b"{\"a\":\"\xff\"}", b"```\n{}\n```\xc3\x28", b"{'a':'\xed\xa0\x80'}"] {
        let error = parse_repaired(text, &ParseLimits::default(), Extent::Whole).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::InvalidUnicode, "{text:?}");
    }
}

#[test]
fn p3_numbers_are_never_guessed_and_keep_their_spelling() {
    all(&[(
        r#"{"a":1.10,"b":123456789012345678901234567890,"c":1E5,}"#,
        r#"{"a":1.10,"b":123456789012345678901234567890,"c":1E5}"#,
        &["strip_trailing_comma"],
    )]);
    for number in ["01", "+1", ".5", "1.", "0x1F", "NaN", "Infinity", "-Infinity", "1_000", "1,5", "1e", "--1", "١"] {
        assert!(matches!(refusal(&format!("{{\"a\":{number},}}")), ParseErrorKind::Syntax(_)), "{number}");
    }
}

#[test]
fn p3_nothing_is_closed_inserted_or_commented_away() {
    for text in [
        r#"{"a":[1,2}"#,
        r#"{"a":1 /* c */}"#,
        "{\"a\":1 // c\n}",
        "{a:1}",
        r#"{"a" 1}"#,
        r#"{"a":“x”}"#,
        r#"{"a":"x" "y"}"#,
        "Here is the call: {\"a\":1}",
        r#"t{"a":{"b":1}}"#,
        r#"{"a":1;"b":2}"#,
        r#"{"a"=1}"#,
    ] {
        assert!(matches!(refusal(text), ParseErrorKind::Syntax(_)), "{text}");
    }
}

#[test]
fn p3_a_cut_text_is_truncated_wherever_the_cut_is() {
    for text in [
        r#"{"path":"a","content":"abc"#,
        r#"{"path":"/t.py""#,
        r#"{"a":1,"#,
        r#"{"a":tr"#,
        r#"{"a":Tru"#,
        r"{'a':'x",
        r#"{"a":1\"#,
        r#"{"a":1}\"#,
        r#"{"a":"\u12"#,
        r#"{"a":1}{"a""#,
        r#"{"a":"x<|im_end|>"#,
        r#"{"a":[1<|im_end|>"#,
        r#"{"a":1.<|im_end|>"#,
        "{\"a\":1}<",
        "{\"a\":1}<|im_e",
        "{\"a\":1}<｜",
        "`",
        "``",
        "```",
        "```js",
        "```json\n",
        "```json\n{\"a\":1",
        "```json\n{\"a\":1}",
        "```json\n{\"a\":1}\n``",
        "```json\n{\"a\":1\n```",
        "```json\n{\"a\":\"x\n```",
        "```json\n{\"a\":\n```<|im_end|>",
        "~~~\n{}\n~",
    ] {
        assert_eq!(refusal(text), ParseErrorKind::Truncated, "{text}");
    }
    let end_of_a_letter_is_missing = parse_repaired(b"{\"a\":1}<\xef\xbd", &ParseLimits::default(), Extent::Whole);
    assert_eq!(end_of_a_letter_is_missing.unwrap_err().kind, ParseErrorKind::Truncated);
}

#[test]
fn p3_limits_hold_in_repairs() {
    let limits = ParseLimits { max_depth: 2, max_bytes: 60, max_keys: 2, allow_nul: false };
    let read = |text: &str| parse_repaired(text.as_bytes(), &limits, Extent::Whole).map(|read| read.value.to_text());
    assert_eq!(read("{'a':[1,],}"), Ok(r#"{"a":[1]}"#.to_owned()));
    assert_eq!(read("{'a':[[1,]]}").unwrap_err().kind, ParseErrorKind::TooDeep(2));
    assert_eq!(read("{'a':1,'a':1,'a':1}").unwrap_err().kind, ParseErrorKind::TooManyKeys(2));
    assert_eq!(read("{'a':1}{'a':1}{'a':1}").unwrap_err().kind, ParseErrorKind::TooManyKeys(2));
    assert_eq!(read(&format!("'{}'", "x".repeat(60))).unwrap_err().kind, ParseErrorKind::TooLarge(60));
    assert_eq!(read(r#""{'a':[[1]]}""#).unwrap_err().kind, ParseErrorKind::TooDeep(2));
    let deep = parse_repaired("[".repeat(20_000).as_bytes(), &ParseLimits::default(), Extent::Whole).unwrap_err();
    assert_eq!(deep.kind, ParseErrorKind::TooDeep(64));
}

#[test]
fn p3_the_list_of_repairs_does_not_outgrow_the_text() {
    let key = "k".repeat(1_000);
    let places = |count: usize| format!("{{\"{key}\":[{}]}}", vec![r#""\ud800""#; count].join(","));
    assert_eq!(read(&places(60)).unwrap().repairs.len(), 60);
    assert_eq!(refusal(&places(70)), ParseErrorKind::InvalidUnicode);
    let keys = |count: usize| format!("{{\"{key}\":{{{}}}}}", vec![r#""a":1,"a":1"#; count].join(","));
    assert_eq!(read(&keys(100)).unwrap().repairs.len(), 1);
}

//! What concerns all arguments together: a wrapper around them, their names, what is absent, and what a text has swallowed.

use super::{converted, json, ops};
use crate::stages::{Checked, check, check_as};

#[test]
fn c4_a_contract_may_keep_empty_texts() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":["integer","null"]}}}"#;
    let checked = |arguments: &str| check_as(schema, r#""drop_empty":false"#, arguments);
    assert!(checked(r#"{"n":""}"#).is_err() && checked(r#"{"m":""}"#).is_err());
    assert_eq!(checked(r#"{"n":"None","m":"null"}"#).unwrap().arguments.to_text(), r#"{"m":null}"#);
}

#[test]
fn c3_a_wrapper_is_taken_off_only_if_nothing_declares_it() {
    let read =
        r#"{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}"#;
    for (sent, becomes) in [
        (r#"{"arguments":{"path":"x"}}"#, Some(r#"{"path":"x"}"#)),
        (r#"{"args":"{\"path\":\"x\"}"}"#, Some(r#"{"path":"x"}"#)),
        (r#"{"params":{"path":"x","n":"1"}}"#, Some(r#"{"path":"x","n":1}"#)),
        (r#"{"name":"t","input":{"path":"x"}}"#, Some(r#"{"path":"x"}"#)),
        (r#"{"arguments":{"input":{"args":{"path":"x"}}}}"#, Some(r#"{"path":"x"}"#)),
        (r#"{"arguments":{"input":{"args":{"params":{"path":"x"}}}}}"#, None),
        (r#"{"name":"other","input":{"path":"x"}}"#, None),
        (r#"{"_":{"path":"x"}}"#, None),
        (r#"{"arguments":"ls -la"}"#, None),
        (r#"{"arguments":{"path":"x"},"more":1}"#, None),
    ] {
        assert_eq!(converted(read, sent).ok().map(|(after, _)| after).as_deref(), becomes, "{sent}");
    }
    // An open schema would take the whole; all that is inside is declared.
    let open = r#"{"type":"object","properties":{"path":{"type":"string"}}}"#;
    let (after, ops) = converted(open, r#"{"arguments":{"path":"x"}}"#).unwrap();
    assert_eq!((after.as_str(), ops.as_slice()), (r#"{"path":"x"}"#, &["unwrap_envelope".to_owned()][..]));
    for (schema, kept) in [
        (open, r#"{"arguments":{"other":1}}"#),
        (
            r#"{"type":"object","properties":{"arguments":{"type":"object"},"path":{}}}"#,
            r#"{"arguments":{"path":"x"}}"#,
        ),
        (r#"{"type":"object"}"#, r#"{"arguments":{"path":"x"}}"#),
    ] {
        assert_eq!(converted(schema, kept).unwrap(), (kept.to_owned(), vec![]), "{kept}");
    }
}

#[test]
fn c3_a_key_is_renamed_only_in_a_closed_object() {
    let closed =
        r#"{"type":"object","additionalProperties":false,"properties":{"file_path":{"type":"string"},"n":{}}}"#;
    let (after, ops) = converted(closed, r#"{"n":1,"filePath":"x"}"#).unwrap();
    assert_eq!(
        (after.as_str(), ops.as_slice()),
        (r#"{"n":1,"file_path":"x"}"#, &["rename_key /file_path".to_owned()][..])
    );
    assert!(converted(closed, r#"{"filePath":"x","file_path":"x"}"#).is_err());
    assert!(converted(closed, r#"{"filePath":"x","FilePath":"x"}"#).is_err());
    assert!(converted(closed, r#"{"filepaths":"x"}"#).is_err());
    // A branch that is not chosen yet may declare it, and what holds for the rest may allow it.
    for kept in [
        r#""anyOf":[{"properties":{"filePath":{}}}]"#,
        r#""allOf":[{"$ref":"\u0023/$defs/any"}],"$defs":{"any":{"additionalProperties":true}}"#,
    ] {
        let schema = format!(
            r#"{{"type":"object","properties":{{"file_path":{{}},"n":{{"type":"integer"}}}},"unevaluatedProperties":false,{kept}}}"#
        );
        assert_eq!(converted(&schema, r#"{"n":"1","filePath":"x"}"#).unwrap().0, r#"{"n":1,"filePath":"x"}"#, "{kept}");
    }
    let evaluated = closed.replace("additional", "unevaluated");
    assert_eq!(converted(&evaluated, r#"{"n":1,"filePath":"x"}"#).unwrap().0, r#"{"n":1,"file_path":"x"}"#);
    let open = r#"{"type":"object","properties":{"file_path":{"type":"string"}}}"#;
    assert_eq!(converted(open, r#"{"filePath":"x"}"#).unwrap().0, r#"{"filePath":"x"}"#);
}

#[test]
fn c6_defaults_are_filled_where_the_contract_says_so() {
    let schema = r##"{"type":"object","required":["must"],"$defs":{"d":{"type":"integer","default":3}},"properties":{
        "must":{"type":"string","default":"m"},"n":{"$ref":"#/$defs/d"},"limit":{"type":"integer","default":10},
        "wrong":{"type":"integer","default":"ten"},"o":{"type":"object","properties":{"x":{"default":null}}}}}"##;
    let Checked { arguments, repairs } = check_as(schema, r#""defaults":true"#, r#"{"limit":null,"o":{}}"#).unwrap();
    assert_eq!(arguments.to_text(), r#"{"o":{"x":null},"must":"m","limit":10}"#);
    assert_eq!(
        ops(&repairs),
        ["drop_optional_absent /limit", "apply_default /must", "apply_default /limit", "apply_default /o/x"]
    );
    assert!(check(schema, "{}").is_err(), "not unless it is asked for");
    let nullable = r#"{"type":"object","properties":{"limit":{"type":["integer","null"],"default":10}}}"#;
    assert_eq!(
        check_as(nullable, r#""defaults":true"#, r#"{"limit":null}"#).unwrap().arguments.to_text(),
        r#"{"limit":null}"#
    );
    let nested = r#"{"type":"object","properties":{"o":{"type":"object","default":{"y":2.0},"properties":{"x":{"default":1},"y":{"type":"integer"}}}}}"#;
    for arguments in ["{}", r#"{"o":{"x":1,"y":2}}"#] {
        let Checked { arguments, .. } = check_as(nested, r#""defaults":true"#, arguments).unwrap();
        assert_eq!(arguments.get("o").unwrap(), &json(r#"{"x":1,"y":2}"#), "what is filled in has its defaults, too");
    }
    let endless = r##"{"type":"object","$defs":{"o":{"type":"object","default":{},"properties":{"o":{"$ref":"#/$defs/o"}}}},"properties":{"o":{"$ref":"#/$defs/o"},"n":{"type":"integer"}}}"##;
    assert_eq!(check_as(endless, r#""defaults":true"#, r#"{"n":1}"#).unwrap().arguments.to_text(), r#"{"n":1}"#);
    let breaking = r#"{"type":"object","maxProperties":1,"properties":{"a":{},"b":{"default":1}}}"#;
    assert_eq!(check_as(breaking, r#""defaults":true"#, r#"{"a":1}"#).unwrap().arguments.to_text(), r#"{"a":1}"#);
}

#[test]
fn c1_a_text_that_swallowed_another_parameter_is_refused_by_name() {
    let schema = r#"{"type":"object","required":["content"],"properties":{"content":{"type":"string"},"metadata":{"type":"object"},"tags":{}}}"#;
    for swallowed in [
        r#"note</content>\n<parameter name=\"metadata\">{}"#,
        r"note<parameter=metadata>{}</parameter>",
        r#"note</x:parameter>\n<x:parameter name=\"metadata\">"#,
        r"note</content>\n<metadata>{}</metadata>",
        r"note</arg_value>\n<arg_key>metadata</arg_key>",
    ] {
        let text = format!(r#"{{"content":"{swallowed}"}}"#);
        let refusal = check(schema, &text).map(drop).unwrap_err();
        let reason = refusal.reason.map(toolbooth::refusal::Reason::as_str);
        assert_eq!((refusal.code.as_str(), reason), ("malformed_arguments", Some("suspect_markup")), "{swallowed}");
        assert_eq!(refusal.violations[0].path.to_string(), "/content");
        assert!(refusal.text.contains("`metadata`"), "{}", refusal.text);
        assert!(check_as(schema, r#""allow_markup":true"#, &text).is_ok());
        assert!(check_as(schema, r#""profile":"strict""#, &text).is_ok());
    }
    for kept in [
        r#""cd a &amp;&amp; ls""#,
        r#""<metadata> in HTML""#,
        r#""<parameter name=\"other\">""#,
        r#""a < b and <parameter>""#,
        r#""<parameter name=\"metadata\">","metadata":{}"#,
    ] {
        assert!(check(schema, &format!(r#"{{"content":{kept}}}"#)).is_ok(), "{kept}");
    }
}

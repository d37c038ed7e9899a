//! The lints on schemas.

use super::{check, check_property, places, places_with, with};

#[test]
fn parameters_are_a_plain_object_of_moderate_size() {
    check(
        "root_without_type",
        &[(r#"{"properties":{}}"#, ""), (r#"{"type":["object","null"]}"#, "")],
        &["{}", r#"{"type":"object"}"#],
    );
    let large = with(&format!(r#"{{"description":"{}"}}"#, "x".repeat(17_000)));
    check("large_schema", &[(&large, "/parameters")], &[r#"{"type":"object"}"#]);
    check(
        "root_combined",
        &[
            (r#"{"type":"object","anyOf":[{"required":["a"]}]}"#, "/anyOf"),
            (r#"{"type":"object","not":{"required":["a"]}}"#, "/not"),
        ],
        &[&with(r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#)],
    );
}

#[test]
fn names_of_properties_are_those_that_providers_take_and_each_is_unlike_the_others() {
    check(
        "property_name",
        &[(r#"{"properties":{"año":{}}}"#, "/properties/año"), (r#"{"properties":{"":{}}}"#, "/properties/")],
        &[r#"{"properties":{"a.b-C_1":{"properties":{"$filter":{}}}}}"#],
    );
    check(
        "similar_property_names",
        &[(r#"{"properties":{"orderBy":{},"order_by":{}}}"#, "/properties/order_by")],
        &[r#"{"properties":{"order_by":{},"order":{},"a":{"properties":{"orderBy":{}}}}}"#],
    );
}

#[test]
fn what_is_required_is_declared() {
    check(
        "undeclared_required",
        &[(r#"{"properties":{"a":{}},"required":["a","b"]}"#, "/required/1")],
        &[
            r#"{"properties":{"a":{}},"required":["a"]}"#,
            r#"{"properties":{"a":{}},"anyOf":[{"required":["b"]}],"allOf":[{"properties":{"b":{}}}],"required":["b"]}"#,
            r#"{"properties":{"a":{}},"patternProperties":{"^b":{}},"required":["b"]}"#,
            r#"{"required":["a"]}"#,
        ],
    );
}

#[test]
fn e3_secrets_are_marked() {
    for name in ["password", "dbPassword", "api_key", "apiKey", "x_apikey", "access_token", "token", "client-secret"] {
        let parameters = format!(r#"{{"properties":{{"auth":{{"properties":{{"{name}":{{"type":"string"}}}}}}}}}}"#);
        assert_eq!(places("unmarked_secret", &parameters), [format!("/properties/auth/properties/{name}")]);
        let marked = parameters.replace(r#""type""#, r#""writeOnly":true,"type""#);
        assert!(places("unmarked_secret", &marked).is_empty(), "{marked}");
        for place in [format!("/auth/{name}"), "/auth".to_owned()] {
            let more = format!(r#","arguments":{{"sensitive":["{place}"]}}"#);
            assert!(places_with("unmarked_secret", &parameters, &more).is_empty(), "{name} {place}");
        }
    }
    for name in
        ["max_tokens", "page_token", "nextToken", "keyword", "key", "projectKey", "secret_type", "author", "passenger"]
    {
        check("unmarked_secret", &[], &[&format!(r#"{{"properties":{{"{name}":{{"type":"string"}}}}}}"#)]);
    }
    check_property("unmarked_secret", &[], &[r#"{"properties":{"token":{"type":"integer"}}}"#]);
    let referred = r##"{"properties":{"key":{},"secret":{"$ref":"#/$defs/s"}},"$defs":{"s":{"writeOnly":true}}}"##;
    check("unmarked_secret", &[], &[referred]);
}

#[test]
fn lists_say_what_is_in_them() {
    check_property(
        "array_without_items",
        &[(r#"{"type":"array"}"#, ""), (r#"{"type":["array","null"]}"#, "")],
        &[r#"{"type":"array","items":{}}"#, r#"{"type":"array","prefixItems":[{}]}"#, r#"{"type":"string"}"#],
    );
    check_property(
        "similar_enum_values",
        &[(r#"{"enum":["Red","red "]}"#, "/enum")],
        &[r#"{"enum":["red","blue",1]}"#],
    );
    check_property("empty_enum_value", &[(r#"{"enum":["a",""]}"#, "/enum")], &[r#"{"enum":["a"]}"#]);
    let many = |count: usize| {
        format!(r#"{{"enum":[{}]}}"#, (0..count).map(|at| format!("\"v{at}\"")).collect::<Vec<_>>().join(","))
    };
    check_property("large_enum", &[(&many(101), "/enum")], &[&many(100)]);
}

#[test]
fn v5_numbers_are_those_that_every_host_keeps() {
    check_property(
        "large_number",
        &[
            (r#"{"maximum":9223372036854775807}"#, "/maximum"),
            (r#"{"enum":[1,-9007199254740992]}"#, "/enum"),
            (r#"{"const":123456789012345678901}"#, "/const"),
        ],
        &[
            r#"{"maximum":9007199254740991,"minimum":-9007199254740991}"#,
            r#"{"maximum":1.7976931348623157e308,"multipleOf":0.1}"#,
        ],
    );
    check_property(
        "impossible_limits",
        &[(r#"{"minimum":2,"maximum":1.5}"#, "/minimum"), (r#"{"minItems":2,"maxItems":1}"#, "/minItems")],
        &[r#"{"minimum":1.0,"maximum":1}"#, r#"{"minLength":1}"#],
    );
}

#[test]
fn v3_patterns_are_anchored_on_every_side_or_meant_not_to_be() {
    check_property(
        "partly_anchored_pattern",
        &[(r#"{"pattern":"^a|b$"}"#, "/pattern"), (r#"{"pattern":"^a|b"}"#, "/pattern")],
        &[
            r#"{"pattern":"^(a|b)$"}"#,
            r#"{"pattern":"^a$|^b$"}"#,
            r#"{"pattern":"a|b"}"#,
            r#"{"pattern":"^https?://"}"#,
        ],
    );
    check_property(
        "unanchored_pattern",
        &[(r#"{"pattern":"[a-z]+[0-9]"}"#, "/pattern"), (r#"{"pattern":"a|b"}"#, "/pattern")],
        &[r#"{"pattern":"^a"}"#, r#"{"pattern":"\\S"}"#, r#"{"pattern":"[a-z]"}"#, r#"{"pattern":"a\\.ts$"}"#],
    );
}

#[test]
fn keywords_that_say_nothing_are_found() {
    check_property(
        "misspelt_keyword",
        &[
            (r#"{"minlength":1}"#, "/minlength"),
            (r#"{"max_items":1}"#, "/max_items"),
            (r#"{"requierd":["a"]}"#, "/requierd"),
            (r#"{"enums":["a"]}"#, "/enums"),
        ],
        &[r#"{"x-enums":[],"example":1,"optional":true,"description":"d","minLength":1}"#],
    );
    check_property(
        "keyword_of_another_type",
        &[
            (r#"{"type":"integer","minLength":1}"#, "/minLength"),
            (r#"{"type":"string","required":["a"]}"#, "/required"),
        ],
        &[r#"{"type":["integer","string"],"minLength":1}"#, r#"{"type":"integer","minimum":1}"#, r#"{"minLength":1}"#],
    );
    let old = |property: &str| {
        format!(
            r#"{{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{{"d":{{}}}},"properties":{{"p":{property}}}}}"#
        )
    };
    check(
        "keyword_of_another_dialect",
        &[(&old(r#"{"prefixItems":[{}]}"#), "/properties/p/prefixItems")],
        &[&with(r#"{"prefixItems":[{}]}"#), &old(r#"{"const":1}"#)],
    );
    check(
        "ignored_beside_reference",
        &[(&old(r##"{"$ref":"#/definitions/d","minLength":1}"##), "/properties/p/minLength")],
        &[
            &old(r##"{"$ref":"#/definitions/d","description":"d"}"##),
            r##"{"properties":{"p":{"$ref":"#/$defs/d","minLength":1}},"$defs":{"d":{}}}"##,
        ],
    );
}

#[test]
fn properties_are_described_typed_and_say_what_leaving_them_out_means() {
    check_property(
        "no_property_description",
        &[(r#"{"type":"string"}"#, ""), (r#"{"description":" "}"#, "")],
        &[r#"{"description":"d"}"#, r#"{"title":"t"}"#, r#"{"const":1}"#],
    );
    let referred = r##"{"properties":{"p":{"$ref":"#/$defs/d"}},"$defs":{"d":{"description":"d"}}}"##;
    check(
        "no_property_description",
        &[],
        &[referred, r#"{"properties":{"p":{"description":"d","properties":{"q":{}}}}}"#],
    );
    let long = |letters: usize| format!(r#"{{"description":"{}"}}"#, "ä".repeat(letters));
    check_property("long_description", &[(&long(1_025), "/description")], &[&long(1_024)]);
    check_property(
        "optional_without_default",
        &[(r#"{"type":"string","description":"The unit."}"#, "")],
        &[
            r#"{"default":1}"#,
            r#"{"type":["string","null"]}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"description":"The unit; metres by default."}"#,
        ],
    );
    check("optional_without_default", &[], &[r#"{"properties":{"p":{}},"required":["p"]}"#]);
    check_property(
        "untyped_property",
        &[("{}", ""), ("true", ""), (r#"{"description":"d"}"#, "")],
        &["false", r#"{"type":"string"}"#, r#"{"enum":[1]}"#, r#"{"anyOf":[{}]}"#],
    );
}

#[test]
fn objects_are_closed_shallow_and_end() {
    check(
        "open_object",
        &[
            (r#"{"type":"object"}"#, ""),
            (r#"{"additionalProperties":false,"properties":{"p":{"properties":{"q":{}}}}}"#, "/properties/p"),
        ],
        &[
            r#"{"additionalProperties":false}"#,
            r#"{"additionalProperties":{"type":"string"}}"#,
            r#"{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]}"#,
        ],
    );
    let deep = |levels: usize| {
        format!("{}{}{}", r#"{"properties":{"p":"#.repeat(levels), r#"{"type":"string"}"#, "}}".repeat(levels))
    };
    check(
        "deep_schema",
        &[(&deep(11), &"/properties/p".repeat(10)), (&deep(13), &"/properties/p".repeat(10))],
        &[&deep(10)],
    );
    check(
        "recursive_schema",
        &[
            (r##"{"properties":{"child":{"$ref":"#"}}}"##, "/properties/child/$ref"),
            (
                r##"{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{"items":{"$ref":"#/$defs/a"}}}}"##,
                "/$defs/b/items/$ref",
            ),
        ],
        &[
            r##"{"properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/b"}},"b":{}}}"##,
        ],
    );
}

#[test]
fn v4_unions_have_branches_that_can_be_told_apart() {
    let object = |name: &str, schema: &str| format!(r#"{{"type":"object","properties":{{"{name}":{schema}}}}}"#);
    let union = |first: &str, second: &str| format!(r#"{{"oneOf":[{first},{second},{{"type":"null"}}]}}"#);
    let unlike = union(&object("a", "{}"), &object("b", "{}"));
    let same = union(&object("kind", r#"{"const":"a"}"#), &object("kind", r#"{"const":"a"}"#));
    let told = union(&object("kind", r#"{"const":"a"}"#), &object("kind", r#"{"enum":["b"]}"#));
    check_property(
        "union_without_discriminator",
        &[(&unlike, "/oneOf"), (&same, "/oneOf")],
        &[
            &told,
            &union(&object("a", "{}"), r#"{"type":"string"}"#),
            r#"{"anyOf":[{"type":"object","properties":{}},{"type":"null"}]}"#,
        ],
    );
    check_property(
        "text_beside_number",
        &[
            (r#"{"type":["string","integer"]}"#, "/type"),
            (r#"{"anyOf":[{"type":"string"},{"type":"boolean"}]}"#, "/anyOf"),
        ],
        &[r#"{"type":["string","null"]}"#, r#"{"anyOf":[{"type":"number"},{"type":"integer"}]}"#],
    );
}

#[test]
fn v1_formats_are_those_that_somebody_asserts() {
    check_property(
        "unknown_format",
        &[(r#"{"format":"int32"}"#, "/format"), (r#"{"format":"phone"}"#, "/format")],
        &[r#"{"format":"date-time"}"#, r#"{"format":"uuid"}"#],
    );
    let off = r#","arguments":{"formats":false}"#;
    assert!(places_with("unknown_format", &with(r#"{"format":"phone"}"#), off).is_empty());
}

#[test]
fn keywords_that_providers_do_not_have_are_named() {
    check_property(
        "provider_keyword",
        &[
            (r#"{"type":"array","items":{},"uniqueItems":true}"#, "/uniqueItems"),
            (r#"{"type":"object","additionalProperties":{"type":"string"}}"#, "/additionalProperties"),
            (r#"{"type":"array","items":{},"minItems":2}"#, "/minItems"),
        ],
        &[
            r#"{"type":"object","additionalProperties":false}"#,
            r#"{"type":"array","items":{},"minItems":1}"#,
            r#"{"enum":["a"]}"#,
        ],
    );
}

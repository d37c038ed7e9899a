//! Schemas and arguments that are made to cost much, as pairs. The tests and `make bench` play the same ones.

/// A schema of a tool, and arguments for it.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) schema: String,
    pub(crate) arguments: String,
}

fn pair(name: &'static str, schema: impl Into<String>, arguments: impl Into<String>) -> Pair {
    Pair { name, schema: schema.into(), arguments: arguments.into() }
}

/// The schema of arguments with one property, `v`.
fn property(schema: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"v":{schema}}}}}"#)
}

/// Arguments with one property, `v`.
fn value(text: &str) -> String {
    format!(r#"{{"v":{text}}}"#)
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

fn nested(depth: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// All of them. Each is answered by an error.
pub(crate) fn all() -> Vec<Pair> {
    [patterns(), recursion(), sizes(), unions(), numbers(), schemas()].into_iter().flatten().collect()
}

fn patterns() -> Vec<Pair> {
    let letters = value(&format!("\"{}!\"", "a".repeat(40)));
    let names = many(1_000, |number| format!(r#""^p{number}_[a-z]+$":{{"type":"object"}}"#));
    let members = many(9_990, |number| format!(r#""p{number}_x":1"#));
    vec![
        pair("nested repetition against forty letters", property(r#"{"pattern":"^(a+)+$"}"#), letters.clone()),
        pair("the same with look-around", property(r#"{"pattern":"^(?=a)(a+)+$"}"#), letters.clone()),
        pair("the same with a back-reference", property(r#"{"pattern":"^(a*)*\\1b$"}"#), letters),
        pair(
            "look-around in each of a thousand items",
            property(r#"{"items":{"pattern":"^(?=a)(a+)+$"}}"#),
            value(&format!("[{}]", vec![format!("\"{}!\"", "a".repeat(40)); 1_000].join(","))),
        ),
        pair(
            "a megabyte against nested repetition",
            property(r#"{"pattern":"^(a+)+$"}"#),
            value(&format!("\"{}!\"", "a".repeat(1_000_000))),
        ),
        pair(
            "a megabyte against look-around",
            property(r#"{"pattern":"(?=a)b"}"#),
            value(&format!("\"{}\"", "a".repeat(1_000_000))),
        ),
        pair(
            "ten thousand members against a thousand patterns",
            format!(r#"{{"type":"object","patternProperties":{{{names}}}}}"#),
            format!("{{{members}}}"),
        ),
        pair(
            "ten thousand members against a thousand patterns in branches",
            format!(
                r#"{{"type":"object","allOf":[{}]}}"#,
                many(1_000, |number| format!(
                    r#"{{"patternProperties":{{"^p{number}_[a-z]+$":{{"type":"object"}}}}}}"#
                ))
            ),
            format!("{{{members}}}"),
        ),
    ]
}

fn recursion() -> Vec<Pair> {
    let three_ways = r##"{"type":"object","anyOf":[
        {"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},
        {"type":"object","properties":{"a":{"$ref":"#"}},"required":["b"]},
        {"type":"object","properties":{"a":{"$ref":"#"}},"required":["c"]}]}"##;
    let one_of = three_ways.replace("anyOf", "oneOf");
    let fan = many(30, |level| {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level + 1);
        format!(r#""d{level}":{{"allOf":[{next},{next}]}}"#)
    });
    let fan_of_members = many(30, |level| {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, level + 1);
        format!(r#""d{level}":{{"properties":{{"a":{next}}},"additionalProperties":{next},"anyOf":[{next},{next}]}}"#)
    });
    vec![
        pair("three ways at depth 14", three_ways, nested(14, r#"{"a":"#, "1", "}")),
        pair("three ways at depth 60", three_ways, nested(60, r#"{"a":"#, "1", "}")),
        pair("three ways, exactly one, at depth 60", one_of, nested(60, r#"{"a":"#, "1", "}")),
        pair(
            "thirty definitions that each refer twice to the next",
            format!(r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{fan},"d30":{{"required":["a"]}}}}}}"##),
            "{}",
        ),
        pair(
            "the same through members and unions",
            format!(
                r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{fan_of_members},"d30":{{"required":["z"]}}}}}}"##
            ),
            nested(60, r#"{"a":"#, "1", "}"),
        ),
        pair(
            "a tree of unions of conditions",
            r##"{"type":"object","if":{"required":["a"],"properties":{"a":{"$ref":"#"}}},"then":{"properties":{"a":{"$ref":"#"}}},
                "else":{"required":["z"]}}"##,
            nested(60, r#"{"a":"#, "{}", "}"),
        ),
        pair(
            "what nobody has looked at, at each level",
            r##"{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"b":{"$ref":"#"}}}],
                "unevaluatedProperties":false}"##,
            nested(60, r#"{"a":"#, r#"{"c":1}"#, "}"),
        ),
    ]
}

fn sizes() -> Vec<Pair> {
    let equal =
        value(&format!("[{},{{\"a\":1}},{{\"a\":1}}]", many(3_998, |number| format!(r#"{{"a":{{"b":{number}}}}}"#))));
    let different = value(&format!("[{}]", many(4_000, |number| format!(r#"{{"a":{{"b":[{number},"x"]}}}}"#))));
    let numbers = value(&format!("[{}]", vec!["1"; 500_000].join(",")));
    let objects = property(r#"{"items":{"type":"object"}}"#);
    vec![
        pair("four thousand objects, the last two equal", property(r#"{"uniqueItems":true}"#), equal),
        pair(
            "four thousand different objects",
            property(r#"{"uniqueItems":true,"contains":{"required":["z"]}}"#),
            different,
        ),
        pair(
            "ten thousand errors",
            objects.clone(),
            value(&format!("[{}]", many(10_000, |number| number.to_string()))),
        ),
        pair("twenty thousand levels", property("true"), value(&nested(20_000, "[", "", "]"))),
        pair("a megabyte of one text", property(r#"{"maxLength":10}"#), value(&format!("\"{}\"", "é".repeat(500_000)))),
        pair(
            "a megabyte of one text of another kind",
            property(r#"{"type":"integer"}"#),
            value(&format!("\"{}\"", "x".repeat(1_000_000))),
        ),
        pair(
            "a megabyte of JSON text",
            property(r#"{"type":"object"}"#),
            value(&format!("\"{}\"", "[".repeat(1_000_000))),
        ),
        pair(
            "a megabyte of small members",
            property("true"),
            format!("{{{}}}", many(100_000, |number| format!(r#""k{number}":1"#))),
        ),
        pair(
            "a megabyte of small members in objects",
            objects.clone(),
            value(&format!("[{}]", many(5_000, |_| r#"{"a":1,"b":{"c":[]}}"#.to_owned()))),
        ),
        pair("a megabyte of numbers", objects, numbers),
        pair(
            "a name of a megabyte",
            r#"{"type":"object","properties":{"a":true},"additionalProperties":false}"#,
            format!(r#"{{"{}":1}}"#, "n".repeat(1_000_000)),
        ),
        pair(
            "ten thousand names of ninety letters",
            format!(
                r#"{{"type":"object","required":["z"],"properties":{{{}}},"additionalProperties":false}}"#,
                many(1_000, |number| format!(r#""{}{number}":true"#, "d".repeat(90)))
            ),
            format!("{{{}}}", many(9_990, |number| format!(r#""{}{number}":1"#, "s".repeat(90)))),
        ),
        pair(
            "an enum with a text of a hundred kilobytes",
            property(&format!(r#"{{"enum":["{}","b"]}}"#, "a".repeat(100_000))),
            value(&format!("\"{}c\"", "a".repeat(100_000))),
        ),
        pair(
            "ten thousand choices for a thousand items",
            property(&format!(r#"{{"items":{{"enum":[{}]}}}}"#, many(10_000, |number| format!("[{number}]")))),
            value(&format!("[{}]", many(1_000, |number| format!("[{number},1]")))),
        ),
        pair(
            "a constant of a hundred kilobytes for a thousand items",
            property(&format!(r#"{{"items":{{"const":[{}]}}}}"#, many(20_000, |number| number.to_string()))),
            value(&format!("[{}]", many(1_000, |_| "[0,1,2]".to_owned()))),
        ),
    ]
}

fn unions() -> Vec<Pair> {
    let branches =
        |keyword: &str, one: &dyn Fn(usize) -> String| property(&format!(r#"{{"{keyword}":[{}]}}"#, many(1_000, one)));
    let object = value(&format!("{{{}}}", many(100, |number| format!(r#""k{number}":1"#))));
    let tagged = |number: usize| {
        format!(
            r#"{{"type":"object","properties":{{"kind":{{"const":"k{number}"}},"n":{{"type":"string"}}}},"required":["kind","m"]}}"#
        )
    };
    let open = |number: usize| {
        format!(r#"{{"type":"object","properties":{{"k{number}":{{"type":"object"}}}},"required":["k{number}"]}}"#)
    };
    let dependent = many(1_000, |number| format!(r#""k{number}":{{"required":["z{number}"]}}"#));
    vec![
        pair("a union of a thousand tagged branches", branches("oneOf", &tagged), value(r#"{"kind":"k999","n":1}"#)),
        pair("a union of a thousand tags, none of them sent", branches("anyOf", &tagged), value(r#"{"kind":"k1000"}"#)),
        pair("a union of a thousand branches", branches("anyOf", &open), object.clone()),
        pair("exactly one of a thousand branches", branches("oneOf", &open), object.clone()),
        pair(
            "a thousand objects in a union of a hundred branches",
            property(&format!(r#"{{"items":{{"anyOf":[{}]}}}}"#, many(100, open))),
            value(&format!("[{}]", many(1_000, |number| format!(r#"{{"k{number}":1}}"#)))),
        ),
        pair("a thousand dependent schemas", property(&format!(r#"{{"dependentSchemas":{{{dependent}}}}}"#)), object),
        pair("a tower of `not`", property(&nested(37, r#"{"not":"#, "true", "}")), value("1")),
        pair("a tower of `not` that is too high", property(&nested(60, r#"{"not":"#, "true", "}")), value("1")),
        pair("a tower of conditions", property(&nested(18, r#"{"if":true,"then":"#, "false", "}")), value("1")),
    ]
}

fn numbers() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (name, schema) in [
        ("a huge exponent under `multipleOf`", r#"{"multipleOf":7}"#),
        ("a huge exponent under `enum`", r#"{"enum":[1,2]}"#),
        ("a huge exponent under `maximum`", r#"{"type":"integer","maximum":5}"#),
        ("a huge exponent where something else is asked for", r#"{"type":["object","boolean"]}"#),
    ] {
        pairs.push(pair(name, property(schema), value("1e999999999")));
    }
    pairs.push(pair(
        "a tiny fraction under `integer`",
        property(r#"{"type":"integer","minimum":1}"#),
        value("1e-999999999"),
    ));
    pairs.push(pair(
        "a huge exponent under a huge `minimum`",
        property(r#"{"minimum":1e999999999}"#),
        value("1e999999998"),
    ));
    pairs.push(pair(
        "a huge exponent as text",
        property(r#"{"type":"integer","maximum":5}"#),
        value(r#""1e999999999""#),
    ));
    let digits = "7".repeat(500_000);
    pairs.push(pair("half a million digits under `multipleOf`", property(r#"{"multipleOf":13}"#), value(&digits)));
    pairs.push(pair(
        "half a million digits as text",
        property(r#"{"type":"integer","maximum":5}"#),
        value(&format!("\"{digits}\"")),
    ));
    pairs
}

/// Schemas that no tool may have.
fn schemas() -> Vec<Pair> {
    vec![
        pair("a cycle of `allOf`", r##"{"type":"object","allOf":[{"$ref":"#"}]}"##, "{}"),
        pair(
            "a cycle over definitions",
            r##"{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##,
            "{}",
        ),
        pair("a schema of five thousand levels", property(&nested(5_000, r#"{"not":"#, "true", "}")), value("1")),
        pair(
            "a schema of sixty levels of arrays",
            property(&nested(60, r#"{"items":"#, r#"{"type":"object"}"#, "}")),
            value(&nested(60, "[", "1", "]")),
        ),
        pair(
            "a schema of two megabytes",
            property(&format!(r#"{{"enum":[{}]}}"#, many(200_000, |number| format!("\"v{number}\"")))),
            value("1"),
        ),
        pair(
            "ten thousand broken references",
            format!(r#"{{"type":"object","allOf":[{}]}}"#, vec![r##"{"$ref":"#/x"}"##; 10_000].join(",")),
            "{}",
        ),
        pair(
            "piles of `unevaluatedProperties`",
            format!(
                r#"{{"type":"object","properties":{{"v":{}}}}}"#,
                nested(
                    18,
                    r#"{"oneOf":["#,
                    r#"{"properties":{"a":true}}"#,
                    r#",{"const":2}],"unevaluatedProperties":false}"#
                )
            ),
            value(r#"{"a":1}"#),
        ),
        pair(
            "a pattern that is large when it is compiled",
            property(r#"{"pattern":"^(\\p{L}{1,100}-){1,50}$"}"#),
            value("\"!\""),
        ),
        pair(
            "three hundred patterns that are large when they are compiled",
            format!(
                r#"{{"type":"object","properties":{{{}}},"required":["z"]}}"#,
                many(300, |number| format!(
                    r#""p{number}":{{"pattern":"^[\\p{{L}}\\p{{N}}]{{1,{}}}$"}}"#,
                    100 + number
                ))
            ),
            "{}",
        ),
    ]
}

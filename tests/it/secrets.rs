//! What a contract or its schema marks as sensitive is shown nowhere: not to the model, not in the structured error, not in a log
//! line and not in a span (rule E3).

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use toolbooth::{pipeline::Scope, refusal::Refusal, tools::Profile};
use tracing_subscriber::fmt::{MakeWriter, format::FmtSpan};

use crate::{
    stages::{check_bytes, tool},
    stand::{Stand, call, text},
};

/// What is planted, in values, in names and in schemas.
const SECRET: &str = "s3cret";

/// A schema, what the contract says of its arguments, and arguments that are refused.
struct Case {
    schema: &'static str,
    rules: &'static str,
    arguments: &'static str,
}

const fn case(schema: &'static str, rules: &'static str, arguments: &'static str) -> Case {
    Case { schema, rules, arguments }
}

const POINTER: &str = r#""sensitive":["/p"]"#;

const CASES: [Case; 36] = [
    // By pointer, in whatever its schema asks for.
    case(r#"{"type":"object","properties":{"p":{"enum":["s3cret-1","s3cret-2"]}}}"#, POINTER, r#"{"p":"s3cret-3"}"#),
    case(r#"{"type":"object","properties":{"p":{"const":"s3cret-1"}}}"#, POINTER, r#"{"p":["s3cret-3"]}"#),
    case(r#"{"type":"object","properties":{"p":{"pattern":"^s3cret-[0-9]$"}}}"#, POINTER, r#"{"p":"s3cret-x"}"#),
    case(r#"{"type":"object","properties":{"p":{"format":"uuid"}}}"#, POINTER, r#"{"p":"s3cret"}"#),
    case(r#"{"type":"object","properties":{"p":{"not":{"const":"s3cret"}}}}"#, POINTER, r#"{"p":"s3cret"}"#),
    case(r#"{"type":"object","properties":{"p":{"type":"object"}}}"#, POINTER, r#"{"p":"[\"s3cret\"]"}"#),
    case(r#"{"type":"object","required":["n"],"properties":{"p":{"type":"string"}}}"#, POINTER, r#"{"p":"s3cret"}"#),
    case(
        r#"{"type":"object","properties":{"n":{"type":"object","properties":{"p":{"type":"array"}}}}}"#,
        r#""sensitive":["/n/p"]"#,
        r#"{"n":"{\"p\":\"s3cret\"}x"}"#,
    ),
    case(
        r#"{"type":"object","properties":{"n":{"enum":[{"p":"s3cret"},"none"]}}}"#,
        r#""sensitive":["/n/p"]"#,
        r#"{"n":{"p":"s3cret-2"}}"#,
    ),
    // Marked in the schema, wherever that is.
    case(r#"{"type":"object","properties":{"p":{"writeOnly":true,"enum":["s3cret-1"]}}}"#, "", r#"{"p":"s3cret-2"}"#),
    case(
        r##"{"type":"object","properties":{"p":{"$ref":"#/$defs/p"}},"$defs":{"p":{"writeOnly":true,"const":"s3cret"}}}"##,
        "",
        r#"{"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"anyOf":[{"writeOnly":true,"type":"integer"},{"pattern":"^s3cret$"}]}}}"#,
        "",
        r#"{"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","anyOf":[{"properties":{"p":{"writeOnly":true,"const":"s3cret"}}},{"required":["q"]}]}"#,
        "",
        r#"{"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","oneOf":[{"properties":{"k":{"const":"a"},"p":{"writeOnly":true,"pattern":"^s3cret$"}}},
                                     {"properties":{"k":{"const":"b"}}}]}"#,
        "",
        r#"{"k":"a","p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","oneOf":[{"properties":{"p":{"writeOnly":true,"const":"s3cret-a"}},"required":["p"]},
                                     {"properties":{"p":{"const":"s3cret-b"}},"required":["p"]}]}"#,
        "",
        r#"{"p":"s3cret-c"}"#,
    ),
    case(
        r#"{"type":"object","allOf":[{"properties":{"p":{"writeOnly":true}}}],"properties":{"p":{"enum":["s3cret-1"]}}}"#,
        "",
        r#"{"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","properties":{"list":{"items":{"writeOnly":true,"enum":["s3cret-1"]}}}}"#,
        "",
        r#"{"list":["s3cret-2",7]}"#,
    ),
    case(
        r#"{"type":"object","properties":{"list":{"prefixItems":[true,{"writeOnly":true,"const":"s3cret"}]}}}"#,
        "",
        r#"{"list":[1,"s3cret-2"]}"#,
    ),
    case(
        r#"{"type":"object","additionalProperties":{"writeOnly":true,"pattern":"^s3cret$"}}"#,
        "",
        r#"{"a":"s3cret-2"}"#,
    ),
    case(r#"{"type":"object","patternProperties":{"^x":{"writeOnly":true,"minLength":90}}}"#, "", r#"{"x1":"s3cret"}"#),
    case(
        r#"{"type":"object","if":{"required":["a"]},"then":{"properties":{"p":{"writeOnly":true,"const":"s3cret"}}}}"#,
        "",
        r#"{"a":1,"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","dependentSchemas":{"a":{"properties":{"p":{"writeOnly":true,"enum":["s3cret"]}}}}}"#,
        "",
        r#"{"a":1,"p":"s3cret-2"}"#,
    ),
    case(
        r#"{"type":"object","properties":{"n":{"const":{"p":"s3cret"},"properties":{"p":{"writeOnly":true}}}}}"#,
        "",
        r#"{"n":{}}"#,
    ),
    // Names that are secrets themselves.
    case(
        r#"{"type":"object","properties":{"p":{"additionalProperties":{"type":"integer"}}}}"#,
        POINTER,
        r#"{"p":{"s3cret-name":"x"}}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"writeOnly":true,"properties":{"s3cret-b":{}},"additionalProperties":false}}}"#,
        "",
        r#"{"p":{"s3cret-a":1}}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"propertyNames":{"writeOnly":true,"maxLength":3}}}}"#,
        "",
        r#"{"p":{"s3cret-name":1}}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"dependentRequired":{"s3cret-a":["s3cret-b"]}}}}"#,
        POINTER,
        r#"{"p":{"s3cret-a":1}}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"unevaluatedProperties":false}}}"#,
        POINTER,
        r#"{"p":{"s3cret-name":1}}"#,
    ),
    case(r#"{"type":"object","properties":{"p":{"type":"object"}}}"#, POINTER, r#"{"p":{"s3cret":1,"s3cret":2}}"#),
    case(r#"{"type":"object","properties":{"p":{"writeOnly":true}}}"#, "", r#"{"p":{"s3cret":"\u0000"}}"#),
    // In another place than their own.
    case(
        r#"{"type":"object","required":["p"],"properties":{"p":{"type":"integer"}},"additionalProperties":false}"#,
        POINTER,
        r#"{"P-":"s3cret"}"#,
    ),
    case(
        r#"{"type":"object","required":["p","q"],"properties":{"p":{"type":"string"},"q":{"type":"string"}}}"#,
        POINTER,
        r#"{"arguments":{"p":"s3cret"}}"#,
    ),
    case(
        r#"{"type":"object","required":["p","q"],"properties":{"p":{"type":"string","writeOnly":true},"q":{"type":"string"}}}"#,
        "",
        r#"{"arguments":"{\"p\":\"s3cret\"}"}"#,
    ),
    // Where all is shown that may be.
    case(
        r#"{"type":"object","required":["n"],"properties":{"p":{"type":"string","writeOnly":true}}}"#,
        r#""received":"full""#,
        r#"{"p":"s3cret"}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"type":"integer","writeOnly":true},"list":{"minItems":3}}}"#,
        r#""received":"full","sensitive":["/list/0"]"#,
        r#"{"p":"s3cret","list":["s3cret",1]}"#,
    ),
    case(
        r#"{"type":"object","properties":{"p":{"type":"integer","writeOnly":true}}}"#,
        r#""received":"omit""#,
        r#"{"p":"s3cret"}"#,
    ),
];

fn refusal(profile: Profile, Case { schema, rules, arguments }: &Case) -> Refusal {
    let scope = Scope { profile, ..tool(schema, rules) };
    *check_bytes(&scope, arguments.as_bytes()).expect_err(arguments)
}

#[test]
fn e3_a_planted_secret_is_in_no_part_of_a_refusal() {
    for case in &CASES {
        for profile in [Profile::Strict, Profile::Safe, Profile::Pi] {
            let refusal = refusal(profile, case);
            let place = format!("{profile:?}: {} under {}", case.arguments, case.schema);
            assert!(!format!("{refusal:?}").contains(SECRET), "{place}: {refusal:#?}");
            assert!(refusal.violation_count >= 1, "{refusal:?}");
        }
    }
}

#[test]
fn e3_what_is_no_secret_is_still_explained() {
    let schema = r#"{"type":"object","properties":{"p":{"type":"integer","writeOnly":true},"level":{"enum":["low","high"]},
        "n":{"type":"integer"}}}"#;
    let refusal = refusal(Profile::Strict, &case(schema, "", r#"{"p":"5","level":"hig","n":"5"}"#));
    assert_eq!(
        refusal.text,
        "Validation failed for tool \"t\":\n  - p: expected integer, got string\n  \
         - level: expected one of [\"low\",\"high\"] (did you mean \"high\"?)\n  \
         - n: expected integer, got string (send it as 5, not as text)\n\nReceived arguments:\n{\n  \
         \"p\": \"<redacted>\",\n  \"level\": \"hig\",\n  \"n\": \"5\"\n}"
    );
}

/// Everything that is logged, and every span with its fields.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Captured {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn e3_a_planted_secret_is_in_no_log_line_no_span_and_no_error_on_the_wire() {
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(captured.clone())
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(FmtSpan::FULL)
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let tools: Vec<String> = (CASES.iter().enumerate())
        .map(|(number, Case { schema, rules, .. })| {
            format!(r#"{{"name":"t{number}","parameters":{schema},"arguments":{{{rules}}},"execute":{{"echo":{{}}}}}}"#)
        })
        .collect();
    let stand = Stand::with(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))).await;
    let mut stream = stand.run().await;
    let calls = CASES.iter().enumerate().map(|(number, case)| call("", &format!("t{number}"), case.arguments));
    let (results, _) = stream.batch("b1", calls.collect()).await;
    assert_eq!(results.len(), CASES.len());
    for (result, case) in results.iter().zip(&CASES) {
        let shown = format!("{} {:?}", text(result), result.error);
        assert!(result.is_error && !shown.contains(SECRET), "{}: {shown}", case.schema);
    }
    let logged = String::from_utf8_lossy(&captured.0.lock().unwrap()).into_owned();
    assert!(logged.contains("execute_tool") && logged.contains("TRACE"), "it is logged: {} bytes", logged.len());
    let lines: Vec<&str> = logged.lines().filter(|line| line.contains(SECRET)).collect();
    assert_eq!(lines, Vec::<&str>::new());
}

//! Profile `pi` beside what was observed of pi 1.6.0 (rule E6): `tests/cases/pi`, one case a line.

mod bounds;
mod texts;

use std::{collections::BTreeSet, fs};

use toolbooth::{
    json::{Json, ParseLimits, parse},
    pipeline,
    refusal::{Refusal, Repair, Violation},
    result::Trace,
    tools::{Profile, Schema, SchemaOptions},
};

use crate::stages::{self, scope};

/// What became of a call.
struct Outcome {
    trace: Trace,
    refusal: Option<Refusal>,
}

/// A call to the tool `t` of a contract.
fn call(contract: &Json, arguments: &[u8]) -> Outcome {
    let (scope, call) = (scope(&contract.to_text(), Profile::Pi), stages::call(arguments));
    let mut trace = Trace::default();
    let refusal = pipeline::check(&scope, &call, &mut trace).err().map(|refusal| *refusal);
    Outcome { trace, refusal }
}

fn contract(schema: &Json) -> Json {
    Json::object([("name", Json::from("t")), ("parameters", schema.clone())])
}

fn json(text: &str) -> Json {
    parse(text.as_bytes(), &ParseLimits::wide()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The lines of a file of cases. No string of ours holds half a surrogate pair; where a case has one, it has U+FFFD here.
fn cases(file: &str) -> Vec<Json> {
    let text = fs::read_to_string(format!("tests/cases/pi/{file}")).unwrap();
    text.lines().map(|line| json(&line.replace(r#""\ud800""#, "\"\u{fffd}\""))).collect()
}

fn text<'a>(case: &'a Json, key: &str) -> &'a str {
    case.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn list<'a>(case: &'a Json, key: &str) -> &'a [Json] {
    case.get(key).and_then(Json::as_array).unwrap_or_default()
}

/// One observation of pi, and what the booth does.
struct Vector {
    id: String,
    observed: Json,
    ours: Outcome,
}

impl Vector {
    fn all() -> Vec<Self> {
        cases("vectors.jsonl").into_iter().filter_map(Self::of).collect()
    }

    /// `None` if the booth refuses the schema (rules V1 and V2).
    fn of(observed: Json) -> Option<Self> {
        let schema = observed.get("schema")?;
        Schema::compile(schema, SchemaOptions { formats: true, normalise: false }).ok()?;
        let sent = match observed.get("args_json").and_then(Json::as_str) {
            Some(text) => text.to_owned(),
            None => observed.get("args")?.to_text(),
        };
        let ours = call(&contract(schema), sent.as_bytes());
        Some(Self { id: text(&observed, "id").to_owned(), observed, ours })
    }

    fn has_tag(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        list(&self.observed, "tags").iter().filter_map(Json::as_str).any(is_meant)
    }

    /// Whether it depends on neither JavaScript nor a broken schema.
    fn counts(&self) -> bool {
        !self.has_tag(|tag| tag.starts_with("js_") || tag == "schema_error")
    }

    fn is_error(&self) -> bool {
        text(&self.observed, "outcome") == "error"
    }

    /// Refused alike, or run with the same arguments.
    fn agrees(&self) -> bool {
        match (&self.ours.refusal, self.is_error()) {
            (Some(_), true) => true,
            (None, false) => self.ours.trace.arguments.as_deref() == self.observed.get("coerced"),
            (Some(_), false) | (None, true) => false,
        }
    }

    /// Refused in the same words, with the same violations.
    fn says_the_same(&self) -> bool {
        let Some(refusal) = &self.ours.refusal else { return false };
        let error = |error: &Json| ["path", "keyword", "message"].map(|key| text(error, key).to_owned());
        let violation = |violation: &Violation| {
            let path = violation.property.iter().fold(violation.path.clone(), |path, name| path.join(name));
            [path.to_string(), violation.keyword.to_owned(), violation.message.clone()]
        };
        refusal.text == text(&self.observed, "message")
            && refusal.violations.iter().map(violation).eq(list(&self.observed, "errors").iter().map(error))
    }

    fn differs(&self) -> bool {
        !self.agrees() || (self.is_error() && !self.says_the_same())
    }

    /// Whether it ran with something else than what was sent.
    fn is_changed(&self) -> bool {
        let trace = &self.ours.trace;
        trace.arguments.as_ref().is_some_and(|arguments| Some(arguments) != trace.received.as_ref())
    }

    fn is_marked(&self) -> bool {
        self.ours.trace.repairs.iter().any(|repair| repair.lossy)
    }
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "a few hundred, to be read by people")]
fn share(part: usize, whole: usize) -> String {
    format!("{part} of {whole} ({:.1} %)", 100.0 * part as f64 / whole as f64)
}

/// The names in the first column of the table under a heading of `docs/pi.md`.
fn listed(heading: &str) -> BTreeSet<String> {
    let document = fs::read_to_string("docs/pi.md").unwrap();
    let (_, section) = document.split_once(&format!("## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).map(str::to_owned).collect()
}

#[test]
fn e6_what_pi_does_with_arguments_is_done_and_said_to_the_letter_but_for_what_is_listed() {
    let vectors = Vector::all();
    let (counted, other): (Vec<_>, Vec<_>) = vectors.iter().partition(|vector| vector.counts());
    let errors: Vec<_> = counted.iter().filter(|vector| vector.is_error()).collect();
    let agreeing = counted.iter().filter(|vector| vector.agrees()).count();
    let same = errors.iter().filter(|vector| vector.says_the_same()).count();
    println!("outcome and value: {}", share(agreeing, counted.len()));
    println!("error texts: {}", share(same, errors.len()));
    let alike = other.iter().filter(|vector| !vector.differs()).count();
    println!("of what depends on JavaScript: {}", share(alike, other.len()));
    let differing: BTreeSet<_> =
        counted.iter().filter(|vector| vector.differs()).map(|vector| vector.id.clone()).collect();
    assert_eq!(differing, listed("Cases that differ"), "docs/pi.md lists what differs, and why");
    assert!(counted.len() > 380 && errors.len() > 190, "the cases are there: {}, {}", counted.len(), errors.len());
    assert!(100 * agreeing >= 98 * counted.len() && 100 * same >= 95 * errors.len());
}

#[test]
fn c7_what_pi_destroys_is_marked_and_nothing_else_is() {
    let vectors = Vector::all();
    let changed = vectors.iter().filter(|vector| vector.counts() && vector.is_changed());
    let (lossy, kept): (Vec<_>, Vec<_>) = changed.partition(|vector| vector.has_tag(|tag| tag == "lossy"));
    let wrong = |vectors: &[&Vector], marked| -> Vec<_> {
        vectors.iter().filter(|vector| vector.is_marked() != marked).map(|vector| vector.id.clone()).collect()
    };
    assert_eq!((wrong(&lossy, true), wrong(&kept, false)), (Vec::new(), Vec::new()));
    assert!(lossy.len() > 30 && kept.len() > 60, "the cases are there: {}, {}", lossy.len(), kept.len());
}

#[test]
fn c7_nothing_changes_that_is_not_listed() {
    for vector in Vector::all() {
        let is_listed = !vector.ours.trace.repairs.is_empty();
        assert!(is_listed || !vector.is_changed(), "{}", vector.id);
    }
}

#[test]
fn c7_every_change_is_listed_with_its_place() {
    let schema = json(
        r#"{"type":"object","required":["ids","n","u"],"properties":{
            "ids":{"type":"array","items":{"type":"integer"}},"n":{"type":["integer","null"]},"gone":{"type":"string"},
            "u":{"anyOf":[{"type":"object","required":["k"],"properties":{"k":{"type":"number"}}},{"type":"boolean"}]}}}"#,
    );
    let repairs = |sent: &str| {
        let outcome = call(&contract(&schema), sent.as_bytes());
        let repair = |repair: &Repair| {
            let Repair { op, path, from, to, lossy, .. } = repair;
            format!("{op} {path} {from} {to}{}", if *lossy { " lossy" } else { "" })
        };
        let arguments = outcome.trace.arguments.map(|arguments| arguments.text().to_owned());
        (arguments.unwrap_or_default(), outcome.trace.repairs.iter().map(repair).collect::<Vec<_>>())
    };
    let (arguments, listed) = repairs(r#"{"ids":"3.9","n":"5","gone":null,"u":{"k":"1.50"}}"#);
    assert_eq!(arguments, r#"{"ids":[3],"n":5,"u":{"k":1.50}}"#);
    let all = [
        "drop_optional_absent /gone null absent",
        "wrap_in_array /ids string array",
        "string_to_integer /ids/0 string number lossy",
        "string_to_number /u/k string number",
        "string_to_integer /n string number",
    ];
    assert_eq!(listed, all);
    // A branch that was tried and left leaves no trace; an integer is respelled though nothing is wrong with it.
    let (arguments, listed) = repairs(r#"{"ids":[1e1],"n":null,"u":"TRUE"}"#);
    assert_eq!(arguments, r#"{"ids":[10],"n":null,"u":true}"#);
    assert_eq!(listed, ["string_to_boolean /u string boolean", "float_to_integer /ids/0 number number"]);
}

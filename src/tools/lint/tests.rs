//! Each lint, with contracts that trip it and contracts that do not.

mod schemas;

use std::{fmt::Write as _, fs};

use crate::{
    document::{MAX_NOTES, Severity},
    tools::{LINTS, LoadOptions, load_document, load_paths},
};

/// `code place` of each finding on a tool that says this.
fn found(contract: &str) -> Vec<String> {
    let loaded = load_document(contract.as_bytes(), &LoadOptions { lint: true, ..LoadOptions::default() });
    assert_eq!(loaded.catalog.served().count(), 1, "{contract}: {:?}", loaded.reports);
    loaded.reports[0].lints.iter().map(|note| format!("{} {}", note.code, note.path)).collect()
}

/// The places where a lint finds something in a tool with these parameters.
fn places(code: &str, parameters: &str) -> Vec<String> {
    places_with(code, parameters, "")
}

fn places_with(code: &str, parameters: &str, more: &str) -> Vec<String> {
    assert!(LINTS.iter().any(|lint| lint.code == code), "{code}");
    let contract = format!(r#"{{"name":"t","description":"Does it.","parameters":{parameters}{more}}}"#);
    let start = format!("{code} ");
    found(&contract).iter().filter_map(|line| line.strip_prefix(&start)).map(str::to_owned).collect()
}

/// An object with this property.
fn with(property: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"p":{property}}}}}"#)
}

/// Asserts where a lint finds something, and that it does not find it elsewhere.
fn check(code: &str, trips: &[(&str, &str)], passes: &[&str]) {
    for (parameters, place) in trips {
        assert_eq!(places(code, parameters), [*place], "{code}: {parameters}");
    }
    for parameters in passes {
        assert!(places(code, parameters).is_empty(), "{code}: {parameters}");
    }
}

/// As [`check`], for the schema of a property.
fn check_property(code: &str, trips: &[(&str, &str)], passes: &[&str]) {
    for (property, place) in trips {
        assert_eq!(places(code, &with(property)), [format!("/properties/p{place}")], "{code}: {property}");
    }
    for property in passes {
        assert!(places(code, &with(property)).is_empty(), "{code}: {property}");
    }
}

#[test]
fn a_contract_that_says_all_there_is_to_say_has_no_findings() {
    let contract = r#"{"name":"search_files","description":"Find files by name.","parameters":{"type":"object",
        "required":["query"],"additionalProperties":false,"properties":{
        "query":{"type":"string","description":"A part of the name, such as `main`."},
        "kind":{"enum":["file","folder"],"description":"What to look for.","default":"file"}}}}"#;
    assert_eq!(found(contract), Vec::<String>::new());
}

#[test]
fn nothing_is_looked_for_unless_somebody_asks() {
    let loaded = load_document(br#"{"name":"a b","parameters":{"type":"object"}}"#, &LoadOptions::default());
    assert!(loaded.reports[0].lints.is_empty());
}

#[test]
fn names_of_tools_are_those_that_providers_take() {
    let is_found = |name: &str| {
        let contract = format!(r#"{{"name":"{name}","parameters":{{"type":"object"}}}}"#);
        found(&contract).contains(&"tool_name /name".to_owned())
    };
    for name in ["a b", "a.b", "ä", "a/b", "1a", "-a", &"x".repeat(65)] {
        assert!(is_found(name), "{name}");
    }
    for name in ["a", "_a", "A-b_1", &"x".repeat(64)] {
        assert!(!is_found(name), "{name}");
    }
}

#[test]
fn tools_that_differ_in_case_and_punctuation_only_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("tools:\n");
    for name in ["read_file", "readFile", "read_files", "list"] {
        writeln!(text, "- {{name: {name}, parameters: {{type: object}}}}").unwrap();
    }
    fs::write(folder.path().join("a.yaml"), text).unwrap();
    let options = LoadOptions { lint: true, ..LoadOptions::default() };
    let loaded = load_paths(&[folder.path().to_owned()], &options).unwrap();
    let similar = |name: &str| {
        let report = loaded.reports.iter().find(|report| &*report.name == name).unwrap();
        report.lints.iter().find(|note| note.code == "similar_tool_names").cloned()
    };
    let note = similar("readFile").unwrap();
    assert_eq!(
        (note.severity, note.path.to_string(), note.place.unwrap().line),
        (Severity::Warning, "/name".into(), 3)
    );
    assert!(note.message.starts_with("`read_file` and `readFile` differ"), "{}", note.message);
    assert!(["read_file", "read_files", "list"].iter().all(|name| similar(name).is_none()));
}

#[test]
fn a_tool_says_what_it_does_and_in_few_words() {
    let contract = |description: &str| {
        found(&format!(r#"{{"name":"t","description":"{description}","parameters":{{"type":"object"}}}}"#))
    };
    assert!(contract(" ").contains(&"no_tool_description /description".to_owned()));
    assert!(contract(&"x".repeat(1_025)).contains(&"long_tool_description /description".to_owned()));
    assert!(!contract(&"x".repeat(1_024)).iter().any(|line| line.contains("tool_description")));
}

#[test]
fn hints_and_side_effects_say_the_same() {
    let object = r#"{"type":"object"}"#;
    let found = |more: &str| !places_with("side_effect_differs", object, more).is_empty();
    assert!(found(r#","annotations":{"destructiveHint":true}"#));
    assert!(found(r#","annotations":{"readOnlyHint":true},"side_effect":true"#));
    assert!(!found(r#","annotations":{"destructiveHint":true},"side_effect":true"#));
    assert!(!found(r#","annotations":{"destructiveHint":true,"readOnlyHint":true}"#));
    assert!(!found(r#","annotations":{"destructiveHint":false}"#));
    assert!(!found(""));
}

#[test]
fn p7_hints_and_the_contract_say_the_same_of_trying_again() {
    let object = r#"{"type":"object"}"#;
    let found = |more: &str| !places_with("idempotent_differs", object, more).is_empty();
    assert!(found(r#","annotations":{"idempotentHint":false},"idempotent":true"#));
    assert!(!found(r#","annotations":{"idempotentHint":false,"readOnlyHint":true},"idempotent":true"#));
    assert!(!found(r#","annotations":{"idempotentHint":true},"idempotent":true"#));
    assert!(!found(r#","annotations":{"idempotentHint":true}"#), "it is the contract's to allow more");
    assert!(!found(r#","annotations":{"idempotentHint":false}"#));
    assert!(!found(r#","idempotent":true"#));
}

#[test]
fn v6_findings_stand_where_the_author_wrote_what_they_are_about() {
    let parameters = with(r#"{"nullable":true,"allOf":[{"type":"STRING","pattern":"^a|b$"}]}"#);
    assert_eq!(places("partly_anchored_pattern", &parameters), ["/properties/p/allOf/0/pattern"]);
}

#[test]
fn v3_of_one_lint_a_hundred_findings_are_kept_and_none_hides_another() {
    let many: Vec<_> = (0..2_000).map(|at| format!(r#""p{at}":{{"type":"array"}}"#)).collect();
    let contract = format!(r#"{{"name":"t","parameters":{{"properties":{{{}}}}}}}"#, many.join(","));
    let loaded = load_document(contract.as_bytes(), &LoadOptions { lint: true, ..LoadOptions::default() });
    let of = |code: &str| loaded.reports[0].lints.iter().filter(|note| note.code == code).collect::<Vec<_>>();
    for code in ["array_without_items", "no_property_description", "optional_without_default"] {
        let notes = of(code);
        assert_eq!(notes.len(), MAX_NOTES + 1, "{code}");
        assert_eq!(notes[MAX_NOTES].message, "and 1900 more", "{code}");
    }
    assert_eq!(of("open_object").len(), 1);
}

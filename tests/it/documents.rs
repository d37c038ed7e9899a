//! What documents say of the code, and what the code has that they must say.

use std::{collections::BTreeSet, fs, path::Path};

use crate::stages::check_as;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The words in backquotes that look like operations, in the first cells of tables and in the paragraph on names.
fn listed_operations() -> BTreeSet<String> {
    let text = read("docs/arguments.md");
    let (_, changes) = text.split_once("## What `safe` changes").unwrap();
    let (changes, _) = changes.split_once("## What schemas may say").unwrap();
    let names = changes.split_once("**The name of the tool**").unwrap().1.split_once("**The values**").unwrap().0;
    let cells = changes.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let is_operation =
        |word: &&str| word.contains('_') && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    let words = cells.chain([names]).flat_map(|part| part.split('`').skip(1).step_by(2));
    words.filter(is_operation).map(ToOwned::to_owned).collect()
}

fn source(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            source(&path, found);
        } else {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn c7_every_operation_that_is_documented_exists_and_every_one_of_the_field_is_documented() {
    let listed = listed_operations();
    let mut code = String::new();
    source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut code);
    for operation in &listed {
        assert!(code.contains(&format!("\"{operation}\"")), "{operation} is documented, and nothing does it");
    }
    let cases = read("tests/cases/field/cases.jsonl");
    let of_calls = cases.lines().filter(|case| !case.contains(r#""stage": "registration""#));
    let operations = of_calls.flat_map(|case| case.split(r#""op": ""#).skip(1));
    for operation in operations.map(|rest| rest.split('"').next().unwrap()) {
        assert!(listed.contains(operation), "{operation} is not in docs/arguments.md");
    }
    assert!(listed.len() >= 30, "{listed:?}");
}

/// What each row of the tables shows, done.
#[test]
fn c7_what_the_document_shows_is_what_is_done() {
    let schema = r#"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer"},"s":{"type":"string"},
        "b":{"type":"boolean"},"list":{"type":"array","items":{"type":"integer"}},"level":{"enum":["high"]},"file_path":{},"n":{"type":["integer","null"]},"d":{"default":1}}}"#;
    for (sent, operation) in [
        (r#"{"a":1}<|end|>"#, "strip_special_tokens"),
        ("```json\n{\"a\":1}\n```", "strip_fence"),
        (r#""{\"a\":1}""#, "json_string_to_object"),
        (r#""""#, "empty_text_to_object"),
        (r#"{}{"a":1}"#, "drop_empty_prefix"),
        (r#"{"a":1}{"a":1}"#, "dedupe_identical_objects"),
        (r#"{"a":1}}"#, "drop_trailing_brace"),
        (r#"{"a": \n1}"#, "escaped_whitespace"),
        ("{\"s\":\"a\nb\"}", "escape_control"),
        (r#"{"s":"\d+"}"#, "escape_backslash"),
        (r#"{"b":True}"#, "python_literal"),
        (r#"{"list":[1,2,]}"#, "strip_trailing_comma"),
        (r#"{"a":1,"a":1}"#, "dedupe_key"),
        (r#"{"s":"\ud800"}"#, "replace_surrogate"),
        (r#"{"a":"42"}"#, "string_to_integer"),
        (r#"{"b":"FALSE"}"#, "string_to_boolean"),
        (r#"{"s":1.10}"#, "number_to_string"),
        (r#"{"s":true}"#, "boolean_to_string"),
        (r#"{"a":1e3}"#, "float_to_integer"),
        (r#"{"list":"[1,2]"}"#, "json_string_to_array"),
        (r#"{"list":1}"#, "wrap_in_array"),
        (r#"{"s":["a"]}"#, "unwrap_single"),
        (r#"{"level":"High"}"#, "fold_enum"),
        (r#"{"a":null}"#, "drop_optional_absent"),
        (r#"{"n":"None"}"#, "null_text_to_null"),
        (r#"{"arguments":{"a":1}}"#, "unwrap_envelope"),
        (r#"{"filePath":1}"#, "rename_key"),
    ] {
        let checked = check_as(schema, "", sent).unwrap_or_else(|refusal| panic!("{sent}: {}", refusal.text));
        assert_eq!(checked.repairs.iter().map(|repair| repair.op).collect::<Vec<_>>(), [operation], "{sent}");
    }
    let filled = check_as(schema, r#""defaults":true"#, r#"{"a":1}"#).unwrap();
    assert_eq!(filled.repairs[0].op, "apply_default");
}

//! The corpus: real schemas and recorded calls, read in place from beside the repository and never copied into it.
//!
//! It lies in `../shared/corpus`, or in `corpus` below the folder that `TOOLBOOTH_SHARED` names. Where it does not, these
//! tests say so and pass.

mod calls;
mod negatives;
mod schemas;
mod suite;

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::value::RawValue;
use toolbooth::{
    json::{Json, ParseLimits, parse},
    tools::{LoadOptions, Loaded, load_document},
};

/// What an explanation says where it knows no more than that the value is refused.
const GENERIC: &str = "does not satisfy the schema";

/// A tool's schema.
#[derive(Deserialize)]
struct SchemaLine<'a> {
    id: String,
    source: String,
    tool: String,
    #[serde(borrow)]
    schema: &'a RawValue,
}

/// A call of a tool. Synthetic ones have no recorded text.
#[derive(Deserialize)]
struct CallLine<'a> {
    source: String,
    tool: String,
    schema_ref: Option<String>,
    kind: String,
    #[serde(default)]
    status: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    arguments_text: Option<String>,
}

impl SchemaLine<'_> {
    /// The name of its contract. One tool occurs with several schemas.
    fn name(&self) -> String {
        contract_name(&self.tool, Some(&self.id))
    }

    /// Its contract: strict, and echoed.
    fn contract(&self) -> String {
        self.contract_under("strict")
    }

    fn contract_under(&self, profile: &str) -> String {
        let (name, schema) = (Json::from(self.name().as_str()).to_text(), self.schema.get());
        format!(
            r#"{{"name":{name},"parameters":{schema},"arguments":{{"profile":"{profile}"}},"execute":{{"echo":{{}}}}}}"#
        )
    }
}

impl CallLine<'_> {
    fn name(&self) -> String {
        contract_name(&self.tool, self.schema_ref.as_deref())
    }

    /// The text of the model; where it was not recorded, the value as the corpus spells it.
    fn text(&self) -> &str {
        self.arguments_text.as_deref().or_else(|| self.arguments.map(RawValue::get)).unwrap_or_default()
    }
}

fn contract_name(tool: &str, schema: Option<&str>) -> String {
    schema.map_or_else(|| tool.to_owned(), |schema| format!("{tool}__{schema}"))
}

/// A file of the corpus; `None`, loudly, where there is no corpus.
fn corpus(file: &str) -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("TOOLBOOTH_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join("corpus").join(file);
    match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) => {
            // Not `eprintln!`: the harness would keep it to itself.
            let remedy = "put the corpus there, or name the folder above it with TOOLBOOTH_SHARED";
            writeln!(io::stderr(), "SKIPPED, nothing was tested: {}: {error}: {remedy}", path.display()).unwrap();
            None
        }
    }
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn json(text: &str) -> Json {
    let limits = ParseLimits { max_depth: 1_000, max_bytes: 1 << 30, max_keys: 1 << 30, allow_nul: true };
    parse(text.as_bytes(), &limits).unwrap()
}

/// A document of the contracts of these schemas.
fn document<'a>(schemas: impl IntoIterator<Item = &'a SchemaLine<'a>>) -> String {
    let contracts: Vec<String> = schemas.into_iter().map(SchemaLine::contract).collect();
    format!(r#"{{"tools":[{}]}}"#, contracts.join(","))
}

fn load<'a>(schemas: impl IntoIterator<Item = &'a SchemaLine<'a>>) -> Loaded {
    load_document(document(schemas).as_bytes(), &LoadOptions::default())
}

/// The schemas that these calls refer to.
fn referred<'a, 'c>(
    schemas: &'a [SchemaLine<'a>],
    calls: impl IntoIterator<Item = &'c CallLine<'c>>,
) -> Vec<&'a SchemaLine<'a>> {
    let ids: HashSet<&str> = calls.into_iter().filter_map(|call| call.schema_ref.as_deref()).collect();
    schemas.iter().filter(|schema| ids.contains(&*schema.id)).collect()
}

/// How many there are of each.
fn count<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeMap<T, usize> {
    items.into_iter().fold(BTreeMap::new(), |mut counts, item| {
        *counts.entry(item).or_default() += 1;
        counts
    })
}

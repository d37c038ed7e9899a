//! Parts of a document that are kept as they were written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny},
};
use serde_json::value::RawValue;

use crate::json::{Json, ParseLimits, parse};

/// Any JSON value, number for number as it was written.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[schemars(transparent)]
pub struct Exact(#[schemars(with = "serde_json::Value")] pub Json);

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        // The text was judged when the document was read; here it is only taken over.
        parse(raw.get().as_bytes(), &ParseLimits::wide()).map(Self).map_err(D::Error::custom)
    }
}

/// Any JSON value that is read where it stands in the document, and here only passed over.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Elsewhere(#[schemars(with = "serde_json::Value")] IgnoredAny);

/// Any JSON object, number for number as it was written.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExactObject(#[schemars(with = "BTreeMap<String, serde_json::Value>")] pub Exact);

//! Where a schema has subschemas, and how it reaches the validator.

use serde_json::{Map, Value};

use super::{
    dialect::Dialect,
    exact::{nearest, rounded},
    keywords::{AS_TEXT, NUMERIC},
};
use crate::json::{Json, Number, Object, Pointer};

/// What the value of a keyword holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A schema, or a list of schemas.
    SchemaOrList,
    /// Schemas by name. Draft 7's `dependencies` may also hold lists of names.
    SchemasByName,
    /// No schemas.
    Plain,
}

pub(super) fn shape(keyword: &str) -> Shape {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "allOf"
        | "anyOf"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "oneOf"
        | "prefixItems"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Shape::SchemaOrList,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
            Shape::SchemasByName
        }
        _ => Shape::Plain,
    }
}

/// Whether the keyword's subschemas judge the same value as the schema itself.
pub(super) fn is_in_place(keyword: &str) -> bool {
    matches!(
        keyword,
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" | "dependencies"
    )
}

/// A subschema of a schema object: the steps to it, and itself.
pub(in crate::tools) struct Subschema<'a> {
    /// The keyword that holds it.
    pub(in crate::tools) keyword: &'a str,
    /// The step below the keyword.
    step: Step<'a>,
    /// The subschema.
    pub(in crate::tools) schema: &'a Json,
}

/// A step from a keyword to a subschema.
enum Step<'a> {
    /// The keyword holds the subschema itself.
    None,
    Name(&'a str),
    Position(usize),
}

/// Where a schema stands. Most places are only passed: pointers are made of those that are spoken of.
#[derive(Clone, Copy)]
pub(in crate::tools) enum Place<'p> {
    /// Here.
    At(&'p Pointer),
    /// At a subschema of the schema that stands there.
    Below(&'p Place<'p>, &'p Subschema<'p>),
}

impl<'p> Place<'p> {
    /// The way to it.
    pub(in crate::tools) fn pointer(self) -> Pointer {
        match self {
            Self::At(pointer) => pointer.clone(),
            Self::Below(above, Subschema { keyword, step, .. }) => {
                let holder = above.pointer().join(keyword);
                match step {
                    Step::None => holder,
                    Step::Name(name) => holder.join(name),
                    Step::Position(position) => holder.join(position),
                }
            }
        }
    }

    /// The way to what stands below it.
    pub(in crate::tools) fn join(self, step: &str) -> Pointer {
        self.pointer().join(step)
    }

    /// Whether it is the place of the whole.
    pub(in crate::tools) fn is_root(self) -> bool {
        matches!(self, Self::At(pointer) if pointer.is_empty())
    }

    /// The name of the property that is declared there.
    pub(in crate::tools) fn property(self) -> Option<&'p str> {
        match self {
            Self::Below(_, Subschema { keyword: "properties", step: Step::Name(name), .. }) => Some(name),
            Self::At(_) | Self::Below(..) => None,
        }
    }

    /// Whether it is one judgement of several on the same value, as a branch of `anyOf` is.
    pub(in crate::tools) fn is_branch(self) -> bool {
        matches!(self, Self::Below(_, Subschema { keyword, .. }) if is_in_place(keyword))
    }

    /// How many properties lie on the way to it.
    pub(in crate::tools) fn properties_above(self) -> usize {
        match self {
            Self::At(_) => 0,
            Self::Below(above, _) => above.properties_above() + usize::from(self.property().is_some()),
        }
    }

    /// Where the values stand that it judges, if that can be said without following references or counting items.
    pub(in crate::tools) fn instance(self) -> Option<Pointer> {
        match self {
            Self::At(_) => Some(Pointer::root()),
            Self::Below(above, _) if self.is_branch() => above.instance(),
            Self::Below(above, _) => Some(above.instance()?.join(self.property()?)),
        }
    }

    /// Whether it is judged for one value, and only where there is that value. What is referred to, or is one judgement of
    /// several on the same value, may stand for a property that there need not be.
    pub(super) fn is_of_one_value(self) -> bool {
        match self {
            Self::At(_) => self.is_root(),
            Self::Below(_, Subschema { keyword, .. }) => {
                !is_in_place(keyword) && !["$defs", "definitions"].contains(keyword)
            }
        }
    }
}

/// The subschemas that stand directly in a schema object.
pub(in crate::tools) fn subschemas(schema: &Object) -> Vec<Subschema<'_>> {
    let mut found = Vec::new();
    for (keyword, value) in schema {
        match (shape(keyword), value) {
            (Shape::SchemaOrList, Json::Array(items)) => {
                found.extend(items.iter().enumerate().map(|(position, schema)| Subschema {
                    keyword,
                    step: Step::Position(position),
                    schema,
                }));
            }
            (Shape::SchemaOrList, schema) => found.push(Subschema { keyword, step: Step::None, schema }),
            (Shape::SchemasByName, Json::Object(members)) => {
                found.extend(
                    members
                        .iter()
                        .filter(|(_, schema)| !matches!(schema, Json::Array(_)))
                        .map(|(name, schema)| Subschema { keyword, step: Step::Name(name), schema }),
                );
            }
            (Shape::SchemasByName | Shape::Plain, _) => {}
        }
    }
    found
}

/// Visits every schema object, the outer before the inner.
pub(in crate::tools) fn each_subschema<'a>(schema: &'a Json, visit: &mut impl FnMut(&'a Object, Place<'_>)) {
    visit_below(schema, Place::At(&Pointer::root()), visit);
}

/// How many keywords look through all parts of a value, each pattern of names for itself.
pub(super) fn lookers(schema: &Json) -> usize {
    let mut count = 0;
    each_subschema(schema, &mut |keywords, _| {
        let by_pattern = keywords.get("patternProperties").and_then(Json::as_object).map_or(0, Object::len);
        let others =
            ["contains", "propertyNames", "uniqueItems"].iter().filter(|keyword| keywords.contains_key(**keyword));
        count += by_pattern + others.count();
    });
    count
}

fn visit_below<'a>(schema: &'a Json, place: Place<'_>, visit: &mut impl FnMut(&'a Object, Place<'_>)) {
    let Some(keywords) = schema.as_object() else { return };
    visit(keywords, place);
    for inner in subschemas(keywords) {
        visit_below(inner.schema, Place::Below(&place, &inner), visit);
    }
}

/// A schema object without what its subschemas say: what is wrong with it is wrong in its own keywords.
pub(super) fn alone(keywords: &Object) -> Value {
    let emptied = |held: &Json| if held.as_object().is_some() { Value::Object(Map::new()) } else { rounded(held) };
    let own = keywords.iter().map(|(keyword, held)| {
        let held = match (shape(keyword), held) {
            (Shape::SchemaOrList, Json::Array(items)) => items.iter().map(emptied).collect(),
            (Shape::SchemaOrList, held) => emptied(held),
            (Shape::SchemasByName, Json::Object(members)) => {
                Value::Object(members.iter().map(|(name, held)| (name.to_string(), emptied(held))).collect())
            }
            (Shape::SchemasByName | Shape::Plain, held) => rounded(held),
        };
        (keyword.to_string(), held)
    });
    Value::Object(own.collect())
}

/// The schema as the validator takes it. A keyword with a number that `serde_json` would round is passed as text under
/// another name, and a `$schema` that the validator does not know is left out.
pub(super) fn to_value(schema: &Json, dialect: Dialect) -> Value {
    let Json::Object(keywords) = schema else { return rounded(schema) };
    let mut value = Map::with_capacity(keywords.len());
    for (keyword, held) in &**keywords {
        if &**keyword == "$schema"
            && held.as_str().is_some_and(|address| Dialect::from_address(address) != Some(dialect))
        {
            continue;
        }
        let (name, held) = match (shape(keyword), held) {
            (Shape::SchemaOrList, Json::Array(items)) => {
                (keyword.to_string(), Value::Array(items.iter().map(|item| to_value(item, dialect)).collect()))
            }
            (Shape::SchemaOrList, held) => (keyword.to_string(), to_value(held, dialect)),
            (Shape::SchemasByName, Json::Object(members)) => {
                let members = members.iter().map(|(name, held)| (name.to_string(), to_value(held, dialect)));
                (keyword.to_string(), Value::Object(members.collect()))
            }
            (Shape::SchemasByName | Shape::Plain, held) => plain(keyword, held),
        };
        value.insert(name, held);
    }
    Value::Object(value)
}

fn plain(keyword: &str, held: &Json) -> (String, Value) {
    if NUMERIC.contains(&keyword) && !is_exact(held) {
        (format!("{AS_TEXT}{keyword}"), Value::String(held.to_text()))
    } else {
        (keyword.to_owned(), rounded(held))
    }
}

/// Whether no number is changed by `serde_json`.
fn is_exact(value: &Json) -> bool {
    match value {
        Json::Number(number) => Number::from(&nearest(number)) == *number,
        Json::Array(items) => items.iter().all(is_exact),
        Json::Object(members) => members.values().all(is_exact),
        Json::Null | Json::Bool(_) | Json::String(_) => true,
    }
}

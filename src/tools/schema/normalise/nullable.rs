//! `nullable: true` of `OpenAPI` 3.0: null is admitted beside what the rest of the schema admits.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use super::names_of;
use crate::{
    json::{Json, Object, Pointer},
    tools::schema::structure::each_subschema,
};

/// Keywords that judge null by what stands elsewhere, or by more than can be told at a glance.
const COMBINED: [&str; 11] =
    ["$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "const", "else", "if", "not", "oneOf", "then"];

/// The way from a schema to the keywords that were put beside null.
const BESIDE_NULL: [&str; 2] = ["anyOf", "0"];

/// Whether a schema has any of these keywords.
pub(super) fn is_combined(keywords: &Object) -> bool {
    COMBINED.iter().any(|keyword| keywords.contains_key(*keyword))
}

/// Whether a schema admits null, as far as can be told at a glance.
pub(super) fn admits_null(keywords: &Object) -> bool {
    let has_null = |held: &Json| names_of(held).iter().any(is_null);
    let holds_null = |held: &Json| held.as_array().is_none_or(|values| values.contains(&Json::Null));
    let has_branch = |held: &Json| {
        let of_branch = |branch: &Json| branch.as_object().is_some_and(admits_null);
        held.as_array().is_none_or(|branches| branches.iter().any(of_branch))
    };
    keywords.iter().all(|(keyword, held)| match &**keyword {
        "type" => has_null(held),
        "enum" => holds_null(held),
        "const" => *held == Json::Null,
        "anyOf" => has_branch(held),
        keyword => !COMBINED.contains(&keyword),
    })
}

/// `null` and `NULL` are the same where types are spelled in upper case.
fn is_null(name: &Json) -> bool {
    name.as_str().is_some_and(|name| name.eq_ignore_ascii_case("null"))
}

fn null() -> Json {
    Json::object([("type", Json::from("null"))])
}

/// Makes a schema admit null. Says whether keywords were moved for that.
pub(super) fn admit_null(keywords: &mut Object) -> bool {
    if let Some(held) = keywords.get_mut("type")
        && !names_of(held).iter().any(is_null)
    {
        *held = names_of(held).iter().cloned().chain([Json::from("null")]).collect::<Vec<_>>().into();
    }
    if let Some(Json::Array(values)) = keywords.get_mut("enum")
        && !values.contains(&Json::Null)
    {
        values.push(Json::Null);
    }
    let combined: Vec<&str> = COMBINED.into_iter().filter(|keyword| keywords.contains_key(*keyword)).collect();
    match (combined.as_slice(), keywords.get_mut("anyOf")) {
        ([], _) => false,
        (["anyOf"], Some(Json::Array(branches))) => {
            branches.push(null());
            false
        }
        _ => {
            let beside = combined.into_iter().filter_map(|keyword| Some((keyword, keywords.shift_remove(keyword)?)));
            let beside = Json::object(beside.collect::<Vec<_>>());
            keywords.insert("anyOf".into(), Json::Array(vec![beside, null()]));
            true
        }
    }
}

/// Where keywords were moved beside null: these stand elsewhere now than their author put them.
#[derive(Debug, Default)]
pub(in crate::tools::schema) struct Moved {
    /// The schemas, by where they stand for their author.
    schemas: HashSet<Pointer>,
}

impl Moved {
    pub(super) fn add(&mut self, schema: Pointer) {
        self.schemas.insert(schema);
    }

    /// References to what was moved follow it.
    pub(super) fn mend_references(&self, schema: &mut Json) {
        if self.schemas.is_empty() {
            return;
        }
        let mut mended = Vec::new();
        each_subschema(schema, &mut |keywords, place| {
            let reference = keywords.get("$ref").and_then(Json::as_str);
            mended.extend(reference.and_then(|reference| Some((place.join("$ref"), self.followed(reference)?))));
        });
        for (place, reference) in mended {
            if let Some(held) = place.find_mut(schema) {
                *held = Json::from(reference.as_str());
            }
        }
    }

    /// Where a reference leads now; `None` if that is where it led.
    fn followed(&self, reference: &str) -> Option<String> {
        let mut followed = vec!["#"];
        let mut authored = Pointer::root();
        for step in reference.strip_prefix("#/")?.split('/') {
            if self.schemas.contains(&authored) && COMBINED.contains(&step) {
                followed.extend(BESIDE_NULL);
            }
            followed.push(step);
            let plain = percent_decode_str(step).decode_utf8_lossy().replace("~1", "/").replace("~0", "~");
            authored = authored.join(plain);
        }
        let followed = followed.join("/");
        (followed != reference).then_some(followed)
    }

    /// Where something stands for the author of the schema.
    pub(in crate::tools::schema) fn authored(&self, place: Pointer) -> Pointer {
        if self.schemas.is_empty() {
            return place;
        }
        let mut authored = Pointer::root();
        let steps = place.steps();
        let mut steps = steps.as_slice();
        while let [step, rest @ ..] = steps {
            steps = match steps {
                [any_of, first, moved, ..]
                    if [*any_of, *first] == BESIDE_NULL
                        && COMBINED.contains(moved)
                        && self.schemas.contains(&authored) =>
                {
                    authored = authored.join(moved);
                    steps.get(3..).unwrap_or_default()
                }
                _ => {
                    authored = authored.join(step);
                    rest
                }
            };
        }
        authored
    }
}

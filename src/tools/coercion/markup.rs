//! A text that has swallowed the markup of another parameter (rule C1): a model closed its own tag wrongly, and what it meant to
//! send as one argument is now the end of another.

use std::collections::HashSet;

use super::{Trail, envelope::declared_names};
use crate::{
    json::{Json, Pointer},
    tools::Tool,
};

/// The text that has swallowed a parameter, and the name of that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swallowed {
    /// Where the text is.
    pub path: Pointer,
    /// The declared and absent parameter.
    pub parameter: String,
}

/// The first text of the arguments that holds the markup of a declared parameter that is absent.
pub fn swallowed_parameter(tool: &Tool, arguments: &Json) -> Option<Swallowed> {
    if !has_tag(arguments) {
        return None;
    }
    tool.input.ask(|schema| {
        let declared = declared_names(schema)?;
        let absent: HashSet<&str> = declared.into_iter().filter(|name| arguments.get(name).is_none()).collect();
        find(arguments, &absent, &Trail::Root, "")
    })
}

fn has_tag(value: &Json) -> bool {
    match value {
        Json::String(text) => text.contains('<'),
        Json::Array(items) => items.iter().any(has_tag),
        Json::Object(members) => members.values().any(has_tag),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// `own` is the name of the parameter that the value is.
fn find(value: &Json, absent: &HashSet<&str>, trail: &Trail<'_>, own: &str) -> Option<Swallowed> {
    match value {
        Json::String(text) => {
            let parameter = named_parameters(text, own).find(|name| absent.contains(*name))?;
            Some(Swallowed { path: trail.pointer(), parameter: parameter.to_owned() })
        }
        Json::Array(items) => {
            items.iter().enumerate().find_map(|(position, item)| find(item, absent, &Trail::Item(trail, position), own))
        }
        Json::Object(members) => {
            members.iter().find_map(|(name, member)| find(member, absent, &Trail::Member(trail, name), name))
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => None,
    }
}

/// The names that tags of parameters in a text say: `<parameter name="X">`, `<parameter=X>`, `<arg_key>X</arg_key>`, each with
/// or without a prefix as in `<ns:parameter`; and `<X>` behind the closing tag of the parameter itself.
fn named_parameters<'t>(text: &'t str, own: &str) -> impl Iterator<Item = &'t str> {
    let closes_itself = !own.is_empty() && text.contains(&format!("</{own}>"));
    text.split('<').skip(1).filter_map(move |tag| {
        let named = |tag: &'t str| {
            let rest = tag.strip_prefix("parameter")?;
            match rest.strip_prefix('=') {
                Some(name) => name.split('>').next(),
                None => rest.trim_start().strip_prefix("name=")?.split(['"', '\'']).nth(1),
            }
        };
        let key = |tag: &'t str| tag.strip_prefix("arg_key>").map(str::trim);
        let unprefixed = tag.split_once(':').map_or(tag, |(_, rest)| rest);
        let bare = || tag.split('>').next().filter(|_| closes_itself);
        named(tag).or_else(|| named(unprefixed)).or_else(|| key(tag)).or_else(bare)
    })
}

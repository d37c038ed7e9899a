//! Which tool a name means that no tool has exactly (rule P2): models add prefixes, drop them, and change the case.
//!
//! A near name is never run. A name resolves only by one of these repairs, only in profile `safe`, and only to exactly one tool.

use std::sync::Arc;

use super::{Catalog, Entry, Profile, Tool};
use crate::{
    json::Pointer,
    refusal::{Repair, RepairTarget},
};

/// What models put before names.
const PREFIXES: [&str; 5] = ["functions.", "function.", "tools.", "tool:", "default_api."];
/// What namespaces end with.
const NAMESPACE: &str = "__";
/// Bytes of a name that may be a tool's.
const MAX_NAME: usize = 256;

/// A tool that was found by another name, and how.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The tool.
    pub tool: Arc<Tool>,
    /// From the name that was called to its own.
    pub repairs: Vec<Repair>,
}

impl Catalog {
    /// The one tool that a name means, if the tool's profile lets names be repaired. `default` is the profile of contracts that
    /// name none.
    pub fn resolve(&self, called: &str, default: Profile) -> Option<Resolved> {
        if called.is_empty() || called.len() > MAX_NAME {
            return None;
        }
        let bare = PREFIXES.iter().find_map(|prefix| called.strip_prefix(prefix)).filter(|bare| !bare.is_empty());
        let mut found: Option<(&Arc<str>, &Entry, Vec<Repair>)> = None;
        for (name, entry) in self {
            let Some(repairs) = repairs(called, bare, name) else { continue };
            // Two candidates are none, whatever has become of their contracts.
            if found.replace((name, entry, repairs)).is_some() {
                return None;
            }
        }
        match found? {
            (_, Entry::Served(tool), repairs) if tool.arguments.profile.unwrap_or(default) == Profile::Safe => {
                Some(Resolved { tool: Arc::clone(tool), repairs })
            }
            _ => None,
        }
    }
}

/// What leads from the called name to this one; `None` if nothing does.
fn repairs(called: &str, bare: Option<&str>, name: &str) -> Option<Vec<Repair>> {
    if let Some(op) = leads_to(called, name) {
        return Some(vec![repair(op, called, name)]);
    }
    let bare = bare?;
    let stripped = repair("strip_prefix", called, bare);
    if bare == name {
        return Some(vec![stripped]);
    }
    leads_to(bare, name).map(|op| vec![stripped, repair(op, bare, name)])
}

fn leads_to(called: &str, name: &str) -> Option<&'static str> {
    if name.strip_suffix(called).is_some_and(|namespace| namespace.ends_with(NAMESPACE)) {
        Some("add_prefix")
    } else if is_same_name(called, name) {
        Some("fold_name")
    } else {
        None
    }
}

/// Whether two names differ at most in case and `-_.`.
pub(super) fn is_same_name(left: &str, right: &str) -> bool {
    letters_of(left).eq(letters_of(right))
}

/// What is the same for names that differ at most in case and `-_.`.
pub(super) fn letters(name: &str) -> String {
    letters_of(name).collect()
}

fn letters_of(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|letter| !matches!(letter, '-' | '_' | '.')).flat_map(char::to_lowercase)
}

fn repair(op: &'static str, from: &str, to: &str) -> Repair {
    Repair { target: RepairTarget::Name, ..Repair::of_arguments(Pointer::root(), op, from, to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{LoadOptions, load_document};

    fn catalog(contracts: &[(&str, &str)]) -> Catalog {
        let contract =
            |(name, more): &(&str, &str)| format!(r#"{{"name":"{name}","parameters":{{"type":"object"}}{more}}}"#);
        let contracts: Vec<String> = contracts.iter().map(contract).collect();
        load_document(format!(r#"{{"tools":[{}]}}"#, contracts.join(",")).as_bytes(), &LoadOptions::default()).catalog
    }

    /// The tool and what was done to the name.
    fn resolved(names: &[&str], called: &str) -> Option<(String, Vec<&'static str>)> {
        let contracts: Vec<_> = names.iter().map(|name| (*name, "")).collect();
        let resolved = catalog(&contracts).resolve(called, Profile::Safe)?;
        let ops = resolved.repairs.iter().map(|repair| repair.op).collect();
        assert!(resolved.repairs.iter().all(|repair| repair.target == RepairTarget::Name));
        Some((resolved.tool.name.to_string(), ops))
    }

    #[test]
    fn p2_a_name_resolves_by_a_known_prefix_a_dropped_namespace_or_its_case() {
        let tools = ["bash", "read_file", "mcp__mem__list_projects"];
        for (called, tool, ops) in [
            ("functions.bash", "bash", vec!["strip_prefix"]),
            ("function.bash", "bash", vec!["strip_prefix"]),
            ("tools.bash", "bash", vec!["strip_prefix"]),
            ("tool:bash", "bash", vec!["strip_prefix"]),
            ("default_api.bash", "bash", vec!["strip_prefix"]),
            ("Read-File", "read_file", vec!["fold_name"]),
            ("readFile", "read_file", vec!["fold_name"]),
            ("list_projects", "mcp__mem__list_projects", vec!["add_prefix"]),
            ("mem__list_projects", "mcp__mem__list_projects", vec!["add_prefix"]),
            ("functions.ReadFile", "read_file", vec!["strip_prefix", "fold_name"]),
            ("functions.list_projects", "mcp__mem__list_projects", vec!["strip_prefix", "add_prefix"]),
        ] {
            assert_eq!(resolved(&tools, called), Some((tool.to_owned(), ops)), "{called}");
        }
    }

    #[test]
    fn p2_two_candidates_are_none_and_a_near_name_is_none() {
        for (tools, called) in [
            (&["getUser", "get_user"][..], "GetUser"),
            (&["mcp__a__search", "mcp__b__search"], "search"),
            (&["bash", "functions_bash"], "functions.bash"),
            (&["bash"], "bas"),
            (&["bash"], "../bash"),
            (&["bash"], "functions."),
            (&["bash"], "functions.functions.bash"),
            (&["bash"], "bash "),
            (&["list_projects"], "mcp__mem__list_projects"),
            (&["projects"], "list_projects"),
            (&["bash"], ""),
            (&["___"], "-"),
        ] {
            let expected = (called == "-").then(|| ("___".to_owned(), vec!["fold_name"]));
            assert_eq!(resolved(tools, called), expected, "{called}");
        }
    }

    #[test]
    fn p2_a_contract_that_is_strict_or_broken_is_never_found_by_another_name() {
        let strict = catalog(&[("bash", r#","arguments":{"profile":"strict"}"#)]);
        assert!(strict.resolve("functions.bash", Profile::Safe).is_none());
        let safe = catalog(&[("bash", r#","arguments":{"profile":"safe"}"#)]);
        assert!(safe.resolve("functions.bash", Profile::Strict).is_some());
        let broken = catalog(&[("bash", r#","bogus":1"#), ("BASH", "")]);
        assert!(broken.resolve("Bash", Profile::Safe).is_none());
    }
}

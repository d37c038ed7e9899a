//! All tools by name: shared by every run, and never changed; what a run adds lies over it.

use std::{
    collections::{BTreeMap, btree_map},
    iter::Peekable,
    sync::Arc,
};

use super::{
    Tool,
    load::Loaded,
    report::{ContractReport, Status},
};
use crate::{
    document::{Note, Place, Severity},
    excerpt::excerpt,
    json::Pointer,
};

/// What stands under a name.
#[derive(Debug, Clone)]
pub enum Entry {
    /// A tool that can be called.
    Served(Arc<Tool>),
    /// A contract that is broken. Its name is known, so that a call to it is told why instead of "not found".
    Quarantined(Arc<ContractReport>),
}

type Names = BTreeMap<Arc<str>, Entry>;

/// Tools by name. Cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Shared by all runs.
    base: Arc<Names>,
    /// Added for one run; no name of it is in `base`.
    added: Arc<Names>,
    /// Those that can be called and accept submissions.
    submissions: Arc<[Arc<Tool>]>,
    /// The served tools with `limits: {max_calls: ...}`.
    counted: Arc<[Arc<Tool>]>,
}

/// A contract, compiled or not, and where it stands.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) outcome: Result<Tool, Box<ContractReport>>,
    pub(super) place: Option<Place>,
}

impl Catalog {
    /// A catalog of contracts. A name belongs to the first contract that has it; the later ones are quarantined.
    pub(super) fn of(contracts: impl IntoIterator<Item = Compiled>) -> Loaded {
        let mut names = Names::new();
        let mut places: BTreeMap<Arc<str>, Option<Place>> = BTreeMap::new();
        let mut reports = Vec::new();
        for Compiled { outcome, place } in contracts {
            let mut report = match &outcome {
                Ok(tool) => tool.report.clone(),
                Err(report) => (**report).clone(),
            };
            if let Some(owner) = places.get(&report.name) {
                refuse_duplicate(&mut report, owner.as_ref(), place);
            } else if !report.name.is_empty() {
                let entry = match outcome {
                    Ok(tool) => Entry::Served(Arc::new(tool)),
                    Err(report) => Entry::Quarantined(Arc::from(report)),
                };
                names.insert(Arc::clone(&report.name), entry);
                places.insert(Arc::clone(&report.name), place);
            }
            reports.push(report);
        }
        Loaded { catalog: Self::new(Arc::new(names), Arc::default()), reports }
    }

    /// This catalog and what `more` adds to it, one after the other; what is here is shared, not copied. A name stays with the
    /// tool that has it: the newcomer is quarantined, and the returned reports, which are those of `more`, say so. A contract
    /// that was added and does not serve makes room for a better one.
    #[must_use]
    pub fn overlay(&self, more: impl IntoIterator<Item = Loaded>) -> Loaded {
        let mut added = (*self.added).clone();
        let mut reports = Vec::new();
        for Loaded { catalog, reports: mut of_more } in more {
            let is_taken =
                |name: &str| self.base.contains_key(name) || matches!(added.get(name), Some(Entry::Served(_)));
            for report in of_more.iter_mut().filter(|report| is_taken(&report.name)) {
                refuse_duplicate(report, None, None);
            }
            let free = catalog.iter().filter(|(name, _)| !is_taken(name));
            let free: Vec<_> = free.map(|(name, entry)| (Arc::clone(name), entry.clone())).collect();
            added.extend(free);
            reports.extend(of_more);
        }
        Loaded { catalog: Self::new(Arc::clone(&self.base), Arc::new(added)), reports }
    }

    fn new(base: Arc<Names>, added: Arc<Names>) -> Self {
        let catalog = Self { base, added, submissions: Arc::default(), counted: Arc::default() };
        let submissions = catalog.served().filter(|tool| tool.accept.is_some()).cloned().collect();
        let counted = catalog.served().filter(|tool| tool.limits.max_calls.is_some()).cloned().collect();
        Self { submissions, counted, ..catalog }
    }

    /// What stands under exactly this name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.base.get(name).or_else(|| self.added.get(name))
    }

    /// Everything, ordered by name.
    pub fn iter(&self) -> Iter<'_> {
        Iter { base: self.base.iter().peekable(), added: self.added.iter().peekable() }
    }

    /// The tools that can be called, ordered by name.
    pub fn served(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.iter().filter_map(|(_, entry)| match entry {
            Entry::Served(tool) => Some(tool),
            Entry::Quarantined(_) => None,
        })
    }

    /// The tools that can be called and accept submissions, ordered by name.
    pub fn submissions(&self) -> &[Arc<Tool>] {
        &self.submissions
    }

    /// The tools that can be called so many times in a run and no more, ordered by name.
    pub fn counted(&self) -> &[Arc<Tool>] {
        &self.counted
    }

    /// How many names there are, quarantined ones included.
    pub fn len(&self) -> usize {
        self.base.len() + self.added.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Up to `max` names of tools that can be called, the nearest to `wanted` first: a hint, never a choice.
    pub fn nearest(&self, wanted: &str, max: usize) -> Vec<&str> {
        // What a model sends as a name can be long; no tool's name is.
        let wanted = wanted.chars().take(128).collect::<String>().to_lowercase();
        let mut ranked: Vec<(f64, &str)> =
            self.served().map(|tool| (likeness(&wanted, &tool.name), &*tool.name)).collect();
        let order = |left: &(f64, &str), right: &(f64, &str)| right.0.total_cmp(&left.0).then(left.1.cmp(right.1));
        if max < ranked.len() {
            ranked.select_nth_unstable_by(max, order);
            ranked.truncate(max);
        }
        ranked.sort_unstable_by(order);
        ranked.into_iter().map(|(_, name)| name).collect()
    }
}

/// How alike two names are. A name inside the other one, as when a prefix was lost, is more than any number of equal letters.
fn likeness(wanted: &str, name: &str) -> f64 {
    let name = name.to_lowercase();
    let one_in_the_other = !wanted.is_empty() && (name.contains(wanted) || wanted.contains(&name));
    strsim::jaro_winkler(wanted, &name) + if one_in_the_other { 1.0 } else { 0.0 }
}

fn refuse_duplicate(report: &mut ContractReport, owner: Option<&Place>, place: Option<Place>) {
    let owner = owner.map_or_else(|| "another tool".to_owned(), |owner| format!("the contract at {owner}"));
    let message =
        format!("the name `{}` is taken by {owner}, which keeps it: rename one of them", excerpt(&report.name));
    let note = Note::error("duplicate_tool", Pointer::root().join("name"), message);
    let errors = report.notes.iter().take_while(|note| note.severity == Severity::Error).count();
    report.notes.insert(errors, Note { place, ..note });
    report.status = Status::Quarantined;
}

impl<'a> IntoIterator for &'a Catalog {
    type Item = (&'a Arc<str>, &'a Entry);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The entries of a catalog, ordered by name.
#[derive(Debug)]
pub struct Iter<'a> {
    base: Peekable<btree_map::Iter<'a, Arc<str>, Entry>>,
    added: Peekable<btree_map::Iter<'a, Arc<str>, Entry>>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Arc<str>, &'a Entry);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.base.peek(), self.added.peek()) {
            (Some((base, _)), Some((added, _))) if added < base => self.added.next(),
            (Some(_), _) => self.base.next(),
            (None, _) => self.added.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{LoadOptions, load_document};

    fn load(text: &str) -> Loaded {
        load_document(text.as_bytes(), &LoadOptions::default())
    }

    fn tools(names: impl IntoIterator<Item = impl Into<String>>) -> Loaded {
        let tools: Vec<String> = names
            .into_iter()
            .map(|name| format!(r#"{{"name":"{}","parameters":{{"type":"object"}}}}"#, name.into()))
            .collect();
        load(&format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog.iter().map(|(name, _)| &**name).collect()
    }

    #[test]
    fn a_name_belongs_to_the_first_contract_that_has_it() {
        let loaded = load(
            r#"{"tools":[{"name":"a","title":"first","parameters":{"type":"object"}},{"name":"a","title":"second","parameters":{}}]}"#,
        );
        let Some(Entry::Served(tool)) = loaded.catalog.get("a") else { panic!("not served") };
        assert_eq!(tool.title.as_deref(), Some("first"));
        let statuses: Vec<_> = loaded.reports.iter().map(|report| report.status).collect();
        assert_eq!(statuses, [Status::Accepted, Status::Quarantined]);
        assert_eq!(loaded.reports[1].notes[0].code, "duplicate_tool");
    }

    #[test]
    fn lookup_is_exact_and_names_are_in_order() {
        let loaded = tools(["b", "a", "A"]);
        assert_eq!(names(&loaded.catalog), ["A", "a", "b"]);
        assert!(loaded.catalog.get("B").is_none());
        assert!(loaded.catalog.get("a ").is_none());
    }

    #[test]
    fn an_overlay_shares_the_base_and_cannot_take_its_names() {
        let base = tools(["b", "d"]).catalog;
        let first = base.overlay([tools(["a", "c", "b"])]);
        assert_eq!(names(&first.catalog), ["a", "b", "c", "d"]);
        assert!(Arc::ptr_eq(&first.catalog.base, &base.base));
        let statuses: Vec<_> = first.reports.iter().map(|report| report.status).collect();
        assert_eq!(statuses, [Status::Accepted, Status::Accepted, Status::Quarantined]);
        assert_eq!(
            first.reports[2].notes[0].message,
            "the name `b` is taken by another tool, which keeps it: rename one of them"
        );
        let second = first.catalog.overlay([tools(["e", "a"])]);
        assert_eq!(names(&second.catalog), ["a", "b", "c", "d", "e"]);
        assert_eq!(second.reports[1].status, Status::Quarantined);
        assert_eq!(names(&base), ["b", "d"], "the base does not change");
    }

    #[test]
    fn an_added_contract_that_does_not_serve_makes_room_for_a_better_one() {
        let broken = || load(r#"{"name":"a","parameters":{},"bogus":1}"#);
        let corrected = Catalog::default().overlay([broken(), tools(["a"])]);
        assert!(matches!(corrected.catalog.get("a"), Some(Entry::Served(_))));
        assert_eq!(corrected.reports[1].status, Status::Accepted);
        // What the operator has broken is not for a host to mend.
        let base = broken().catalog.overlay([tools(["a"])]);
        assert!(matches!(base.catalog.get("a"), Some(Entry::Quarantined(_))));
    }

    #[test]
    fn a_broken_contract_keeps_its_name_but_is_no_hint() {
        let loaded =
            load(r#"{"tools":[{"name":"search","parameters":{"type":"string"}},{"name":"fetch","parameters":{}}]}"#);
        assert!(matches!(loaded.catalog.get("search"), Some(Entry::Quarantined(_))));
        assert_eq!(loaded.catalog.nearest("search", 20), ["fetch"]);
        assert_eq!((loaded.catalog.len(), loaded.catalog.served().count()), (2, 1));
    }

    #[test]
    fn p2_the_nearest_names_come_first() {
        let catalog = tools(["read_file", "list_dir", "mcp__b__search", "mcp__a__search", "write_file"]).catalog;
        assert_eq!(catalog.nearest("Read_Fil", 1), ["read_file"]);
        assert!(catalog.nearest("search", 2).iter().all(|name| name.ends_with("__search")));
        assert_eq!(catalog.nearest("functions.list_dir", 1), ["list_dir"]);
        assert_eq!(catalog.nearest("", 20).len(), 5);
        assert!(catalog.nearest("x", 0).is_empty());
    }

    #[test]
    fn p2_ten_thousand_tools_are_searched_in_little_time() {
        let catalog = tools((0..10_000).map(|number| format!("service_{number}_get_items"))).catalog;
        let start = std::time::Instant::now();
        let nearest = catalog.nearest(&"service_77_get_itmes".repeat(1000), 20);
        assert_eq!(nearest.len(), 20);
        assert_eq!(catalog.nearest("service_4711_get_itens", 1), ["service_4711_get_items"]);
        // Generous: this is an unoptimised build on a shared machine.
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    }
}

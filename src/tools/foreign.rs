//! Lists of tools that others wrote, taken as they are: MCP `tools/list` results, `OpenAI` and Anthropic tools arrays.
//!
//! They say what a tool is called, what it reads and what it answers. They do not say what runs it here: a list that came
//! from elsewhere must not be able to start programs, so only the keys of its own format are read.

use super::contract::{CONTRACT, FORMAT};
use crate::{
    document::{Item, MAX_NOTES, Marked, Note, Notes, Severity, unknown_key},
    excerpt::excerpt,
    json::{Json, Object, Pointer},
};

/// Keys of MCP, `OpenAI` and Anthropic tools that say what a contract says.
const READ: [&str; 11] = [
    "name",
    "title",
    "description",
    "parameters",
    "inputSchema",
    "input_schema",
    "outputSchema",
    "annotations",
    "icons",
    "_meta",
    "execution",
];

/// Keys of an MCP `tools/list` result beside `tools`: one that has any of them is one.
const MCP_RESULT: [&str; 5] = ["nextCursor", "_meta", "resultType", "ttlMs", "cacheScope"];

/// One contract, ready to be compiled.
#[derive(Debug)]
pub(super) struct Found {
    /// It, in the format of contracts.
    pub(super) contract: Marked,
    /// Foreign keys that are kept and not read.
    pub(super) kept: Object,
    /// Remarks so far.
    pub(super) notes: Vec<Note>,
}

/// An entry of a list.
#[derive(Debug)]
pub(super) enum Entry<'t> {
    /// It was read with its document.
    Read(Marked),
    /// It is read by whoever compiles it.
    Unread(Item<'t>),
}

/// The contracts of one document.
#[derive(Debug, Default)]
pub(super) struct Listing<'t> {
    /// They, in order.
    pub(super) entries: Vec<Entry<'t>>,
    /// Whether they are tools of others.
    pub(super) foreign: bool,
    /// What its tools take where they say nothing.
    pub(super) defaults: Option<Marked>,
    /// Remarks on the document, each with its line. An error among them concerns all of its tools.
    pub(super) notes: Vec<(Note, usize)>,
    /// The line where the document starts.
    pub(super) first_line: usize,
}

impl Entry<'_> {
    /// The line where it starts.
    pub(super) fn line(&self) -> usize {
        match self {
            Self::Read(read) => read.lines.line,
            Self::Unread(item) => item.line,
        }
    }

    fn is_object(&self) -> bool {
        match self {
            Self::Read(read) => read.value.as_object().is_some(),
            Self::Unread(_) => true,
        }
    }

    /// The contract that it is. `None`: it cannot be read.
    pub(super) fn found(self, foreign: bool) -> Option<Found> {
        let tool = match self {
            Self::Read(read) => read,
            Self::Unread(item) => item.read()?,
        };
        Some(entry(tool, foreign))
    }
}

/// Where a document has its entries, if it is not itself the list.
pub(super) const TOOLS: &str = "tools";

/// Finds out what a document is, and the contracts in it. `unread` are entries that were split off the list that it is or has.
pub(super) fn listing(document: Marked, unread: Vec<Item<'_>>) -> Listing<'_> {
    let first_line = document.lines.line;
    Listing { first_line, ..sorted(document, unread) }
}

fn sorted(mut document: Marked, unread: Vec<Item<'_>>) -> Listing<'_> {
    match &document.value {
        Json::Array(_) => entries(document, unread, true),
        Json::Object(members) if members.contains_key("jsonrpc") => match document.remove("result") {
            Some(result) => mcp_result(result, Vec::new()),
            None => fatal(
                &document,
                "missing_key",
                &Pointer::root(),
                "a JSON-RPC message without `result`: save the answer to `tools/list`",
            ),
        },
        Json::Object(members) if members.contains_key(TOOLS) => {
            if MCP_RESULT.iter().any(|key| members.contains_key(*key)) {
                mcp_result(document, unread)
            } else {
                tools_file(document, unread)
            }
        }
        Json::Object(_) => Listing { entries: vec![Entry::Read(document)], ..Listing::default() },
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => fatal(
            &document,
            "wrong_type",
            &Pointer::root(),
            &format!("expected a contract, `tools: [...]` or an array of tools, got {}", document.value.kind()),
        ),
    }
}

fn fatal<'t>(document: &Marked, code: &'static str, path: &Pointer, message: &str) -> Listing<'t> {
    let note = (Note::error(code, path.clone(), message), document.line(path));
    Listing { notes: vec![note], ..Listing::default() }
}

fn mcp_result(mut result: Marked, unread: Vec<Item<'_>>) -> Listing<'_> {
    let path = Pointer::root().join(TOOLS);
    let line = result.line(&Pointer::root().join("nextCursor"));
    let goes_on = result.value.get("nextCursor").is_some_and(|cursor| *cursor != Json::Null);
    let Some(tools) = result.remove(TOOLS) else {
        return fatal(&result, "missing_key", &path, "the key `tools` is missing: save the answer to `tools/list`");
    };
    let mut listing = entries(tools, unread, true);
    if goes_on {
        let message = "the list goes on after this page: fetch the rest and save it beside this file";
        listing.notes.push((Note::warning("list_goes_on", Pointer::root().join("nextCursor"), message), line));
    }
    listing
}

fn tools_file(mut file: Marked, unread: Vec<Item<'_>>) -> Listing<'_> {
    let known = FORMAT.keys_of("/$defs/ToolsFile");
    let mut unknown = Notes::default();
    for key in file.value.as_object().into_iter().flat_map(Object::keys) {
        if !known.contains(&&**key) {
            unknown.add(Severity::Error, || unknown_key(key, &known, Pointer::root().join(key)));
        }
    }
    let notes: Vec<_> = unknown
        .into_vec()
        .into_iter()
        .map(|note| {
            let line = file.line(&note.path);
            (note, line)
        })
        .collect();
    let defaults = file.remove("defaults");
    let mut listing = file.remove(TOOLS).map(|tools| entries(tools, unread, false)).unwrap_or_default();
    listing.notes.extend(notes);
    Listing { defaults, ..listing }
}

fn entries(tools: Marked, unread: Vec<Item<'_>>, foreign: bool) -> Listing<'_> {
    match tools.into_items() {
        Ok(items) => {
            let (mut entries, mut others, mut last_line) = (Vec::new(), 0, 0);
            for entry in items.into_iter().map(Entry::Read).chain(unread.into_iter().map(Entry::Unread)) {
                others += usize::from(!entry.is_object());
                if others <= MAX_NOTES || entry.is_object() {
                    entries.push(entry);
                } else {
                    last_line = entry.line();
                }
            }
            // Each is refused by itself, but a document of nothing else would have a report for every few bytes.
            let more = others.saturating_sub(MAX_NOTES);
            let message = format!("{more} more items are no objects, and are passed over: remove them");
            let note = (Note::warning("wrong_type", Pointer::root().join(TOOLS), message), last_line);
            let notes = (more > 0).then_some(note).into_iter().collect();
            Listing { entries, foreign, notes, ..Listing::default() }
        }
        Err(tools) => {
            let message = format!("expected array, got {}", tools.value.kind());
            let note = Note::error("wrong_type", Pointer::root().join(TOOLS), message);
            Listing { notes: vec![(note, tools.lines.line)], ..Listing::default() }
        }
    }
}

/// One entry of a list, or a document of its own.
fn entry(mut tool: Marked, foreign: bool) -> Found {
    let kind = tool.value.get("type").and_then(Json::as_str).map(ToOwned::to_owned);
    match kind.as_deref() {
        Some("function") => {
            tool.remove("type");
            // The older of OpenAI's two forms; the newer one has the same keys beside `type`.
            if let Some(function) = tool.remove("function") {
                lift(function, &mut tool);
            }
            translate(tool)
        }
        Some("custom") if tool.value.get("input_schema").is_some() => {
            tool.remove("type");
            translate(tool)
        }
        Some(kind) if foreign => built_in(tool, kind),
        _ if foreign && tool.value.as_object().is_some() => translate(tool),
        _ => Found { contract: tool, kept: Object::default(), notes: Vec::new() },
    }
}

/// Moves the members of an object up into another one.
fn lift(mut from: Marked, to: &mut Marked) {
    let names: Vec<_> = from.value.as_object().into_iter().flat_map(Object::keys).cloned().collect();
    for name in names {
        if let Some(member) = from.remove(&name) {
            to.insert(&name, member);
        }
    }
}

/// Sorts the keys of a foreign tool into those that are read and those that are kept.
fn translate(mut tool: Marked) -> Found {
    let contract_keys = FORMAT.keys_of(CONTRACT);
    let names: Vec<_> = tool.value.as_object().into_iter().flat_map(Object::keys).cloned().collect();
    let (mut kept, mut notes) = (Object::default(), Notes::default());
    for name in names.into_iter().filter(|name| !READ.contains(&&**name)) {
        let path = Pointer::root().join(&name);
        if contract_keys.contains(&&*name) {
            let message = format!("`{name}` is no key of a foreign list: write the tool into a file of `tools: [...]`");
            notes.add(Severity::Error, || Note::error("unknown_key", path, message));
        } else if let Some(member) = tool.remove(&name) {
            let message = || format!("`{}` is kept and not read", excerpt(&name));
            notes.add(Severity::Info, || Note::info("kept_key", path, message()));
            kept.insert(name, member.value);
        }
    }
    Found { contract: tool, kept, notes: notes.into_vec() }
}

/// A tool that its provider runs: there is nothing to call here.
fn built_in(mut tool: Marked, kind: &str) -> Found {
    let message =
        format!("a tool of type `{}` is run by its provider, not by a host: remove it from the list", excerpt(kind));
    let notes = vec![Note::error("not_a_function", Pointer::root().join("type"), message)];
    let lines = tool.lines.without_children();
    let name = tool.remove("name").or_else(|| tool.remove("type"));
    let mut contract = Marked { value: Json::empty_object(), lines };
    if let Some(name) = name {
        contract.insert("name", name);
    }
    Found { contract, kept: Object::default(), notes }
}

#[cfg(test)]
mod tests {
    use crate::tools::{Entry, ExecutorSpec, LoadOptions, Loaded, Status, load_document};

    fn load(text: &str) -> Loaded {
        let options = LoadOptions { execute: ExecutorSpec::Echo, ..LoadOptions::default() };
        load_document(text.as_bytes(), &options)
    }

    /// `name status codes` of each report.
    fn reports(text: &str) -> Vec<String> {
        let loaded = load(text);
        let line = |report: &crate::tools::ContractReport| {
            let codes: Vec<_> = report.notes.iter().map(|note| note.code).collect();
            format!("{} {} {}", report.name, report.status.as_str(), codes.join(","))
        };
        loaded.reports.iter().map(line).collect()
    }

    /// Each served tool: name, executor, description, parameters, what is kept.
    fn served(text: &str) -> Vec<String> {
        let line = |tool: &std::sync::Arc<crate::tools::Tool>| {
            let description = tool.description.as_deref().unwrap_or("-");
            format!(
                "{} {} {description} {} {}",
                tool.name,
                tool.executor.name(),
                tool.input.text(),
                tool.kept.to_text()
            )
        };
        load(text).catalog.served().map(line).collect()
    }

    #[test]
    fn an_mcp_list_is_taken_as_it_is_also_inside_its_json_rpc_message() {
        let list = r#"{"tools":[{"name":"a","title":"A","description":"d","inputSchema":{"type":"object"},"outputSchema":{},
            "annotations":{"readOnlyHint":true},"icons":[],"_meta":{},"execution":{},"newer":1}],"nextCursor":"n","ttlMs":5}"#;
        for text in [list.to_owned(), format!(r#"{{"jsonrpc":"2.0","id":1,"result":{list}}}"#)] {
            assert_eq!(
                served(&text),
                [
                    r#"a echo d {"type":"object"} {"newer":1,"annotations":{"readOnlyHint":true},"_meta":{},"execution":{},"icons":[]}"#
                ]
            );
            assert_eq!(reports(&text), ["a accepted kept_key", " accepted_with_warning list_goes_on"]);
        }
        assert_eq!(reports(r#"{"jsonrpc":"2.0","id":1,"error":{}}"#), [" quarantined missing_key"]);
        assert_eq!(reports(r#"{"nextCursor":null,"tools":[]}"#), Vec::<String>::new());
    }

    #[test]
    fn both_openai_forms_are_taken_as_they_are() {
        let text = r#"[{"type":"function","function":{"name":"a","description":"d","parameters":{"title":"P"},"strict":true}},
            {"type":"function","name":"b","parameters":null,"strict":false},
            {"type":"web_search"},{"type":"custom","name":"c","format":{}}]"#;
        assert_eq!(
            served(text),
            [r#"a echo d {"title":"P"} {"strict":true}"#, r#"b echo - {"type":"object"} {"strict":false}"#]
        );
        assert_eq!(
            reports(text),
            [
                "a accepted kept_key",
                "b accepted_with_warning no_parameters,kept_key",
                "web_search quarantined not_a_function",
                "c quarantined not_a_function"
            ]
        );
        assert_eq!(served(r#"{"tools":[{"type":"function","function":{"name":"a"}}]}"#).len(), 1);
        assert_eq!(served(r#"{"type":"function","function":{"name":"a"}}"#).len(), 1);
    }

    #[test]
    fn an_anthropic_array_is_taken_as_it_is() {
        let text = r#"[{"name":"a","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},
            {"type":"custom","name":"b","input_schema":{"type":"object"}},{"type":"bash_20250124","name":"bash"},5]"#;
        assert_eq!(
            served(text),
            [
                r#"a echo d {"type":"object"} {"cache_control":{"type":"ephemeral"}}"#,
                r#"b echo - {"type":"object"} {}"#
            ]
        );
        assert_eq!(
            reports(text),
            ["a accepted kept_key", "b accepted ", "bash quarantined not_a_function", " quarantined wrong_type"]
        );
    }

    #[test]
    fn a_foreign_list_cannot_say_what_runs_its_tools() {
        let loaded = load(r#"[{"name":"a","input_schema":{},"execute":{"command":{"argv":["sh"]}}}]"#);
        assert!(matches!(loaded.catalog.get("a"), Some(Entry::Quarantined(_))));
        assert_eq!(
            loaded.reports[0].notes[0].message,
            "`execute` is no key of a foreign list: write the tool into a file of `tools: [...]`"
        );
    }

    #[test]
    fn an_unknown_key_of_a_tools_file_concerns_all_of_its_tools() {
        let text = r#"{"tools":[{"name":"a","parameters":{"type":"object"}}],"default":{}}"#;
        assert_eq!(reports(text), ["a quarantined broken_document", " quarantined unknown_key"]);
        let loaded = load(text);
        assert!(loaded.reports[0].notes[0].message.starts_with("the document around it has 1 error"));
        assert_eq!(loaded.reports[1].notes[0].message, "unknown key `default`; did you mean `defaults`?");
        assert_eq!(loaded.reports[1].status, Status::Quarantined);
        assert_eq!(reports(r#"{"tools":{}}"#), [" quarantined wrong_type"]);
    }
}

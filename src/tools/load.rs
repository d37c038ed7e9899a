//! Reads contracts from files, folders and the wire. One broken contract never keeps another from serving.

mod cores;
mod document;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use cores::on_all_cores;
use document::{load_text, unread};

use super::{
    Profile,
    catalog::{Catalog, Compiled},
    executor_spec::ExecutorSpec,
    lint::similar_tools,
    report::ContractReport,
    schema::Schemas,
};
use crate::{
    document::{Note, Syntax, read_file},
    json::Pointer,
};

/// What holds where contracts and their files say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// What runs tools that name nothing.
    pub execute: ExecutorSpec,
    /// The profile of tools that name none.
    pub profile: Profile,
    /// Who wrote the contracts.
    pub author: Author,
    /// Where equal schemas are found.
    pub schemas: Schemas,
    /// Whether to look for what will hurt later, too: it is found in the reports.
    pub lint: bool,
}

/// Who wrote a contract, and so what it may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Author {
    /// Whoever runs the booth: any executor.
    #[default]
    Operator,
    /// The host of a run, over the wire: no executor that reaches out of the booth. An agent may not make the booth run
    /// programs or send requests on its behalf.
    Host,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            execute: ExecutorSpec::Host,
            profile: Profile::default(),
            author: Author::default(),
            schemas: Schemas::default(),
            lint: false,
        }
    }
}

/// Contracts that were read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// They by name.
    pub catalog: Catalog,
    /// What became of each, in the order in which they were read; files that could not be read are among them, without name.
    pub reports: Vec<ContractReport>,
}

/// There is nothing to read contracts from.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The path is missing, or the folder cannot be listed.
    #[error("{}: {reason}: name a contract file, or a folder of them", path.display())]
    Unreachable {
        /// The path as it was named.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
}

/// Reads contract files, and the files of folders by name, not those of the folders below.
pub fn load_paths(paths: &[PathBuf], options: &LoadOptions) -> Result<Loaded, LoadError> {
    Ok(load_files(&contract_files(paths)?, options))
}

/// The files that [`load_paths`] reads, in its order.
pub fn contract_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, LoadError> {
    let mut files = Vec::new();
    for path in paths {
        files.extend(files_of(path).map_err(|reason| LoadError::Unreachable { path: path.clone(), reason })?);
    }
    Ok(files)
}

/// Reads these contract files.
pub fn load_files(files: &[PathBuf], options: &LoadOptions) -> Loaded {
    let mut loaded =
        Catalog::of(on_all_cores(files.iter().collect(), |file| load_file(file, options)).into_iter().flatten());
    if options.lint {
        similar_tools(&loaded.catalog, &mut loaded.reports);
    }
    loaded
}

/// Reads a JSON document from the wire: a contract, `tools: [...]`, or a foreign list.
pub fn load_document(text: &[u8], options: &LoadOptions) -> Loaded {
    Catalog::of(load_text(text, Syntax::Json, None, options))
}

/// The files that a path names: itself, or the documents of the folder.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        // A ConfigMap is a folder of links to `..data/NAME`, with `..data` and the folder behind it beside them.
        let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        // A link that leads nowhere is kept, and reported when it is read.
        let other = fs::metadata(&file).is_ok_and(|about| !about.is_file());
        if !hidden && !other && Syntax::of(&file).is_some() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

fn load_file(path: &Path, options: &LoadOptions) -> Vec<Compiled> {
    let file: Arc<str> = path.display().to_string().into();
    let unread = |code, message: &str| vec![unread(vec![Note::error(code, Pointer::root(), message)], Some(&file), 1)];
    let Some(syntax) = Syntax::of(path) else {
        let message = "contracts are read from files that end in `.yaml`, `.yml` or `.json`: rename it";
        return unread("unknown_file_type", message);
    };
    match read_file(path) {
        Ok(text) => load_text(&text, syntax, Some(&file), options),
        Err(error) => {
            unread("unreadable", &format!("cannot be read: {error}: check that it exists and who may read it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{Entry, Status};

    /// A folder of files, and the path of each.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn load(folder: &tempfile::TempDir) -> Loaded {
        load_paths(&[folder.path().to_owned()], &LoadOptions::default()).unwrap()
    }

    /// `name file:line code path` of each remark, files without their folder.
    fn remarks(loaded: &Loaded) -> Vec<String> {
        let line = |name: &str, note: &Note| {
            let place = note.place.as_ref().unwrap().to_string();
            format!("{name} {} {} {}", place.rsplit('/').next().unwrap(), note.code, note.path)
        };
        loaded.reports.iter().flat_map(|report| report.notes.iter().map(|note| line(&report.name, note))).collect()
    }

    #[test]
    fn a_broken_file_is_reported_with_its_line_and_the_others_serve() {
        let folder = folder(&[
            ("a.yaml", "name: a\nparameters:\n  type: object\n"),
            ("b.yml", "name: b\nparameters: {type: object}\ntimout: 1s\nmode: 7\n"),
            ("c.json", "{\n\"name\": }"),
            ("d.yaml", ""),
            ("e.yaml", "name: e\nparameters:\n  properties:\n    a:\n      $ref: x\n"),
            ("f.yaml", "name: a\nparameters: {type: object}\n"),
            (".hidden.yaml", "nonsense"),
            ("README.md", "nonsense"),
        ]);
        fs::create_dir(folder.path().join("below.yaml")).unwrap();
        let loaded = load(&folder);
        assert_eq!(
            remarks(&loaded),
            [
                "b b.yml:3 unknown_key /timout",
                "b b.yml:4 wrong_type /mode",
                " c.json:2 syntax ",
                " d.yaml:1 empty_document ",
                "e e.yaml:5 remote_reference /properties/a/$ref",
                "a f.yaml:1 duplicate_tool /name",
            ]
        );
        let owner = &loaded.reports.last().unwrap().notes[0].message;
        assert!(owner.ends_with("a.yaml:1, which keeps it: rename one of them"), "{owner}");
        let served: Vec<_> = loaded.catalog.served().map(|tool| &*tool.name).collect();
        assert_eq!(served, ["a"]);
        assert!(matches!(loaded.catalog.get("b"), Some(Entry::Quarantined(_))));
    }

    #[test]
    fn defaults_fill_in_what_entries_lack() {
        let folder = folder(&[(
            "tools.yaml",
            "defaults:\n  execute: {echo: {}}\n  arguments: {formats: false, received: omit}\ntools:\n- name: a\n  parameters: \
             {}\n- name: b\n  parameters: {type: object}\n  arguments: {formats: true}\n  execute: {host: {}}\n",
        )]);
        let loaded = load(&folder);
        let said: Vec<_> = loaded
            .catalog
            .served()
            .map(|tool| (&*tool.name, tool.executor.name(), tool.arguments.formats, tool.arguments.received))
            .collect();
        let omit = crate::tools::Received::Omit;
        assert_eq!(said, [("a", "echo", false, omit), ("b", "host", true, omit)]);
    }

    #[test]
    fn broken_defaults_keep_their_tools_from_serving_without_them() {
        let folder = folder(&[(
            "tools.yaml",
            "tools: [{name: a, parameters: {type: object}}]\ndefaults:\n  execute:\n    http:\n      url: nowhere\n",
        )]);
        assert_eq!(
            remarks(&load(&folder)),
            ["a tools.yaml:5 broken_document ", " tools.yaml:5 wrong_value /defaults/execute/http/url"]
        );
    }

    #[test]
    fn each_document_of_a_file_is_a_contract_and_keeps_its_lines() {
        let folder = folder(&[(
            "all.yaml",
            "name: a\nparameters: {type: object}\n---\nname: b\nparameters: {type: object}\nmod: x\n",
        )]);
        let loaded = load(&folder);
        assert_eq!(remarks(&loaded), ["b all.yaml:6 unknown_key /mod"]);
        assert_eq!(loaded.catalog.served().count(), 1);
    }

    #[test]
    fn lifted_openai_functions_keep_their_lines() {
        let text = "[{\n\"type\": \"function\",\n\"function\": {\n\"name\": \"a\",\n\"parameters\": {\n\"type\": \"string\"}}}]";
        assert_eq!(remarks(&load(&folder(&[("tools.json", text)]))), ["a tools.json:6 root_not_object /type"]);
    }

    #[test]
    fn a_path_that_is_missing_is_an_error_and_a_file_of_another_kind_a_report() {
        let folder = folder(&[("a.txt", "")]);
        let missing = load_paths(&[folder.path().join("none")], &LoadOptions::default()).unwrap_err().to_string();
        assert!(
            missing.contains("none: ") && missing.ends_with("name a contract file, or a folder of them"),
            "{missing}"
        );
        let loaded = load_paths(&[folder.path().join("a.txt")], &LoadOptions::default()).unwrap();
        assert_eq!(remarks(&loaded), [" a.txt:1 unknown_file_type "]);
    }

    #[cfg(unix)]
    #[test]
    fn a_config_map_is_read_through_its_links() {
        let folder = folder(&[]);
        fs::create_dir(folder.path().join("..2026")).unwrap();
        fs::write(folder.path().join("..2026/a.yaml"), "name: a\nparameters: {type: object}\n").unwrap();
        std::os::unix::fs::symlink("..2026", folder.path().join("..data")).unwrap();
        std::os::unix::fs::symlink("..data/a.yaml", folder.path().join("a.yaml")).unwrap();
        std::os::unix::fs::symlink("..data/gone.yaml", folder.path().join("gone.yaml")).unwrap();
        let loaded = load(&folder);
        assert_eq!(loaded.catalog.served().count(), 1);
        assert_eq!(remarks(&loaded), [" gone.yaml:1 unreadable "]);
    }

    /// What a host sends, and how many remarks there are in all.
    fn from_host(text: &str) -> (Loaded, usize) {
        let options = LoadOptions { author: Author::Host, ..LoadOptions::default() };
        let loaded = load_document(text.as_bytes(), &options);
        let remarks = loaded.reports.iter().map(|report| report.notes.len()).sum();
        (loaded, remarks)
    }

    #[test]
    fn a_broken_document_tells_its_errors_once_and_not_to_each_tool() {
        let keys: Vec<_> = (0..2_000).map(|number| format!("\"k{number}\":1")).collect();
        let text = format!(r#"{{"tools":[{}],{}}}"#, vec!["{}"; 500].join(","), keys.join(","));
        let (loaded, remarks) = from_host(&text);
        let (of_document, of_tools) = loaded.reports.split_last().unwrap();
        assert_eq!((of_tools.len(), of_document.notes.len()), (500, 101));
        assert_eq!(of_document.notes[100].message, "and 1900 more");
        let codes: Vec<_> = of_tools[0].notes.iter().map(|note| note.code).collect();
        assert_eq!(codes, ["missing_key", "broken_document"]);
        assert!(of_tools[0].notes[1].message.starts_with("the document around it has 2000 errors"));
        assert!(remarks < 1_200, "{remarks}");
    }

    #[test]
    fn no_report_is_longer_than_what_anybody_reads() {
        let many = |one: &str| vec![one; 5_000].join(",");
        for text in [
            format!(
                r#"{{"name":"a","parameters":{{"type":"object"}},"arguments":{{"sensitive":[{}]}}}}"#,
                many("\"x\"")
            ),
            format!(r#"{{"name":"a","parameters":{{"type":"object"}},"icons":[{}]}}"#, many("1")),
            format!(r#"{{"name":"a","parameters":{{"allOf":[{}]}}}}"#, many(r##"{"$ref":"#/x"}"##)),
        ] {
            let (loaded, remarks) = from_host(&text);
            assert_eq!(remarks, 101, "{text:.60}");
            assert_eq!(loaded.reports[0].notes[100].message, "and 4900 more", "{text:.60}");
        }
    }

    #[test]
    fn a_host_has_a_thousand_tools_and_a_remark_for_the_rest() {
        let (loaded, _) = from_host(&format!("[{}]", vec![r#"{"name":"a"}"#; 1_100].join(",")));
        assert_eq!(loaded.reports.len(), 1_001);
        assert_eq!(loaded.reports[1_000].notes[0].code, "too_many_tools");
        assert_eq!(loaded.catalog.served().count(), 1, "what is not too many serves");
        let (loaded, _) = from_host(&format!("[{}]", vec!["1"; 5_000].join(",")));
        assert_eq!(loaded.reports.len(), 101);
        assert!(loaded.reports[100].notes[0].message.starts_with("4900 more items are no objects"));
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in [
            "",
            "{",
            "[",
            "null",
            "[null]",
            "{\"tools\":[null,1,[]]}",
            "{\"name\":1}",
            "\u{feff}{}",
            "{\"type\":\"function\"}",
        ] {
            for report in load_document(text.as_bytes(), &LoadOptions::default()).reports {
                assert_eq!(report.status, Status::Quarantined, "{text}");
            }
        }
        assert_eq!(load_document(b"\xff", &LoadOptions::default()).reports[0].notes[0].code, "syntax");
    }
}

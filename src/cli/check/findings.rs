//! What there is to say about some files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use toolbooth::{
    document::{Note, Place, Severity},
    json::Pointer,
    tools::{Catalog, ContractReport, Entry, LoadOptions, Loaded, Status, Tool, contract_files, load_files},
};

use crate::config::{ProfileName, Settings, is_settings};

/// Everything, file by file.
pub(super) struct Findings {
    pub(super) files: Vec<Finding>,
}

/// What there is to say about one file.
pub(super) struct Finding {
    /// The file, as it was named.
    pub(super) file: Arc<str>,
    pub(super) content: Content,
}

/// What a file is.
pub(super) enum Content {
    /// A settings file.
    Settings(Result<Box<Settings>, Vec<Note>>),
    /// Contracts.
    Contracts(Vec<Checked>),
    /// It is not there.
    Missing(Note),
}

/// What became of a contract.
pub(super) struct Checked {
    pub(super) report: ContractReport,
    /// The tool, if it serves.
    pub(super) tool: Option<Arc<Tool>>,
}

/// How many there are.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) tools: u32,
    pub(super) quarantined: u32,
    pub(super) settings: u32,
    pub(super) errors: u32,
    pub(super) warnings: u32,
    pub(super) infos: u32,
}

impl Findings {
    /// Reads everything, and the tools that settings name, as a booth with these settings would. `profile` goes before theirs.
    pub(super) fn of(paths: &[PathBuf], profile: Option<ProfileName>) -> Self {
        let mut found = Self { files: Vec::new() };
        let mut contracts = Paths::default();
        for path in paths {
            found.take(path, &mut contracts);
        }
        let profile = profile.or_else(|| found.profile()).unwrap_or_default().into();
        let options = LoadOptions { profile, lint: true, ..LoadOptions::default() };
        let Loaded { catalog, reports } = load_files(&contracts.listed, &options);
        // In the order of the files, which is that of the reports.
        for file in &contracts.listed {
            let file: Arc<str> = file.display().to_string().into();
            let of_file = |report: &&ContractReport| report.place.as_ref().is_some_and(|place| place.file == file);
            let checked = reports.iter().filter(of_file).map(|report| Checked::of(report, &catalog)).collect();
            found.add(&file, Content::Contracts(checked));
        }
        found
    }

    fn take(&mut self, path: &Path, contracts: &mut Paths) {
        match contract_files(&[path.to_owned()]) {
            Ok(files) => {
                for file in files {
                    if is_settings(&file) { self.take_settings(&file, contracts) } else { contracts.add(file) }
                }
            }
            Err(error) => {
                let note = Note::error("unreadable", Pointer::root(), error.to_string());
                self.add(&path.display().to_string().into(), Content::Missing(note));
            }
        }
    }

    fn take_settings(&mut self, file: &Path, contracts: &mut Paths) {
        let name: Arc<str> = file.display().to_string().into();
        let read = Settings::read(file).and_then(|settings| {
            let mut notes = Vec::new();
            for (index, path) in settings.tools.iter().enumerate() {
                match contract_files(std::slice::from_ref(path)) {
                    Ok(files) => files.into_iter().for_each(|file| contracts.add(file)),
                    Err(error) => {
                        let place = Some(Place { file: Arc::clone(&name), line: 1 });
                        let at = Pointer::root().join("tools").join(index);
                        notes.push(Note { place, ..Note::error("unreadable", at, error.to_string()) });
                    }
                }
            }
            if notes.is_empty() { Ok(Box::new(settings)) } else { Err(notes) }
        });
        self.add(&name, Content::Settings(read));
    }

    /// What the first settings say that could be read.
    fn profile(&self) -> Option<ProfileName> {
        self.files.iter().find_map(|finding| match &finding.content {
            Content::Settings(Ok(settings)) => Some(settings.profile),
            Content::Settings(Err(_)) | Content::Contracts(_) | Content::Missing(_) => None,
        })
    }

    fn add(&mut self, file: &Arc<str>, content: Content) {
        self.files.push(Finding { file: Arc::clone(file), content });
    }

    /// All of it in numbers.
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for finding in &self.files {
            totals.settings += u32::from(matches!(finding.content, Content::Settings(_)));
            for checked in finding.contracts() {
                totals.tools += u32::from(checked.tool.is_some());
                totals.quarantined += u32::from(checked.report.status == Status::Quarantined);
            }
            for note in finding.notes() {
                let count = u32::try_from(note.count).unwrap_or(u32::MAX);
                match note.severity {
                    Severity::Error => totals.errors += count,
                    Severity::Warning => totals.warnings += count,
                    Severity::Info => totals.infos += count,
                }
            }
        }
        totals
    }
}

impl Finding {
    pub(super) fn contracts(&self) -> &[Checked] {
        if let Content::Contracts(contracts) = &self.content { contracts } else { &[] }
    }

    /// What is remarked on the file itself: on its settings, or that it is missing.
    pub(super) fn own_notes(&self) -> &[Note] {
        match &self.content {
            Content::Settings(Err(notes)) => notes,
            Content::Missing(note) => std::slice::from_ref(note),
            Content::Settings(Ok(_)) | Content::Contracts(_) => &[],
        }
    }

    fn notes(&self) -> impl Iterator<Item = &Note> {
        let reports = self.contracts().iter().map(|checked| &checked.report);
        let of_contracts = reports.flat_map(|report| report.notes.iter().chain(&report.lints));
        self.own_notes().iter().chain(of_contracts)
    }
}

impl Checked {
    fn of(report: &ContractReport, catalog: &Catalog) -> Self {
        let tool = match catalog.get(&report.name) {
            // A duplicate is quarantined under the name of a tool that serves.
            Some(Entry::Served(tool)) if report.status != Status::Quarantined => Some(Arc::clone(tool)),
            Some(Entry::Served(_) | Entry::Quarantined(_)) | None => None,
        };
        Self { report: report.clone(), tool }
    }
}

/// Contract files, each once, however it was named.
#[derive(Default)]
struct Paths {
    listed: Vec<PathBuf>,
    known: Vec<PathBuf>,
}

impl Paths {
    fn add(&mut self, file: PathBuf) {
        let real = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
        if !self.known.contains(&real) {
            self.known.push(real);
            self.listed.push(file);
        }
    }
}

//! Findings for programs: one JSON document.

use toolbooth::{
    document::{Note, Severity},
    json::Json,
};

use super::findings::{Checked, Content, Finding, Findings};

/// All of it.
pub(super) fn document(findings: &Findings) -> Json {
    let totals = findings.totals();
    let summary = Json::object([
        ("tools", Json::from(totals.tools)),
        ("quarantined", Json::from(totals.quarantined)),
        ("settings", Json::from(totals.settings)),
        ("errors", Json::from(totals.errors)),
        ("warnings", Json::from(totals.warnings)),
        ("infos", Json::from(totals.infos)),
    ]);
    Json::object([("files", list(&findings.files, file)), ("summary", summary)])
}

fn list<T>(items: &[T], one: impl Fn(&T) -> Json) -> Json {
    Json::from(items.iter().map(one).collect::<Vec<_>>())
}

fn file(finding: &Finding) -> Json {
    let kind = match finding.content {
        Content::Settings(_) => "settings",
        Content::Contracts(_) => "contracts",
        Content::Missing(_) => "missing",
    };
    Json::object([
        ("file", Json::from(&*finding.file)),
        ("kind", Json::from(kind)),
        ("notes", list(finding.own_notes(), note)),
        ("contracts", list(finding.contracts(), contract)),
    ])
}

fn contract(checked: &Checked) -> Json {
    let report = &checked.report;
    Json::object([
        ("name", Json::from(&*report.name)),
        ("status", Json::from(report.status.as_str())),
        ("line", report.place.as_ref().map(|place| line(place.line)).into()),
        ("executor", checked.tool.as_ref().map(|tool| tool.executor.name()).into()),
        ("dialect", report.dialect.into()),
        ("notes", list(&report.notes, note)),
        ("lints", list(&report.lints, note)),
    ])
}

fn note(note: &Note) -> Json {
    let severity = match note.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    Json::object([
        ("severity", Json::from(severity)),
        ("code", Json::from(note.code)),
        ("file", note.place.as_ref().map(|place| Json::from(&*place.file)).into()),
        ("line", note.place.as_ref().map(|place| line(place.line)).into()),
        ("path", Json::from(note.path.to_string().as_str())),
        ("message", Json::from(note.message.as_str())),
    ])
}

fn line(line: usize) -> Json {
    Json::from(u32::try_from(line).unwrap_or(u32::MAX))
}

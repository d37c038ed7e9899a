//! Findings for people.

use std::io::{self, Write};

use toolbooth::{
    call::Mode,
    document::{Note, Severity},
    excerpt::excerpt,
    json::Pointer,
    tools::{OncePer, Status, Tool},
};

use super::findings::{Checked, Content, Finding, Findings, Totals};
use crate::config::Settings;

/// Prints each file with what is in it, what is wrong with it, and what to do.
pub(super) fn print(findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    for finding in &findings.files {
        file(out, finding)?;
        writeln!(out)?;
    }
    writeln!(out, "{}", summary(&findings.totals()))
}

fn file(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    writeln!(out, "{}", finding.file)?;
    match &finding.content {
        Content::Settings(Ok(settings)) => row(out, "ok", "settings", &settings_facts(settings))?,
        Content::Settings(Err(_)) => row(out, "error", "settings", "the booth does not start with them")?,
        Content::Missing(_) => row(out, "error", "path", "not read")?,
        Content::Contracts(contracts) if contracts.is_empty() => row(out, "ok", "file", "no tools")?,
        Content::Contracts(contracts) => contracts.iter().try_for_each(|checked| contract(out, checked))?,
    }
    finding.own_notes().iter().try_for_each(|one| note(out, one))
}

fn contract(out: &mut dyn Write, checked: &Checked) -> io::Result<()> {
    let report = &checked.report;
    let is_warned = report.lints.iter().any(|lint| lint.severity == Severity::Warning);
    let verdict = match report.status {
        Status::Quarantined => "error",
        Status::Accepted if !is_warned => "ok",
        Status::Accepted | Status::AcceptedWithWarning => "warning",
    };
    match &checked.tool {
        Some(tool) => row(out, verdict, &report.name.escape_debug().to_string(), &tool_facts(tool))?,
        // What has no name is the document around its tools.
        None if report.name.is_empty() => row(out, verdict, "file", "see below")?,
        None => row(out, verdict, &report.name.escape_debug().to_string(), "quarantined, it does not serve")?,
    }
    report.notes.iter().try_for_each(|one| note(out, one))?;
    folded(&report.lints).iter().try_for_each(|alike| lint(out, alike))
}

/// Lints that say the same of several places, together: the first ones, which come first, tell the order.
fn folded(lints: &[Note]) -> Vec<Vec<&Note>> {
    let mut folded: Vec<Vec<&Note>> = Vec::new();
    for lint in lints {
        let is_alike = |alike: &&mut Vec<&Note>| {
            alike.first().is_some_and(|first| (first.code, &first.message) == (lint.code, &lint.message))
        };
        match folded.iter_mut().find(is_alike) {
            Some(alike) => alike.push(lint),
            None => folded.push(vec![lint]),
        }
    }
    folded
}

/// Places that are shown of lints that say the same.
const MAX_PLACES: usize = 3;

fn lint(out: &mut dyn Write, alike: &[&Note]) -> io::Result<()> {
    let Some(first) = alike.first() else { return Ok(()) };
    let mut places: Vec<String> = alike.iter().filter_map(|lint| place(lint)).collect();
    let more = places.len().saturating_sub(MAX_PLACES);
    places.truncate(MAX_PLACES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let colon = if places.is_empty() { "" } else { ": " };
    let message = format!("{}{more}{colon}{}", places.join(", "), first.message);
    note(out, &Note { message, ..(*first).clone() })
}

/// Where a lint has found something. What counts others stands for no place.
fn place(lint: &Note) -> Option<String> {
    let place = if lint.path == Pointer::root() { "root".to_owned() } else { excerpt(&lint.path.to_string()) };
    (lint.count == 1).then_some(place)
}

fn row(out: &mut dyn Write, verdict: &str, name: &str, facts: &str) -> io::Result<()> {
    writeln!(out, "  {verdict:<8} {name}: {facts}")
}

/// `file:line` first, so that editors and terminals can jump there.
fn note(out: &mut dyn Write, note: &Note) -> io::Result<()> {
    let severity = match note.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let place = note.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
    writeln!(out, "    {place}{severity}[{}] {}", note.code, note.message)
}

fn tool_facts(tool: &Tool) -> String {
    let mut facts = vec![format!("run by {}", tool.executor.name())];
    facts.extend(tool.report.dialect.map(|dialect| format!("schema {dialect}")));
    facts.extend(tool.accept.as_ref().map(|accept| match &accept.once_per {
        OncePer::Run => "accepted once per run".to_owned(),
        OncePer::Task => "accepted once per task".to_owned(),
        OncePer::Argument(path) => format!("accepted once per {path}"),
    }));
    facts.extend((tool.mode == Mode::Sequential).then(|| "sequential".to_owned()));
    facts.extend(tool.timeout.map(|time| format!("timeout {}", humantime::format_duration(time))));
    facts.extend(tool.deadline.map(|time| format!("deadline {}", humantime::format_duration(time))));
    facts.extend(tool.terminate.then(|| "a success terminates".to_owned()));
    facts.join(", ")
}

fn settings_facts(settings: &Settings) -> String {
    let mut facts = Vec::new();
    facts.extend(settings.socket.as_ref().map(|socket| format!("socket {}", socket.display())));
    facts.extend(settings.tcp.map(|address| format!("tcp {address}")));
    facts.extend(settings.tools.iter().map(|path| format!("tools {}", path.display())));
    facts.push(format!("grace {}", humantime::format_duration(settings.grace)));
    facts.join(", ")
}

fn summary(totals: &Totals) -> String {
    let serve = if totals.tools == 1 { "tool serves" } else { "tools serve" };
    let mut facts = vec![format!("{} {serve}", totals.tools)];
    if totals.quarantined > 0 {
        facts.push(format!("{} quarantined", totals.quarantined));
    }
    if totals.settings > 0 {
        facts.push(counted(totals.settings, "settings file"));
    }
    let mut found = vec![counted(totals.errors, "error"), counted(totals.warnings, "warning")];
    if totals.infos > 0 {
        found.push(counted(totals.infos, "note"));
    }
    format!("{}: {}", facts.join(", "), found.join(", "))
}

fn counted(count: u32, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

//! What runs a tool: from the contract's words to an executor of this build.

use std::sync::Arc;

use super::{
    compile::Terms,
    format::{Command, Contract, Execute, Http, Submit},
    not_in_this_build,
    remarks::Remarks,
};
use crate::{
    document::Note,
    excerpt::excerpt,
    json::Pointer,
    tools::{
        executor_spec::{CommandSpec, ExecutorSpec, HttpSpec},
        load::Author,
    },
};

/// Most bytes that are read of an answer where the contract says nothing.
const DEFAULT_ANSWER_BYTES: usize = 4 << 20;

/// What runs the tool; if it is a submission, also what that says about how often.
pub(super) fn of_contract(
    contract: &mut Contract,
    terms: &Terms<'_>,
    remarks: &mut Remarks<'_>,
) -> (Option<ExecutorSpec>, Option<Submit>) {
    let named = match (contract.execute.take(), contract.submit.take()) {
        (Some(_), Some(_)) => {
            let message = "`submit` and `execute` both say what runs the tool: for a submission that something runs, write \
                           `accept` and `execute`";
            remarks.add(Note::error("conflicting_keys", Pointer::root().join("submit"), message));
            return (None, None);
        }
        (None, Some(submit)) => Some(Execute::Submit(submit)),
        (execute, None) => execute.or_else(|| terms.defaults.execute.clone()),
    };
    let Some(execute) = named else {
        let executor = terms.execute.clone();
        let submission = (executor == ExecutorSpec::Submit).then_some(Submit { once_per: None });
        return (Some(executor), submission);
    };
    let executor = executor(&execute)
        .and_then(|executor| allowed(executor, terms.author))
        .map_err(|notes| remarks.extend_below(&Pointer::root().join("execute"), notes));
    let submission = if let Execute::Submit(submit) = execute { Some(submit) } else { None };
    (executor.ok(), submission)
}

/// What the author of a contract may run.
fn allowed(executor: ExecutorSpec, author: Author) -> Result<ExecutorSpec, Vec<Note>> {
    match executor {
        ExecutorSpec::Http(_) | ExecutorSpec::Command(_) if author == Author::Host => {
            let message = format!(
                "a contract that a host adds may not use `{name}`: put the contract among the booth's own, or let the host \
                 execute the tool",
                name = executor.name()
            );
            Err(vec![Note::error("executor_not_allowed", Pointer::root().join(executor.name()), message)])
        }
        ExecutorSpec::Http(_)
        | ExecutorSpec::Command(_)
        | ExecutorSpec::Host
        | ExecutorSpec::Submit
        | ExecutorSpec::Echo => Ok(executor),
    }
}

/// The executor; the remarks' paths start at `execute`.
pub(in crate::tools) fn executor(execute: &Execute) -> Result<ExecutorSpec, Vec<Note>> {
    let at = Pointer::root();
    match execute {
        Execute::Host(_) => Ok(ExecutorSpec::Host),
        Execute::Submit(_) => Ok(ExecutorSpec::Submit),
        Execute::Echo(_) => Ok(ExecutorSpec::Echo),
        Execute::Http(http) => http_spec(http, &at.join("http")),
        Execute::Command(command) => command_spec(command, &at.join("command")),
        Execute::Grpc(_) => Err(vec![missing(&at, "grpc")]),
        Execute::Mcp(_) => Err(vec![missing(&at, "mcp")]),
    }
}

fn missing(at: &Pointer, name: &str) -> Note {
    not_in_this_build(
        at.join(name),
        &format!("execute: {{{name}: ...}}"),
        "it has `host`, `http`, `command`, `submit` and `echo`",
    )
}

fn http_spec(http: &Http, at: &Pointer) -> Result<ExecutorSpec, Vec<Note>> {
    let mut notes = Vec::new();
    let url = reqwest::Url::parse(&http.url);
    if !url.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        // It may hold credentials and is not repeated.
        let message = "no URL of HTTP: write it like `http://127.0.0.1:8080/path`";
        notes.push(Note::error("wrong_value", at.join("url"), message));
    }
    let headers = http.headers.clone().unwrap_or_default();
    for (name, value) in &headers {
        // The value may be a secret and is not repeated.
        if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err()
            || reqwest::header::HeaderValue::from_str(value).is_err()
        {
            let message =
                "no header of HTTP: use letters, digits and `-` for its name and visible characters for its value";
            notes.push(Note::error("wrong_value", at.join("headers").join(name), message));
        }
    }
    let max_response_bytes = cap(http.max_response_bytes, &at.join("max_response_bytes"), &mut notes);
    if notes.is_empty() {
        Ok(ExecutorSpec::Http(Arc::new(HttpSpec { url: http.url.clone(), headers, max_response_bytes })))
    } else {
        Err(notes)
    }
}

fn command_spec(command: &Command, at: &Pointer) -> Result<ExecutorSpec, Vec<Note>> {
    let mut notes = Vec::new();
    if command.argv.first().is_none_or(String::is_empty) {
        let message = "no program: write it as the first item, like `[\"/usr/bin/python3\", \"tool.py\"]`";
        notes.push(Note::error("wrong_value", at.join("argv"), message));
    }
    let env = command.env.clone().unwrap_or_default();
    let inherit = command.inherit.clone().unwrap_or_else(|| vec!["PATH".to_owned()]);
    let names = env.keys().map(|name| ("env", name)).chain(inherit.iter().map(|name| ("inherit", name)));
    for (key, name) in names.filter(|(_, name)| name.is_empty() || name.contains('=')) {
        let message = format!("`{}` is no name of a variable: it is not empty and has no `=`", excerpt(name));
        notes.push(Note::error("wrong_value", at.join(key), message));
    }
    let max_output_bytes = cap(command.max_output_bytes, &at.join("max_output_bytes"), &mut notes);
    if !notes.is_empty() {
        return Err(notes);
    }
    let (argv, cwd) = (command.argv.clone(), command.cwd.clone());
    Ok(ExecutorSpec::Command(Arc::new(CommandSpec { argv, cwd, env, inherit, max_output_bytes })))
}

fn cap(bytes: Option<usize>, at: &Pointer, notes: &mut Vec<Note>) -> usize {
    if bytes == Some(0) {
        notes.push(Note::error("wrong_value", at.clone(), "nothing could be read: write at least 1"));
    }
    bytes.unwrap_or(DEFAULT_ANSWER_BYTES)
}

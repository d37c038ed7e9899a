//! What the program says of itself: log lines on standard error, for people or as JSON. Results go to standard output.

use std::io::{self, IsTerminal as _};

use anyhow::Context as _;
use tracing_subscriber::{
    field::MakeExt as _, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::config::{Level, Log, LogFormat};

/// Starts logging. Where `log` names no level, `level` is taken.
pub(crate) fn start(log: Log, level: Level) -> anyhow::Result<()> {
    let filter = log.filter.unwrap_or_else(|| level.filter());
    let targets: Targets = filter.parse().with_context(|| format!("`{filter}` is no log filter"))?;
    let lines = fmt::layer().with_writer(io::stderr).with_target(false);
    let filtered = tracing_subscriber::registry().with(targets);
    let started = match log.format.unwrap_or_default() {
        LogFormat::Text => {
            // Without the colours of the standard one: the fields of a span are written for every call, even if no line is.
            let fields = fmt::format::debug_fn(|out, field, value| match field.name() {
                "message" => write!(out, "{value:?}"),
                name => write!(out, "{name}={value:?}"),
            });
            let lines = lines.fmt_fields(fields.delimited(" ")).with_ansi(io::stderr().is_terminal());
            filtered.with(lines).try_init()
        }
        LogFormat::Json => filtered.with(lines.json().flatten_event(true).with_span_list(false)).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("logging cannot be started: {error}"))
}

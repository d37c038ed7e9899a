//! A submission as it is printed.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use toolbooth::{
    grpc::proto,
    json::{Json, Number, ParseLimits, parse},
    ports::Submission,
};

use crate::cli::shown::raw_arguments;

/// A submission, wherever it was read.
#[derive(Debug)]
pub(super) struct Accepted {
    sequence: u64,
    task: String,
    tool: String,
    key: String,
    run: String,
    call_id: String,
    at_ms: i64,
    /// The JSON text of what was executed.
    arguments: Bytes,
    raw_arguments: Bytes,
}

impl From<Submission> for Accepted {
    fn from(own: Submission) -> Self {
        Self {
            sequence: own.sequence,
            task: own.task.to_string(),
            tool: own.tool.to_string(),
            key: own.key.to_string(),
            run: own.run.to_string(),
            call_id: own.call_id.to_string(),
            at_ms: own.accepted_at_ms,
            arguments: own.arguments.bytes().clone(),
            raw_arguments: own.raw_arguments,
        }
    }
}

impl From<proto::Submission> for Accepted {
    fn from(sent: proto::Submission) -> Self {
        Self {
            sequence: sent.sequence,
            task: sent.task,
            tool: sent.tool,
            key: sent.key,
            run: sent.run_id,
            call_id: sent.call_id,
            at_ms: sent.accepted_at_ms,
            arguments: sent.arguments,
            raw_arguments: sent.raw_arguments,
        }
    }
}

impl Accepted {
    /// One line of JSON, with exact numbers.
    pub(super) fn line(&self) -> Result<String> {
        let arguments = parse(&self.arguments, &ParseLimits::wide())
            .with_context(|| format!("the arguments of submission {} are no JSON", self.sequence))?;
        let number = |number: i64| Json::Number(Number::from(number));
        let object = Json::object([
            ("sequence", number(i64::try_from(self.sequence).unwrap_or(i64::MAX))),
            ("task", Json::from(self.task.as_str())),
            ("tool", Json::from(self.tool.as_str())),
            ("key", Json::from(self.key.as_str())),
            ("run", Json::from(self.run.as_str())),
            ("call_id", Json::from(self.call_id.as_str())),
            ("accepted_at", time(self.at_ms).as_deref().map_or(Json::Null, Json::from)),
            ("accepted_at_ms", number(self.at_ms)),
            ("arguments", arguments),
            raw_arguments(&self.raw_arguments),
        ]);
        Ok(object.to_text())
    }

    /// A few lines for people, which no terminal takes for commands.
    pub(super) fn block(&self) -> String {
        let time = time(self.at_ms).unwrap_or_else(|| format!("{} ms", self.at_ms));
        let arguments = String::from_utf8_lossy(&self.arguments);
        format!(
            "{}  {time}  {}\n  task       {}\n  key        {}\n  run, call  {}, {}\n  arguments  {}\n",
            self.sequence,
            harmless(&self.tool),
            harmless(&self.task),
            harmless(&self.key),
            harmless(&self.run),
            harmless(&self.call_id),
            harmless(&arguments),
        )
    }
}

/// The text, without what controls a terminal.
fn harmless(text: &str) -> String {
    let letter = |letter: char| {
        if letter.is_control() { letter.escape_unicode().to_string() } else { letter.to_string() }
    };
    text.chars().map(letter).collect()
}

/// The last millisecond that has a date: of the year 9999.
const LAST_MS: u64 = 253_402_300_799_999;

/// The time of day, by RFC 3339; `None` for one that has no date there.
fn time(at_ms: i64) -> Option<String> {
    let since = u64::try_from(at_ms).ok().filter(|since| *since <= LAST_MS)?;
    Some(humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(since)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(at_ms: i64, raw_arguments: &'static [u8]) -> Accepted {
        Accepted {
            sequence: 7,
            task: "t\u{1b}[31m".to_owned(),
            tool: "tool".to_owned(),
            key: "/id \"\u{9b}1\"".to_owned(),
            run: "r".to_owned(),
            call_id: "c".to_owned(),
            at_ms,
            arguments: Bytes::from_static(b"{\"n\":12345678901234567890.10}"),
            raw_arguments: Bytes::from_static(raw_arguments),
        }
    }

    #[test]
    fn a_line_keeps_numbers_exact_and_bytes_whole() {
        assert_eq!(
            accepted(1_764_604_799_123, b"{\"n\": 1}").line().unwrap(),
            "{\"sequence\":7,\"task\":\"t\\u001b[31m\",\"tool\":\"tool\",\"key\":\"/id \\\"\u{9b}1\\\"\",\"run\":\"r\",\"call_id\":\"c\",\
             \"accepted_at\":\"2025-12-01T15:59:59.123Z\",\"accepted_at_ms\":1764604799123,\
             \"arguments\":{\"n\":12345678901234567890.10},\"raw_arguments\":\"{\\\"n\\\": 1}\"}"
        );
        let line = accepted(0, b"\xff").line().unwrap();
        assert!(line.contains("\"1970-01-01T00:00:00.000Z\"") && line.ends_with("\"raw_arguments_base64\":\"/w==\"}"));
    }

    #[test]
    fn a_block_has_no_controls_and_any_time_can_be_shown() {
        for (at_ms, expected) in [
            (1_764_604_799_123, "2025-12-01T15:59:59.123Z"),
            (-1, "-1 ms"),
            (i64::MAX, "9223372036854775807 ms"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "253402300800000 ms"),
        ] {
            let block = accepted(at_ms, b"{}").block();
            assert!(block.starts_with(&format!("7  {expected}  tool\n")), "{block}");
            assert!(block.chars().all(|letter| letter == '\n' || !letter.is_control()));
            assert!(
                block.contains("task       t\\u{1b}[31m\n") && block.contains("12345678901234567890.10"),
                "{block}"
            );
        }
    }
}

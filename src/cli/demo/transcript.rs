//! Frames as a person reads them.

use std::io::{self, Write};

use toolbooth::grpc::proto::{self, RunResponse, run_response::Frame as Hear};

/// What the host says.
pub(super) fn says(out: &mut dyn Write, what: &str) -> io::Result<()> {
    writeln!(out, "  > {what}")
}

/// A line below a frame.
pub(super) fn detail(out: &mut dyn Write, what: &str) -> io::Result<()> {
    what.lines().try_for_each(|line| writeln!(out, "      {line}"))
}

/// What the booth says.
pub(super) fn hears(out: &mut dyn Write, response: &RunResponse) -> io::Result<()> {
    match &response.frame {
        Some(Hear::Opened(opened)) => writeln!(out, "  < opened, run {}", opened.run_id),
        Some(Hear::CallStarted(started)) => writeln!(out, "  < call_started {} {}", started.call_id, started.tool),
        Some(Hear::Execute(execute)) => {
            writeln!(out, "  < execute {} {} {}", execute.call_id, execute.tool, json(&execute.arguments))
        }
        Some(Hear::CallFinished(result)) => finished(out, result),
        Some(Hear::BatchFinished(batch)) => verdict(out, &batch.verdict.clone().unwrap_or_default()),
        other => writeln!(out, "  < {other:?}"),
    }
}

fn finished(out: &mut dyn Write, result: &proto::CallResult) -> io::Result<()> {
    let executed = if result.executed { "executed" } else { "not executed" };
    match &result.error {
        Some(error) => {
            let code = error.code().as_str_name().trim_start_matches("ERROR_CODE_").to_lowercase();
            writeln!(out, "  < call_finished {}: error {code}, {executed}", result.call_id)?;
        }
        None => writeln!(out, "  < call_finished {}: ok, {executed}", result.call_id)?,
    }
    for content in &result.content {
        if let Some(proto::content::Kind::Text(text)) = &content.kind {
            text.lines().try_for_each(|line| writeln!(out, "{}", format!("      | {line}").trim_end()))?;
        }
    }
    if !result.repairs.is_empty() {
        detail(out, &format!("sent      {}", json(&result.raw_arguments)))?;
        detail(out, &format!("executed  {}", json(&result.arguments)))?;
    }
    result.repairs.iter().try_for_each(|repair| {
        detail(out, &format!("repair    {} at {}: {} became {}", repair.op, repair.path, repair.from, repair.to))
    })
}

fn verdict(out: &mut dyn Write, verdict: &proto::Verdict) -> io::Result<()> {
    if verdict.terminate {
        writeln!(out, "  < batch_finished: the run may end; every result agrees")?;
    } else {
        writeln!(out, "  < batch_finished: the run goes on; calls that do not agree to end: {:?}", verdict.blocking)?;
    }
    if !verdict.tool_choice.is_empty() {
        detail(out, &format!("ask the model again, best with tool_choice {}", verdict.tool_choice))?;
    }
    for submission in &verdict.accepted {
        detail(out, &format!("accepted from {}: {}", submission.tool, json(&submission.arguments)))?;
    }
    Ok(())
}

fn json(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

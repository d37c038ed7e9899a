//! Execute and after, with an executor that does what a test says, and time that stands still (rules P7 to P9, B7, B8).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use toolbooth::{
    call::{BatchPlace, ToolCall},
    content::{Blob, Content, Progress, ToolOutput},
    json::{Json, ParseLimits, parse},
    pipeline::{self, Attempt, Scope, Watch},
    ports::{Execution, Executor, ExecutorError, ProgressSender},
    refusal::Code,
    result::CallResult,
    tools::{LoadOptions, Profile, load_document},
};

/// An executor that is written in the test.
#[derive(Debug)]
enum Script {
    /// Answers at once.
    Answer(Box<Result<ToolOutput, ExecutorError>>),
    /// Never answers.
    Hang,
    /// So many signs of life, a time apart, then an answer.
    Lively(u32, Duration),
}

#[async_trait]
impl Executor for Script {
    async fn execute(&self, _: Execution, progress: ProgressSender) -> Result<ToolOutput, ExecutorError> {
        match self {
            Self::Answer(answer) => (**answer).clone(),
            Self::Hang => std::future::pending().await,
            Self::Lively(times, apart) => {
                for _ in 0..*times {
                    tokio::time::sleep(*apart).await;
                    progress.send(Progress::default());
                }
                Ok(ToolOutput::text("done"))
            }
        }
    }
}

/// Answers at once.
fn answer(answer: Result<ToolOutput, ExecutorError>) -> Script {
    Script::Answer(Box::new(answer))
}

struct Unwatched;

impl Watch for Unwatched {
    fn started(&self) {}
    fn progress(&self, _: Progress) {}
}

/// One call of the tool `t`, with more keys in its contract.
async fn complete(keys: &str, script: Script, cancel: &CancellationToken) -> (CallResult, Attempt) {
    let contract = format!(r#"{{"name":"t","parameters":{{"type":"object"}}{keys}}}"#);
    let scope = Scope {
        catalog: load_document(contract.as_bytes(), &LoadOptions::default()).catalog,
        executor: Arc::new(script),
        hooks: Vec::new(),
        context: Arc::new(Json::empty_object()),
        parse_limits: ParseLimits::default(),
        profile: Profile::Strict,
    };
    let place = BatchPlace { run: "r".into(), batch: "b".into() };
    let call = ToolCall { index: 0, id: "c".into(), name: "t".into(), arguments: "{}".into(), idempotency_key: None };
    let admitted = pipeline::preflight(&scope, &place, Arc::new(call), cancel).await.expect("the call is admitted");
    pipeline::complete(&scope, admitted, &Unwatched, cancel).await
}

async fn result(keys: &str, script: Script) -> CallResult {
    complete(keys, script, &CancellationToken::new()).await.0
}

fn code(result: &CallResult) -> Option<Code> {
    result.error.as_ref().map(|error| error.code)
}

fn json(text: &str) -> Json {
    parse(text.as_bytes(), &ParseLimits::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn b7_progress_moves_the_idle_time_and_not_the_deadline() {
    let started = tokio::time::Instant::now();
    let lively = |times| Script::Lively(times, Duration::from_millis(40));
    assert_eq!(code(&result(r#","timeout":"50ms""#, lively(20)).await), None);
    let late = result(r#","timeout":"50ms","deadline":"100ms""#, lively(20)).await;
    assert_eq!((code(&late), late.executed), (Some(Code::TimedOut), true));
    assert_eq!(late.error.unwrap().reason.unwrap().as_str(), "deadline");
    let idle = result(r#","timeout":"30ms""#, lively(1)).await;
    assert_eq!(idle.error.unwrap().reason.unwrap().as_str(), "idle");
    assert_eq!(started.elapsed(), Duration::from_millis(20 * 40 + 100 + 30));
}

#[tokio::test(start_paused = true)]
async fn time_002_a_side_effect_that_does_not_answer_is_unknown_and_never_called_safe() {
    let result = result(r#","timeout":"50ms","side_effect":true"#, Script::Hang).await;
    assert_eq!((code(&result), result.executed, result.terminate), (Some(Code::OutcomeUnknown), true, false));
    assert!(result.text().contains("Check before you call it again"), "{}", result.text());
}

#[tokio::test(start_paused = true)]
async fn b8_a_tool_that_ignores_cancellation_does_not_hold_the_call() {
    let cancel = CancellationToken::new();
    let (ended, ()) = tokio::join!(complete("", Script::Hang, &cancel), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    assert_eq!((code(&ended.0), ended.0.executed, ended.1), (Some(Code::Cancelled), true, Attempt::Unknown));
}

#[tokio::test]
async fn p7_what_was_never_started_is_told_apart_from_what_may_have_happened() {
    for (error, keys, expected, executed) in [
        (ExecutorError::NoHost, "", Code::ExecutionFailed, false),
        (ExecutorError::NotStarted("no such program".into()), "", Code::ExecutionFailed, false),
        (ExecutorError::Failed("connection lost".into()), "", Code::ExecutionFailed, true),
        (ExecutorError::Failed("connection lost".into()), r#","side_effect":true"#, Code::OutcomeUnknown, true),
        (ExecutorError::InvalidResult("not JSON".into()), "", Code::ResultInvalid, true),
    ] {
        let result = result(keys, answer(Err(error))).await;
        assert_eq!((code(&result), result.executed, result.terminate), (Some(expected), executed, false));
    }
}

#[tokio::test]
async fn p9_no_result_is_ever_empty() {
    for (output, text) in [
        (ToolOutput::default(), "(no output)"),
        (ToolOutput::text(""), "(no output)"),
        (ToolOutput { is_error: true, ..ToolOutput::default() }, "The tool failed without saying why."),
        (ToolOutput { structured: Some(json(r#"{"id":7}"#).into()), ..ToolOutput::default() }, r#"{"id":7}"#),
        (ToolOutput::text("3.0 + 5.0 = 8.0"), "3.0 + 5.0 = 8.0"),
    ] {
        assert_eq!(result("", answer(Ok(output))).await.text(), text);
    }
}

#[tokio::test]
async fn p9_an_oversize_text_is_cut_in_whole_characters_with_its_full_size() {
    let result = result(r#","output":{"max_bytes":5}"#, answer(Ok(ToolOutput::text("ääää")))).await;
    assert_eq!(result.text(), "ää\n[output cut: 8 bytes in all]");
    assert_eq!(result.warnings[0].code, "output_truncated");
}

#[tokio::test]
async fn p9_what_cannot_be_cut_is_left_out_with_its_size() {
    let blob = Blob { data: vec![0; 10].into(), mime_type: "image/png".into() };
    let output = ToolOutput {
        content: vec![Content::Image(blob)],
        structured: Some(json(r#"{"long":"text"}"#).into()),
        details: Some(json("[1,2,3,4]").into()),
        ..ToolOutput::default()
    };
    let result = result(r#","output":{"max_bytes":5}"#, answer(Ok(output))).await;
    assert_eq!(
        (result.text().trim_start(), &result.structured, &result.details),
        ("[output cut: 10 bytes in all]", &None, &None)
    );
    assert_eq!(result.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), ["output_truncated"; 3]);
}

#[tokio::test]
async fn p8_a_result_that_breaks_the_output_schema_is_delivered_with_a_warning() {
    let schema = r#","outputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}"#;
    let output = |structured: &str, is_error| ToolOutput {
        structured: Some(json(structured).into()),
        is_error,
        content: vec![Content::text("text")],
        ..ToolOutput::default()
    };
    let fits = result(schema, answer(Ok(output(r#"{"id":7}"#, false)))).await;
    assert_eq!((fits.is_error, fits.warnings.len()), (false, 0));
    let breaks = result(schema, answer(Ok(output(r#"{"id":"x"}"#, false)))).await;
    assert_eq!((breaks.is_error, breaks.warnings[0].code), (false, "output_schema_mismatch"));
    assert_eq!(breaks.structured, Some(json(r#"{"id":"x"}"#).into()));
    let error = result(schema, answer(Ok(output(r#"{"error":"limit"}"#, true)))).await;
    assert_eq!((error.is_error, error.structured, error.warnings.len()), (true, None, 0));
}

#[tokio::test]
async fn b6_a_failure_does_not_end_the_run_unless_its_executor_says_so() {
    let terminating = r#","terminate":true"#;
    let says = |is_error, terminate| ToolOutput { is_error, terminate, ..ToolOutput::text("x") };
    for (output, terminate) in [
        (says(false, None), true),
        (says(true, None), false),
        (says(true, Some(true)), true),
        (says(false, Some(false)), false),
    ] {
        assert_eq!(result(terminating, answer(Ok(output))).await.terminate, terminate);
    }
}

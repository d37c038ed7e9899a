//! Limits within one batch, and what the verdict says of them (rules B7 and B9).

mod delivery;
mod strikes;
mod time;
mod tools;

use toolbooth::grpc::proto::{self, ErrorCode, Limits, Open, VerdictReason, run_request::Frame as Say};

use crate::stand::{Stand, call, code, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"echo","parameters":{"type":"object","properties":{"n":{"type":"integer"}}},"execute":{"echo":{}}},
  {"name":"broken","parameterz":{}}
]}"#;

fn with(limits: Limits) -> Open {
    Open { limits: Some(limits), ..Open::default() }
}

#[tokio::test]
async fn b7_a_valid_call_behind_the_last_invalid_one_does_not_undo_the_stop() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.open(with(Limits { max_consecutive_invalid: Some(2), ..Limits::default() })).await;
    let calls = ["{", r#"{"n":"x"}"#, r#"{"n":1}"#].iter().enumerate();
    let calls = calls.map(|(index, arguments)| call(&index.to_string(), "echo", arguments)).collect();
    let (results, verdict) = stream.batch("b1", calls).await;
    let codes: Vec<ErrorCode> = results.iter().map(code).collect();
    assert_eq!(codes, [ErrorCode::MalformedArguments, ErrorCode::InvalidArguments, ErrorCode::Unspecified]);
    assert!(
        text(&results[0]).ends_with("This was invalid call 1 in a row. One more invalid call in a row ends this run.")
    );
    assert!(
        text(&results[1]).contains("This was invalid call 2 in a row, and the last one allowed: the run stops here.")
    );
    assert_eq!(
        (verdict.stop, verdict.limit.as_str(), verdict.reason()),
        (true, "max_consecutive_invalid", VerdictReason::LimitReached)
    );
    assert_eq!((verdict.remaining.unwrap().consecutive_invalid, verdict.tool_choice.as_str()), (Some(0), ""));
    let (results, verdict) = stream.batch("b2", vec![call("c", "echo", "{}")]).await;
    assert_eq!((code(&results[0]), verdict.stop), (ErrorCode::LimitReached, true));
}

#[tokio::test]
async fn b7_one_counter_of_a_run_warns_before_the_last_invalid_call_and_says_stop_at_it() {
    let stand = Stand::with(TOOLS).await;
    let invalid = [("nowhere", "{}"), ("echo", "{"), ("echo", r#"{"n":"x"}"#)];
    for max in 1..=3 {
        let limits = Limits { max_consecutive_invalid: Some(max), ..Limits::default() };
        let mut stream = stand.open(with(limits)).await;
        for (count, (name, arguments)) in (1..=max).zip(invalid) {
            let (results, verdict) = stream.batch(&format!("b{count}"), vec![call("c", name, arguments)]).await;
            let told = (
                text(&results[0]).contains("One more invalid call in a row ends this run."),
                text(&results[0]).contains("the last one allowed: the run stops here."),
                verdict.stop,
            );
            assert_eq!(told, (count + 1 == max, count == max, count == max), "{count} of {max}");
            assert_eq!(results[0].error.as_ref().unwrap().message, text(&results[0]));
        }
    }
}

#[tokio::test]
async fn b7_only_the_models_own_faults_count_as_invalid() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.open(with(Limits { max_consecutive_invalid: Some(2), ..Limits::default() })).await;
    let calls = (0..3).map(|index| call(&index.to_string(), "broken", "{}")).collect();
    let (results, verdict) = stream.batch("b1", calls).await;
    assert!(results.iter().all(|result| code(result) == ErrorCode::ToolQuarantined));
    assert_eq!((verdict.stop, verdict.remaining.unwrap().consecutive_invalid), (false, Some(2)));
}

#[tokio::test]
async fn b9_only_a_tool_that_can_be_called_is_named_for_the_next_turn() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    for (id, name, named) in [("b1", "nowhere", ""), ("b2", "broken", ""), ("b3", "echo", "echo")] {
        let finish = Some(proto::Finish { raw: "length".into(), ..proto::Finish::default() });
        let calls = vec![call("c", name, "{")];
        stream.say_of(id, Say::Batch(proto::Batch { calls, finish, ..proto::Batch::default() }));
        let (results, finished) = stream.rest().await;
        assert_eq!(code(&results[0]), ErrorCode::Truncated);
        assert_eq!(finished.verdict.unwrap().tool_choice, named);
    }
}

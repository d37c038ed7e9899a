//! The host as policy, over its stream: before a call (rule P6) and after it (rule P8).

use toolbooth::grpc::proto::{
    self, AskPolicy, ErrorCode, Open, Override, PolicyStage, VerdictReason, policy_decision::Decision,
    run_request::Frame as Say, run_response::Frame as Hear,
};

use crate::stand::{Stand, Stream, batch, call, code, outcome, text, text_content};

const TOOLS: &str = r#"{"tools":[
  {"name":"add","parameters":{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer"}}},"execute":{"host":{}}},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}},
  {"name":"done","parameters":{"type":"object"},"execute":{"host":{}},"terminate":true}
]}"#;

async fn open(stand: &Stand, before: bool, after: bool, patience_ms: i32) -> Stream {
    let policy_timeout = Some(prost_types::Duration { seconds: 0, nanos: patience_ms * 1_000_000 });
    let policy_timeout = if patience_ms == 0 { None } else { policy_timeout };
    stand.open(Open { ask_before: before, ask_after: after, policy_timeout, ..Open::default() }).await
}

/// The next question, and the call it is about.
async fn question(stream: &mut Stream) -> (u32, AskPolicy) {
    let mut heard = stream.hear_until(|frame| matches!(frame, Hear::AskPolicy(_))).await;
    let last = heard.pop().unwrap();
    let Some(Hear::AskPolicy(ask)) = last.frame else { panic!("the frame that was waited for") };
    (last.index.unwrap(), ask)
}

fn decide(stream: &Stream, index: u32, stage: PolicyStage, decision: impl Into<Option<Decision>>) {
    let decision = decision.into();
    stream.say_at("b1", index, Say::PolicyDecision(proto::PolicyDecision { stage: stage.into(), decision }));
}

fn allow() -> Decision {
    Decision::Allow(proto::Allow {})
}

fn deny(reason: &str, terminate: bool) -> Decision {
    Decision::Deny(proto::Deny { reason: reason.into(), terminate })
}

fn rewrite(arguments: &str) -> Decision {
    Decision::Rewrite(proto::Rewrite { arguments: arguments.to_owned().into() })
}

fn overriding(change: Override) -> Decision {
    Decision::Override(change)
}

const BEFORE: PolicyStage = PolicyStage::Before;
const AFTER: PolicyStage = PolicyStage::After;

#[tokio::test]
async fn p6_an_allowed_call_runs_and_only_valid_calls_are_judged() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = open(&stand, true, false, 0).await;
    stream.say_of("b1", batch(vec![call("bad", "add", "{}"), call("a", "add", r#"{"a":1}"#)]));
    let (index, ask) = question(&mut stream).await;
    assert_eq!((index, ask.stage(), ask.call_id.as_str(), ask.tool.as_str()), (1, BEFORE, "a", "add"));
    assert_eq!((ask.arguments, ask.result), (r#"{"a":1}"#.into(), None));
    decide(&stream, 1, BEFORE, allow());
    stream.asked().await;
    stream.say_at("b1", 1, outcome("ok"));
    let (results, _) = stream.rest().await;
    let ran = results.iter().find(|result| result.index == 1).unwrap();
    assert_eq!((text(ran).as_str(), ran.executed), ("ok", true));
}

#[tokio::test]
async fn p6_b6_a_denied_call_is_not_run_and_ends_the_run_only_if_the_policy_says_so() {
    let stand = Stand::with(TOOLS).await;
    for terminate in [false, true] {
        let mut stream = open(&stand, true, false, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        question(&mut stream).await;
        decide(&stream, 0, BEFORE, deny("only on Tuesdays", terminate));
        let (results, finished) = stream.rest().await;
        assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::Denied, false));
        assert!(text(&results[0]).contains("only on Tuesdays"), "{}", text(&results[0]));
        assert_eq!(results[0].terminate, terminate);
        assert_eq!(results[0].arguments, r#"{"a":1}"#, "validation had passed");
        let verdict = finished.verdict.unwrap();
        let reason = if terminate { VerdictReason::AllTerminate } else { VerdictReason::NotAll };
        assert_eq!((verdict.terminate, verdict.reason()), (terminate, reason));
    }
}

#[tokio::test]
async fn p6_rewritten_arguments_are_what_is_executed_and_the_models_text_is_kept() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = open(&stand, true, false, 0).await;
    stream.say_of("b1", batch(vec![call("a", "add", r#"{"a": 1}"#)]));
    question(&mut stream).await;
    decide(&stream, 0, BEFORE, rewrite(r#"{"a":123456789012345678901234567890}"#));
    let (_, _, execute) = stream.asked().await;
    assert_eq!(execute.arguments, r#"{"a":123456789012345678901234567890}"#);
    stream.say_at("b1", 0, outcome("ok"));
    let (results, _) = stream.rest().await;
    assert_eq!(results[0].arguments, execute.arguments);
    assert_eq!(results[0].raw_arguments, r#"{"a": 1}"#);
}

#[tokio::test]
async fn p6_an_invalid_rewrite_is_not_executed_and_is_not_the_models_fault() {
    let stand = Stand::with(TOOLS).await;
    for (arguments, expected) in [
        (r#"{"a":"x"}"#, ErrorCode::HookInvalidArguments),
        (r#"{"a":1,"b":2}"#, ErrorCode::HookInvalidArguments),
        ("[]", ErrorCode::HookInvalidArguments),
        ("null", ErrorCode::HookInvalidArguments),
        ("{", ErrorCode::PolicyUnavailable),
        ("", ErrorCode::PolicyUnavailable),
    ] {
        let mut stream = open(&stand, true, false, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        question(&mut stream).await;
        decide(&stream, 0, BEFORE, rewrite(arguments));
        let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
        assert!(!heard.iter().any(|heard| matches!(heard.frame, Some(Hear::Execute(_)))), "{arguments}");
        let result = heard.iter().find_map(|heard| match &heard.frame {
            Some(Hear::CallFinished(result)) => Some(result),
            _ => None,
        });
        let result = result.unwrap();
        assert_eq!((code(result), result.executed, result.terminate), (expected, false, false), "{arguments}");
        if expected == ErrorCode::HookInvalidArguments {
            assert!(result.error.as_ref().unwrap().violation_count > 0, "{arguments}");
        }
    }
}

#[tokio::test]
async fn p6_a_policy_that_does_not_answer_or_says_nothing_usable_refuses_the_call() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = open(&stand, true, false, 50).await;
    stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
    question(&mut stream).await;
    let (results, finished) = stream.rest().await;
    assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::PolicyUnavailable, false));
    let error = results[0].error.as_ref().unwrap();
    assert!(error.developer_message.contains("50ms"), "{}", error.developer_message);
    assert_eq!(error.retry(), proto::RetryClass::Repeat);
    assert!(!finished.verdict.unwrap().terminate);
    // The late answer changes nothing.
    decide(&stream, 0, BEFORE, allow());

    for decision in [None, Some(overriding(Override::default()))] {
        let mut stream = open(&stand, true, false, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        question(&mut stream).await;
        // An answer for the other stage is none.
        decide(&stream, 0, AFTER, allow());
        assert_eq!(stream.rejected().await.1, proto::RejectReason::UnknownCall);
        decide(&stream, 0, BEFORE, decision);
        let (results, _) = stream.rest().await;
        assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::PolicyUnavailable, false));
    }
}

#[tokio::test]
async fn b2_a_slow_policy_for_one_call_does_not_keep_the_calls_before_it() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = open(&stand, true, false, 0).await;
    stream.say_of("b1", batch((0..3).map(|index| call(&format!("c{index}"), "done", "{}")).collect()));
    // Calls 0 and 1 are executed, in parallel with the question about what comes after them.
    let (mut asked, mut judged) = (0, 0);
    while (asked, judged) != (2, 3) {
        let heard = stream.hear().await;
        match heard.frame {
            Some(Hear::Execute(_)) => asked += 1,
            Some(Hear::AskPolicy(_)) => {
                assert_eq!(heard.index, Some(judged), "in call order");
                judged += 1;
                if judged < 3 {
                    decide(&stream, judged - 1, BEFORE, allow());
                }
            }
            _ => {}
        }
    }
    for index in 0..2 {
        stream.say_at("b1", index, outcome("ok"));
        let heard = stream.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
        assert_eq!(heard.last().unwrap().index, Some(index), "it is finished though call 2 waits for its judge");
    }
    decide(&stream, 2, BEFORE, deny("no", true));
    let (results, finished) = stream.rest().await;
    assert_eq!(results.len(), 3);
    assert!(finished.verdict.unwrap().terminate, "all agree: two successes and a denial that was marked");
}

#[tokio::test]
async fn b8_a_call_that_waits_for_its_policy_can_be_cancelled() {
    let stand = Stand::with(TOOLS).await;
    for index in [None, Some(0)] {
        let mut stream = open(&stand, true, true, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        question(&mut stream).await;
        let frame = Some(Say::Cancel(proto::Cancel::default()));
        stream.send(proto::RunRequest { batch_id: "b1".into(), index, frame, ..proto::RunRequest::default() });
        let (results, _) = stream.rest().await;
        assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::Cancelled, false));
        decide(&stream, 0, BEFORE, allow());
    }
    // After it ran, the outcome stands, and that nobody judged it is a warning.
    let mut stream = open(&stand, false, true, 0).await;
    stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
    stream.asked().await;
    stream.say_at("b1", 0, outcome("ran"));
    assert_eq!(question(&mut stream).await.1.stage(), AFTER);
    stream.say_at("b1", 0, Say::Cancel(proto::Cancel::default()));
    let (results, _) = stream.rest().await;
    assert_eq!((text(&results[0]).as_str(), results[0].executed), ("ran", true));
    assert_eq!(results[0].warnings[0].code, "after_hook_failed");
}

#[tokio::test]
async fn p8_after_a_call_each_field_can_be_changed_and_no_other_is() {
    let stand = Stand::with(TOOLS).await;
    let content = Some(proto::ContentList { items: vec![text_content("changed")] });
    let base = ("first".to_owned(), r#"{"s":1}"#.to_owned(), r#"{"d":1}"#.to_owned(), false, false);
    let of = |change: Override| change;
    let cases = [
        (of(Override::default()), base.clone()),
        (
            of(Override { content, ..Override::default() }),
            ("changed".to_owned(), base.1.clone(), base.2.clone(), false, false),
        ),
        (
            of(Override { structured: Some("[2.50]".into()), ..Override::default() }),
            (base.0.clone(), "[2.50]".to_owned(), base.2.clone(), false, false),
        ),
        (
            of(Override { structured: Some("".into()), ..Override::default() }),
            (base.0.clone(), String::new(), base.2.clone(), false, false),
        ),
        (
            of(Override { details: Some("null".into()), ..Override::default() }),
            (base.0.clone(), base.1.clone(), "null".to_owned(), false, false),
        ),
        (
            of(Override { is_error: Some(true), ..Override::default() }),
            (base.0.clone(), base.1.clone(), base.2.clone(), true, false),
        ),
        (
            of(Override { terminate: Some(true), ..Override::default() }),
            (base.0.clone(), base.1.clone(), base.2.clone(), false, true),
        ),
    ];
    for (change, expected) in cases {
        let mut stream = open(&stand, false, true, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        stream.asked().await;
        stream.say_at(
            "b1",
            0,
            Say::ToolOutcome(proto::ToolOutcome {
                content: vec![text_content("first")],
                structured: r#"{"s":1}"#.into(),
                details: r#"{"d":1}"#.into(),
                ..proto::ToolOutcome::default()
            }),
        );
        let (_, ask) = question(&mut stream).await;
        let seen = ask.result.unwrap();
        assert_eq!((ask.stage, text(&seen).as_str(), seen.executed), (AFTER.into(), "first", true));
        decide(&stream, 0, AFTER, overriding(change));
        let (results, finished) = stream.rest().await;
        let result = &results[0];
        let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let told = (text(result), utf8(&result.structured), utf8(&result.details), result.is_error, result.terminate);
        assert_eq!(told, expected);
        assert_eq!(finished.verdict.unwrap().terminate, expected.4);
        let error = if expected.3 { ErrorCode::ExecutionFailed } else { ErrorCode::Unspecified };
        assert_eq!((code(result), result.warnings.len()), (error, 0));
    }
}

#[tokio::test]
async fn p8_a_judge_that_fails_after_a_call_leaves_the_outcome_with_a_warning() {
    let stand = Stand::with(TOOLS).await;
    let broken = Override { structured: Some("{".into()), ..Override::default() };
    for (patience, decision) in [
        (50, None),
        (0, Some(None)),
        (0, Some(Some(deny("too late", true)))),
        (0, Some(Some(rewrite("{}")))),
        (0, Some(Some(overriding(broken)))),
    ] {
        let mut stream = open(&stand, false, true, patience).await;
        stream.say_of("b1", batch(vec![call("a", "done", "{}")]));
        stream.asked().await;
        stream.say_at("b1", 0, outcome("ran"));
        question(&mut stream).await;
        if let Some(decision) = decision {
            decide(&stream, 0, AFTER, decision);
        }
        let (results, finished) = stream.rest().await;
        assert_eq!((text(&results[0]).as_str(), results[0].is_error, results[0].executed), ("ran", false, true));
        assert_eq!(results[0].warnings[0].code, "after_hook_failed");
        assert!(finished.verdict.unwrap().terminate);
    }
}

#[tokio::test]
async fn p8_a_hook_that_makes_a_failure_does_not_let_it_end_the_run() {
    let stand = Stand::with(TOOLS).await;
    for (terminate, ends) in [(None, false), (Some(true), true)] {
        let mut stream = open(&stand, false, true, 0).await;
        stream.say_of("b1", batch(vec![call("a", "done", "{}")]));
        stream.asked().await;
        stream.say_at("b1", 0, outcome("done"));
        question(&mut stream).await;
        decide(&stream, 0, AFTER, overriding(Override { is_error: Some(true), terminate, ..Override::default() }));
        let (results, finished) = stream.rest().await;
        assert_eq!((code(&results[0]), results[0].terminate), (ErrorCode::ExecutionFailed, ends));
        assert_eq!(finished.verdict.unwrap().terminate, ends);
    }
}

#[tokio::test]
async fn c7_what_a_policy_rewrote_is_listed_among_the_changes() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = open(&stand, true, false, 0).await;
    stream.say_of("b1", batch(vec![call("a", "echo", r#"{"a":1}"#)]));
    question(&mut stream).await;
    decide(&stream, 0, BEFORE, rewrite(r#"{"a":2}"#));
    let (results, _) = stream.rest().await;
    assert_eq!((&results[0].raw_arguments[..], &results[0].arguments[..]), (&br#"{"a":1}"#[..], &br#"{"a":2}"#[..]));
    assert_eq!(ops(&results[0]), ["policy_rewrite"]);
    // What is converted of it comes after it; of what is refused, nothing is listed.
    for (rewritten, arguments, changes) in [
        (r#"{"a":"2"}"#, r#"{"a":2}"#, &["policy_rewrite", "string_to_integer"][..]),
        (r#"{"a":"2","b":1}"#, r#"{"a":1}"#, &[]),
    ] {
        let mut stream = open(&stand, true, false, 0).await;
        stream.say_of("b1", batch(vec![call("a", "add", r#"{"a":1}"#)]));
        question(&mut stream).await;
        decide(&stream, 0, BEFORE, rewrite(rewritten));
        if !changes.is_empty() {
            stream.asked().await;
            stream.say_at("b1", 0, outcome("ok"));
        }
        let (results, _) = stream.rest().await;
        assert_eq!(
            (&results[0].arguments[..], ops(&results[0]).as_slice()),
            (arguments.as_bytes(), changes),
            "{rewritten}"
        );
    }
}

fn ops(result: &proto::CallResult) -> Vec<&str> {
    result.repairs.iter().map(|repair| repair.op.as_str()).collect()
}

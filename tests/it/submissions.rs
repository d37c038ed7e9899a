//! Accepted once (rules S1 to S5): races within a batch and between streams, failures, doubt, and who reads it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use toolbooth::{
    grpc::proto::{
        self, ErrorCode, Open, VerdictReason, run_request::Frame as Say, run_response::Frame as Hear,
        submission_service_client::SubmissionServiceClient,
    },
    ledgers::MemoryLedger,
    ports::{Claim, Ledger, LedgerError, Record, Reservation, Reserved, Retention, Selection, Submission},
};

use crate::stand::{Stand, Stream, batch, booth, call, code, outcome, text, text_content};

const TOOLS: &str = r#"{"tools":[
  {"name":"run","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"run"},"terminate":true},
  {"name":"task","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"task"},"terminate":true},
  {"name":"each","parameters":{"type":"object"},"submit":{"once_per":{"argument":"/id"}}},
  {"name":"slow","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"run"},"timeout":"50ms"},
  {"name":"again","parameters":{"type":"object"},"execute":{"host":{}},"accept":{"once_per":"run","in_doubt":"retry"},"timeout":"50ms"},
  {"name":"echo","parameters":{"type":"object"},"execute":{"echo":{}}}
]}"#;

fn failure() -> Say {
    let content = vec![text_content("failed")];
    Say::ToolOutcome(proto::ToolOutcome { content, is_error: true, ..proto::ToolOutcome::default() })
}

async fn of_task(stand: &Stand, task: &str) -> Stream {
    stand.open(Open { task_key: task.into(), ..Open::default() }).await
}

/// The rest of a batch: its results by index, how often somebody was asked to execute, and the verdict.
async fn rest(stream: &mut Stream) -> (Vec<proto::CallResult>, usize, proto::Verdict) {
    let heard = stream.hear_until(|frame| matches!(frame, Hear::BatchFinished(_))).await;
    let (mut results, mut asked, mut verdict) = (Vec::new(), 0, None);
    for heard in heard {
        match heard.frame {
            Some(Hear::CallFinished(result)) => results.push(result),
            Some(Hear::Execute(_)) => asked += 1,
            Some(Hear::BatchFinished(finished)) => verdict = finished.verdict,
            _ => {}
        }
    }
    results.sort_by_key(|result| result.index);
    (results, asked, verdict.unwrap())
}

#[tokio::test]
async fn once_004_of_submissions_in_one_batch_the_lowest_index_wins_and_not_the_fastest() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let calls = [1, 2, 1].map(|x| call(&format!("c{x}"), "run", &format!("{{\"x\":{x}}}")));
    let calls = calls.into_iter().enumerate().map(|(at, call)| proto::ToolCall { id: format!("c{at}"), ..call });
    stream.say_of("b1", batch(calls.collect()));
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 0, outcome("won"));
    let (results, asked, verdict) = rest(&mut stream).await;
    assert_eq!(asked, 0, "nobody else is executed");
    assert_eq!((results[0].executed, results[0].replayed, text(&results[0]).as_str()), (true, false, "won"));
    assert_eq!((code(&results[1]), results[1].executed), (ErrorCode::AlreadyAccepted, false));
    assert_eq!((results[2].replayed, results[2].executed, text(&results[2]).as_str()), (true, false, "won"));
    assert_eq!((verdict.terminate, verdict.blocking, verdict.accepted.len()), (false, vec![1], 1));
    assert_eq!((verdict.accepted[0].call_id.as_str(), &verdict.accepted[0].arguments[..]), ("c0", &b"{\"x\":1}"[..]));
}

#[tokio::test]
async fn s2_a_failure_releases_the_key_and_the_next_one_is_executed() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "run", r#"{"x":1}"#), call("b", "run", r#"{"x":2}"#)]));
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 0, failure());
    assert_eq!(stream.asked().await.1, 1);
    stream.say_at("b1", 1, outcome("second"));
    let verdict = stream.rest().await.1.verdict.unwrap();
    assert_eq!((verdict.terminate, verdict.accepted[0].call_id.as_str()), (false, "b"));
}

#[tokio::test]
async fn b8_a_call_that_waits_for_its_turn_can_be_cancelled_while_the_first_one_runs() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    stream.say_of("b1", batch(vec![call("a", "run", r#"{"x":1}"#), call("b", "run", r#"{"x":2}"#)]));
    assert_eq!(stream.asked().await.1, 0);
    stream.say_at("b1", 1, Say::Cancel(proto::Cancel::default()));
    let heard = stream.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
    let Some(Hear::CallFinished(result)) = &heard.last().unwrap().frame else {
        panic!("the frame that was waited for")
    };
    assert_eq!((result.index, code(result), result.executed), (1, ErrorCode::Cancelled, false));
    stream.say_at("b1", 0, outcome("won"));
    assert_eq!(stream.rest().await.1.verdict.unwrap().accepted.len(), 1);
}

#[tokio::test]
async fn s4_a_time_out_leaves_doubt_and_the_contract_says_what_then() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    for (tool, second_runs) in [("slow", false), ("again", true)] {
        stream.say_of(tool, batch(vec![call("a", tool, r#"{"x":1}"#)]));
        stream.asked().await;
        let (results, ..) = rest(&mut stream).await;
        assert_eq!((code(&results[0]), results[0].executed), (ErrorCode::OutcomeUnknown, true));
        // The late answer is recorded, and not taken for a result.
        stream.say_at(tool, 0, outcome("late"));
        stream.say_of(&format!("{tool}-2"), batch(vec![call("b", tool, r#"{"x":1}"#)]));
        if second_runs {
            stream.asked().await;
            stream.say_at(&format!("{tool}-2"), 0, outcome("now"));
        }
        let (results, asked, verdict) = rest(&mut stream).await;
        let expected = if second_runs { ErrorCode::Unspecified } else { ErrorCode::OutcomeUnknown };
        assert_eq!((code(&results[0]), results[0].executed, asked), (expected, second_runs, 0), "{tool}");
        assert_eq!(verdict.accepted.len(), usize::from(second_runs), "{tool}");
    }
}

#[tokio::test]
async fn s3_once_per_task_holds_across_runs_of_the_task_and_not_for_another_task() {
    let stand = Stand::with(TOOLS).await;
    let mut first = of_task(&stand, "t").await;
    first.say_of("b1", batch(vec![call("a", "task", r#"{"x":1,"y":2}"#)]));
    first.asked().await;
    first.say_at("b1", 0, outcome("kept"));
    assert!(first.rest().await.1.verdict.unwrap().terminate);
    drop(first);
    let mut second = of_task(&stand, "t").await;
    let (results, verdict) = second.batch("b1", vec![call("z", "task", r#"{"y":2.0,"x":1}"#)]).await;
    assert_eq!((results[0].replayed, results[0].executed, text(&results[0]).as_str()), (true, false, "kept"));
    assert_eq!((verdict.terminate, verdict.reason()), (true, VerdictReason::AllTerminate));
    let (results, verdict) = second.batch("b2", vec![call("z", "task", r#"{"x":9}"#)]).await;
    assert_eq!((code(&results[0]), verdict.terminate), (ErrorCode::AlreadyAccepted, false));
    assert_eq!(verdict.accepted[0].call_id, "a", "the host still learns what was accepted");
    let mut other = of_task(&stand, "u").await;
    other.say_of("b1", batch(vec![call("a", "task", r#"{"x":1}"#)]));
    other.asked().await;
}

#[tokio::test]
async fn s1_once_per_argument_tells_values_apart_and_numbers_by_their_value() {
    let stand = Stand::with(TOOLS).await;
    let mut stream = stand.run().await;
    let calls = [
        r#"{"id":1}"#,
        r#"{"id":"1"}"#,
        r#"{"id":1.0}"#,
        r#"{"id":1e0,"x":0}"#,
        "{}",
        r#"{"id":null}"#,
        r#"{"id":10000000000000000000000001}"#,
        r#"{"id":10000000000000000000000002}"#,
    ];
    let calls = calls.iter().map(|arguments| call("", "each", arguments)).collect();
    let (results, verdict) = stream.batch("b1", calls).await;
    let told: Vec<_> = results.iter().map(|result| (code(result), result.replayed)).collect();
    let new = (ErrorCode::Unspecified, false);
    let taken = (ErrorCode::AlreadyAccepted, false);
    assert_eq!(told, [new, new, (ErrorCode::Unspecified, true), taken, new, taken, new, new]);
    assert_eq!(verdict.accepted.len(), 5);
}

#[tokio::test]
async fn s2_of_two_streams_that_race_for_a_task_one_is_executed() {
    let stand = Stand::with(TOOLS).await;
    for (case, expected, executed) in [
        ("success", ErrorCode::AlreadyAccepted, false),
        ("failure", ErrorCode::Unspecified, true),
        ("cut", ErrorCode::OutcomeUnknown, false),
        ("cancel", ErrorCode::OutcomeUnknown, false),
    ] {
        let (mut first, mut second) = (of_task(&stand, case).await, of_task(&stand, case).await);
        first.say_of("b1", batch(vec![call("a", "task", r#"{"x":1}"#)]));
        first.asked().await;
        second.say_of("b1", batch(vec![call("b", "task", r#"{"x":2}"#), call("c", "echo", "{}")]));
        // The sibling is not held back, and the race is undecided until the first one is.
        let heard = second.hear_until(|frame| matches!(frame, Hear::CallFinished(_))).await;
        assert_eq!(heard.last().unwrap().index, Some(1));
        assert!(!heard.iter().any(|heard| matches!(heard.frame, Some(Hear::Execute(_)))), "{case}");
        match case {
            "success" => first.say_at("b1", 0, outcome("won")),
            "failure" => first.say_at("b1", 0, failure()),
            "cut" => drop(first),
            _ => first.say_of("b1", Say::Cancel(proto::Cancel::default())),
        }
        if executed {
            second.asked().await;
            second.say_at("b1", 0, outcome("won"));
        }
        let (results, asked, _) = rest(&mut second).await;
        assert_eq!((code(&results[0]), results[0].executed, asked), (expected, executed, 0), "{case}");
    }
}

#[tokio::test]
async fn s5_what_was_accepted_is_read_from_the_booth() {
    let stand = Stand::with(TOOLS).await;
    let mut service = SubmissionServiceClient::new(stand.channel().await);
    let get =
        |tool: &str, key: &str| proto::GetSubmissionRequest { task: "t".into(), tool: tool.into(), key: key.into() };
    assert_eq!(service.get_submission(get("", "")).await.unwrap_err().code(), tonic::Code::NotFound);
    let nameless = proto::GetSubmissionRequest::default();
    assert_eq!(service.get_submission(nameless).await.unwrap_err().code(), tonic::Code::InvalidArgument);
    let mut watch = service
        .watch_submissions(proto::WatchSubmissionsRequest {
            task: "t".into(),
            after_sequence: 1,
            ..proto::WatchSubmissionsRequest::default()
        })
        .await
        .unwrap()
        .into_inner();
    let mut stream = of_task(&stand, "t").await;
    let calls = (0..3).map(|id| call(&format!("c{id}"), "each", &format!("{{ \"id\": {id} }}"))).collect();
    stream.batch("b1", calls).await;
    let newest = service.get_submission(get("", "")).await.unwrap().into_inner().submission.unwrap();
    assert_eq!(
        (newest.task.as_str(), newest.tool.as_str(), newest.run_id),
        ("t", "each", stream.opened.run_id.clone())
    );
    assert!(newest.accepted_at_ms > 0);
    let first = service.get_submission(get("each", "/id 0")).await.unwrap().into_inner().submission.unwrap();
    assert_eq!((&first.arguments[..], &first.raw_arguments[..]), (&b"{\"id\":0}"[..], &b"{ \"id\": 0 }"[..]));
    assert_eq!(service.get_submission(get("run", "")).await.unwrap_err().code(), tonic::Code::NotFound);
    let (mut token, mut sequences) = (String::new(), Vec::new());
    loop {
        let request = proto::ListSubmissionsRequest {
            page_size: 2,
            page_token: token,
            ..proto::ListSubmissionsRequest::default()
        };
        let page = service.list_submissions(request).await.unwrap().into_inner();
        sequences.extend(page.submissions.iter().map(|submission| submission.sequence));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(sequences, [1, 2, 3]);
    let only = |tool: &str, key: &str, after_sequence| proto::ListSubmissionsRequest {
        tool: tool.into(),
        key: key.into(),
        after_sequence,
        ..proto::ListSubmissionsRequest::default()
    };
    for (request, expected) in [
        (only("each", "", 1), &[2, 3][..]),
        (only("each", "/id 1", 0), &[2]),
        (only("", "/id 1", 2), &[]),
        (only("run", "", 0), &[]),
    ] {
        let page = service.list_submissions(request).await.unwrap().into_inner();
        assert_eq!(page.submissions.iter().map(|submission| submission.sequence).collect::<Vec<_>>(), expected);
    }
    let request = proto::ListSubmissionsRequest { page_token: "x".into(), ..proto::ListSubmissionsRequest::default() };
    assert_eq!(service.list_submissions(request).await.unwrap_err().code(), tonic::Code::InvalidArgument);
    for expected in [2, 3] {
        let watched = watch.message().await.unwrap().unwrap().submission.unwrap();
        assert_eq!(watched.sequence, expected);
    }
}

/// Counts how often a task is read.
#[derive(Debug, Default)]
struct Counting {
    ledger: MemoryLedger,
    reads: AtomicUsize,
}

#[async_trait]
impl Ledger for Counting {
    async fn reserve(&self, claim: &Claim) -> Result<Reserved, LedgerError> {
        self.ledger.reserve(claim).await
    }
    async fn record(&self, reservation: Reservation, record: Record) -> Result<(), LedgerError> {
        self.ledger.record(reservation, record).await
    }
    async fn withdraw(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.ledger.withdraw(reservation).await
    }
    async fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.ledger.release(reservation).await
    }
    async fn doubt(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.ledger.doubt(reservation).await
    }
    async fn submissions(&self, selection: &Selection) -> Result<Vec<Submission>, LedgerError> {
        self.reads.fetch_add(usize::from(selection.task.as_deref() == Some("quiet")), Ordering::Relaxed);
        self.ledger.submissions(selection).await
    }
    async fn forget(&self, retention: Retention, now_ms: i64) -> Result<u64, LedgerError> {
        self.ledger.forget(retention, now_ms).await
    }
    async fn changed(&self, after: u64) -> Result<u64, LedgerError> {
        self.ledger.changed(after).await
    }
}

#[tokio::test]
async fn a_watch_of_one_task_is_not_kept_busy_by_the_others() {
    let ledger = Arc::new(Counting::default());
    let mut booth = booth(TOOLS);
    booth.ledger = Arc::<Counting>::clone(&ledger);
    let stand = Stand::serving(booth, std::time::Duration::from_secs(5)).await;
    let mut service = SubmissionServiceClient::new(stand.channel().await);
    let request = proto::WatchSubmissionsRequest { task: "quiet".into(), ..proto::WatchSubmissionsRequest::default() };
    let mut watch = service.watch_submissions(request).await.unwrap().into_inner();
    let mut loud = of_task(&stand, "loud").await;
    for id in 0..20 {
        loud.batch(&format!("b{id}"), vec![call("", "each", &format!("{{\"id\":{id}}}"))]).await;
    }
    let mut quiet = of_task(&stand, "quiet").await;
    quiet.batch("b1", vec![call("q", "each", r#"{"id":1}"#)]).await;
    assert_eq!(watch.message().await.unwrap().unwrap().submission.unwrap().call_id, "q");
    let reads = ledger.reads.load(Ordering::Relaxed);
    assert!(reads <= 25, "one read for each change and a few more, not {reads}");
}

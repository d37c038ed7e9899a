//! The unary twins, the catalog, health and reflection.

use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};
use toolbooth::grpc::{
    MAX_MESSAGE_BYTES, SERVICES,
    proto::{
        self, Batch, ContractStatus, ErrorCode, Open, VerdictReason,
        tool_catalog_service_client::ToolCatalogServiceClient,
        tool_execution_service_client::ToolExecutionServiceClient,
    },
};

use crate::stand::{Stand, call, code, text};

const TOOLS: &str = r#"{"tools":[
  {"name":"ask","parameters":{"type":"object"},"execute":{"host":{}}},
  {"name":"broken","parameters":{"type":"nope"}},
  {"name":"count","parameters":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}},"execute":{"echo":{}}},
  {"name":"echo","description":"Says it again.","parameters":{"type":"object"},"execute":{"echo":{}}},
  {"name":"submit","parameters":{"type":"object"},"submit":{"once_per":"task"}}
]}"#;

fn request(calls: Vec<proto::ToolCall>) -> proto::ExecuteBatchRequest {
    proto::ExecuteBatchRequest { batch: Some(Batch { calls, ..Batch::default() }), ..Default::default() }
}

#[tokio::test]
async fn a_unary_batch_is_answered_call_by_call_with_its_verdict() {
    let stand = Stand::with(TOOLS).await;
    let mut client = stand.client().await;
    let calls = vec![call("a", "echo", r#"{"x":1.50}"#), call("b", "ask", "{}"), call("", "count", "{}")];
    let answer = client.execute_batch(request(calls)).await.unwrap().into_inner();
    assert_eq!(answer.results.iter().map(|result| result.index).collect::<Vec<_>>(), [0, 1, 2]);
    let codes: Vec<ErrorCode> = answer.results.iter().map(code).collect();
    assert_eq!(codes, [ErrorCode::Unspecified, ErrorCode::ExecutionFailed, ErrorCode::InvalidArguments]);
    assert_eq!(
        (text(&answer.results[0]).as_str(), &answer.results[0].structured[..]),
        (r#"{"x":1.50}"#, &b"{\"x\":1.50}"[..])
    );
    assert_eq!(
        (answer.results[1].executed, answer.results[1].error.as_ref().unwrap().reason.as_str()),
        (false, "no_host")
    );
    assert_eq!(answer.results[2].call_id, format!("{}-2", answer.batch_id));
    let verdict = answer.verdict.unwrap();
    assert_eq!(
        (verdict.reason(), verdict.blocking, verdict.tool_choice.as_str()),
        (VerdictReason::NotAll, vec![0, 1, 2], "count")
    );
    assert!(!answer.run_id.is_empty());

    let empty = client.execute_batch(proto::ExecuteBatchRequest::default()).await.unwrap().into_inner();
    assert_eq!((empty.results.len(), empty.verdict.unwrap().reason()), (0, VerdictReason::Empty));
}

#[tokio::test]
async fn a_unary_batch_reads_its_open_and_refuses_a_bad_one_with_a_status() {
    let stand = Stand::with(TOOLS).await;
    let mut client = stand.client().await;
    let mut held = stand.open(Open { run_id: "r".into(), ..Open::default() }).await;
    for (open, expected) in [
        (Open { run_id: "r".into(), ..Open::default() }, Code::AlreadyExists),
        (Open { context: "[".into(), ..Open::default() }, Code::InvalidArgument),
    ] {
        let request = proto::ExecuteBatchRequest { open: Some(open), ..proto::ExecuteBatchRequest::default() };
        assert_eq!(client.execute_batch(request).await.unwrap_err().code(), expected);
    }
    held.batch("b1", vec![]).await;
    let contract = r#"{"name":"mine","parameters":{"type":"object"},"execute":{"echo":{}}}"#;
    for (round, replayed) in [("r1", false), ("r2", true)] {
        let open = Some(Open {
            run_id: round.into(),
            task_key: "t".into(),
            contracts: vec![contract.into()],
            limits: Some(proto::Limits { max_calls_per_batch: Some(2), ..proto::Limits::default() }),
            ..Open::default()
        });
        let calls = vec![call("a", "mine", "{}"), call("b", "submit", "{}"), call("c", "mine", "{}")];
        let request = proto::ExecuteBatchRequest { open, batch_id: "mine".into(), ..request(calls) };
        let answer = client.execute_batch(request).await.unwrap().into_inner();
        assert_eq!((answer.run_id.as_str(), answer.batch_id.as_str()), (round, "mine"));
        assert_eq!(answer.contracts[0].name, "mine");
        assert_eq!((answer.results[0].is_error, answer.results[1].replayed), (false, replayed));
        assert_eq!(code(&answer.results[2]), ErrorCode::LimitReached);
        assert_eq!(answer.verdict.unwrap().accepted.len(), 1);
    }
}

#[tokio::test]
async fn unary_results_over_the_message_limit_are_cut_with_a_warning() {
    let stand = Stand::with(TOOLS).await;
    // As other clients are: they take no more than 4 MiB.
    let mut client = ToolExecutionServiceClient::new(stand.channel().await);
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(180 << 10));
    let mut calls: Vec<_> = (0..20).map(|id| call(&format!("c{id}"), "echo", &large)).collect();
    calls.push(call("small", "echo", r#"{"z":1}"#));
    let answer = client.execute_batch(request(calls)).await.unwrap().into_inner();
    assert!(prost::Message::encoded_len(&answer) <= MAX_MESSAGE_BYTES);
    assert_eq!(answer.results.len(), 21);
    for result in &answer.results[..20] {
        assert_eq!(
            (result.executed, result.is_error, result.warnings[0].code.as_str()),
            (true, false, "output_truncated")
        );
        assert!(text(result).contains("output cut"), "{}", text(result));
    }
    assert_eq!((text(&answer.results[20]).as_str(), answer.results[20].warnings.len()), (r#"{"z":1}"#, 0));
}

#[tokio::test]
async fn what_was_accepted_never_makes_an_answer_too_large() {
    let stand = Stand::with(&TOOLS.replace(r#""once_per":"task""#, r#""once_per":{"argument":"/id"}"#)).await;
    // As other clients are: they take no more than 4 MiB.
    let mut client = ToolExecutionServiceClient::new(stand.channel().await);
    let large = "y".repeat(180 << 10);
    for round in 0..2 {
        let calls = (0..20).map(|id| call("", "submit", &format!(r#"{{"id":"{round}-{id}","y":"{large}"}}"#)));
        let open = Some(Open { task_key: "t".into(), ..Open::default() });
        let request = proto::ExecuteBatchRequest { open, ..request(calls.collect()) };
        let answer = client.execute_batch(request).await.unwrap().into_inner();
        let accepted = answer.verdict.unwrap().accepted;
        assert_eq!((accepted.len(), answer.warnings[0].code.as_str()), ((round + 1) * 20, "accepted_truncated"));
        assert!(accepted[0].arguments.is_empty() && !accepted.last().unwrap().arguments.is_empty());
        assert!(answer.results.iter().all(|result| result.executed && !result.is_error));
    }
    let mut service = proto::submission_service_client::SubmissionServiceClient::new(stand.channel().await);
    let (mut page_token, mut listed) = (String::new(), 0);
    loop {
        let request = proto::ListSubmissionsRequest { page_token, ..proto::ListSubmissionsRequest::default() };
        let page = service.list_submissions(request).await.unwrap().into_inner();
        assert!(page.submissions.iter().all(|submission| submission.arguments.len() > large.len()));
        listed += page.submissions.len();
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(listed, 40, "nothing is lost");
}

#[tokio::test]
async fn validate_says_what_would_be_executed_and_executes_nothing() {
    let stand = Stand::with(TOOLS).await;
    let mut client = stand.client().await;
    let calls =
        vec![call("a", "submit", r#"{ "v": 1 }"#), call("null", "count", r#"{"n":"one"}"#), call("c", "nowhere", "{}")];
    let request = proto::ValidateRequest { calls, ..proto::ValidateRequest::default() };
    let answer = client.validate(request).await.unwrap().into_inner();
    let valid: Vec<bool> = answer.validations.iter().map(|validation| validation.valid).collect();
    assert_eq!(valid, [true, false, false]);
    assert_eq!(answer.validations[0].arguments, r#"{"v":1}"#);
    assert!(answer.validations[0].error.is_none());
    assert!(answer.validations[1].arguments.is_empty());
    assert_eq!(answer.validations[1].error.as_ref().unwrap().violations[0].instance_path, "/n");
    assert!(!["", "null"].contains(&answer.validations[1].call_id.as_str()), "an id is assigned");
    assert_eq!(answer.validations[2].error.as_ref().unwrap().code(), ErrorCode::ToolNotFound);
}

#[tokio::test]
async fn b6_results_of_a_host_that_executes_by_itself_get_the_same_verdict() {
    let stand = Stand::with(TOOLS).await;
    let mut client = stand.client().await;
    let cut = Some(proto::Finish { raw: "length".into(), ..proto::Finish::default() });
    for (said, finish, expected, blocking) in [
        (vec![true, true], None, VerdictReason::AllTerminate, vec![]),
        (vec![true, false], None, VerdictReason::NotAll, vec![1]),
        (vec![], None, VerdictReason::Empty, vec![]),
        (vec![true], cut, VerdictReason::Truncated, vec![]),
    ] {
        let calls = said.iter().map(|terminate| proto::ConcludedCall { terminate: *terminate }).collect();
        let request = proto::ConcludeBatchRequest { calls, finish };
        let verdict = client.conclude_batch(request).await.unwrap().into_inner().verdict.unwrap();
        assert_eq!((verdict.reason(), verdict.blocking), (expected, blocking));
        assert_eq!(verdict.terminate, expected == VerdictReason::AllTerminate);
    }
}

#[tokio::test]
async fn the_catalog_is_listed_in_pages_shown_and_checked() {
    let stand = Stand::with(TOOLS).await;
    let mut catalog = ToolCatalogServiceClient::new(stand.channel().await);
    let (mut names, mut page_token, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = catalog.list_tools(proto::ListToolsRequest { page_size: 2, page_token }).await.unwrap().into_inner();
        names.extend(page.tools.into_iter().map(|tool| tool.name));
        page_token = page.next_page_token;
        pages += 1;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!((names, pages), (["ask", "broken", "count", "echo", "submit"].map(str::to_owned).to_vec(), 3));
    let all = catalog.list_tools(proto::ListToolsRequest { page_size: u32::MAX, page_token: String::new() }).await;
    assert_eq!(all.unwrap().into_inner().tools.len(), 5);

    let get = |name: &str| proto::GetToolRequest { name: name.into() };
    let tool = catalog.get_tool(get("echo")).await.unwrap().into_inner().tool.unwrap();
    assert_eq!((tool.description.as_str(), &tool.input_schema[..]), ("Says it again.", &br#"{"type":"object"}"#[..]));
    assert_eq!(tool.executor, "echo");
    let broken = catalog.get_tool(get("broken")).await.unwrap().into_inner().tool.unwrap();
    assert_eq!(broken.report.unwrap().status(), ContractStatus::Quarantined);
    let missing = catalog.get_tool(get("ecko")).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    assert!(missing.message().contains("`echo`"), "{}", missing.message());

    let check = |contract: &str| proto::CheckToolRequest { contract: contract.to_owned().into() };
    let good = r#"{"name":"new","parameters":{"type":"object"},"execute":{"echo":{}}}"#;
    let reports = catalog.check_tool(check(good)).await.unwrap().into_inner().reports;
    assert_ne!(reports[0].status(), ContractStatus::Quarantined);
    let reports = catalog.check_tool(check("{")).await.unwrap().into_inner().reports;
    assert_eq!(reports[0].status(), ContractStatus::Quarantined);
    assert!(!reports[0].notes.is_empty());
    assert_eq!(catalog.check_tool(check("")).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(catalog.get_tool(get("new")).await.unwrap_err().code(), Code::NotFound, "checking registers nothing");
}

#[tokio::test]
async fn health_and_reflection_answer() {
    let stand = Stand::with(TOOLS).await;
    let mut health = HealthClient::new(stand.channel().await);
    for service in SERVICES.into_iter().chain([""]) {
        let answer = health.check(HealthCheckRequest { service: service.into() }).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving, "{service}");
    }
    let mut reflection = ServerReflectionClient::new(stand.channel().await);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut answers = reflection.server_reflection_info(tokio_stream::once(request)).await.unwrap().into_inner();
    let answer = answers.message().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(listed)) = answer.message_response else { panic!("{answer:?}") };
    let names: Vec<String> = listed.service.into_iter().map(|service| service.name).collect();
    assert!(SERVICES.iter().all(|service| names.iter().any(|name| name == service)), "{names:?}");
}

#[tokio::test]
async fn b1_failures_over_the_message_limit_are_cut_as_results_are() {
    let fails = r#"{"name":"fail","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","yes failure | head -c 300000; exit 1"]}}}"#;
    let stand = Stand::with(fails).await;
    // As other clients are: they take no more than 4 MiB.
    let mut client = ToolExecutionServiceClient::new(stand.channel().await);
    let calls = (0..12).map(|index| call(&format!("c{index}"), "fail", "{}")).collect();
    let answer = client.execute_batch(request(calls)).await.unwrap().into_inner();
    assert_eq!(answer.results.len(), 12);
    for result in &answer.results {
        assert_eq!((code(result), result.executed), (ErrorCode::ExecutionFailed, true));
        assert!(text(result).starts_with("failure\nfailure\n") && text(result).contains("[output cut: "));
    }
    // Unknown names have long answers, and there may be many of them.
    let calls = (0..6000).map(|index| call(&format!("c{index}"), &"n".repeat(300), "{}")).collect();
    let answer = client.execute_batch(request(calls)).await.unwrap().into_inner();
    assert!(answer.results.iter().all(|result| code(result) == ErrorCode::ToolNotFound));
}

#[tokio::test]
async fn p7_no_two_calls_share_an_idempotency_key_unless_their_host_says_so() {
    let show = r#"{"name":"show","parameters":{"type":"object"},"execute":{"command":{"argv":["sh","-c","grep -o idempotency_key...[^,]* | cut -d: -f2 | tr -d '\\\"\\n'"]}}}"#;
    let stand = Stand::with(show).await;
    let mut client = stand.client().await;
    let mut keys = std::collections::HashSet::new();
    for (run_id, batch_id) in [("r", ""), ("r", ""), ("a/b", "c"), ("a", "b/c")] {
        let mut request = request(vec![call("x", "show", "{}")]);
        request.open = Some(Open { run_id: run_id.into(), ..Open::default() });
        request.batch_id = batch_id.into();
        keys.insert(text(&client.execute_batch(request).await.unwrap().into_inner().results[0]));
    }
    assert!(keys.contains("a%2Fb/c/0") && keys.contains("a/b%2Fc/0"), "{keys:?}");
    assert_eq!(keys.len(), 4);
}

#[tokio::test]
async fn s4_a_submission_whose_caller_went_away_is_in_doubt_and_its_key_is_not_held_for_ever() {
    let tools = r#"{"tools":[{"name":"slow","parameters":{"type":"object"},"timeout":"3s","accept":{"once_per":"task"},
        "execute":{"command":{"argv":["sh","-c","sleep 60"]}}}]}"#;
    let stand = Stand::with(tools).await;
    let mut client = ToolExecutionServiceClient::new(stand.channel().await);
    let open = Some(Open { task_key: "t".into(), ..Open::default() });
    let submit = || proto::ExecuteBatchRequest { open: open.clone(), ..request(vec![call("a", "slow", "{}")]) };
    let gone = tokio::time::timeout(std::time::Duration::from_millis(500), client.execute_batch(submit())).await;
    assert!(gone.is_err());
    let answer = client.execute_batch(submit()).await.unwrap().into_inner();
    assert_eq!(code(&answer.results[0]), ErrorCode::OutcomeUnknown);
}

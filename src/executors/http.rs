//! Tools behind HTTP: the call is posted, and the response is the result.
//!
//! The request is `POST` with the JSON of [`super::wire`], the headers of the contract, and `idempotency-key`. Redirects
//! are not followed, and proxies of the environment are not used: a call goes where its contract says. The response is
//! taken by these rules:
//!
//! - 2xx: the body, as `wire` reads it, whatever its media type.
//! - Any other status with an envelope in its body: the envelope, as an error.
//! - 502 and 504: a gateway gave up on a tool that may have done its work; the text is the status and the body.
//! - The rest: the service failed or refused the call; an error whose text is the status and the body.
//! - No connection, or a request that cannot be built: the tool was not started.
//! - A connection that fails after that: the tool failed, and something may have happened.

use std::{
    error::Error,
    sync::{Arc, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::{content::ToolOutput, ports::ExecutorError, tools::HttpSpec};

use super::wire::{Answer, Capped};

/// A service that cannot be reached in this time was not reached: the call fails before it could have an effect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Many servers close idle connections after 5 s. A call on a connection that is just being closed would have an unknown
/// outcome, so the booth lets go first.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The HTTP client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client for tools could not be built")]
pub struct HttpClientError(#[source] Box<dyn Error + Send + Sync>);

/// Posts calls. Clones share one pool of connections. It is made when it is first needed: a booth without such a tool reads no
/// certificates.
#[derive(Debug, Clone, Default)]
pub(super) struct HttpTools(Arc<OnceLock<Client>>);

impl HttpTools {
    /// The client; the first time it is made.
    pub(super) fn client(&self) -> Result<&Client, HttpClientError> {
        if let Some(client) = self.0.get() {
            return Ok(client);
        }
        let client = Self::new_client()?;
        Ok(self.0.get_or_init(|| client))
    }

    /// A client of its own, whatever TLS provider the process has installed.
    fn new_client() -> Result<Client, HttpClientError> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls().map_err(|error| HttpClientError(error.into()))?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .user_agent(concat!("toolbooth/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build();
        client.map_err(|error| HttpClientError(error.into()))
    }

    /// Posts a request and reads the response.
    pub(super) async fn run(
        &self,
        spec: &HttpSpec,
        request: String,
        idempotency_key: &str,
    ) -> Result<ToolOutput, ExecutorError> {
        let response = self.post(spec, request, idempotency_key)?.send().await.map_err(unsent_or_failed)?;
        let status = response.status();
        let answer = read_body(response, spec.max_response_bytes).await?;
        if status.is_success() { answer.into_output() } else { refuse(status, answer) }
    }

    fn post(&self, spec: &HttpSpec, request: String, idempotency_key: &str) -> Result<RequestBuilder, ExecutorError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain;q=0.9, */*;q=0.1"));
        for (name, value) in &spec.headers {
            let name = HeaderName::try_from(name).map_err(|_bad| bad_header(name))?;
            headers.insert(name.clone(), header_value(&name, value)?);
        }
        // Last, because what is sent and its key are not the contract's to say.
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(IDEMPOTENCY_KEY, header_value(&IDEMPOTENCY_KEY, idempotency_key)?);
        let client = self.client().map_err(|error| ExecutorError::NotStarted(error.to_string()))?;
        Ok(client.post(&spec.url).headers(headers).body(request))
    }
}

/// TLS with the roots of the machine. Without any root, plain HTTP works all the same.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let native = rustls_native_certs::load_native_certs();
    for error in native.errors {
        tracing::warn!(%error, "root certificates could not be read");
    }
    roots.add_parsable_certificates(native.certs);
    Ok(ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, ExecutorError> {
    // From bytes: a key of the host may hold letters beyond ASCII.
    HeaderValue::from_bytes(value.as_bytes()).map_err(|_bad| bad_header(name.as_str()))
}

/// The value is not shown: it may be a secret.
fn bad_header(name: &str) -> ExecutorError {
    ExecutorError::NotStarted(format!("the HTTP header `{}` cannot be sent: it is not valid", name.escape_debug()))
}

/// Takes the body up to the cap, and hangs up there.
async fn read_body(mut response: Response, cap: usize) -> Result<Answer, ExecutorError> {
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
    let mut body = Capped::new(cap);
    while let Some(chunk) = response.chunk().await.map_err(|error| {
        ExecutorError::Failed(format!("the HTTP response of the tool broke off: {}", cause(&error.without_url())))
    })? {
        if !body.push(&chunk) {
            body.count_to(announced);
            break;
        }
    }
    Ok(Answer::new(body, "the HTTP response"))
}

/// What any status but success means.
fn refuse(status: StatusCode, answer: Answer) -> Result<ToolOutput, ExecutorError> {
    answer.into_envelope_of_failure().or_else(|answer| {
        let hint = if status.is_redirection() { " (redirects are not followed)" } else { "" };
        let text = format!("HTTP {status}{hint}\n{}", answer.text).trim_end().to_owned();
        // A gateway speaks for a service that may have done its work.
        if matches!(status, StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT) {
            Err(ExecutorError::Failed(text))
        } else {
            Ok(ToolOutput { warnings: answer.warnings, ..ToolOutput::error(text) })
        }
    })
}

/// Tells a request that never left from one that may have arrived. The address is not shown: it may hold a secret.
fn unsent_or_failed(error: reqwest::Error) -> ExecutorError {
    let error = error.without_url();
    if error.is_builder() {
        ExecutorError::NotStarted(format!("the HTTP request of the tool could not be built: {}", cause(&error)))
    } else if error.is_connect() {
        ExecutorError::NotStarted(format!("the HTTP service of the tool could not be reached: {}", cause(&error)))
    } else {
        ExecutorError::Failed(format!("the HTTP service of the tool did not answer: {}", cause(&error)))
    }
}

/// The innermost cause: the layers around it only say where it was noticed.
fn cause(error: &(dyn Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use wiremock::{
        Mock, MockServer, ResponseTemplate,
        matchers::{body_string, header, method, path},
    };

    use super::*;

    const REQUEST: &str = r#"{"call":{},"arguments":{"id":12345678901234567890}}"#;

    fn spec(url: impl Into<String>) -> HttpSpec {
        HttpSpec { url: url.into(), headers: BTreeMap::new(), max_response_bytes: 1_000 }
    }

    async fn run(spec: &HttpSpec) -> Result<ToolOutput, ExecutorError> {
        HttpTools::default().run(spec, REQUEST.to_owned(), "run/batch/0").await
    }

    /// What becomes of a call that is answered so.
    async fn answered(response: ResponseTemplate) -> Result<ToolOutput, ExecutorError> {
        let server = MockServer::start().await;
        Mock::given(method("POST")).respond_with(response).mount(&server).await;
        run(&spec(server.uri())).await
    }

    fn json(status: u16, body: &str) -> ResponseTemplate {
        ResponseTemplate::new(status).set_body_raw(body, "application/json")
    }

    #[tokio::test]
    async fn the_call_is_posted_with_its_key_and_the_headers_of_the_contract() {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path("/tool"))
            .and(header("content-type", "application/json"))
            .and(header("idempotency-key", "run/batch/0"))
            .and(header("authorization", "Bearer t"))
            .and(body_string(REQUEST))
            .respond_with(json(200, r#"{"content":"done","terminate":true}"#))
            .mount(&server)
            .await;
        let mut spec = spec(format!("{}/tool", server.uri()));
        for (name, value) in [("Authorization", "Bearer t"), ("content-type", "x/y"), ("Idempotency-Key", "mine")] {
            spec.headers.insert(name.to_owned(), value.to_owned());
        }
        assert_eq!(run(&spec).await, Ok(ToolOutput { terminate: Some(true), ..ToolOutput::text("done") }));
    }

    #[tokio::test]
    async fn a_plain_text_answer_is_text_and_no_answer_is_no_content() {
        let text = answered(ResponseTemplate::new(200).set_body_string("3.0 + 5.0")).await;
        assert_eq!(text, Ok(ToolOutput::text("3.0 + 5.0")));
        assert_eq!(answered(ResponseTemplate::new(204)).await, Ok(ToolOutput::default()));
    }

    #[tokio::test]
    async fn numbers_of_an_answer_are_exact() {
        let body = r#"{"structured":{"id":12345678901234567890,"rate":1.50}}"#;
        let structured = answered(json(200, body)).await.unwrap().structured.unwrap();
        assert_eq!(structured.to_text(), r#"{"id":12345678901234567890,"rate":1.50}"#);
    }

    #[tokio::test]
    async fn a_server_error_is_a_failure_with_status_and_body_unless_it_is_an_envelope() {
        let failed = answered(ResponseTemplate::new(500).set_body_string("boom\n")).await;
        assert_eq!(failed, Ok(ToolOutput::error("HTTP 500 Internal Server Error\nboom")));
        let unknown = answered(ResponseTemplate::new(502).set_body_string("boom\n")).await;
        assert_eq!(unknown, Err(ExecutorError::Failed("HTTP 502 Bad Gateway\nboom".to_owned())));
        let envelope = answered(json(500, r#"{"content":"no such user"}"#)).await;
        assert_eq!(envelope, Ok(ToolOutput::error("no such user")));
    }

    #[tokio::test]
    async fn a_call_that_the_service_refuses_is_an_error_with_status_and_body() {
        let refused = answered(json(404, r#"{"message":"no such user"}"#)).await;
        assert_eq!(refused, Ok(ToolOutput::error("HTTP 404 Not Found\n{\"message\":\"no such user\"}")));
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let server = MockServer::start().await;
        let redirect = ResponseTemplate::new(307).insert_header("location", format!("{}/elsewhere", server.uri()));
        Mock::given(path("/")).respond_with(redirect).expect(1).mount(&server).await;
        Mock::given(path("/elsewhere")).respond_with(ResponseTemplate::new(200)).expect(0).mount(&server).await;
        let text = "HTTP 307 Temporary Redirect (redirects are not followed)";
        assert_eq!(run(&spec(server.uri())).await, Ok(ToolOutput::error(text)));
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_cap() {
        let output = answered(ResponseTemplate::new(200).set_body_string("x".repeat(5_000))).await.unwrap();
        assert_eq!(output.content, ToolOutput::text("x".repeat(1_000)).content);
        assert_eq!(output.warnings[0].message, "the HTTP response was longer than 1000 bytes: the rest was dropped");
    }

    #[tokio::test]
    async fn a_call_that_never_left_was_not_started() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let unreachable = spec(format!("http://{}/?key=s3cret", listener.local_addr().unwrap()));
        drop(listener);
        let mut bad_header = spec("http://127.0.0.1");
        bad_header.headers.insert("x-token".to_owned(), "s3cret\n".to_owned());
        for (spec, expected) in [
            (unreachable, "could not be reached: Connection refused"),
            (spec("http://name.invalid"), "could not be reached: "),
            (spec("no address"), "could not be built: "),
            (spec("ftp://127.0.0.1/"), "could not be"),
            (bad_header, "the HTTP header `x-token` cannot be sent"),
        ] {
            let Err(ExecutorError::NotStarted(message)) = run(&spec).await else { panic!("{spec:?} was started") };
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_breaks_off_after_the_request_is_a_failure() {
        for (reply, expected) in
            [("", "did not answer"), ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "broke off")]
        {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let spec = spec(format!("http://{}", listener.local_addr().unwrap()));
            let server = async {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut seen = Vec::new();
                while !seen.ends_with(REQUEST.as_bytes()) {
                    socket.read_buf(&mut seen).await.unwrap();
                }
                socket.write_all(reply.as_bytes()).await.unwrap();
            };
            let (result, ()) = tokio::join!(run(&spec), server);
            let Err(ExecutorError::Failed(message)) = result else { panic!("{result:?}") };
            assert!(message.contains(expected), "{message}");
        }
    }
}

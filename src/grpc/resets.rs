//! A stream that its client has reset, told apart from one that it has half-closed: the first cancels, the second does not
//! (rule B8).
//!
//! `tonic` shows both as the end of the requests. So the reset is given another status before it gets there.

use std::task::{Context, Poll};

use http_body_util::BodyExt as _;
use tonic::{
    Code, Status,
    body::Body,
    codegen::{Service, http},
    server::NamedService,
};

/// A service that hears of resets.
#[derive(Debug, Clone)]
pub(super) struct HearsResets<S>(pub(super) S);

impl<S: NamedService> NamedService for HearsResets<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<http::Request<Body>>> Service<http::Request<Body>> for HearsResets<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        self.0.call(request.map(|body| Body::new(body.map_err(marked))))
    }
}

/// A reset as a fault of the stream.
fn marked(status: Status) -> Status {
    // No other fault of reading a request has this code.
    if status.code() == Code::Cancelled { Status::aborted("the client has reset the stream") } else { status }
}

/// Whether this is why a request could not be read on.
pub(super) fn is_reset(status: &Status) -> bool {
    status.code() == Code::Aborted
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures::{FutureExt as _, future::BoxFuture};
    use http_body_util::Empty;

    use super::*;

    /// Says how the requests end.
    #[derive(Clone)]
    struct Reads;

    impl Service<http::Request<Body>> for Reads {
        type Response = Option<Code>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: http::Request<Body>) -> Self::Future {
            async move { Ok(request.into_body().collect().await.err().map(|status| status.code())) }.boxed()
        }
    }

    #[tokio::test]
    async fn b8_a_reset_is_told_apart_from_every_other_end() {
        let ends = async |status: Option<Status>| {
            let body = Empty::<Bytes>::new().map_err(|never: Infallible| match never {});
            let body = body.with_trailers(async { status.map(Err) });
            HearsResets(Reads).call(http::Request::new(Body::new(body))).await.unwrap()
        };
        assert_eq!(ends(None).await, None, "a half-close");
        let reset = ends(Some(Status::cancelled(""))).await.unwrap();
        assert!(is_reset(&Status::new(reset, "")));
        assert_eq!(ends(Some(Status::unknown("a lost connection"))).await, Some(Code::Unknown));
    }
}

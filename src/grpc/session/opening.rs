//! The first frame: who the host is, and what its run is opened with.

use std::{sync::Arc, time::Duration};

use ahash::AHashSet;
use tokio::sync::mpsc;
use tonic::Streaming;
use tracing::info;

use super::{Out, Phase, Session, reply::Replies};
use crate::{
    booth::Booth,
    excerpt::excerpt,
    grpc::{Fault, PROTOCOL_VERSION, Stopping, decode, encode, proto},
    host::{Asks, Host, Signal},
};

/// How long a stream may be silent before it opens its run.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the booth waits for the host's judgement of a call, where the host does not say.
const POLICY_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads the first frame and opens the run.
pub(super) async fn open(
    booth: &Booth,
    stopping: &Stopping,
    inbound: &mut Streaming<proto::RunRequest>,
    out: &Out,
) -> Result<(Session, mpsc::UnboundedReceiver<Signal>), Fault> {
    let first = tokio::select! {
        biased;
        first = tokio::time::timeout(PATIENCE, inbound.message()) => first,
        () = stopping.drain.cancelled() => return Err(Fault::Draining),
    };
    let Ok(first) = first else { return Err(Fault::Silent(PATIENCE)) };
    let first = first.map_err(|status| Fault::Unreadable(status.message().to_owned()))?.ok_or(Fault::NotOpened)?;
    let Some(proto::run_request::Frame::Open(open)) = first.frame else { return Err(Fault::NotOpened) };
    if stopping.drain.is_cancelled() {
        return Err(Fault::Draining);
    }
    if open.protocol_version > PROTOCOL_VERSION {
        return Err(Fault::UnknownVersion(open.protocol_version));
    }
    if open.resume {
        return Err(Fault::NothingToResume(open.run_id.into()));
    }
    let policy_timeout = open.policy_timeout.map(|timeout| decode::duration("open.policy_timeout", timeout));
    let asks = Asks {
        before: open.ask_before,
        after: open.ask_after,
        timeout: policy_timeout.transpose()?.unwrap_or(POLICY_TIMEOUT),
    };
    let delivery = open.delivery();
    let agent = open.host.clone();
    let (host, signals) = Host::new(asks);
    let mut request = decode::open(open)?;
    request.host = Some(Arc::clone(&host));
    let opened = booth.open(request)?;
    info!(run = ?opened.run.id(), host = excerpt(&agent), contracts = opened.reports.len(), "run opened");
    let replies = Replies::new(out.clone(), delivery);
    let capacity = opened.run.capacity();
    let answer = proto::Opened {
        run_id: opened.run.id().to_string(),
        protocol_version: PROTOCOL_VERSION,
        capabilities: Vec::new(),
        contracts: encode::reports(&opened.reports),
        max_calls_in_flight: u32::try_from(capacity.max_calls_in_flight).unwrap_or(u32::MAX),
        max_bytes_in_flight: u64::try_from(capacity.max_bytes_in_flight).unwrap_or(u64::MAX),
        limits: Some(encode::limits(opened.run.limits())),
        booth: concat!("toolbooth/", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    replies.opened(first.frame_id, answer).await;
    let session = Session {
        run: opened.run,
        host,
        replies,
        stopping: stopping.clone(),
        batch: Phase::Idle,
        calls: 0,
        batch_ids: AHashSet::new(),
        ending: false,
        half_closed: false,
        gone: false,
        draining: false,
        expired: false,
        unreadable: None,
        _lease: opened.lease,
    };
    Ok((session, signals))
}

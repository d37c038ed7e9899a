//! The first frame: who the host is, and what its run is opened with.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;
use tonic::Streaming;
use tracing::info;

use super::{Out, Phase, Session, reply::Replies};
use crate::{
    booth::{Booth, Lease},
    excerpt::excerpt,
    grpc::{Fault, PROTOCOL_VERSION, Stopping, decode, encode, proto},
    host::{Asks, ComeBack, Host, Signal},
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
    let replies = Replies::new(out.clone(), open.delivery());
    let agent = open.host.clone();
    let (session, heard, answer) =
        if open.resume { resumed(booth, stopping, &open, replies)? } else { new_run(booth, stopping, open, replies)? };
    let (resumed, contracts) = (answer.resumed, answer.contracts.len());
    info!(run = ?session.run.id(), host = excerpt(&agent), resumed, contracts, "run opened");
    session.replies.opened(first.frame_id, answer).await;
    Ok((session, heard))
}

type Opened = (Session, mpsc::UnboundedReceiver<Signal>, proto::Opened);

/// A new run.
fn new_run(booth: &Booth, stopping: &Stopping, open: proto::Open, replies: Replies) -> Result<Opened, Fault> {
    let policy_timeout = open.policy_timeout.map(|timeout| decode::duration("open.policy_timeout", timeout));
    let asks = Asks {
        before: open.ask_before,
        after: open.ask_after,
        timeout: policy_timeout.transpose()?.unwrap_or(POLICY_TIMEOUT),
    };
    let mut request = decode::open(open)?;
    let (host, heard) = Host::new(asks, !request.keep.grace.is_zero());
    request.host = Some(Arc::clone(&host));
    let opened = booth.open(request)?;
    let contracts = encode::reports(&opened.reports);
    let session = session(opened.lease, host, stopping, replies);
    let answer = proto::Opened { contracts, ..answer(&session) };
    Ok((session, heard, answer))
}

/// A run that the booth still holds. What it was opened with stays.
fn resumed(booth: &Booth, stopping: &Stopping, open: &proto::Open, replies: Replies) -> Result<Opened, Fault> {
    let lease = booth.runs.resume(&open.run_id, true)?;
    let host = lease.host().map(Arc::clone).ok_or(Fault::Lost)?;
    let ComeBack { heard, ended } = host.come_back();
    // Asked for last: of a batch that runs now, this stream hears the end; one whose end the stream before has taken with it is
    // sent again.
    let batch = ended.or_else(|| lease.run().running().map(|running| running.batch));
    let mut session = session(lease, host, stopping, replies);
    let answer = proto::Opened {
        resumed: true,
        running_batch_id: batch.as_deref().unwrap_or_default().to_owned(),
        last_batch_id: session.run.last_batch().as_deref().unwrap_or_default().to_owned(),
        ..answer(&session)
    };
    session.batch = batch.map_or(Phase::Idle, Phase::Running);
    Ok((session, heard, answer))
}

fn session(lease: Lease, host: Arc<Host>, stopping: &Stopping, replies: Replies) -> Session {
    Session {
        run: Arc::clone(lease.run()),
        lease,
        host,
        replies,
        stopping: stopping.clone(),
        batch: Phase::Idle,
        calls: 0,
        batches: 0,
        ending: false,
        half_closed: false,
        gone: false,
        draining: false,
        expired: false,
        run_ended: false,
        leaves: false,
        unreadable: None,
    }
}

fn answer(session: &Session) -> proto::Opened {
    let (run, capacity) = (&session.run, session.run.capacity());
    proto::Opened {
        run_id: run.id().to_string(),
        protocol_version: PROTOCOL_VERSION,
        max_calls_in_flight: u32::try_from(capacity.max_calls_in_flight).unwrap_or(u32::MAX),
        max_bytes_in_flight: u64::try_from(capacity.max_bytes_in_flight).unwrap_or(u64::MAX),
        limits: Some(encode::limits(run.limits())),
        booth: concat!("toolbooth/", env!("CARGO_PKG_VERSION")).to_owned(),
        resume_grace: encode::duration(run.keep().grace),
        ..proto::Opened::default()
    }
}

//! The way out: frames wait for a host that reads slowly, up to a size.
//!
//! A host that never reads must not make the booth keep everything it could have read. Its frames are not taken any more
//! until it reads; other streams are not concerned.

use std::sync::Arc;

use futures::{Stream, StreamExt as _, stream};
use prost::Message as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use crate::grpc::proto;

/// Bytes that may wait, in memory: a host that first writes a large batch and then reads is no problem, and one that never reads
/// does not fill the memory.
const BYTES_WAITING: u32 = 64 << 20;
/// What a frame takes in memory beside its own bytes, about.
const FRAME_BYTES: usize = size_of::<proto::RunResponse>() + 512;

type Frame = Result<proto::RunResponse, Status>;

/// Frames that wait together, and the room that they take.
type Waiting = (Vec<Frame>, Option<OwnedSemaphorePermit>);

/// Where frames to the host go.
#[derive(Debug, Clone)]
pub(in crate::grpc) struct Out {
    frames: mpsc::UnboundedSender<Waiting>,
    room: Arc<Semaphore>,
    max_bytes: u32,
    max_message_bytes: usize,
}

impl Out {
    /// A way out, and what comes out of it.
    pub(in crate::grpc) fn new(max_message_bytes: usize) -> (Self, impl Stream<Item = Frame>) {
        Self::with_room(BYTES_WAITING, max_message_bytes)
    }

    fn with_room(max_bytes: u32, max_message_bytes: usize) -> (Self, impl Stream<Item = Frame>) {
        let (frames, waiting) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(usize::try_from(max_bytes).unwrap_or(Semaphore::MAX_PERMITS)));
        // The room is free again with the last of the frames.
        let one_by_one = |(frames, mut room): Waiting| {
            let mut left = frames.len();
            stream::iter(frames).map(move |frame| {
                left -= 1;
                if left == 0 {
                    drop(room.take());
                }
                frame
            })
        };
        let taken = UnboundedReceiverStream::new(waiting).flat_map(one_by_one);
        (Self { frames, room, max_bytes, max_message_bytes }, taken)
    }

    /// Bytes that a frame may have.
    pub(super) fn max_message_bytes(&self) -> usize {
        self.max_message_bytes
    }

    /// Sends frames, as soon as there is room for them. A host that is gone hears nothing; the session sees that by itself.
    pub(super) async fn send(&self, frames: Vec<proto::RunResponse>) {
        if frames.is_empty() {
            return;
        }
        // What is larger than all the room goes alone.
        let size: usize = frames.iter().map(|frame| frame.encoded_len() + FRAME_BYTES).sum();
        let size = u32::try_from(size).unwrap_or(u32::MAX).min(self.max_bytes);
        let room = Arc::clone(&self.room).acquire_many_owned(size).await.ok();
        drop(self.frames.send((frames.into_iter().map(Ok).collect(), room)));
    }

    /// Ends the stream with a status.
    pub(in crate::grpc) fn fail(&self, status: Status) {
        drop(self.frames.send((vec![Err(status)], None)));
    }

    /// Returns when the host has gone away.
    pub(super) async fn closed(&self) {
        self.frames.closed().await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn frame(bytes: usize) -> Vec<proto::RunResponse> {
        vec![proto::RunResponse { batch_id: "x".repeat(bytes), ..proto::RunResponse::default() }]
    }

    /// Room for two frames with so many bytes together.
    fn room(bytes: usize) -> u32 {
        u32::try_from(2 * FRAME_BYTES + bytes).unwrap()
    }

    #[tokio::test]
    async fn what_waits_is_bounded_by_its_size_and_one_frame_always_fits() {
        let (out, taken) = Out::with_room(room(1000), 10_000);
        tokio::pin!(taken);
        out.send(frame(600)).await;
        assert!(out.send(frame(600)).now_or_never().is_none(), "no room for both");
        assert_eq!(taken.next().await.unwrap().unwrap().batch_id.len(), 600);
        out.send(frame(5000)).await;
        assert!(out.send(frame(1)).now_or_never().is_none(), "it goes alone");
        assert_eq!(taken.next().await.unwrap().unwrap().batch_id.len(), 5000);
        out.send(frame(1)).await;
    }

    #[tokio::test]
    async fn nobody_waits_for_a_host_that_is_gone() {
        let (out, taken) = Out::with_room(10, 10_000);
        out.send(frame(600)).await;
        drop(taken);
        out.closed().await;
        out.send(frame(600)).await;
        out.fail(Status::internal("nobody hears it"));
    }
}

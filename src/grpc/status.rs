//! Faults of the stream and its host, each with its gRPC status. What a model does wrong is never among them.

use std::{sync::Arc, time::Duration};

use tonic::{Code, Status};

use crate::{
    booth::{CannotResume, RunInUse},
    ports::LedgerError,
};

/// Why a request, or a whole stream, cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The stream ended, or said something else, before it opened a run.
    #[error("the first frame of a run must be `open`")]
    NotOpened,
    /// A frame is no frame: too large, or not what the protocol says. What comes after it cannot be told apart any more.
    #[error("a frame could not be read: {0}")]
    Unreadable(String),
    /// The stream said nothing.
    #[error("no frame came within {}; the first one must be `open`", humantime::format_duration(*.0))]
    Silent(Duration),
    /// The host speaks another version.
    #[error("protocol version {0} is not known; this booth speaks version {version}", version = super::PROTOCOL_VERSION)]
    UnknownVersion(u32),
    /// A field of a request cannot be used.
    #[error("{field}: {problem}")]
    Malformed {
        /// The field's path in the message.
        field: &'static str,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Another stream holds the run.
    #[error(transparent)]
    RunInUse(#[from] RunInUse),
    /// There is no run to go on with.
    #[error(transparent)]
    CannotResume(#[from] CannotResume),
    /// Another stream has resumed the run.
    #[error("another stream has resumed the run `{0}`, and leads it now")]
    TakenOver(Arc<str>),
    /// Another batch of the run is running.
    #[error("batch `{0}` of the run is running; wait for its end")]
    BatchRunning(Arc<str>),
    /// The batch is over, and what it brought is not kept any more.
    #[error("batch `{0}` was sent before, and its results are not kept any more; take another batch id")]
    BatchForgotten(Arc<str>),
    /// The booth holds no such run.
    #[error("there is no run `{0}`; a run is held while it is open, and as long afterwards as its host asked for")]
    RunNotFound(String),
    /// The booth is about to stop.
    #[error("the booth is draining; try another one")]
    Draining,
    /// A batch that came in pieces started far more calls than may be in flight, or calls with absurd ids and names.
    #[error("a batch started far more calls, or longer ids and names, than `opened` says may be in flight")]
    BatchTooLarge,
    /// No tool has the name.
    #[error("tool `{name}` not found{hint}")]
    ToolNotFound {
        /// The name.
        name: String,
        /// The nearest name, in a clause.
        hint: String,
    },
    /// Nothing was accepted there.
    #[error("task `{0}` has accepted no such submission")]
    SubmissionNotFound(String),
    /// The booth itself failed.
    #[error("the booth failed, and what it did for this is lost")]
    Lost,
    /// The ledger of submissions did not answer.
    #[error("submissions cannot be read: {0}")]
    Ledger(#[from] LedgerError),
}

impl Fault {
    fn code(&self) -> Code {
        match self {
            Self::NotOpened | Self::Unreadable(_) | Self::Malformed { .. } => Code::InvalidArgument,
            Self::Silent(_) => Code::DeadlineExceeded,
            Self::UnknownVersion(_)
            | Self::CannotResume(CannotResume::OpenedOtherwise(..) | CannotResume::WithoutGrace(_))
            | Self::BatchRunning(_)
            | Self::BatchForgotten(_) => Code::FailedPrecondition,
            Self::TakenOver(_) => Code::Aborted,
            Self::RunInUse(_) => Code::AlreadyExists,
            Self::CannotResume(CannotResume::NotHeld(_))
            | Self::ToolNotFound { .. }
            | Self::SubmissionNotFound(_)
            | Self::RunNotFound(_) => Code::NotFound,
            Self::Draining | Self::Ledger(_) => Code::Unavailable,
            Self::BatchTooLarge => Code::ResourceExhausted,
            Self::Lost => Code::Internal,
        }
    }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code(), fault.to_string())
    }
}

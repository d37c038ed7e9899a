//! Why a call was not run: data that becomes a result, never a transport error.

use crate::json::{Kind, Pointer, TextRepair};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// The stable word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}

words! {
    /// Why a result is an error: coarse and stable.
    Code {
        /// No tool has this name.
        ToolNotFound = "tool_not_found",
        /// The arguments are not one JSON object.
        MalformedArguments = "malformed_arguments",
        /// The arguments do not satisfy the schema.
        InvalidArguments = "invalid_arguments",
        /// A policy said no.
        Denied = "denied",
        /// A policy could not be asked, or failed.
        PolicyUnavailable = "policy_unavailable",
        /// A policy rewrote the arguments into something invalid.
        HookInvalidArguments = "hook_invalid_arguments",
        /// The tool ran, or was started, and failed.
        ExecutionFailed = "execution_failed",
        /// A tool without side effects did not answer in time.
        TimedOut = "timed_out",
        /// The call was cancelled.
        Cancelled = "cancelled",
        /// The model's response was cut off.
        Truncated = "truncated",
        /// Another call of the batch has the same id and is a different call.
        DuplicateCallId = "duplicate_call_id",
        /// Another submission was accepted under the same key.
        AlreadyAccepted = "already_accepted",
        /// The idempotency key was used before with other arguments.
        IdempotencyConflict = "idempotency_conflict",
        /// The tool may or may not have had its side effect.
        OutcomeUnknown = "outcome_unknown",
        /// A limit is reached.
        LimitReached = "limit_reached",
        /// More in flight than was announced.
        Overloaded = "overloaded",
        /// The contract of the tool is broken.
        ToolQuarantined = "tool_quarantined",
        /// What the tool answered is no result.
        ResultInvalid = "result_invalid",
    }
}

words! {
    /// The finer cause, where there is one.
    Reason {
        /// The text is not JSON.
        InvalidJson = "invalid_json",
        /// The text was cut off.
        Truncated = "truncated",
        /// Several different objects.
        MultipleObjects = "multiple_objects",
        /// JSON, but not an object.
        NotObject = "not_object",
        /// A key stands twice in one object.
        DuplicateKey = "duplicate_key",
        /// A string is not Unicode.
        InvalidUnicode = "invalid_unicode",
        /// Too many levels.
        TooDeep = "too_deep",
        /// Too many bytes or keys.
        TooLarge = "too_large",
        /// A character that the contract does not allow.
        ForbiddenChar = "forbidden_char",
        /// A text has swallowed the markup of another parameter.
        SuspectMarkup = "suspect_markup",
        /// An old and a new name of one argument differ.
        AliasConflict = "alias_conflict",
        /// The schema says no.
        Schema = "schema",
        /// A pattern of the schema could not be checked within its limit of steps.
        PatternLimit = "pattern_limit",
        /// The call needs its host, and there is none.
        NoHost = "no_host",
        /// The tool could not be reached or started.
        Unreachable = "unreachable",
        /// The idle time is over.
        Idle = "idle",
        /// The hard deadline is over.
        Deadline = "deadline",
        /// `max_turns`.
        MaxTurns = "max_turns",
        /// `max_calls`.
        MaxCalls = "max_calls",
        /// `max_calls_per_batch`.
        MaxCallsPerBatch = "max_calls_per_batch",
        /// `max_consecutive_invalid`.
        MaxConsecutiveInvalid = "max_consecutive_invalid",
        /// `max_wall`.
        MaxWall = "max_wall",
        /// `max_calls` of the tool.
        MaxCallsOfTool = "max_calls_of_tool",
        /// What is left is kept for a submission: `reserve_delivery`.
        ReservedForDelivery = "reserved_for_delivery",
        /// `max_calls_in_flight` of the run.
        MaxCallsInFlight = "max_calls_in_flight",
        /// `max_bytes_in_flight` of the run.
        MaxBytesInFlight = "max_bytes_in_flight",
        /// `max_bytes_in_flight_in_all` of the booth.
        MaxBytesInFlightInAll = "max_bytes_in_flight_in_all",
        /// `max_calls_in_flight` of the tool.
        MaxCallsInFlightOfTool = "max_calls_in_flight_of_tool",
        /// `max_bytes_in_flight` of the tool.
        MaxBytesInFlightOfTool = "max_bytes_in_flight_of_tool",
        /// The ledger of submissions did not answer.
        Ledger = "ledger",
    }
}

impl Code {
    /// Whether a call with this code counts as invalid for `max_consecutive_invalid` (rule B7).
    pub fn counts_as_invalid(self) -> bool {
        match self {
            Self::ToolNotFound | Self::MalformedArguments | Self::InvalidArguments | Self::Denied => true,
            Self::ToolQuarantined
            | Self::HookInvalidArguments
            | Self::PolicyUnavailable
            | Self::ExecutionFailed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Truncated
            | Self::DuplicateCallId
            | Self::AlreadyAccepted
            | Self::IdempotencyConflict
            | Self::OutcomeUnknown
            | Self::LimitReached
            | Self::Overloaded
            | Self::ResultInvalid => false,
        }
    }

    /// What to do about it.
    pub fn retry(self) -> Retry {
        match self {
            Self::ToolNotFound
            | Self::MalformedArguments
            | Self::InvalidArguments
            | Self::Denied
            | Self::DuplicateCallId
            | Self::IdempotencyConflict
            | Self::ExecutionFailed => Retry::Correct,
            Self::PolicyUnavailable | Self::TimedOut | Self::Cancelled | Self::Truncated | Self::Overloaded => {
                Retry::Repeat
            }
            Self::OutcomeUnknown | Self::ResultInvalid => Retry::CheckFirst,
            Self::HookInvalidArguments | Self::AlreadyAccepted | Self::LimitReached | Self::ToolQuarantined => {
                Retry::Stop
            }
        }
    }
}

/// What the model or its host should do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Call again with corrected arguments, or another tool.
    Correct,
    /// Repeat the call as it is.
    Repeat,
    /// Find out what happened first.
    CheckFirst,
    /// Calling again cannot help.
    Stop,
}

/// One place where the arguments break the schema (rule E5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The value that breaks the schema; the object of a missing or unexpected property.
    pub path: Pointer,
    /// Name of the missing or unexpected property.
    pub property: Option<String>,
    /// The keyword's place in the schema.
    pub schema_path: Pointer,
    /// The keyword; empty where the text itself is refused.
    pub keyword: &'static str,
    /// What is wrong, without the path.
    pub message: String,
    /// What the schema asks for, in short.
    pub expected: String,
    /// What was sent instead; `None` if nothing was.
    pub actual: Option<Kind>,
    /// What would probably help.
    pub hint: Option<String>,
}

words! {
    /// What a repair has changed.
    RepairTarget {
        /// The arguments, at the path.
        Arguments = "arguments",
        /// The name of the tool (rule P2).
        Name = "name",
    }
}

/// One change on the way from the model's text to the executed arguments (rule C7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// What was changed.
    pub target: RepairTarget,
    /// Where.
    pub path: Pointer,
    /// What was done.
    pub op: &'static str,
    /// Kind or place before.
    pub from: String,
    /// Kind or place after.
    pub to: String,
    /// Whether something was destroyed.
    pub lossy: bool,
}

impl Repair {
    /// A repair of the text of the value at a place.
    pub fn of_text(base: &Pointer, repair: TextRepair) -> Self {
        let TextRepair { path, op, from, to, lossy } = repair;
        Self { lossy, ..Self::of_arguments(base.append(&path), op, from, to) }
    }

    /// A change of the arguments that loses nothing.
    pub fn of_arguments(path: Pointer, op: &'static str, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { target: RepairTarget::Arguments, path, op, from: from.into(), to: to.into(), lossy: false }
    }
}

/// A call was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The coarse class.
    pub code: Code,
    /// The finer cause.
    pub reason: Option<Reason>,
    /// Places in the arguments, up to the cap.
    pub violations: Vec<Violation>,
    /// How many there are in all.
    pub violation_count: usize,
    /// What the model reads.
    pub text: String,
    /// What the developer needs beyond that.
    pub developer: Option<String>,
    /// Whether the run may end all the same: only a policy can mark its denial so (rule B6).
    pub terminate: bool,
}

impl Refusal {
    /// A refusal that is not about places in the arguments.
    pub fn new(code: Code, reason: Option<Reason>, text: String) -> Self {
        Self { code, reason, violations: Vec::new(), violation_count: 0, text, developer: None, terminate: false }
    }

    /// The same, about one place.
    #[must_use]
    pub fn at(self, violation: Violation) -> Self {
        Self { violations: vec![violation], violation_count: 1, ..self }
    }
}

//! Toolbooth: the booth that every tool call of an agent must pass.
//!
//! A host streams the tool calls that its model made. For each call it gets one terminal result: either the arguments were
//! validated and the tool was executed, or an error that the model can read and act on. After each batch comes the verdict.
//!
//! ```text
//! call -> lookup -> parse -> prepare -> validate -> policy -> execute -> after -> result -> verdict
//! ```
//!
//! The modules stand in reading order, and imports point up this list only (`tests/it/floors.rs` checks it).

// Words: plain data.
pub mod excerpt;
pub mod json;
pub mod call;
pub mod content;
pub mod refusal;
pub mod result;
pub mod document;

// Tools: compiled once, immutable.
pub mod tools;

// What the pipeline needs of the outside.
pub mod ports;

// One call. All wording that a model reads is in `wording`.
pub mod wording;
pub mod pipeline;

// Many calls: a run, its batches, its verdicts.
pub mod run;

// What stands behind the ports.
pub mod executors;
pub mod ledgers;
pub mod host;

// All of it put together.
pub mod booth;

// The wire.
pub mod grpc;
pub mod server;

//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod floors;
mod program;
mod serve;
mod stand;

mod call;
mod check;
mod pipe;
mod pipeline;
mod run_stream;
mod wording;

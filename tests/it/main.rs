//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod corpus;
mod floors;
mod program;
mod scale;
mod serve;
mod stand;

mod call;
mod check;
mod pipe;
mod pipeline;
mod run_stream;
mod wording;

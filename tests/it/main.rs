//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod floors;
mod pipeline;
mod run_stream;
mod stand;
mod wording;

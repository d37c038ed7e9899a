//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod batches;
mod cuts;
mod draining;
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
mod hostile;
mod policy;
mod run_stream;
mod stand;
mod submissions;
mod unary;
mod wire_faults;

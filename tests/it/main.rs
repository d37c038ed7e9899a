//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod batches;
mod cuts;
mod draining;
mod floors;
mod hostile;
mod policy;
mod run_stream;
mod stand;
mod stubborn;
mod submissions;
mod unary;
mod wire_faults;

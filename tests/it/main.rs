//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod floors;
mod inside;
mod program;
mod stages;
mod stand;

mod batches;
mod call;
mod cancellation;
mod check;
mod coercion;
mod connections;
mod corpus;
mod costs;
mod cuts;
mod documents;
mod draining;
mod export;
mod field;
mod held;
mod hostile;
mod keyed;
mod ledgers;
mod limits;
mod pi;
mod pipe;
mod pipeline;
mod policy;
mod reach;
mod resume;
mod retries;
mod run_stream;
mod scale;
mod secrets;
mod serve;
mod state;
mod stubborn;
mod submissions;
mod survival;
mod texts;
mod unary;
mod wire_faults;
mod wording;

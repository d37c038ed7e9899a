//! The integration tests: one binary, one module a subject.

#![cfg(test)]

mod floors;
mod program;

mod call;
mod check;
mod pipe;

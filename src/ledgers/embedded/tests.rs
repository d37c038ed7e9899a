//! The ledger on a disk that fails, and on one that loses its power.

mod faults;
mod medium;
mod power;

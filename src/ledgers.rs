//! Where submissions are kept.

mod memory;

pub use memory::MemoryLedger;

//! Where it is kept what was executed once.
//!
//! ```text
//! StoredLedger -> Queue: all waiting operations -> Slots: one after the other -> Store: written and committed once -> answers
//! ```

mod place;
mod operation;
mod slot;
mod store;
mod queue;
mod stored;
mod payload;
mod memory;
mod embedded;
mod postgres;

pub use embedded::{EmbeddedLedger, EmbeddedStore, OpenError};
pub use memory::{MemoryLedger, MemoryStore};
pub use postgres::{AddressError, LEASE, PostgresAddress, PostgresError, PostgresLedger, PostgresStore};
pub use stored::StoredLedger;

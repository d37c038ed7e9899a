//! What the pipeline needs of the outside, as traits: executors, hooks, the ledger of submissions, the clock.

mod clock;
mod executor;
mod hook;
mod ledger;

pub use clock::{Clock, SystemClock};
pub use executor::{Execution, Executor, ExecutorError, ProgressSender};
pub use hook::{Decision, Hook, HookCall, HookError, Override};
pub use ledger::{
    Claim, KeyScope, Ledger, LedgerError, OnceKey, Record, Reservation, Reserved, Retention, Selection, Submission,
};

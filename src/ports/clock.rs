//! The time of day. Time-outs use tokio's clock, which tests can pause.

use std::fmt::Debug;

/// Tells the time of day.
pub trait Clock: Debug + Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn unix_ms(&self) -> i64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_types, reason = "this is the clock that everybody else is passed")]
    fn unix_ms(&self) -> i64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

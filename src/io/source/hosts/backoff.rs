//! How long to wait before a lost host is tried again.

use std::time::Duration;

/// First and longest wait; each is twice the one before.
const WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// A connection that lasted this long was a good one: the next wait is a short one again.
const GOOD: Duration = Duration::from_secs(60);

/// Waits that grow, each up to a quarter shorter or longer, so that fifty hosts do not come back at once.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) fn new() -> Self {
        Self { next: WAIT.0 }
    }

    /// How long to wait after a connection that lasted so long; `chance` is any number.
    pub(super) fn wait(&mut self, lasted: Duration, chance: u64) -> Duration {
        if lasted >= GOOD {
            self.next = WAIT.0;
        }
        let wait = self.next;
        self.next = (wait * 2).min(WAIT.1);
        wait.mul_f64(0.75 + 0.5 * (chance as f64 / u64::MAX as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_to_a_minute_and_begin_again_after_a_good_connection() {
        let mut backoff = Backoff::new();
        let mut wait =
            |lasted| backoff.wait(Duration::from_secs(lasted), u64::MAX / 2).as_secs_f64().round();
        let waits: Vec<f64> = (0..8).map(|_| wait(0)).collect();
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
        assert_eq!(wait(61), 1.0);
    }

    #[test]
    fn chance_moves_a_wait_by_a_quarter() {
        let waits = [0, u64::MAX].map(|chance| Backoff::new().wait(Duration::ZERO, chance));
        assert_eq!(waits, [Duration::from_millis(750), Duration::from_millis(1250)]);
    }
}

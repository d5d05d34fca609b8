use std::time::{Duration, Instant};

use crate::commands::output::StatusLine;

/// One line on stderr that says how far it is, where somebody looks.
pub(crate) struct Progress {
    total: usize,
    begun: Instant,
    line: StatusLine,
}

impl Progress {
    /// So many steps from now on.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, begun: Instant::now(), line: StatusLine::new() }
    }

    /// So many are done, and this is the next.
    pub(crate) fn step(&self, done: usize, what: &str) {
        let left = left(self.begun.elapsed(), done, self.total);
        let left = left.map(|left| format!(" · {left} left")).unwrap_or_default();
        self.line.show(&format!("[{done}/{}] {what}{left}", self.total));
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.line.clear();
    }
}

/// The time that is left if the steps to come take as long as those done.
fn left(elapsed: Duration, done: usize, total: usize) -> Option<humantime::FormattedDuration> {
    let done = u32::try_from(done).ok().filter(|done| *done > 0)?;
    let rest = u32::try_from(total).ok()?.saturating_sub(done);
    let seconds = (elapsed / done).saturating_mul(rest).as_secs();
    Some(humantime::format_duration(Duration::from_secs(seconds.max(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was() {
        let text = |seconds, done, total| {
            left(Duration::from_secs(seconds), done, total).map(|left| left.to_string())
        };
        assert_eq!(text(10, 0, 40), None);
        assert_eq!(text(10, 10, 40).as_deref(), Some("30s"));
        assert_eq!(text(60, 1, 3).as_deref(), Some("2m"));
        assert_eq!(text(1, 40, 40).as_deref(), Some("1s"));
    }
}

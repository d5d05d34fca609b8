use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use crate::reading::Reading;

/// How long an answer holds: some firmwares take milliseconds to say it.
const HOLDS: Duration = Duration::from_secs(10);

/// Where the power comes from.
pub(super) struct Battery {
    supplies: PathBuf,
    age: Duration,
    answer: Option<Reading<bool>>,
}

impl Battery {
    pub(super) fn new(sys_root: &Path) -> Self {
        let supplies = sys_root.join("class/power_supply");
        Self { supplies, age: Duration::ZERO, answer: None }
    }

    /// Whether the machine runs on battery; asked again every ten seconds.
    pub(super) fn on_battery(&mut self, since: Duration) -> Reading<bool> {
        self.age = self.age.saturating_add(since);
        if self.age >= HOLDS {
            (self.answer, self.age) = (None, Duration::ZERO);
        }
        self.answer.get_or_insert_with(|| ask(&self.supplies)).clone()
    }
}

/// A system battery that discharges, and no mains that is plugged in. A mouse has a battery too:
/// its scope is `Device`.
fn ask(supplies: &Path) -> Reading<bool> {
    let Ok(entries) = std::fs::read_dir(supplies) else { return Reading::Unsupported };
    let (mut mains, mut discharging) = (false, false);
    for supply in entries.flatten().take(64) {
        let is = |file: &str, want: &str| {
            let text = files::text(&supply.path().join(file), 64);
            text.value().is_some_and(|text| text.trim() == want)
        };
        if is("type", "Battery") {
            discharging |= !is("scope", "Device") && is("status", "Discharging");
        } else {
            mains |= is("online", "1");
        }
    }
    Reading::Value(discharging && !mains)
}

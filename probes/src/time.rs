use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

/// A moment in UTC with millisecond resolution; RFC 3339 in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Milliseconds since the epoch of a system time; 0 for anything before it.
    pub fn from_system(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Seconds from `earlier` to this; negative when the clock was set back.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 as f64 - earlier.0 as f64) / 1000.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const YEAR_9999: u64 = 253_402_300_799_000;
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.min(YEAR_9999));
        write!(f, "{}", humantime::format_rfc3339_millis(time))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        humantime::parse_rfc3339(&text).map(Self::from_system).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_rfc_3339() {
        let time: Timestamp = serde_json::from_str("\"2026-11-21T10:11:12.345Z\"").expect("reads");
        assert_eq!(time, Timestamp(1_795_255_872_345));
        assert_eq!(time.to_string(), "2026-11-21T10:11:12.345Z");
        assert!(Timestamp(u64::MAX).to_string().starts_with("9999-"));
    }
}

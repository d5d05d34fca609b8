//! How a test says that it did not try something.

use std::fmt::Display;
use std::io::Write as _;

/// Says so where it is seen: what tests print by macros is kept back while they pass.
pub(crate) fn skipped(why: impl Display) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

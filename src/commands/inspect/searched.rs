//! Where environments were looked for.

use std::fmt::Write as _;

use warpscope_probes::inspect::env::Searched;

/// Places left out that are named.
const LEFT_OUT: usize = 3;

/// Where environments were looked for, and what was left out.
pub(crate) fn searched(one: &Searched) -> String {
    let mut line = format!("searched {} folders below {}", one.folders, one.root.display());
    if let Some(ended) = &one.ended {
        let _ = write!(line, ", then ended ({ended})");
    }
    let mut left: Vec<String> = one
        .left_out
        .iter()
        .take(LEFT_OUT)
        .map(|place| format!("{} ({})", place.path.display(), place.reason))
        .collect();
    let more = one.left_out_count.saturating_sub(left.len() as u64);
    left.extend((more > 0).then(|| format!("{more} more")));
    left.extend((one.deeper > 0).then(|| format!("{} folders that lie too deep", one.deeper)));
    if !left.is_empty() {
        let _ = write!(line, "; left out: {}", left.join(", "));
    }
    if one.ended.is_some() || !left.is_empty() {
        line += "; name a folder to search below it";
    }
    line
}

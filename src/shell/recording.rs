//! What is said of the recording that a key started.

use warpscope_probes::{Notice, Severity};

use crate::features::Recorded;

/// The recording there is now, from the one before and what was told of it; and a line for the user, when that changes.
pub(crate) fn follow(
    before: Option<Recorded>,
    told: Result<Option<Recorded>, String>,
) -> (Option<Recorded>, Option<String>) {
    match told {
        Err(why) => (None, Some(format!("Not recording: {why}"))),
        Ok(None) => (None, before.as_ref().map(ended)),
        Ok(Some(now)) => {
            let trouble = before.as_ref().and_then(|one| one.trouble.as_ref());
            let said = match &now.trouble {
                Some(why) if now.trouble.as_ref() != trouble => Some(why.clone()),
                None if before.is_none() => {
                    Some(format!("Recording into {}; R stops.", now.path.display()))
                }
                _ => None,
            };
            (Some(now), said)
        }
    }
}

/// What became of a recording that was stopped.
fn ended(one: &Recorded) -> String {
    let path = one.path.display();
    match (one.bytes, one.missed) {
        (0, _) => format!("Nothing was recorded into {path}."),
        (_, 0) => format!("Recorded into {path}; `warpscope replay` shows it."),
        (_, missed) => {
            format!(
                "Incomplete: {path} lacks {missed} frames; `warpscope replay` shows the others."
            )
        }
    }
}

/// What the user should know of it for as long as frames are lost.
pub(crate) fn notice(one: &Recorded) -> Option<Notice> {
    Some(Notice {
        id: "recording.trouble".into(),
        severity: Severity::Warning,
        what: format!("Not recorded: {}.", one.trouble.as_ref()?),
        remedy: String::new(),
    })
}

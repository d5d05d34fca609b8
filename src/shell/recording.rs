//! What is said of the recording that a key started.

use crate::features::Recorded;

/// The recording there is now, from the one before and what was told of it; and a line for the user, when that changes.
pub(crate) fn follow(
    before: Option<Recorded>,
    told: Result<Option<Recorded>, String>,
) -> (Option<Recorded>, Option<String>) {
    match told {
        Err(why) => (None, Some(format!("Not recording: {why}"))),
        Ok(None) => {
            let path = before.map(|one| one.path.display().to_string()).unwrap_or_default();
            (None, Some(format!("Recorded into {path}; `warpscope replay` shows it.")))
        }
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

//! What is said of the recording that a key started.

use super::App;
use crate::features::msg::Recorded;

/// Says what became of it when that changes.
pub(crate) fn take(app: &mut App, told: Result<Option<Recorded>, String>) {
    let before = app.view.recorded.take();
    match told {
        Err(why) => app.view.say(format!("Not recording: {why}")),
        Ok(None) => {
            let path = before.map(|one| one.path.display().to_string()).unwrap_or_default();
            app.view.say(format!("Recorded into {path}; `warpscope replay` shows it."));
        }
        Ok(Some(now)) => {
            let trouble = before.as_ref().and_then(|one| one.trouble.clone());
            match &now.trouble {
                Some(why) if now.trouble != trouble => app.view.say(why.clone()),
                None if before.is_none() => {
                    app.view.say(format!("Recording into {}; R stops.", now.path.display()));
                }
                _ => {}
            }
            app.view.recorded = Some(now);
        }
    }
}

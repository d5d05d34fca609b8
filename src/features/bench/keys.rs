//! What the keys of the Bench tab do.

use super::Bench;
use super::device::Device;
use super::update::effects as tasks;
use crate::features::keys::keys;
use crate::features::{Effect, Key, Shared, say};
use crate::worker::scheduler::{ASKED, BenchMode, Stage};

impl Bench {
    /// The keys of the tab.
    pub const KEYS: &'static [Key<Self>] = keys! {
        "measure_now", ["m"], "", "Measure the selected GPU once it is idle, without waiting for the end of its rest; once, where measuring is off.", Self::measure_now;
        "pin_bench", ["p"], "", "Go on measuring while this tab is open, without the rest between sessions.", Self::pin;
        "all_paths", ["a"], "all paths", "Measure and list every path and weight profile of the micro decoder, or only the usual ones.", Self::all_paths;
    };

    fn measure_now(&mut self, shared: &Shared) -> Vec<Effect> {
        let Some(key) = self.selected_gpu(&shared.frame).map(|(gpu, _)| gpu.key.clone()) else {
            return say(match self.devices.cpu().stage() {
                Stage::Off(why) => format!("The CPU is not measured: {why}."),
                _ => "The CPU is measured all the time; only GPUs rest.".to_owned(),
            });
        };
        let asked = tasks(self.devices.ask(&key));
        let stage = self.devices.get(&key).map(Device::stage);
        let mut effects = say(match stage {
            Some(Stage::Off(why)) if why != ASKED => format!("It cannot be measured now: {why}."),
            _ => "It is measured as soon as it has been idle for ten seconds.".to_owned(),
        });
        effects.extend(asked);
        effects
    }

    fn pin(&mut self, shared: &Shared) -> Vec<Effect> {
        if self.gpus(&shared.frame).next().is_none() {
            return say("There is no GPU to measure.");
        }
        let pinned = self.devices.pin();
        let mut effects = say(match self.devices.mode() {
            BenchMode::On => "GPUs are measured as long as they are idle.",
            _ => "GPUs are measured for a minute while this tab is open, and then rest for ten.",
        });
        effects.extend(tasks(pinned));
        effects
    }

    /// The cursor stays on its line where that is still listed.
    fn all_paths(&mut self, shared: &Shared) -> Vec<Effect> {
        let frame = &shared.frame;
        let Some((_, bench)) = self.selected_gpu(frame) else {
            return say("The CPU has one path for each number format; GPUs have more.");
        };
        let before = bench.lines().get(self.cursor.at).and_then(|line| line.path());
        let all = self.devices.toggle_all_paths();
        let place = self.selected_gpu(frame).and_then(|(_, bench)| {
            bench.lines().iter().position(|line| before.is_some() && line.path() == before)
        });
        self.cursor.at = place.unwrap_or(0);
        say(if all {
            "Every path and profile, in every second burst; p leaves out the rests."
        } else {
            "The usual four paths under two weight profiles."
        })
    }
}

//! GPUs of the catalogue beside the real ones.

mod picker;

use std::cell::LazyCell;

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Gpu, Origin};

pub use crate::config::args::WhatIf as Policy;
pub use picker::Picker;

/// GPUs of the catalogue in view.
#[derive(Debug, Default)]
pub struct WhatIf {
    /// When the defaults are shown.
    pub policy: Policy,
    /// Those the user named.
    pub named: Vec<Gpu>,
    /// Those shown by default; looked up when first shown, since most machines have GPUs of their own.
    pub defaults: LazyCell<Vec<Gpu>>,
}

impl WhatIf {
    /// Puts the what-if GPUs of the moment behind the real ones.
    ///
    /// Before the driver has answered nobody knows whether there are real ones, so the defaults wait.
    pub fn overlay(&self, frame: &mut Frame) {
        frame.gpus.retain(|gpu| gpu.presence != Presence::WhatIf);
        let answered = frame.driver.status != DriverState::Starting;
        let defaults = match self.policy {
            Policy::Never => false,
            Policy::Always => true,
            Policy::Auto => {
                let is_remote = matches!(frame.origin, Origin::Remote { .. });
                answered && !is_remote && frame.gpus.is_empty() && self.named.is_empty()
            }
        };
        if defaults {
            frame.gpus.extend(self.defaults.iter().cloned());
        }
        frame.gpus.extend(self.named.iter().cloned());
    }

    /// Adds one the user named. Beside it the defaults stay, since they were in view.
    pub fn add(&mut self, mut gpu: Gpu, in_view: &Frame) {
        let shown = in_view.gpus.iter().filter(|gpu| gpu.presence == Presence::WhatIf);
        if self.named.is_empty() {
            self.named = shown.cloned().collect();
            self.defaults = LazyCell::default();
        }
        let taken = |key: &str| self.named.iter().any(|other| other.key == key);
        let (base, mut twin) = (gpu.key.clone(), 0);
        while taken(&gpu.key) {
            twin += 1;
            gpu.key = format!("{base}+{twin}");
        }
        self.named.push(gpu);
    }

    /// Removes one by its key. False: it is not a what-if GPU.
    pub fn remove(&mut self, key: &str) -> bool {
        [&mut self.named, LazyCell::force_mut(&mut self.defaults)].into_iter().any(|gpus| {
            let before = gpus.len();
            gpus.retain(|gpu| gpu.key != key);
            before != gpus.len()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(key: &str, presence: Presence) -> Gpu {
        let mut gpu = Gpu { key: key.into(), presence, ..Gpu::default() };
        gpu.identity.name = key.to_owned().into();
        gpu
    }

    fn one_default() -> LazyCell<Vec<Gpu>> {
        LazyCell::new(|| vec![gpu("t4", Presence::WhatIf)])
    }

    fn frame(status: DriverState, real: &[&str]) -> Frame {
        let mut frame = Frame::default();
        frame.driver.status = status;
        frame.gpus = real.iter().map(|key| gpu(key, Presence::Present)).collect();
        frame
    }

    fn keys(what_if: &WhatIf, mut frame: Frame) -> Vec<String> {
        what_if.overlay(&mut frame);
        what_if.overlay(&mut frame);
        frame.gpus.into_iter().map(|gpu| gpu.key).collect()
    }

    #[test]
    fn defaults_stand_in_only_where_there_is_no_gpu() {
        let what_if = WhatIf { defaults: one_default(), ..WhatIf::default() };
        assert!(keys(&what_if, frame(DriverState::Starting, &[])).is_empty());
        assert_eq!(keys(&what_if, frame(DriverState::LibraryMissing, &[])), ["t4"]);
        assert_eq!(keys(&what_if, frame(DriverState::Ready, &["real"])), ["real"]);
        let origin = Origin::Remote { host: "gpu1".into() };
        let remote = Frame { origin, ..frame(DriverState::NoDevice, &[]) };
        assert!(keys(&what_if, remote).is_empty(), "nobody asked what another machine could run");
        let always = WhatIf { policy: Policy::Always, ..what_if };
        assert_eq!(keys(&always, frame(DriverState::Ready, &["real"])), ["real", "t4"]);
    }

    #[test]
    fn a_named_gpu_joins_those_in_view_and_can_go_again() {
        let mut what_if = WhatIf { defaults: one_default(), ..WhatIf::default() };
        let mut view = frame(DriverState::NoDevice, &[]);
        what_if.overlay(&mut view);
        what_if.add(gpu("a10", Presence::WhatIf), &view);
        what_if.add(gpu("a10", Presence::WhatIf), &view);
        assert_eq!(keys(&what_if, view.clone()), ["t4", "a10", "a10+1"]);
        assert!(what_if.remove("a10") && !what_if.remove("a10"));
        assert_eq!(keys(&what_if, view), ["t4", "a10+1"]);
    }
}

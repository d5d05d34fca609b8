//! The live benchmark: one list of devices, the CPU and the GPUs. Frames and what workers say go in, tasks for their processes come out. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use warpscope_kernels::gpu::TunedConfigs;
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Gpu, Origin, Timestamp};

use super::device::{Device, Task};
use crate::worker::cpu::CPU;
use crate::worker::process::Update;
use crate::worker::scheduler::{BenchMode, Blocker, Budget, Conditions, Event};
use crate::worker::tuning::{Lookup, Situation, TuningCache};

/// GPUs that are measured at the same moment: more would share the CPU, the links and the power of the machine.
const AT_ONCE: usize = 2;

/// A device's key, and what to do about its worker.
pub type DeviceTask = (String, Task);

/// The benchmarked devices.
#[derive(Clone, Debug)]
pub struct Devices {
    /// As configured; the mode in force differs while the user has paused or pinned it.
    configured: BenchMode,
    mode: BenchMode,
    budget: Budget,
    /// By key: [`CPU`] and UUIDs of GPUs.
    devices: BTreeMap<String, Device>,
    /// Variants of kernels chosen on this machine.
    cache: TuningCache,
    /// Whether every path and profile is wanted, not only the default ones.
    all_paths: bool,
    seen: bool,
    on_battery: bool,
    /// Whether the user started the CPU's benchmark on battery.
    battery_allowed: bool,
    /// Time since the first frame. Never goes back, whatever the clock on the wall does.
    now: Duration,
    at: Timestamp,
}

impl Default for Devices {
    fn default() -> Self {
        Self::new(BenchMode::Off, Budget::default())
    }
}

impl Devices {
    /// Nothing is known of any device.
    pub fn new(mode: BenchMode, budget: Budget) -> Self {
        Self {
            configured: mode,
            mode,
            budget,
            devices: BTreeMap::from([(CPU.to_owned(), Device::cpu(mode))]),
            cache: TuningCache::default(),
            all_paths: false,
            seen: false,
            on_battery: false,
            battery_allowed: false,
            now: Duration::ZERO,
            at: Timestamp::default(),
        }
    }

    /// The same, with variants of kernels that were chosen before.
    #[must_use]
    pub fn tuned(self, cache: TuningCache) -> Self {
        Self { cache, ..self }
    }

    /// What is known of a GPU, by its key.
    pub fn get(&self, key: &str) -> Option<&Device> {
        self.devices.get(key).filter(|device| !device.is_cpu())
    }

    /// What is known of the CPU.
    pub fn cpu(&self) -> &Device {
        &self.devices[CPU]
    }

    /// What the user wants now.
    pub fn mode(&self) -> BenchMode {
        self.mode
    }

    /// Whether the user is still to say if the GPUs here may be measured.
    pub fn asks(&self) -> bool {
        self.mode == BenchMode::Ask && self.devices.values().any(|device| !device.is_cpu())
    }

    /// How much of a GPU may be taken.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Time since some beginning, against which stages count.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The time of the newest frame, against which results age.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Takes a frame.
    pub fn frame(&mut self, frame: &Frame) -> Vec<DeviceTask> {
        self.pass(frame.at);
        let here = frame.origin == Origin::Local;
        let mut tasks = self.cpu_frame(frame, here);
        let mut real: Vec<&Gpu> = frame.gpus.iter().filter(|gpu| here && is_real(gpu)).collect();
        // Who was measured least comes first.
        real.sort_by_key(|gpu| self.devices.get(&gpu.key).map_or(0, Device::bursts));
        let now = self.now;
        tasks.extend(self.each_gpu(|key, device| {
            let is_gone = !real.iter().any(|gpu| gpu.key == key);
            if is_gone { device.absent(now, away("it is not there")) } else { Vec::new() }
        }));
        let mut measuring =
            self.devices.values().filter(|it| !it.is_cpu() && it.is_measuring()).count();
        for gpu in real {
            let tuned = tuned(&self.cache, frame, gpu);
            let device = self.gpu(&gpu.key);
            device.observe(frame, gpu);
            device.tune(tuned);
            if measuring >= AT_ONCE && device.may_begin(frame, gpu) {
                continue;
            }
            let before = device.is_measuring();
            let new = if gpu.key.starts_with("GPU-") {
                device.frame(now, frame, gpu)
            } else {
                device.absent(now, away("the driver gives it no UUID"))
            };
            measuring += usize::from(!before && device.is_measuring());
            tasks.extend(new.into_iter().map(|task| (gpu.key.clone(), task)));
        }
        tasks
    }

    fn cpu_frame(&mut self, frame: &Frame, here: bool) -> Vec<DeviceTask> {
        let conditions = if here { Conditions::from(frame) } else { Conditions::default() };
        self.on_battery = conditions.blocker.is_some();
        self.battery_allowed &= self.on_battery;
        let conditions = if self.battery_allowed { Conditions::default() } else { conditions };
        self.schedule(CPU, Event::Frame(conditions))
    }

    /// A GPU, known from now on.
    fn gpu(&mut self, key: &str) -> &mut Device {
        let Self { mode, budget, seen, all_paths, now, .. } = *self;
        self.devices.entry(key.to_owned()).or_insert_with(|| {
            let mut device = Device::gpu(mode, budget);
            device.schedule(now, Event::Seen(seen));
            device.want_all_paths(all_paths);
            device
        })
    }

    fn pass(&mut self, at: Timestamp) {
        let passed = at.seconds_since(self.at);
        if self.at != Timestamp::default() && passed > 0.0 {
            self.now += Duration::from_secs_f64(passed.min(1e9));
        }
        self.at = at;
    }

    /// Handles what came of the commands to a device's worker.
    pub fn handle(&mut self, key: &str, update: Update) -> Vec<DeviceTask> {
        let (now, at) = (self.now, self.at);
        let Some(device) = self.devices.get_mut(key) else { return Vec::new() };
        let tasks = device.handle(now, at, update);
        tasks.into_iter().map(|task| (key.to_owned(), task)).collect()
    }

    /// Gives every GPU that is held back, and keeps away for a while.
    pub fn give_way(&mut self, why: &str) -> Vec<DeviceTask> {
        let now = self.now;
        self.each_gpu(|_, device| device.schedule(now, Event::Paused(why.to_owned())))
    }

    /// The benchmark came into view or left it.
    pub fn see(&mut self, seen: bool) -> Vec<DeviceTask> {
        if std::mem::replace(&mut self.seen, seen) == seen {
            return Vec::new();
        }
        let now = self.now;
        let mut tasks = self.schedule(CPU, Event::Seen(seen));
        tasks.extend(self.each_gpu(|_, device| device.schedule(now, Event::Seen(seen))));
        tasks
    }

    /// The user pauses every device, or lets all go on as configured: whichever the CPU does not do now.
    pub fn toggle(&mut self) -> Vec<DeviceTask> {
        let paused = self.cpu().has_worker();
        self.battery_allowed = self.on_battery && !paused;
        let usual =
            if self.configured == BenchMode::Off { BenchMode::Auto } else { self.configured };
        self.mode = if paused { BenchMode::Off } else { usual };
        let mut tasks = self.schedule(CPU, Event::Mode(self.mode));
        tasks.extend(self.set_mode_of_gpus());
        tasks
    }

    /// The user sets when to measure.
    pub fn set_mode(&mut self, mode: BenchMode) -> Vec<DeviceTask> {
        (self.configured, self.mode) = (mode, mode);
        let mut tasks = self.schedule(CPU, Event::Mode(mode));
        tasks.extend(self.set_mode_of_gpus());
        tasks
    }

    /// The user wants GPUs measured without the rest between sessions, or no longer.
    pub fn pin(&mut self) -> Vec<DeviceTask> {
        self.mode = if self.mode == BenchMode::On { BenchMode::Auto } else { BenchMode::On };
        self.set_mode_of_gpus()
    }

    fn set_mode_of_gpus(&mut self) -> Vec<DeviceTask> {
        let (now, mode) = (self.now, self.mode);
        self.each_gpu(|_, device| device.schedule(now, Event::Mode(mode)))
    }

    /// Wants every path and profile measured and shown, or only the default ones again; says which.
    pub fn toggle_all_paths(&mut self) -> bool {
        self.all_paths = !self.all_paths;
        self.devices.values_mut().for_each(|device| device.want_all_paths(self.all_paths));
        self.all_paths
    }

    /// The user asks for a session on a GPU now.
    pub fn ask(&mut self, key: &str) -> Vec<DeviceTask> {
        self.schedule(key, Event::Now)
    }

    fn schedule(&mut self, key: &str, event: Event) -> Vec<DeviceTask> {
        let Some(device) = self.devices.get_mut(key) else { return Vec::new() };
        let tasks = device.schedule(self.now, event);
        tasks.into_iter().map(|task| (key.to_owned(), task)).collect()
    }

    fn each_gpu(
        &mut self,
        mut tasks: impl FnMut(&str, &mut Device) -> Vec<Task>,
    ) -> Vec<DeviceTask> {
        let gpus = self.devices.iter_mut().filter(|(_, device)| !device.is_cpu());
        let all = gpus.flat_map(|(key, device)| {
            let tasks = tasks(key, device);
            tasks.into_iter().map(|task| (key.clone(), task)).collect::<Vec<_>>()
        });
        all.collect()
    }
}

/// Whether there is a device behind it, or was.
pub fn is_real(gpu: &Gpu) -> bool {
    gpu.presence != Presence::WhatIf
}

/// The variants chosen for a GPU that count now.
fn tuned(cache: &TuningCache, frame: &Frame, gpu: &Gpu) -> TunedConfigs {
    if cache.entries.is_empty() {
        return TunedConfigs::default();
    }
    let driver = frame.driver.versions.driver.last().map(String::as_str);
    match cache.lookup(&Situation::of(gpu, driver)) {
        Lookup::Chosen(entry) => entry.tuned(),
        Lookup::Untuned | Lookup::Ignored(_) => TunedConfigs::default(),
    }
}

fn away(how: &'static str) -> Conditions {
    let why = Some(Blocker::NotThere(how));
    Conditions { blocker: why.clone(), contention: why, ..Conditions::default() }
}

//! The device a question is asked about: a real one, a what-if one, or one of which little is known.

use warpscope_kernels::Sm;
use warpscope_probes::Gpu;
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::driver::Driver;
use warpscope_probes::gpu::{MigInstance, Presence};
use warpscope_probes::host::CPU;
use warpscope_probes::rules::{Rule, RuleBase};

use super::question::Question;

/// GPUs that NVIDIA sells on one board or chip with an Arm CPU, by how their names begin.
const ON_ARM: &[&str] = &["Jetson", "DRIVE", "IGX", "NVIDIA GB", "NVIDIA GH", "NVIDIA Thor"];

/// Compute capabilities of chips that hold an Arm CPU too.
const WITH_ARM: &[Sm] =
    &[Sm::new(5, 3), Sm::new(6, 2), Sm::new(7, 2), Sm::new(8, 7), Sm::new(11, 0), GB10];

/// The one of them that runs the wheels of servers.
const GB10: Sm = Sm::new(12, 1);

/// What is known of one device. An unknown fact decides nothing, and an unknown compute capability never gives "works".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// The GPU as the user knows it.
    pub label: String,
    /// Compute capability.
    pub sm: Option<Sm>,
    /// UUID of a real device.
    pub uuid: Option<String>,
    /// Its place among the GPUs of this machine, by PCI address.
    pub index: Option<u32>,
    /// PCI device id, without the vendor half.
    pub pci_device_id: Option<u32>,
    /// Chip: `TU116`.
    pub chip: Option<String>,
    /// Device memory.
    pub memory_bytes: Option<u64>,
    /// Of it, what nobody holds now; known of real devices only.
    pub memory_free_bytes: Option<u64>,
    /// How many equal GPUs there are beside each other, with this one; 0 where nobody counted.
    pub equals: u32,
    /// Most shared memory one block may take (opt-in).
    pub shared_memory_per_block: Option<u32>,
    /// Driver version.
    pub driver: Option<String>,
    /// Newest CUDA version the driver supports.
    pub cuda: Option<String>,
    /// Whether it comes from the catalogue.
    pub what_if: bool,
}

impl Target {
    /// A device of which only the compute capability is known, and what follows from it.
    pub fn of_sm(label: impl Into<String>, sm: Sm) -> Self {
        Self {
            label: label.into(),
            sm: Some(sm),
            chip: only_chip(sm),
            shared_memory_per_block: shared_memory(sm),
            what_if: true,
            ..Self::default()
        }
    }

    /// What a frame says about a GPU. A what-if GPU has no driver: that of this machine says nothing about it.
    pub fn from_gpu(gpu: &Gpu, driver: &Driver) -> Self {
        let what_if = gpu.presence == Presence::WhatIf;
        let identity = &gpu.identity;
        let version = |reading: &warpscope_probes::Reading<String>| {
            reading.last().filter(|_| !what_if).cloned()
        };
        let sm = identity.sm.last().copied();
        let id = identity.pci_device_id.last().copied();
        Self {
            label: identity.name.last().cloned().unwrap_or_else(|| format!("GPU {}", gpu.index)),
            sm,
            uuid: identity.uuid.last().filter(|_| !what_if).cloned(),
            index: (!what_if).then_some(gpu.index),
            pci_device_id: id,
            chip: id.and_then(chip_of_id).or_else(|| sm.and_then(only_chip)),
            memory_bytes: gpu.vitals.memory_total_bytes.last().map(|bytes| bytes.0),
            memory_free_bytes: gpu.vitals.memory_free_bytes.last().map(|bytes| bytes.0),
            equals: 0,
            shared_memory_per_block: sm.and_then(shared_memory),
            driver: version(&driver.versions.driver),
            cuda: version(&driver.versions.cuda),
            what_if,
        }
    }

    /// The instances that a GPU in MIG mode is cut into, of which a process gets one; none of a whole GPU.
    pub fn instances(gpu: &Gpu, driver: &Driver) -> Option<Vec<Self>> {
        let board = Self::from_gpu(gpu, driver);
        let instance = |one: &MigInstance| Self {
            label: format!("{} {}", board.label, one.name),
            uuid: one.uuid.clone(),
            index: None,
            memory_bytes: one.memory_total_bytes.map(|bytes| bytes.0),
            memory_free_bytes: one
                .memory_total_bytes
                .zip(one.memory_used_bytes)
                .map(|(total, used)| total.0.saturating_sub(used.0)),
            ..board.clone()
        };
        let is_cut = gpu.identity.mig_mode.last() == Some(&true);
        is_cut.then(|| gpu.mig.iter().map(instance).collect())
    }

    /// What CUDA calls it, where that is known.
    pub fn cuda_name(&self) -> Option<String> {
        let instance = self.uuid.clone().filter(|uuid| uuid.starts_with("MIG-"));
        instance.or_else(|| self.index.map(|index| index.to_string()))
    }

    /// Tells each GPU how many equal ones are among them.
    pub fn count_equals(group: &mut [Self]) {
        let labels: Vec<_> =
            group.iter().map(|one| (one.label.clone(), one.memory_bytes)).collect();
        for one in group {
            let equal = |other: &&(String, Option<u64>)| {
                other.0 == one.label && other.1 == one.memory_bytes
            };
            one.equals = u32::try_from(labels.iter().filter(equal).count()).unwrap_or(u32::MAX);
        }
    }

    /// The kind of CPU beside it, as `uname -m` calls it: that it is sold with, or that of this machine where the GPU is here.
    pub fn cpu(&self) -> Option<&'static str> {
        let arm = ON_ARM.iter().any(|start| self.label.starts_with(start))
            || self.sm.is_some_and(|sm| WITH_ARM.contains(&sm));
        if arm { Some("aarch64") } else { (!self.what_if).then_some(CPU) }
    }

    /// Whether it shares its memory with the CPU on the same chip.
    pub fn is_integrated(&self) -> bool {
        self.sm.is_some_and(|sm| WITH_ARM.contains(&sm))
    }

    /// Whether it is a module that takes its wheels from NVIDIA's own index.
    pub(crate) fn is_jetson(&self) -> bool {
        self.sm.is_some_and(|sm| WITH_ARM.contains(&sm) && sm != GB10)
    }

    /// Tells which driver it has. What of CUDA another one supports is not known.
    pub fn set_driver(&mut self, version: &str) {
        if self.driver.as_deref() != Some(version) {
            self.driver = Some(version.to_owned());
            self.cuda = None;
        }
    }

    /// The question without a platform that is this device's own, which rules that name none mean too.
    pub(super) fn without_own_platform(&self, base: &RuleBase, question: &Question) -> Question {
        let is_own = match question.config.get("platform") {
            Some("linux-aarch64") => self.cpu() == Some("aarch64"),
            Some("jetson") => self.is_jetson(),
            _ => false,
        };
        let names = |rule: &Rule| {
            let platform = question.config.get("platform").unwrap_or_default();
            rule.selector.names("platform", platform)
        };
        if !is_own || base.rules_of(&question.framework).any(names) {
            return question.clone();
        }
        Question {
            label: Some(question.words()),
            config: question.config.without(&["platform"]),
            ..question.clone()
        }
    }
}

/// The most shared memory a block may ask for follows from the compute capability.
fn shared_memory(sm: Sm) -> Option<u32> {
    Catalogue::load().limits(sm).map(|limits| limits.shared_memory_per_block_kib << 10)
}

/// The chip of every product with this PCI device id, where they agree.
fn chip_of_id(id: u32) -> Option<String> {
    let parts = Catalogue::load().by_pci_id(id);
    let chip = &parts.first()?.chip;
    parts.iter().all(|part| part.chip == *chip).then(|| chip.clone())
}

/// The chip, where no other one reports this compute capability.
fn only_chip(sm: Sm) -> Option<String> {
    let catalogue = Catalogue::load();
    let plain = Sm::new(sm.major, sm.minor);
    match catalogue.arch(sm)?.chips.as_slice() {
        [chip] if !catalogue.variants().iter().any(|one| one.of == plain) => Some(chip.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpscope_probes::rules::Settings;
    use warpscope_probes::units::Bytes;

    #[test]
    fn a_gpu_on_a_board_with_an_arm_cpu_names_it() {
        let what_if = |label: &str, sm| Target::of_sm(label, sm).cpu();
        assert_eq!(what_if("NVIDIA GB10", Sm::new(12, 1)), Some("aarch64"));
        assert_eq!(what_if("Jetson AGX Orin 64GB", Sm::new(8, 7)), Some("aarch64"));
        assert_eq!(what_if("NVIDIA GH200 480GB", Sm::new(9, 0)), Some("aarch64"));
        assert_eq!(what_if("NVIDIA B200", Sm::new(10, 0)), None);
        assert_eq!(what_if("GeForce RTX 5090", Sm::new(12, 0)), None);
    }

    #[test]
    fn a_platform_of_its_own_is_left_out() {
        let base = RuleBase::builtin();
        for (label, sm, framework, platform, left) in [
            ("NVIDIA GH200 480GB", Sm::new(9, 0), "vllm", "linux-aarch64", false),
            ("NVIDIA GB10", Sm::new(12, 1), "vllm", "linux-aarch64", false),
            ("NVIDIA RTX 4090", Sm::new(8, 9), "vllm", "linux-aarch64", true),
            ("Jetson AGX Orin 32GB", Sm::new(8, 7), "mlc-llm", "jetson", false),
            ("NVIDIA GB10", Sm::new(12, 1), "mlc-llm", "jetson", true),
            ("Jetson AGX Orin 32GB", Sm::new(8, 7), "onnxruntime", "windows", true),
        ] {
            let config = Settings::new([("platform", platform)]).expect("a platform");
            let question = Question { framework: framework.into(), config, ..Question::default() };
            let about = Target::of_sm(label, sm).without_own_platform(base, &question);
            assert_eq!(about.config.get("platform").is_some(), left, "{label} {platform}");
        }
    }

    #[test]
    fn a_driver_that_is_named_is_that_of_the_gpu() {
        let mut target = Target { cuda: Some("13.0".to_owned()), ..Target::default() };
        target.set_driver("535.54.03");
        assert_eq!((target.driver.as_deref(), target.cuda), (Some("535.54.03"), None));
    }

    #[test]
    fn a_what_if_gpu_does_not_inherit_the_driver_of_this_machine() {
        let mut driver = Driver::default();
        driver.versions.driver = "580.82.07".to_owned().into();
        let mut gpu = Gpu { presence: Presence::WhatIf, ..Gpu::default() };
        gpu.identity.name = "Tesla T4".to_owned().into();
        gpu.identity.sm = Sm::new(7, 5).into();
        gpu.vitals.memory_total_bytes = Bytes(16 << 30).into();
        let target = Target::from_gpu(&gpu, &driver);
        assert_eq!(
            (target.label.as_str(), target.sm, target.driver),
            ("Tesla T4", Some(Sm::new(7, 5)), None)
        );
        assert_eq!(target.shared_memory_per_block, Some(64 << 10));
        gpu.presence = Presence::Present;
        assert_eq!(Target::from_gpu(&gpu, &driver).driver.as_deref(), Some("580.82.07"));
        assert_eq!(Target::from_gpu(&Gpu::default(), &driver).sm, None);
    }

    /// Chips and PCI ids as NVIDIA's open kernel modules and pci.ids list them.
    #[test]
    fn a_chip_is_known_by_its_id_or_where_there_is_only_one() {
        let chip = |id: u32, sm: Sm| {
            let mut gpu = Gpu::default();
            gpu.identity.sm = sm.into();
            gpu.identity.pci_device_id = id.into();
            Target::from_gpu(&gpu, &Driver::default()).chip
        };
        assert_eq!(chip(0x1f82, Sm::new(7, 5)).as_deref(), Some("TU117"));
        assert_eq!(chip(0x1eb8, Sm::new(7, 5)).as_deref(), Some("TU104"));
        assert_eq!(chip(0xffff, Sm::new(7, 5)), None);
        assert_eq!(Target::of_sm("H100", Sm::new(9, 0)).chip.as_deref(), Some("GH100"));
        assert_eq!(Target::of_sm("a Turing", Sm::new(7, 5)).chip, None);
        assert_eq!(Target::of_sm("a new one", Sm::new(99, 0)).shared_memory_per_block, None);
    }
}

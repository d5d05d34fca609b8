//! What a rule asks of the machine. Answers are yes, no, or not known: a fact nobody has must not decide anything.

use serde::Deserialize;
use warpscope_kernels::Sm;

use super::range::{NumberRange, SmSet, VersionRange};
use super::version::Version;

/// Facts of one device and its driver, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceFacts<'a> {
    /// Compute capability.
    pub sm: Option<Sm>,
    /// PCI device id, without the vendor half.
    pub pci_device_id: Option<u32>,
    /// Chip: `TU116`.
    pub chip: Option<&'a str>,
    /// Device memory.
    pub memory_bytes: Option<u64>,
    /// Most shared memory one block may take (opt-in).
    pub shared_memory_per_block: Option<u32>,
    /// Driver version.
    pub driver: Option<&'a Version>,
    /// Newest CUDA version the driver supports.
    pub cuda: Option<&'a Version>,
}

/// A condition on the device: everything named must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// Compute capabilities.
    pub sm: Option<SmSet>,
    /// A named group of parts ([`Part`]) the device must belong to.
    pub part: Option<String>,
    /// A named group of parts the device must not belong to.
    pub not_part: Option<String>,
    /// Driver versions.
    pub driver: Option<VersionRange>,
    /// Newest CUDA version of the driver.
    pub driver_cuda: Option<VersionRange>,
    /// Shared memory per block, opt-in: `<99 KiB`.
    pub shared_memory: Option<NumberRange>,
    /// Device memory: `<24 GiB`.
    pub memory: Option<NumberRange>,
}

/// Parts that differ from others of the same compute capability: known by chip or PCI id, never by a marketing name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Id used in conditions: `turing_without_tensor_cores`.
    pub id: String,
    /// Words for the screen: `GTX 16 series (TU116, TU117)`.
    pub label: String,
    /// Compute capabilities such parts report.
    pub sm: SmSet,
    /// Chips; none where the chip is in other parts too, and the PCI id alone tells them apart.
    pub chips: Vec<String>,
    /// First and last PCI device ids of each block the chips were given.
    pub pci: Vec<(u32, u32)>,
    /// Where it can be read again.
    pub source: String,
    /// When it was read.
    pub retrieved: String,
}

impl Part {
    /// Whether the device is one of these parts; `None` when neither chip nor PCI id is known.
    pub fn contains(&self, device: &DeviceFacts<'_>) -> Option<bool> {
        if device.sm.is_some_and(|sm| !self.sm.contains(sm)) {
            return Some(false);
        }
        let told_by_chip = device.chip.filter(|_| !self.chips.is_empty());
        let chip =
            told_by_chip.map(|chip| self.chips.iter().any(|one| chip.eq_ignore_ascii_case(one)));
        let id = device.pci_device_id;
        chip.or_else(|| {
            id.map(|id| self.pci.iter().any(|(first, last)| (*first..=*last).contains(&id)))
        })
    }
}

/// "And" of three-valued answers: one no is a no, else one not-known is not known.
pub(super) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

impl Condition {
    /// Whether the condition holds for the device; `None` when a fact that decides it is not known.
    pub fn holds(&self, device: &DeviceFacts<'_>, parts: &[Part]) -> Option<bool> {
        let part = |id: &String| parts.iter().find(|part| part.id == *id)?.contains(device);
        let answers = [
            self.sm.as_ref().map(|set| device.sm.map(|sm| set.contains(sm))),
            self.part.as_ref().map(part),
            self.not_part.as_ref().map(|id| part(id).map(|within| !within)),
            self.driver.as_ref().map(|range| range.contains(device.driver)),
            self.driver_cuda.as_ref().map(|range| range.contains(device.cuda)),
            self.shared_memory.as_ref().map(|range| {
                device.shared_memory_per_block.map(|bytes| range.contains(u64::from(bytes)))
            }),
            self.memory
                .as_ref()
                .map(|range| device.memory_bytes.map(|bytes| range.contains(bytes))),
        ];
        answers.into_iter().flatten().fold(Some(true), both)
    }

    /// Number of things it asks.
    pub fn len(&self) -> usize {
        let asked = [
            self.sm.is_some(),
            self.part.is_some(),
            self.not_part.is_some(),
            self.driver.is_some(),
            self.driver_cuda.is_some(),
            self.shared_memory.is_some(),
            self.memory.is_some(),
        ];
        asked.into_iter().filter(|asked| *asked).count()
    }

    /// Whether it asks nothing, and so holds everywhere.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names of the groups of parts it mentions.
    pub(super) fn part_ids(&self) -> impl Iterator<Item = &String> {
        self.part.iter().chain(&self.not_part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtx16() -> Part {
        Part {
            id: "gtx16".into(),
            label: "GTX 16".into(),
            sm: "7.5".parse().expect("a set"),
            chips: vec!["TU116".into()],
            pci: vec![(0x2180, 0x21ff)],
            source: "s".into(),
            retrieved: "2026-11".into(),
        }
    }

    #[test]
    fn a_part_is_known_by_chip_or_pci_id_and_never_guessed() {
        let part = gtx16();
        let turing = DeviceFacts { sm: Some(Sm::new(7, 5)), ..DeviceFacts::default() };
        assert_eq!(part.contains(&turing), None);
        assert_eq!(
            part.contains(&DeviceFacts { pci_device_id: Some(0x2184), ..turing }),
            Some(true)
        );
        assert_eq!(
            part.contains(&DeviceFacts { pci_device_id: Some(0x1eb8), ..turing }),
            Some(false)
        );
        assert_eq!(part.contains(&DeviceFacts { chip: Some("tu116"), ..turing }), Some(true));
        let ampere = DeviceFacts { sm: Some(Sm::new(8, 6)), ..DeviceFacts::default() };
        assert_eq!(part.contains(&ampere), Some(false));
    }

    #[test]
    fn an_unknown_fact_decides_nothing_unless_another_says_no() {
        let condition = Condition {
            sm: Some("<7.0".parse().expect("a set")),
            driver: Some(">=590".parse().expect("a range")),
            ..Condition::default()
        };
        let pascal = DeviceFacts { sm: Some(Sm::new(6, 1)), ..DeviceFacts::default() };
        assert_eq!(condition.holds(&pascal, &[]), None);
        for (driver, holds) in [("595.45.04", true), ("580.82.07", false)] {
            let driver: Version = driver.parse().expect("a version");
            let facts = DeviceFacts { driver: Some(&driver), ..pascal };
            assert_eq!(condition.holds(&facts, &[]), Some(holds), "{driver:?}");
        }
        let hopper = DeviceFacts { sm: Some(Sm::new(9, 0)), ..DeviceFacts::default() };
        assert_eq!(condition.holds(&hopper, &[]), Some(false));
    }
}

//! A target as the rules ask about it, prepared once for any number of questions.

use warpscope_probes::rules::{DeviceFacts, Rule, RuleBase, Version};

use super::driver;
use super::target::Target;

/// A target with what is read from its texts.
pub(super) struct Device<'a> {
    pub(super) target: &'a Target,
    driver: Option<Version>,
    cuda: Option<Version>,
    /// Rules of its driver that speak against some build.
    pub(super) against: Vec<&'a Rule>,
}

impl<'a> Device<'a> {
    pub(super) fn new(base: &'a RuleBase, target: &'a Target) -> Self {
        let version = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        let (driver, cuda) = (version(&target.driver), version(&target.cuda));
        let against = driver.as_ref().map(|driver| driver::against(base, driver));
        Self { target, driver, cuda, against: against.unwrap_or_default() }
    }

    /// The facts that rules depend on.
    pub(super) fn facts(&self) -> DeviceFacts<'_> {
        let Target { sm, pci_device_id, chip, memory_bytes, shared_memory_per_block, .. } =
            self.target;
        DeviceFacts {
            sm: *sm,
            pci_device_id: *pci_device_id,
            chip: chip.as_deref(),
            memory_bytes: *memory_bytes,
            shared_memory_per_block: *shared_memory_per_block,
            driver: self.driver.as_ref(),
            cuda: self.cuda.as_ref(),
        }
    }
}

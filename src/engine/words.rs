//! Text of a verdict: placeholders, what the GPU has, which facts are missing.

use warpscope_kernels::Sm;
use warpscope_probes::rules::{Choice, DeviceFacts, Rule, RuleBase, Settings, Version};
use warpscope_probes::text::printable;

use super::device::Device;
use super::question::Question;
use super::target::Target;

/// Fills the placeholders of rule texts for one device and question.
pub(super) struct Filler<'a> {
    gpu: &'a str,
    cc: String,
    sm: String,
    capability: String,
    hex: String,
    wide: &'static str,
    version: &'a str,
}

impl<'a> Filler<'a> {
    pub(super) fn new(target: &'a Target, question: &'a Question) -> Self {
        let of = |unknown: &str, text: fn(Sm) -> String| {
            target.sm.map_or_else(|| unknown.to_owned(), text)
        };
        Self {
            gpu: &target.label,
            cc: of("?", |sm| sm.cc()),
            sm: of("sm_?", |sm| sm.to_string()),
            capability: of("?", |sm| format!("{}{}", sm.major, sm.minor)),
            hex: of("?", |sm| format!("{:#x}", u32::from(sm.major) * 256 + u32::from(sm.minor))),
            wide: if target.sm.is_some_and(|sm| sm.major >= 8) { "bfloat16" } else { "float32" },
            version: question.version.as_deref().unwrap_or("any version"),
        }
    }

    /// For a text of a rule: its version is that of the software the rule is about.
    pub(super) fn of_rule(target: &'a Target, question: &'a Question, rule: &Rule) -> Self {
        let own = *rule.framework == *question.framework;
        let beside = question.config.get(&rule.framework);
        let version =
            if own { question.version.as_deref() } else { beside }.unwrap_or("any version");
        Self { version, ..Self::new(target, question) }
    }

    /// A text that is read. Names from outside stay on its line.
    pub(super) fn text(&self, text: &str) -> String {
        self.filled(text, &printable(self.version), &printable(self.gpu))
    }

    /// A text that is pasted into a shell, where a version or a name from outside must not be a command.
    pub(super) fn command(&self, text: &str) -> String {
        let version = if is_plain(self.version) { self.version } else { "<version>" };
        let gpu = if self.gpu.split(' ').all(is_plain) { self.gpu } else { "<GPU>" };
        self.filled(text, version, gpu)
    }

    fn filled(&self, text: &str, version: &str, gpu: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let filled = text.replace("{cc}", &self.cc).replace("{sm}", &self.sm);
        let filled = filled.replace("{capability}", &self.capability).replace("{hex}", &self.hex);
        let filled = filled.replace("{wide}", self.wide);
        filled.replace("{version}", version).replace("{gpu}", gpu)
    }
}

/// Whether a word means the same to every shell and language.
pub(in crate::engine) fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:".contains(c);
    !word.starts_with('-') && word.chars().all(plain)
}

/// What the GPU and the configuration have of what the rule asks.
pub(super) fn has(
    base: &RuleBase,
    device: &Device<'_>,
    rule: Option<&Rule>,
    settings: &Settings,
) -> String {
    let target = device.target;
    let mut words = vec![target.sm.map_or_else(
        || "unknown compute capability".to_owned(),
        |sm| format!("{sm} (compute capability {})", sm.cc()),
    )];
    let Some(rule) = rule else { return words.remove(0) };
    let on = &rule.on;
    let part = on
        .part
        .iter()
        .chain(&on.not_part)
        .filter_map(|id| base.parts().iter().find(|part| part.id == *id));
    let facts = device.facts();
    words.extend(
        part.filter(|part| part.contains(&facts) == Some(true)).map(|part| part.label.clone()),
    );
    let unknown = || "unknown".to_owned();
    if on.driver.is_some() {
        words.push(format!("driver {}", target.driver.clone().unwrap_or_else(unknown)));
    }
    if on.driver_cuda.is_some() {
        words.push(format!("driver for CUDA {}", target.cuda.clone().unwrap_or_else(unknown)));
    }
    if on.shared_memory.is_some() {
        let size = target.shared_memory_per_block.map(|bytes| format!("{} KiB", bytes >> 10));
        words.push(format!("{} shared memory per block", size.unwrap_or_else(unknown)));
    }
    if on.memory.is_some() {
        let size = target
            .memory_bytes
            .map(|bytes| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)));
        words.push(format!("{} memory", size.unwrap_or_else(unknown)));
    }
    let packages = rule.selector.iter().filter(|(_, choice)| matches!(choice, Choice::Within(_)));
    words.extend(packages.filter_map(|(key, _)| Some(format!("{key} {}", settings.get(key)?))));
    words.join(", ")
}

/// What of a version is missing, where it was not given or counts otherwise than the rule.
fn missing_version(rule: &Rule, given: Option<&Version>) -> String {
    match given {
        None => format!("{} version", rule.framework),
        Some(Version::Date(..)) => format!("release of {} of that date", rule.framework),
        Some(Version::Release(_)) => format!("date of that {} release", rule.framework),
    }
}

/// Facts a rule needs that are unknown.
pub(super) fn missing(
    rule: &Rule,
    version: Option<&Version>,
    settings: &Settings,
    facts: &DeviceFacts<'_>,
) -> Vec<String> {
    let mut missing = Vec::new();
    let on = &rule.on;
    let mut need = |lacking: bool, what: String| missing.extend(lacking.then_some(what));
    let package = settings.get(&rule.framework).map(|text| text.parse::<Version>().ok());
    let given = package.as_ref().map_or(version, Option::as_ref);
    need(rule.versions.contains(given).is_none(), missing_version(rule, given));
    for (key, choice) in rule.selector.iter() {
        let Choice::Within(range) = choice else { continue };
        let given: Option<Version> = settings.get(key).and_then(|text| text.parse().ok());
        need(range.contains(given.as_ref()).is_none(), format!("{key} version"));
    }
    need(on.sm.is_some() && facts.sm.is_none(), "compute capability".to_owned());
    let parted = on.part.is_some() || on.not_part.is_some();
    need(parted && facts.pci_device_id.is_none() && facts.chip.is_none(), "PCI id".to_owned());
    need(on.driver.is_some() && facts.driver.is_none(), "driver version".to_owned());
    need(on.driver_cuda.is_some() && facts.cuda.is_none(), "driver's CUDA version".to_owned());
    need(
        on.shared_memory.is_some() && facts.shared_memory_per_block.is_none(),
        "shared memory size".to_owned(),
    );
    need(on.memory.is_some() && facts.memory_bytes.is_none(), "memory size".to_owned());
    missing
}

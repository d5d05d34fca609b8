use std::fmt;

use serde::{Deserialize, Deserializer};
use warpscope_kernels::Sm;

use super::peaks::{Peak, Peaks};

/// PCI device id of NVIDIA (vendor 10de), written as four lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciId(pub u32);

impl PciId {
    /// Reads exactly four lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 4 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u32::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for PciId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}", self.0)
    }
}

impl<'de> Deserialize<'de> for PciId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("{text:?} is not four lower-case hexadecimal digits"))
        })
    }
}

/// What a product is sold as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Desktop gaming.
    Geforce,
    /// Titan.
    Titan,
    /// Laptop.
    Laptop,
    /// Quadro, RTX A, RTX Ada, RTX PRO.
    Workstation,
    /// Tesla and successors.
    DataCenter,
    /// System on a chip: Jetson, GB10.
    Soc,
}

/// How GPUs of this kind are linked to each other or to the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// NVLink over the board or switch.
    Board,
    /// NVLink over a bridge one may or may not have bought.
    Bridge,
    /// NVLink to the CPU of the same module.
    C2c,
}

/// Error correction of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ecc {
    /// None.
    No,
    /// Has it, and can switch it.
    Yes,
    /// Inside the ordinary memory, at the price of capacity and bandwidth.
    Inline,
}

/// How the tensor cores of a product compare with the rates of its architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorRate {
    /// There are none.
    None,
    /// As the architecture can.
    Full,
    /// The architecture's `half_rate` replaces its `rates`: GeForce since Turing.
    Half,
    /// Every tensor rate is halved.
    AllHalf,
}

/// Where the clock of an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockBasis {
    /// Published or listed boost clock.
    Listed,
    /// Computed from a published peak, so that comparing with that peak proves nothing.
    BackComputed,
    /// The tensor clock is computed from a published peak; the boost clock is independent.
    TensorBackComputed,
    /// Upper end of the range a laptop maker may choose from, recalled.
    LaptopUpperEnd,
    /// Seen on devices, not published.
    Observed,
}

/// Which peak to believe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PeakBasis {
    /// Clock × SMs × rate.
    Computed,
    /// The published figure.
    Published,
    /// Computed, except for [`Part::capped`], where only the published figure holds.
    Capped,
    /// Neither: throughput is capped, nothing is published, and measured figures are in the note.
    Measured,
}

/// How sure an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum Confidence {
    /// The decisive figures were read in NVIDIA material.
    A,
    /// They agree within 2% with an independent second source.
    B,
    /// No second source: provisional.
    C,
}

/// One product of the catalogue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Name as NVML prints it. Variants may share it.
    pub name: String,
    /// Name that tells variants apart; unique.
    pub market_name: String,
    /// Short names people type; each belongs to one part only.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Names that fit several parts and mean this one unless more is said: the most common
    /// variant, and of equally common ones the smaller, so that nothing is promised in vain.
    #[serde(default)]
    pub default_for: Vec<String>,
    /// Families of cloud machines that carry it and no other: `g4dn`, `a3-highgpu`. Azure has no such families:
    /// its sizes stand one by one, `nc24ads_a100_v4`.
    #[serde(default)]
    pub machines: Vec<String>,
    /// What it is sold as.
    pub segment: Segment,
    /// Compute capability.
    pub sm: Sm,
    /// Chip: `TU104`.
    pub chip: String,
    /// PCI device ids; empty for devices that are not on PCI.
    #[serde(default)]
    pub pci_ids: Vec<PciId>,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Boost clock in MHz.
    pub boost_mhz: f64,
    /// Clock at which tensor peaks are quoted, where it is another one.
    pub tensor_clock_mhz: Option<f64>,
    /// Memory as sold. NVIDIA's GB are GiB but for rounding and what the driver keeps.
    pub memory_gb: u32,
    /// Memory as the driver reports it (`nvidia-smi`, in public logs), MiB, where it is not what it is sold with.
    pub visible_mib: Option<u32>,
    /// Memory technology: `HBM3e`.
    pub memory_type: String,
    /// Memory bus width in bits.
    pub bus_bits: u32,
    /// Memory bandwidth in 10⁹ bytes per second.
    pub bandwidth_gbs: f64,
    /// Board power in watts; of one GPU where a board carries several.
    pub tdp_w: f64,
    /// Kind of NVLink.
    pub nvlink: Option<Link>,
    /// NVLink bandwidth, both directions, in 10⁹ bytes per second.
    pub nvlink_gbs: Option<f64>,
    /// Error correction.
    pub ecc: Ecc,
    /// How its tensor cores compare with its architecture.
    pub tensor_rate: TensorRate,
    /// Published dense peaks.
    #[serde(default)]
    pub spec: Peaks,
    /// Where the clocks come from.
    pub clock_basis: ClockBasis,
    /// Which peak to believe.
    pub peak_basis: PeakBasis,
    /// Peaks that are capped below what clock × SMs × rate gives.
    #[serde(default)]
    pub capped: Vec<Peak>,
    /// Where name and device ids come from.
    pub name_evidence: String,
    /// How sure the figures are.
    pub confidence: Confidence,
    /// Where the figures are published.
    pub source: String,
    /// Month they were compiled: `2026-11`.
    pub retrieved: String,
    /// What else to know.
    #[serde(default)]
    pub note: String,
}

impl Part {
    /// Market name as an identifier: `geforce-rtx-3090`, without the maker's name.
    pub fn slug(&self) -> String {
        let lower = self.market_name.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<_> = words.filter(|word| !word.is_empty() && *word != "nvidia").collect();
        words.join("-")
    }

    /// Memory as its driver reports it, in bytes.
    pub fn visible_bytes(&self) -> u64 {
        self.visible_mib.map_or(u64::from(self.memory_gb) << 30, |mib| u64::from(mib) << 20)
    }

    /// Names that mean this part and no other: market name, aliases, defaults.
    pub fn own_names(&self) -> impl Iterator<Item = &str> {
        let market = std::iter::once(&self.market_name);
        market.chain(&self.aliases).chain(&self.default_for).map(String::as_str)
    }

    /// Whether a cloud machine of this name, in lower case, carries it: `g4dn`, `g4dn.xlarge`, `ml.g4dn.xlarge`,
    /// `standard_nc24ads_a100_v4`.
    pub(super) fn is_in(&self, machine: &str) -> bool {
        let owners = ["ml.", "standard_"];
        let machine =
            owners.iter().find_map(|owner| machine.strip_prefix(owner)).unwrap_or(machine);
        self.machines.iter().any(|family| {
            let size = machine.strip_prefix(family.as_str());
            size.is_some_and(|size| size.is_empty() || size.starts_with(['.', '-']))
        })
    }

    /// Every name it goes by: its own, and the NVML name it may share.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.own_names().chain(std::iter::once(self.name.as_str()))
    }
}

//! The GPUs that times are predicted for: `kernels/predict.toml`, and of the catalogue in `probes/gpus` what it needs of it. The catalogue is read as
//! a file, because the package that owns it stands on this one.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::{DeviceFacts, Shape, TunedConfigs};

use crate::toolchain::read;

/// What is predicted, and for which GPUs.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The GPUs, in the order of the file.
    pub gpus: Vec<Gpu>,
    /// The works, in the order of the file.
    pub works: Vec<Asked>,
    /// Limits of multiprocessors.
    pub limits: BTreeMap<Sm, Limits>,
}

/// A work of a kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// Its size.
    pub shape: Shape,
    /// Whether blocks have equal shares of it.
    #[serde(default)]
    pub equal: bool,
    /// Microseconds that it took, by GPU.
    #[serde(default)]
    pub measured: BTreeMap<String, Measured>,
}

/// A time that a GPU took.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measured {
    /// Family of the kernel that computed it.
    pub family: String,
    /// Microseconds.
    pub us: f64,
}

/// What a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub(crate) struct Limits {
    /// Shared memory, KiB.
    pub shared_memory_per_sm_kib: u32,
    /// Shared memory of one block, KiB.
    pub shared_memory_per_block_kib: u32,
    /// 32-bit registers.
    pub registers_per_sm: u32,
    /// Warps.
    pub warps_per_sm: u32,
    /// Blocks.
    pub blocks_per_sm: u32,
}

/// A GPU.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// As the driver names it.
    pub name: String,
    /// Its compute capability.
    pub sm: Sm,
    /// Multiprocessors.
    pub sms: u32,
    /// The clock at which NVIDIA quotes its rates, MHz.
    pub mhz: f64,
    /// What the file says of it.
    pub own: Own,
    memory_gb: f64,
    shared_per_block: u32,
    /// Multiply-adds per clock and multiprocessor by format: `fp16_tensor`.
    rates: BTreeMap<String, f64>,
}

/// What no data sheet says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Own {
    name: String,
    l2_mb: u64,
    /// Bandwidth of reading, GB/s.
    pub read_gb_s: f64,
    /// Where that is from.
    pub read: String,
    /// Whether nobody measured it.
    #[serde(default)]
    pub estimate: bool,
    #[serde(default = "all")]
    mma_sync_share: f64,
    /// Where the share of `mma.sync` is from.
    pub mma_sync: Option<String>,
}

fn all() -> f64 {
    1.0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    gpu: Vec<Own>,
    work: Vec<Asked>,
}

#[derive(Deserialize)]
struct Catalogue {
    #[serde(default)]
    gpu: Vec<Part>,
    #[serde(default)]
    arch: Vec<Arch>,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    sm: Sm,
    sms: u32,
    boost_mhz: Option<f64>,
    tensor_clock_mhz: Option<f64>,
    memory_gb: f64,
    #[serde(default)]
    tensor_rate: String,
}

#[derive(Deserialize)]
struct Arch {
    sm: Sm,
    limits: Limits,
    #[serde(default)]
    rates: BTreeMap<String, f64>,
    #[serde(default)]
    half_rate: BTreeMap<String, f64>,
}

impl Plan {
    /// Reads both files' worth of facts.
    pub(crate) fn read(kernels: &Path) -> Result<Self, String> {
        let file: File = parse(&kernels.join("predict.toml"))?;
        let mut catalogue = Catalogue { gpu: Vec::new(), arch: Vec::new() };
        for path in catalogue_files(&kernels.join("../probes/gpus"))? {
            let more: Catalogue = parse(&path)?;
            catalogue.gpu.extend(more.gpu);
            catalogue.arch.extend(more.arch);
        }
        let gpus =
            file.gpu.into_iter().map(|own| Gpu::of(own, &catalogue)).collect::<Result<_, _>>()?;
        // Of two architectures with one capability (GTX 16 and RTX 20) the limits are the same.
        let limits = catalogue.arch.iter().map(|arch| (arch.sm, arch.limits)).collect();
        Ok(Self { gpus, works: file.work, limits })
    }
}

fn catalogue_files(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let all = std::fs::read_dir(folder).map_err(failed)?.flatten().map(|entry| entry.path());
    let mut tables: Vec<_> =
        all.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    tables.sort();
    Ok(tables)
}

fn parse<T: DeserializeOwned>(path: &Path) -> Result<T, String> {
    toml::from_str(&read(path)?).map_err(|error| format!("{}: {error}", path.display()))
}

impl Gpu {
    fn of(own: Own, catalogue: &Catalogue) -> Result<Self, String> {
        let missing = |what: &str| format!("probes/gpus has no {what} of {}", own.name);
        let part = catalogue.gpu.iter().find(|part| part.name == own.name);
        let part = part.ok_or_else(|| missing("row"))?;
        // The one with tensor cores, where a capability has two.
        let archs = catalogue.arch.iter().filter(|arch| arch.sm == part.sm);
        let arch =
            archs.max_by_key(|arch| arch.rates.len()).ok_or_else(|| missing("architecture"))?;
        let mhz = part.tensor_clock_mhz.or(part.boost_mhz).ok_or_else(|| missing("clock"))?;
        let mut rates = arch.rates.clone();
        if part.tensor_rate == "half" {
            rates.extend(arch.half_rate.clone());
        }
        Ok(Self {
            name: own.name.clone(),
            sm: part.sm,
            sms: part.sms,
            mhz,
            memory_gb: part.memory_gb,
            shared_per_block: arch.limits.shared_memory_per_block_kib * 1024,
            rates,
            own,
        })
    }

    /// What kernels are told of it.
    pub(crate) fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            name: self.name.clone(),
            sm: self.sm,
            sms: self.sms,
            shared_per_block: 48 << 10,
            shared_per_block_optin: self.shared_per_block,
            l2_bytes: self.own.l2_mb << 20,
            memory_bytes: (self.memory_gb * 1e9) as u64,
            driver_cuda: 12_090,
            simulated: false,
            tuned: TunedConfigs::default(),
        }
    }

    /// Multiply-adds per clock and multiprocessor by an instruction, as far as anybody knows.
    pub(crate) fn rate(&self, product: &str) -> Option<f64> {
        let (format, by_four) = match product {
            "HMMA" => ("fp16_tensor", false),
            "HGMMA" => ("fp16_tensor", true),
            "IMMA" => ("int8_tensor", false),
            "IGMMA" => ("int8_tensor", true),
            "QMMA" => ("fp8_tensor", false),
            "QGMMA" => ("fp8_tensor", true),
            _ => return None,
        };
        let share = if by_four { 1.0 } else { self.own.mma_sync_share };
        self.rates.get(format).map(|rate| rate * share).filter(|rate| *rate > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data sheets' rates: H200 989 TFLOP/s, RTX 4090 165 with fp32 sums, A100 312, T4 65.
    #[test]
    fn rates_are_those_of_the_data_sheets() {
        let plan = Plan::read(Path::new(crate::KERNELS)).unwrap();
        for (name, product, tera) in [
            ("NVIDIA H200", "HGMMA", 989.0),
            ("NVIDIA H200", "QGMMA", 1979.0),
            ("NVIDIA GeForce RTX 4090", "HMMA", 165.0),
            ("NVIDIA A100-SXM4-80GB", "HMMA", 312.0),
            ("Tesla T4", "HMMA", 65.0),
        ] {
            let gpu = plan.gpus.iter().find(|gpu| gpu.name == name).unwrap();
            let rate = gpu.rate(product).unwrap() * 2.0 * f64::from(gpu.sms) * gpu.mhz * 1e6 / 1e12;
            assert!((rate / tera - 1.0).abs() < 0.01, "{name}: {rate}");
        }
        let b200 = plan.gpus.iter().find(|gpu| gpu.name == "NVIDIA B200").unwrap();
        assert_eq!(b200.rate("HMMA"), None, "unknown is not all");
    }

    #[test]
    fn every_figure_says_where_it_is_from_and_estimates_that_they_are() {
        let plan = Plan::read(Path::new(crate::KERNELS)).unwrap();
        for gpu in &plan.gpus {
            let said = gpu.own.read.starts_with("estimate: ");
            assert_eq!(said, gpu.own.estimate, "{}", gpu.name);
            assert!(said || gpu.own.read.starts_with("measured: "), "{}", gpu.name);
            assert_eq!(gpu.own.mma_sync.is_some(), gpu.own.mma_sync_share < 1.0, "{}", gpu.name);
            assert!(plan.limits.contains_key(&gpu.sm), "{}", gpu.name);
        }
    }
}

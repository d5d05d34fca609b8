//! Which image a device runs, by NVIDIA's documented rules and before the driver is asked.
//!
//! CUDA C++ programming guide 12.9, "Compute capability", "Application compatibility", "Architecture-specific" and "Family-specific
//! features"; CUDA compatibility guide, "Minor version compatibility". Drivers that load more than that are not relied on.

use std::cmp::Reverse;
use std::fmt;

use super::driver::{Isa, RELEASES, cuda_text};
use super::embedded::{Image, ImageKind, images};
use crate::gpu::DeviceFacts;
use crate::{Sm, Suffix};

/// Compute capabilities of integrated GPUs (Jetson, DRIVE). Machine code for them and for others is not interchangeable.
const TEGRA: &[(u8, u8)] = &[(3, 2), (5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)];

/// Whether a compute capability belongs to an integrated GPU.
pub fn is_tegra(sm: Sm) -> bool {
    TEGRA.contains(&(sm.major, sm.minor))
}

/// Why an image runs on a device. In order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Machine code for this compute capability.
    Exact,
    /// Machine code for its family.
    Family,
    /// Machine code for an earlier minor of the same major.
    SameMajor,
    /// PTX, which the driver compiles.
    Compiled,
}

/// An image that should run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate<'a> {
    /// The image.
    pub image: &'a Image,
    /// Why it runs.
    pub how: How,
}

impl fmt::Display for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.how {
            How::Exact => "",
            How::Family => " (same family)",
            How::SameMajor => " (same major)",
            How::Compiled => ", compiled by the driver",
        };
        write!(f, "{}{why}", self.image)
    }
}

/// How a device would run a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick<'a> {
    /// What should run, best first: a loader tries the next where the driver refuses one.
    pub candidates: Vec<Candidate<'a>>,
    /// Why nothing fits and what would, in a sentence; empty where something does.
    pub why_not: String,
}

impl<'a> Pick<'a> {
    /// What is tried first.
    pub fn best(&self) -> Option<Candidate<'a>> {
        self.candidates.first().copied()
    }
}

/// `cubin sm_80 (same major)`, or why nothing fits.
impl fmt::Display for Pick<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.best() {
            Some(best) => best.fmt(f),
            None => f.write_str(&self.why_not),
        }
    }
}

/// How a device would run a family of this program.
pub fn pick(family: &str, device: &DeviceFacts) -> Pick<'static> {
    pick_among(images(), family, device)
}

/// How a device would run a family of some images.
pub fn pick_among<'a>(images: &'a [Image], family: &str, device: &DeviceFacts) -> Pick<'a> {
    let of_family: Vec<&Image> = images.iter().filter(|image| image.family == family).collect();
    let for_device = of_family.iter().filter_map(|image| {
        let how = runs_on(image, device.sm)?;
        Some(Candidate { image, how })
    });
    let for_device: Vec<Candidate<'a>> = for_device.collect();
    let mut candidates = for_device.clone();
    candidates.retain(|candidate| driver_takes(candidate.image, device.driver_cuda));
    // An image of an earlier class may lack entries that a kernel of this device asks for, so it comes after PTX of the right one.
    candidates.sort_by_key(|candidate| {
        let Image { class, target, .. } = candidate.image;
        (Reverse((class.major, class.minor)), candidate.how, Reverse(rank(*target)))
    });
    let why_not = match (candidates.is_empty(), for_device.is_empty()) {
        (false, _) => String::new(),
        (true, true) => no_code(&of_family, family, device.sm),
        (true, false) => old_driver(&for_device, device.driver_cuda),
    };
    Pick { candidates, why_not }
}

/// Newer targets are better, and of the same one the more specific.
fn rank(target: Sm) -> (u8, u8, u8) {
    let specific = match target.suffix {
        Suffix::None => 0,
        Suffix::Family => 1,
        Suffix::Arch => 2,
    };
    (target.major, target.minor, specific)
}

/// Why a device runs an image, whatever its driver.
fn runs_on(image: &Image, device: Sm) -> Option<How> {
    let target = image.target;
    let same = (target.major, target.minor) == (device.major, device.minor);
    let later_minor = target.major == device.major && target.minor <= device.minor;
    let interchangeable = !is_tegra(device) && !is_tegra(target);
    match (image.kind, target.suffix) {
        (ImageKind::Cubin, _) if same => Some(How::Exact),
        (ImageKind::Cubin, Suffix::Arch) => None,
        (ImageKind::Cubin, _) if !(later_minor && interchangeable) => None,
        (ImageKind::Cubin, Suffix::Family) => Some(How::Family),
        (ImageKind::Cubin, Suffix::None) => Some(How::SameMajor),
        (ImageKind::Ptx, Suffix::Arch) => same.then_some(How::Compiled),
        (ImageKind::Ptx, Suffix::Family) => {
            (same || later_minor && interchangeable).then_some(How::Compiled)
        }
        (ImageKind::Ptx, Suffix::None) => {
            let reaches = (target.major, target.minor) <= (device.major, device.minor);
            reaches.then_some(How::Compiled)
        }
    }
}

/// Whether a driver of a CUDA version loads an image.
fn driver_takes(image: &Image, cuda: u32) -> bool {
    match image.kind {
        ImageKind::Cubin => image.oldest_cuda <= cuda,
        ImageKind::Ptx => Isa::of_driver(cuda).is_some_and(|isa| image.isa <= isa),
    }
}

fn no_code(of_family: &[&Image], family: &str, device: Sm) -> String {
    let Some(lowest) = of_family.iter().map(|image| image.target).min_by_key(|sm| rank(*sm)) else {
        return format!("this program has no image of {family}");
    };
    if (device.major, device.minor) < (lowest.major, lowest.minor) {
        return format!("{family} is built for {lowest} and newer, this is {device}");
    }
    let mut targets: Vec<Sm> = of_family.iter().map(|image| image.target).collect();
    targets.sort_by_key(|sm| rank(*sm));
    targets.dedup();
    let targets: Vec<String> = targets.iter().map(Sm::to_string).collect();
    format!("{family} is built for {} only, this is {device}", targets.join(", "))
}

/// What the driver lacks, and the oldest that has it.
fn old_driver(for_device: &[Candidate], cuda: u32) -> String {
    let enough = |image: &Image| match image.kind {
        ImageKind::Cubin => image.oldest_cuda,
        ImageKind::Ptx => image.isa.first_release().map_or(u32::MAX, |release| release.cuda),
    };
    let mut lacks = Vec::new();
    let cubins = for_device.iter().map(|candidate| candidate.image);
    let cubins = cubins.filter(|image| image.kind == ImageKind::Cubin);
    if let Some(oldest) = cubins.map(|image| image.oldest_cuda).min() {
        lacks.push(format!("loads no cubin that needs CUDA {}", cuda_text(oldest)));
    }
    let ptx = for_device.iter().map(|candidate| candidate.image);
    let ptx = ptx.filter(|image| image.kind == ImageKind::Ptx).map(|image| image.isa).min();
    if let Some(needed) = ptx {
        lacks.push(match Isa::of_driver(cuda) {
            Some(known) => format!("knows PTX up to {known} where {needed} is needed"),
            None => format!("knows no PTX {needed}"),
        });
    }
    let needed = for_device.iter().map(|candidate| enough(candidate.image)).min();
    let release = RELEASES.iter().find(|release| Some(release.cuda) >= needed);
    let update = match release.map(|release| (release.driver, release.cuda)) {
        Some((Some(driver), _)) => format!("; update to driver {driver} or later"),
        Some((None, cuda)) => format!("; update to a driver for CUDA {} or later", cuda_text(cuda)),
        None => String::new(),
    };
    format!("a driver for CUDA {} {}{update}", cuda_text(cuda), lacks.join(" and "))
}

#[cfg(test)]
#[path = "pick_tests.rs"]
mod tests;

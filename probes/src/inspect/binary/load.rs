//! Which device code a GPU loads: NVIDIA's rules of binary and PTX compatibility.
//!
//! Sources: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility", "Family-Specific Architecture Features"; what
//! ptxas accepts for which target agrees.

use serde::{Deserialize, Serialize};
use warpscope_kernels::{Sm, Suffix};

use super::coverage::Coverage;
use super::image::{Image, ImageKind, is_tegra};
use super::scan::{Scan, Shape};
use warpscope_kernels::image::Isa;

/// What a GPU does with an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Runs the machine code.
    Cubin,
    /// Has the driver compile this version of PTX, at the first launch.
    Jit(Isa),
    /// Nothing.
    No(Reason),
}

/// Why a GPU does not load an image; the nearer to loading, the later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It is of a kind that is not known.
    Unknown,
    /// It is intermediate code that still has to be linked.
    NotLinked,
    /// It is machine code for another generation.
    Generation,
    /// It is for an integrated GPU and this is none, or the other way round.
    Integrated,
    /// It is for a newer GPU.
    Newer,
    /// It uses features of another family.
    Family,
    /// It uses features of one other compute capability.
    Specific,
    /// It is PTX of a version this driver does not understand.
    Driver(Isa),
}

/// What a GPU does with an image. Without a driver to ask, any PTX version passes; the answer names it.
pub fn loads(image: &Image, device: Sm, driver: Option<Isa>) -> Load {
    let refused = match image.kind {
        ImageKind::Cubin => refuses_code(image.target, device),
        ImageKind::Ptx => refuses_text(image.target, device),
        ImageKind::Lto => Some(Reason::NotLinked),
        ImageKind::Other(_) => Some(Reason::Unknown),
    };
    match (refused, image.isa) {
        (Some(reason), _) => Load::No(reason),
        (None, Some(isa)) if driver.is_some_and(|driver| driver < isa) => {
            Load::No(Reason::Driver(isa))
        }
        (None, Some(isa)) => Load::Jit(isa),
        (None, None) if image.kind == ImageKind::Cubin => Load::Cubin,
        (None, None) => Load::No(Reason::Unknown),
    }
}

/// Machine code runs on the same major version from its minor version on.
fn refuses_code(target: Sm, device: Sm) -> Option<Reason> {
    match () {
        () if target.major != device.major => Some(Reason::Generation),
        () if is_tegra(target) != is_tegra(device) => Some(Reason::Integrated),
        () => refuses_text(target, device),
    }
}

/// PTX compiles for everything from its target on, unless it is specific to an architecture or a family.
fn refuses_text(target: Sm, device: Sm) -> Option<Reason> {
    let same = (target.major, target.minor) == (device.major, device.minor);
    let family = target.major == device.major && is_tegra(target) == is_tegra(device);
    match target.suffix {
        _ if (target.major, target.minor) > (device.major, device.minor) => Some(Reason::Newer),
        Suffix::Arch if !same => Some(Reason::Specific),
        Suffix::Family if !family => Some(Reason::Family),
        _ => None,
    }
}

impl Shape {
    /// What a GPU does with a container: the best it does with one of its images.
    pub fn loads(&self, device: Sm, driver: Option<Isa>) -> Load {
        let all = self.0.iter().map(|(image, _)| loads(image, device, driver));
        all.max_by_key(|load| match load {
            Load::No(reason) => (0, Some(*reason), None),
            // The older version, which more drivers understand.
            Load::Jit(isa) => (1, None, Some(std::cmp::Reverse(*isa))),
            Load::Cubin => (2, None, None),
        })
        .unwrap_or(Load::No(Reason::Unknown))
    }
}

/// What can be expected of a binary on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Every container has machine code for it.
    Works,
    /// Every container loads, some only after the driver has compiled them: the first launch takes longer, and
    /// `CUDA_DISABLE_PTX_JIT` breaks it.
    Jit,
    /// Some containers have nothing for it: their kernels fail, if it ever comes to them.
    Partial,
    /// No container has anything for it: "no kernel image is available for execution on the device".
    Fails,
    /// It carries no kernel, or keeps them as data and chooses for itself.
    Unknown,
}

/// Containers of a list on one GPU.
fn coverage<'a>(
    list: impl IntoIterator<Item = &'a (Shape, u32)>,
    device: Sm,
    driver: Option<Isa>,
) -> Coverage {
    let mut sum = Coverage::default();
    for (shape, count) in list {
        let column = match shape.loads(device, driver) {
            Load::Cubin => &mut sum.cubin,
            Load::Jit(_) => &mut sum.jit,
            Load::No(_) => &mut sum.none,
        };
        *column = column.saturating_add(*count);
    }
    sum
}

/// Those with a kernel in them.
fn with_kernels(list: &[(Shape, u32)]) -> impl Iterator<Item = &(Shape, u32)> {
    list.iter().filter(|(shape, _)| !shape.is_empty())
}

impl Scan {
    /// How many of its containers a GPU loads. Code left over from linking and code kept as data do not count.
    pub fn coverage(&self, device: Sm, driver: Option<Isa>) -> Coverage {
        coverage(&self.executable, device, driver)
    }

    /// The same of the containers with a kernel in them, which are the ones that matter; see [`Shape::is_empty`].
    pub fn kernel_coverage(&self, device: Sm, driver: Option<Isa>) -> Coverage {
        coverage(with_kernels(&self.executable), device, driver)
    }

    /// How many of the containers with a kernel that it keeps as data a GPU could load.
    pub fn data_coverage(&self, device: Sm, driver: Option<Isa>) -> Coverage {
        coverage(with_kernels(&self.data), device, driver)
    }

    /// Whether it keeps most of its kernels as data, some for this GPU among them, while the CUDA runtime finds nothing for it. Such a
    /// library loads its code itself, and what the runtime finds decides nothing: of libcufft.so.12 (12.0.0.61) that is one unit for sm_75
    /// which `nvlink` left, beside thousands.
    pub fn loads_its_own_code(&self, device: Sm, driver: Option<Isa>) -> bool {
        let found = self.kernel_coverage(device, driver);
        let data = self.data_coverage(device, driver);
        found.cubin + found.jit == 0 && data.cubin + data.jit > 0 && data.total() > found.total()
    }

    /// What can be expected of it on a GPU.
    pub fn reach(&self, device: Sm, driver: Option<Isa>) -> Reach {
        let found = self.kernel_coverage(device, driver);
        let data = self.data_coverage(device, driver);
        match (found.cubin, found.jit, found.none) {
            (0, 0, 0) => Reach::Unknown,
            (_, 0, 0) => Reach::Works,
            (_, _, 0) => Reach::Jit,
            (0, 0, _) if data.cubin + data.jit > 0 => Reach::Unknown,
            (0, 0, _) => Reach::Fails,
            _ => Reach::Partial,
        }
    }

    /// The newest PTX version a GPU needs compiled to run what it can of this.
    pub fn newest_jit(&self, device: Sm, driver: Option<Isa>) -> Option<Isa> {
        let loads = with_kernels(&self.executable).map(|(shape, _)| shape.loads(device, driver));
        loads.filter_map(|load| if let Load::Jit(isa) = load { Some(isa) } else { None }).max()
    }

    /// The GPU it serves best, for comparison: most machine code, then most code at all, then the newest.
    pub fn best_served(&self, devices: &[Sm], driver: Option<Isa>) -> Option<(Sm, Coverage)> {
        let served = devices.iter().map(|device| (*device, self.kernel_coverage(*device, driver)));
        let known = served.filter(|(_, coverage)| coverage.cubin + coverage.jit > 0);
        known.max_by_key(|(device, coverage)| (coverage.cubin, coverage.jit, *device))
    }
}

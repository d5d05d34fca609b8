//! The units of one library on one GPU. A unit is about one translation unit of its source.
//!
//! A unit that was compiled for single architectures only is picked by whoever has one of them: that other GPUs have nothing in it is no
//! gap. So units are asked, not libraries.

use std::collections::BTreeSet;

use warpscope_kernels::image::Isa;
use warpscope_kernels::{Sm, Suffix};
use warpscope_probes::inspect::binary::{Coverage, ImageKind, Load, Reason, Scan, Shape};

/// What a GPU does with the units of a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Units {
    /// Those it loads, and those that lack code for it.
    pub(super) coverage: Coverage,
    /// Those that are meant for other architectures.
    pub(super) others: u32,
}

impl Units {
    pub(super) fn loads(self) -> u32 {
        self.coverage.cubin + self.coverage.jit
    }

    pub(super) fn total(self) -> u32 {
        self.coverage.total() + self.others
    }
}

/// The units of a library, told apart once for every GPU.
pub(super) struct Library<'a> {
    general: Vec<&'a (Shape, u32)>,
    variants: Vec<&'a (Shape, u32)>,
}

impl<'a> Library<'a> {
    pub(super) fn new(scan: &'a Scan) -> Self {
        type List<'a> = Vec<&'a (Shape, u32)>;
        let (bare, rest): (List<'_>, List<'_>) =
            with_kernels(scan).partition(|one| is_special(&one.0));
        let (one, many): (List<'_>, List<'_>) =
            rest.iter().copied().partition(|one| is_of_one_major(&one.0));
        // Beside a majority for several generations, those for a single one are chosen by it.
        let (variants, general) = match count(&one) <= count(&many) {
            true => ([bare, one].concat(), many),
            false => (bare, rest),
        };
        // Where hardly anything is general, the variants are what there is.
        match is_like(count(&general), count(&variants)) {
            true => Self { general, variants },
            false => Self { general: [general, variants].concat(), variants: Vec::new() },
        }
    }

    pub(super) fn on(&self, device: Sm, driver: Option<Isa>) -> Units {
        let mut units = Units::default();
        let mut take = |(shape, count): &(Shape, u32), is_variant: bool| {
            let column = match shape.loads(device, driver) {
                Load::Cubin => &mut units.coverage.cubin,
                Load::Jit(_) => &mut units.coverage.jit,
                Load::No(Reason::Driver(_)) => &mut units.coverage.none,
                Load::No(_) if is_variant => &mut units.others,
                Load::No(_) => &mut units.coverage.none,
            };
            *column = column.saturating_add(*count);
        };
        self.general.iter().for_each(|one| take(one, false));
        self.variants.iter().for_each(|one| take(one, true));
        units
    }

    /// The GPU that the fewest units have nothing for, the newest of several, and how many that is.
    pub(super) fn best(&self, devices: &[Sm], driver: Option<Isa>) -> Option<(Sm, u32)> {
        let served = devices.iter().map(|device| (*device, self.on(*device, driver)));
        let served = served.filter(|(_, units)| units.loads() > 0);
        let best = served.min_by_key(|(device, units)| {
            (units.coverage.none, std::cmp::Reverse((units.coverage.cubin, *device)))
        });
        best.map(|(device, units)| (device, units.coverage.none))
    }
}

/// Whether one number is no less than a tenth of another: of like size, or larger.
pub(super) fn is_like(one: u32, other: u32) -> bool {
    u64::from(one) * 10 >= u64::from(other)
}

/// Whether a part is next to nothing: below 5%.
pub(super) fn is_few(part: u32, whole: u32) -> bool {
    u64::from(part) * 20 < u64::from(whole)
}

/// Architectures that a library was built for, those aside that only a few of its units have.
pub(super) fn targets(scan: &Scan) -> BTreeSet<Sm> {
    let summary = scan.summary();
    let most = summary.containers - summary.empty;
    let counts = summary.cubin.iter().chain(&summary.ptx);
    counts.filter(|(_, count)| !is_few(**count, most)).map(|(target, _)| target.sm).collect()
}

/// Built for features of single architectures only: `sm_90a` kernels beside a general library.
pub(super) fn is_all_special(scan: &Scan) -> bool {
    let mut units = with_kernels(scan).peekable();
    units.peek().is_some() && units.all(|one| is_special(&one.0))
}

fn with_kernels(scan: &Scan) -> impl Iterator<Item = &(Shape, u32)> {
    scan.executable.iter().filter(|(shape, _)| !shape.is_empty())
}

fn count(units: &[&(Shape, u32)]) -> u32 {
    units.iter().fold(0, |sum, one| sum.saturating_add(one.1))
}

/// Code the runtime could load, by its target.
fn code(shape: &Shape) -> impl Iterator<Item = (ImageKind, Sm)> {
    let code = shape.0.iter().map(|(image, _)| image).filter(|image| !image.empty);
    code.map(|image| (image.kind, image.target))
        .filter(|(kind, _)| matches!(kind, ImageKind::Cubin | ImageKind::Ptx))
}

fn is_special(shape: &Shape) -> bool {
    code(shape).next().is_some() && code(shape).all(|(_, target)| target.suffix != Suffix::None)
}

/// Whether it is machine code of one generation, with no PTX for a later one.
fn is_of_one_major(shape: &Shape) -> bool {
    let majors: BTreeSet<u8> = code(shape).map(|(_, target)| target.major).collect();
    majors.len() == 1 && code(shape).all(|(kind, _)| kind == ImageKind::Cubin)
}

//! Everything the tables say of images: their manifest, their disassembly, and what is launched of them.

use std::collections::BTreeMap;
use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{BufferId, DeviceFacts, GpuKernel, Launch, Route, Work};

use crate::gpus::{Asked, Gpu, Plan};
use crate::inner::Inner;
use crate::manifest::{Image, Kind, Manifest, Usage};
use crate::occupancy::{self, Block};
use crate::parallel::in_parallel;
use crate::recipe::{FamilyRecipe, InnerBudget};
use crate::sass::{self, Code};
use crate::toolchain::Toolchain;

/// A kernel on a target whose loop is budgeted.
pub(crate) struct Figure<'a> {
    /// Source without `.cu`.
    pub family: &'a str,
    /// Kernel.
    pub entry: String,
    /// Machine code it is in.
    pub target: Sm,
    /// Registers per thread, and bytes spilled.
    pub registers: u32,
    /// Bytes spilled and reloaded.
    pub spills: u32,
    /// Static shared memory, bytes.
    pub shared: u32,
    /// Most threads of a block.
    pub threads: u32,
    /// Its loop; none where no loop holds what is counted.
    pub inner: Option<Inner>,
    /// What the loop may cost.
    pub budget: &'a InnerBudget,
}

/// What is launched of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Launched {
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory, the most there is, bytes.
    pub dynamic: u32,
}

/// Launches by family, entry and target.
pub(crate) type Launches = BTreeMap<(&'static str, &'static str, Sm), Launched>;

/// A work of a kernel on a GPU: what one repetition launches of the kernel that has a loop.
pub(crate) struct Doing<'a> {
    /// The GPU.
    pub gpu: &'a Gpu,
    /// What was asked for.
    pub asked: &'a Asked,
    /// The launch with its work.
    pub work: Work,
    /// One of its launches that has a loop.
    pub launch: Launch,
    /// How many of them there are in a repetition.
    pub times: usize,
    /// The figures of that kernel.
    pub figure: &'a Figure<'a>,
}

/// Figures of every budgeted loop of these families, as the committed images have them.
pub(crate) fn gather<'a>(
    tools: &Toolchain,
    images: &Path,
    manifest: &Manifest,
    recipes: &[&'a FamilyRecipe],
) -> Result<Vec<Figure<'a>>, String> {
    let jobs: Vec<(&FamilyRecipe, &Image)> = recipes
        .iter()
        .filter(|recipe| !recipe.inner.is_empty())
        .flat_map(|recipe| {
            let family = manifest.family.iter().filter(|family| family.name == recipe.name);
            let images = family.flat_map(|family| &family.image);
            images.filter(|image| image.kind == Kind::Cubin).map(|image| (*recipe, image))
        })
        .collect();
    let all = in_parallel(&jobs, |(recipe, image)| of_image(tools, images, recipe, image));
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().flatten().collect())
}

fn of_image<'a>(
    tools: &Toolchain,
    images: &Path,
    recipe: &'a FamilyRecipe,
    image: &Image,
) -> Result<Vec<Figure<'a>>, String> {
    let Some(text) = tools.disassemble(image.target, &images.join(&image.file))? else {
        return Ok(Vec::new());
    };
    let sections = sass::sections(&text);
    let mut found = Vec::new();
    for (name, entry) in &image.entry {
        let usage =
            entry.usage.ok_or_else(|| format!("{}: nothing is known of {name}", image.file))?;
        let kernel = Kernel { name, target: image.target, threads: entry.threads, usage };
        found.extend(of_kernel(recipe, &kernel, sections.get(&name[..])));
    }
    Ok(found)
}

/// A kernel as the assembler made it.
pub(crate) struct Kernel<'a> {
    /// Its name.
    pub name: &'a str,
    /// Machine code it is in.
    pub target: Sm,
    /// Most threads of a block, where the source limits them.
    pub threads: Option<u32>,
    /// What it takes.
    pub usage: Usage,
}

/// Figures of every loop of a kernel that has a budget, of its code.
pub(crate) fn of_kernel<'a>(
    recipe: &'a FamilyRecipe,
    kernel: &Kernel,
    code: Option<&Code>,
) -> impl Iterator<Item = Figure<'a>> {
    let budgets = recipe.inner.iter().filter(|budget| budget.covers(kernel.name, kernel.target));
    budgets.map(move |budget| Figure {
        family: &recipe.name,
        entry: kernel.name.to_owned(),
        target: kernel.target,
        registers: kernel.usage.registers,
        spills: kernel.usage.spills,
        shared: kernel.usage.shared,
        threads: kernel.threads.unwrap_or(1024),
        inner: code.and_then(|code| Inner::find(code, budget)),
        budget,
    })
}

/// Everything that is done of what was asked for, by GPU and variant; and of every kernel how it is launched.
pub(crate) fn doings<'a>(plan: &'a Plan, figures: &'a [Figure<'a>]) -> (Vec<Doing<'a>>, Launches) {
    let (mut all, mut launches) = (Vec::new(), Launches::new());
    for asked in &plan.works {
        let Some(kernel) = kernels().find(|kernel| kernel.id == asked.kernel) else { continue };
        for gpu in &plan.gpus {
            for work in works(kernel, &gpu.facts(), asked) {
                let slots: Vec<_> =
                    (0..).map(|id| BufferId(id).into()).take(work.buffers.len()).collect();
                let launched = (work.plan)(&slots);
                for launch in &launched {
                    let target = target_of(figures, launch, gpu.sm).unwrap_or(gpu.sm);
                    let known = launches.entry((launch.family, launch.entry, target)).or_default();
                    known.threads = known.threads.max(launch.block.iter().product());
                    known.dynamic = known.dynamic.max(launch.shared_bytes);
                }
                all.extend(doing(gpu, asked, work, launched, figures));
            }
        }
    }
    (all, launches)
}

/// The work in every variant of the kernel, or as the kernel chooses where it has one way only.
fn works(kernel: &GpuKernel, facts: &DeviceFacts, asked: &Asked) -> Vec<Work> {
    if !matches!((kernel.route)(facts), Route::Native { .. }) {
        return Vec::new();
    }
    let variants = (kernel.variants)(facts);
    let forced = variants.iter().map(|variant| facts.with_variant(kernel.id, variant.name));
    let each: Vec<DeviceFacts> = forced.collect();
    let each = if each.is_empty() { vec![facts.clone()] } else { each };
    each.iter().filter_map(|facts| (kernel.work)(facts, asked.shape).ok()).collect()
}

/// The machine code a GPU takes of a family: that of its very architecture before the plain one.
fn target_of(figures: &[Figure], launch: &Launch, sm: Sm) -> Option<Sm> {
    let own = |figure: &&Figure| {
        figure.family == launch.family
            && figure.entry == launch.entry
            && (figure.target.major, figure.target.minor) == (sm.major, sm.minor)
    };
    figures.iter().filter(own).map(|figure| figure.target).max()
}

fn doing<'a>(
    gpu: &'a Gpu,
    asked: &'a Asked,
    work: Work,
    launched: Vec<Launch>,
    figures: &'a [Figure<'a>],
) -> Option<Doing<'a>> {
    let figure_of = |launch: &Launch| {
        let target = target_of(figures, launch, gpu.sm)?;
        let same = |one: &&Figure| {
            (one.family, &one.entry[..], one.target) == (launch.family, launch.entry, target)
        };
        figures.iter().find(same)
    };
    let (at, figure) =
        launched.iter().enumerate().find_map(|(at, launch)| Some((at, figure_of(launch)?)))?;
    let times = launched.iter().filter(|launch| launch.entry == figure.entry).count();
    let launch = launched.into_iter().nth(at)?;
    Some(Doing { gpu, asked, work, launch, times, figure })
}

impl Figure<'_> {
    /// What a block of it takes, launched so.
    pub(crate) fn block(&self, launched: Option<Launched>) -> Block {
        let dynamic = launched.map_or(0, |launched| launched.dynamic);
        let threads = launched.map_or(self.threads, |launched| launched.threads);
        Block { threads, registers: self.registers, shared: self.shared + dynamic }
    }

    /// Blocks a multiprocessor holds at once.
    pub(crate) fn held(&self, plan: &Plan, launched: Option<Launched>) -> Option<u32> {
        let plain = Sm::new(self.target.major, self.target.minor);
        let limits = plan.limits.get(&plain)?;
        Some(occupancy::blocks(plain, limits, self.block(launched)))
    }
}

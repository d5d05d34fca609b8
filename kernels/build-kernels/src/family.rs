//! Builds one family: PTX per class at its lowest version, cubins from that PTX, all gates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_kernels::image::{Isa, RELEASES, cuda_text};

use crate::budget::{self, Built};
use crate::figures::{self, Figure, Kernel};
use crate::manifest::{Entry, Family, Image, Kind, Manifest};
use crate::recipe::FamilyRecipe;
use crate::sources::{Sources, sha256};
use crate::toolchain::{CUDA, OLD, Toolchain, compute};
use crate::{ptx, report, sass};
use warpscope_kernels::cuda::nvrtc::Unit;

/// Drivers for CUDA 12.0 load cubins of every CUDA 12: CUDA compatibility guide, "Minor version compatibility".
const OLDEST_FOR_CUBINS: u32 = 12_000;

/// First CUDA release that compiles for a target, where that is later than the one cubins need: CUDA 12.8 and 12.9 release notes.
const NEWER_TARGETS: [((u8, u8), u32); 4] =
    [((10, 0), 12_080), ((10, 3), 12_090), ((12, 0), 12_080), ((12, 1), 12_090)];

/// A class of a family in the making: what is built beside every other.
pub(crate) struct Job<'a, 'r> {
    /// The tools.
    pub tools: &'a Toolchain,
    /// The family.
    pub recipe: &'r FamilyRecipe,
    /// Its sources.
    pub sources: &'a Sources,
    /// The class.
    pub class: Sm,
    /// What is assembled from it.
    pub targets: Vec<Sm>,
    /// Where images are written.
    pub out: &'a Path,
    /// Its PTX as it was committed: what the old assembler took once it need not be shown again.
    pub committed: Option<&'a Image>,
}

/// A family as it was built.
pub(crate) struct Made<'a> {
    /// Its images.
    pub family: Family,
    /// What their loops cost.
    pub figures: Vec<Figure<'a>>,
}

/// A class of a family as it was built.
pub(crate) struct Part<'r> {
    ptx: Image,
    cubins: Vec<Image>,
    figures: Vec<Figure<'r>>,
    wrong: Vec<String>,
}

/// PTX of a class and what was assembled from it.
struct Compiled {
    image: Image,
    cubins: Vec<Assembled>,
}

/// A cubin, and what the assembler said when it wrote it.
struct Assembled {
    target: Sm,
    file: String,
    said: String,
}

impl<'r> Made<'r> {
    /// A family of its parts, in the order of its classes; everything wrong with it is the error.
    pub(crate) fn of(
        recipe: &'r FamilyRecipe,
        sources: &Sources,
        parts: impl Iterator<Item = Result<Part<'r>, String>>,
    ) -> Result<Self, String> {
        let (mut ptx, mut cubins) = (Vec::new(), Vec::new());
        let (mut figures, mut wrong) = (Vec::new(), Vec::new());
        for part in parts.collect::<Result<Vec<_>, _>>()? {
            ptx.push(part.ptx);
            cubins.extend(part.cubins);
            figures.extend(part.figures);
            wrong.extend(part.wrong);
        }
        let of = |image: &Image| {
            let target = image.target;
            image.entry.keys().map(move |name| (name.clone(), target)).collect::<Vec<_>>()
        };
        wrong.extend(budget::stale(recipe, &cubins.iter().flat_map(of).collect::<Vec<_>>()));
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        let image = ptx.into_iter().chain(cubins).collect();
        let family = Family { name: recipe.name.clone(), sources: sources.digests(), image };
        Ok(Self { family, figures })
    }
}

impl<'a, 'r> Job<'a, 'r> {
    /// The classes of a family.
    pub(crate) fn of(
        recipe: &'r FamilyRecipe,
        sources: &'a Sources,
        targets: &[Sm],
        tools: &'a Toolchain,
        out: &'a Path,
        committed: &'a Manifest,
    ) -> impl Iterator<Item = Self> + use<'a, 'r> {
        let all = recipe.targets(targets);
        let known = committed.family.iter().find(|family| family.name == recipe.name);
        recipe.classes.iter().map(move |&class| {
            let targets = all.iter().filter(|(_, of)| *of == class);
            let targets = targets.map(|(target, _)| *target).collect();
            let mut images = known.into_iter().flat_map(|family| &family.image);
            let committed = images.find(|image| image.kind == Kind::Ptx && image.class == class);
            Self { tools, recipe, sources, class, targets, out, committed }
        })
    }

    /// Builds it.
    pub(crate) fn build(&self) -> Result<Part<'r>, String> {
        let Compiled { image: ptx, cubins: assembled } = self.compile()?;
        let (mut cubins, mut figures, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
        for cubin in &assembled {
            let (image, loops) = self.measure(&ptx, cubin, &mut wrong)?;
            figures.extend(loops);
            cubins.push(image);
        }
        Ok(Part { ptx, cubins, figures, wrong })
    }

    /// How long it takes, roughly: the longest goes first, so that nothing is waited for in the end.
    pub(crate) fn weight(&self) -> usize {
        self.targets.len() * self.sources.files.values().map(String::len).sum::<usize>()
    }

    /// PTX of a class, with the lowest version that every target and the old assembler take.
    fn compile(&self) -> Result<Compiled, String> {
        let (family, class, sources) = (&self.recipe.name, self.class, self.sources);
        let (text, headers) = sources.unit();
        let unit = Unit { name: &sources.name, text, headers: &headers };
        let written = self.tools.compile(&unit, class);
        let written = written.map_err(|error| format!("{family} for {class}: {error}"))?;
        let header = format!(
            "{family} for {}: compiled by NVRTC {CUDA} from kernels/cuda/{}.",
            compute(class),
            sources.name
        );
        let file = format!("{family}.{}.ptx", compute(class));
        let path = self.out.join(&file);
        let mut refused = format!("{family} for {class}: no version of PTX is low enough");
        let own = ptx::version(&written).ok_or("the compiler wrote no version")?;
        for isa in ptx::versions().filter(|isa| *isa <= own) {
            let text = ptx::relabelled(&written, &header, isa)?;
            write(&path, text.as_bytes())?;
            match self.gate(&path, isa, &text) {
                Ok((cubins, by_old)) => {
                    let image = ptx_image(file, class, isa, &text, by_old)?;
                    return Ok(Compiled { image, cubins });
                }
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Assembles PTX for every target of its class, and with the old assembler what that knows; whether that took part.
    fn gate(&self, path: &Path, isa: Isa, text: &str) -> Result<(Vec<Assembled>, bool), String> {
        if self.targets.is_empty() {
            return Err(format!("{}: nothing is assembled from {}", self.recipe.name, self.class));
        }
        let mut cubins = Vec::new();
        for target in &self.targets {
            let file = format!("{}.{target}.cubin", self.recipe.name);
            let said = self.tools.assemble(path, *target, &self.out.join(&file))?;
            cubins.push(Assembled { target: *target, file, said });
        }
        let same = |image: &&Image| image.sha256 == sha256(text.as_bytes());
        if let Some(image) = self.committed.filter(same) {
            return Ok((cubins, !image.also_assembled_by.is_empty()));
        }
        let mut by_old = false;
        for target in &self.targets {
            by_old |= self.tools.assemble_old(path, isa, *target)?;
        }
        Ok((cubins, by_old))
    }

    /// What a cubin and its loops cost and contain, held against its budgets.
    fn measure(
        &self,
        from: &Image,
        cubin: &Assembled,
        wrong: &mut Vec<String>,
    ) -> Result<(Image, Vec<Figure<'r>>), String> {
        let Assembled { target, file, said } = cubin;
        let (target, path) = (*target, self.out.join(file));
        let usages = report::usages(said);
        let text = self.tools.disassemble(target, &path)?;
        let sections = text.as_deref().map(sass::sections);
        let (mut entries, mut figures) = (from.entry.clone(), Vec::new());
        for (name, entry) in &mut entries {
            let silent = || format!("{file}: the assembler says nothing of {name}");
            let usage = *usages.get(name).ok_or_else(silent)?;
            entry.usage = Some(usage);
            let absent = || format!("{file}: the disassembler shows no {name}");
            let code = sections.as_ref().map(|all| all.get(&name[..]).ok_or_else(absent));
            let code = code.transpose()?;
            let counts = code.map(|code| sass::counts(&code.instructions, self.counted()));
            let built = Built { name, target, entry, counts: counts.as_ref(), code };
            let mut broken = budget::broken(self.recipe, &built);
            if code.is_some() {
                let kernel = Kernel { name, target, threads: entry.threads, usage };
                figures.extend(figures::of_kernel(self.recipe, &kernel, code).inspect(|figure| {
                    broken.extend(budget::broken_inner(
                        figure.budget,
                        target,
                        figure.inner.as_ref(),
                    ));
                }));
            }
            wrong.extend(broken.iter().map(|broken| format!("{file}: {name}: {broken}")));
        }
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let image = Image {
            kind: Kind::Cubin,
            target,
            entry: entries,
            sha256: sha256(&bytes),
            bytes: bytes.len(),
            also_assembled_by: Vec::new(),
            ..oldest(oldest_for_cubin(target), from.clone(), file.clone())?
        };
        Ok((image, figures))
    }

    /// Names of instructions that the family's budgets ask for.
    fn counted(&self) -> impl Iterator<Item = &str> {
        let budgets = self.recipe.budget.iter();
        budgets
            .flat_map(|budget| budget.needs.keys().chain(budget.at_most.keys()))
            .map(String::as_str)
    }
}

fn ptx_image(file: String, class: Sm, isa: Isa, text: &str, by_old: bool) -> Result<Image, String> {
    let entry: BTreeMap<String, Entry> = ptx::entries(text);
    if entry.is_empty() {
        return Err(format!("{file}: no kernel in it; is it extern \"C\" __global__?"));
    }
    let release = isa.first_release().ok_or_else(|| format!("{file}: no driver for PTX {isa}"))?;
    let image = Image {
        file: String::new(),
        kind: Kind::Ptx,
        target: class,
        class,
        isa: isa.to_string(),
        also_assembled_by: by_old.then(|| format!("ptxas {OLD}")).into_iter().collect(),
        sha256: sha256(text.as_bytes()),
        bytes: text.len(),
        oldest_cuda: String::new(),
        oldest_driver: String::new(),
        entry,
    };
    oldest(release.cuda, image, file)
}

/// The oldest CUDA version of a driver that loads machine code for a target.
fn oldest_for_cubin(target: Sm) -> u32 {
    let newer = NEWER_TARGETS.iter().find(|(sm, _)| *sm == (target.major, target.minor));
    newer.map_or(OLDEST_FOR_CUBINS, |(_, cuda)| *cuda)
}

/// An image with its file name and the oldest driver that loads it.
fn oldest(cuda: u32, image: Image, file: String) -> Result<Image, String> {
    let release = RELEASES.iter().find(|release| release.cuda == cuda);
    let driver = release.and_then(|release| release.driver);
    let driver = driver.ok_or_else(|| format!("{file}: no driver known for CUDA {cuda}"))?;
    Ok(Image { file, oldest_cuda: cuda_text(cuda), oldest_driver: driver.to_owned(), ..image })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

//! `build-kernels`: compiles `kernels/cuda` into `kernels/image`, for developers; building and running warpscope needs none of it.
//!
//! `cargo run -p build-kernels -- [--check | --table | --budgets] [--toolchain DIR] [--kernels DIR] [FAMILY…]`
//!
//! A command of its own and not a build script, because images are committed: nobody else needs NVIDIA's compiler, what was tested is
//! what is shipped, and `--check` shows when sources and images part. NVRTC and not nvcc, because it alone is published as a package
//! that still reaches Pascal and Volta.

mod ahead;
mod budget;
mod compare;
mod family;
mod figures;
mod flow;
mod gpus;
mod inner;
#[path = "../../manifest.rs"]
mod manifest;
mod occupancy;
mod pack;
mod parallel;
mod predict;
mod ptx;
mod recipe;
mod report;
mod sass;
mod sources;
mod table;
mod toolchain;
mod write;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use compare::MANIFEST;
use family::{Job, Made};
use figures::Figure;
use manifest::{Family, Kind, Manifest};
use parallel::in_parallel;
use recipe::{FamilyRecipe, Recipe};
use sources::Sources;
use tempfile::TempDir;
use toolchain::{CUDA, Toolchain};
use warpscope_kernels::Sm;

const USAGE: &str = "build-kernels [--check | --table | --budgets] [--toolchain DIR] [--kernels DIR] [FAMILY…]

Compiles kernels/cuda/FAMILY.cu, all where none is named, into the packs of kernels/image, as kernels/kernels.toml says, and writes what it costs into
kernels/BUDGETS.md.
  --table          build nothing, print what the committed images cost
  --budgets        build nothing, write kernels/BUDGETS.md for the committed images: after a change of predict.toml
  --check          build aside and name every committed image that differs, is missing or is no longer built
  --toolchain DIR  folder filled by .ci/toolchain; otherwise target/toolchain
  --kernels DIR    folder with cuda/, image/ and kernels.toml; otherwise the repository's";

/// Sources, recipes and images, around this package.
const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn main() -> ExitCode {
    match Arguments::read(env::args().skip(1)).and_then(|arguments| arguments.run()) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("build-kernels: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What was asked for.
#[derive(Debug)]
struct Arguments {
    check: bool,
    table: bool,
    budgets: bool,
    toolchain: PathBuf,
    kernels: PathBuf,
    families: Vec<String>,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let kernels = PathBuf::from(KERNELS);
        let toolchain = kernels.join("../target/toolchain");
        let (check, table, budgets) = (false, false, false);
        let mut read = Self { check, table, budgets, toolchain, kernels, families: Vec::new() };
        while let Some(word) = words.next() {
            let mut folder =
                || words.next().map(PathBuf::from).ok_or(format!("{word} needs a folder"));
            match &word[..] {
                "--check" => read.check = true,
                "--table" => read.table = true,
                "--budgets" => read.budgets = true,
                "--toolchain" => read.toolchain = folder()?,
                "--kernels" => read.kernels = folder()?,
                option if option.starts_with('-') => return Err(USAGE.to_owned()),
                family => read.families.push(family.to_owned()),
            }
        }
        Ok(read)
    }

    fn run(&self) -> Result<String, String> {
        let recipe = Recipe::parse(&toolchain::read(&self.kernels.join("kernels.toml"))?)?;
        let chosen = self.chosen(&recipe)?;
        let tools = Toolchain::open(&self.toolchain)?;
        let images = self.kernels.join("image");
        if self.table {
            let all = self.costs(self.committed(&tools, &chosen)?, &chosen, true)?.into_iter();
            let all = all.map(|(name, text)| format!("\n## {name}\n\n{text}"));
            return Ok(table::LEGEND.to_owned() + &all.collect::<String>());
        }
        if self.budgets {
            self.renew(self.committed(&tools, &chosen)?, &chosen)?;
            return Ok("BUDGETS.md is what the committed images cost".to_owned());
        }
        let aside = self.aside()?;
        let (built, unpacked) = (made(aside.path().join("built"))?, self.unpack(&aside)?);
        let known = if self.check { manifest_of(&images)? } else { Manifest::default() };
        let made = self.build(&tools, &recipe, &chosen, &built, &known)?;
        let (families, figures): (Vec<_>, Vec<_>) =
            made.into_iter().map(|made| (made.family, made.figures)).unzip();
        let figures = figures.into_iter().flatten().collect();
        let said = families.iter().map(summary).collect::<Vec<_>>().join("\n");
        let manifest = merged(families, &images, &recipe)?;
        fs::write(built.join(MANIFEST), write::text(&manifest))
            .map_err(|error| error.to_string())?;
        match self.check {
            true => compare::same(&built, &unpacked, &images, &manifest)?,
            false => compare::replace(&built, &unpacked, &images, &manifest)?,
        }
        // The committed images are those that were built: their figures are known.
        self.renew(figures, &chosen)?;
        Ok(said)
    }

    /// A temporary folder beside the tools: some 110 MB, which a small /tmp does not hold.
    fn aside(&self) -> Result<TempDir, String> {
        TempDir::with_prefix_in("images-", &self.toolchain)
            .map_err(|error| format!("{}: {error}", self.toolchain.display()))
    }

    /// A folder with the committed images and their manifest.
    fn unpack(&self, aside: &TempDir) -> Result<PathBuf, String> {
        let (packs, folder) = (self.kernels.join("image"), made(aside.path().join("unpacked"))?);
        if let Ok(text) = fs::read_to_string(packs.join(MANIFEST)) {
            pack::unpack(&packs, &parse(&text)?, &folder)?;
            fs::write(folder.join(MANIFEST), text).map_err(|error| error.to_string())?;
        }
        Ok(folder)
    }

    /// Figures of the committed images of families.
    fn committed<'r>(
        &self,
        tools: &Toolchain,
        chosen: &[&'r FamilyRecipe],
    ) -> Result<Vec<Figure<'r>>, String> {
        let aside = self.aside()?;
        let images = self.unpack(&aside)?;
        let manifest = parse(&toolchain::read(&images.join(MANIFEST))?)?;
        figures::gather(tools, &images, &manifest, chosen)
    }

    /// What the images of families cost, by family.
    fn costs(
        &self,
        mut figures: Vec<Figure>,
        chosen: &[&FamilyRecipe],
        detailed: bool,
    ) -> Result<BTreeMap<String, String>, String> {
        let plan = gpus::Plan::read(&self.kernels)?;
        figures.sort_by(|a, b| (a.family, &a.entry, a.target).cmp(&(b.family, &b.entry, b.target)));
        let (doings, launches) = figures::doings(&plan, &figures);
        let of = |family: &&FamilyRecipe| {
            let of: Vec<_> = figures.iter().filter(|one| one.family == family.name).collect();
            let doings: Vec<_> =
                doings.iter().filter(|one| one.figure.family == family.name).collect();
            let section = match detailed {
                true => table::details(&plan, &of, &doings, &launches),
                false => table::section(&plan, &of, &doings),
            };
            (!of.is_empty()).then(|| (family.name.clone(), section))
        };
        Ok(chosen.iter().filter_map(of).collect())
    }

    /// Writes what the families cost into the table of costs, or holds it against what is there.
    fn renew(&self, figures: Vec<Figure>, chosen: &[&FamilyRecipe]) -> Result<(), String> {
        let path = self.kernels.join("BUDGETS.md");
        let before = fs::read_to_string(&path).unwrap_or_default();
        let mut sections =
            if self.families.is_empty() { BTreeMap::new() } else { table::sections(&before) };
        sections.extend(self.costs(figures, chosen, false)?);
        let text = table::document(&gpus::Plan::read(&self.kernels)?, &sections);
        if text == before {
            return Ok(());
        }
        if self.check {
            let stale = "is not what the images cost, run build-kernels and commit what it writes";
            return Err(format!("{} {stale}", path.display()));
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The families asked for. Sources and recipe must name the same.
    fn chosen<'r>(&self, recipe: &'r Recipe) -> Result<Vec<&'r FamilyRecipe>, String> {
        let known = |name: &str| recipe.family.iter().any(|family| family.name == name);
        let folder = self.kernels.join("cuda");
        let files =
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let sources = files.flatten().map(|file| file.file_name().to_string_lossy().into_owned());
        let sources = sources.filter_map(|name| name.strip_suffix(".cu").map(str::to_owned));
        let mut unknown: Vec<String> =
            sources.chain(self.families.iter().cloned()).filter(|name| !known(name)).collect();
        if !unknown.is_empty() {
            unknown.sort_unstable();
            return Err(format!("no row in kernels.toml for {}", unknown.join(", ")));
        }
        let wanted = |family: &&FamilyRecipe| {
            self.families.is_empty() || self.families.contains(&family.name)
        };
        Ok(recipe.family.iter().filter(wanted).collect())
    }

    /// Builds families on all processors, in the order of the recipe.
    fn build<'r>(
        &self,
        tools: &Toolchain,
        recipe: &Recipe,
        chosen: &[&'r FamilyRecipe],
        out: &Path,
        known: &Manifest,
    ) -> Result<Vec<Made<'r>>, String> {
        let cuda = self.kernels.join("cuda");
        let sources = chosen.iter().map(|family| Sources::read(&cuda, &family.name));
        let sources = sources.collect::<Result<Vec<_>, _>>()?;
        let mut jobs: Vec<Job> = chosen
            .iter()
            .zip(&sources)
            .flat_map(|(family, sources)| {
                Job::of(family, sources, &recipe.targets, tools, out, known)
            })
            .collect();
        jobs.sort_by_key(|job| Reverse(job.weight()));
        let names = jobs.iter().map(|job| (&job.recipe.name[..], job.class));
        let mut parts: BTreeMap<_, _> = names.zip(in_parallel(&jobs, Job::build)).collect();
        let made = chosen.iter().zip(&sources).map(|(family, sources)| {
            let classes = family.classes.iter();
            let parts = classes.filter_map(|class| parts.remove(&(&family.name[..], *class)));
            Made::of(family, sources, parts)
        });
        let (built, failed): (Vec<_>, Vec<_>) = made.partition(Result::is_ok);
        let failed: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
        match failed.is_empty() {
            true => Ok(built.into_iter().flatten().collect()),
            false => Err(failed.join("\n")),
        }
    }
}

fn parse(manifest: &str) -> Result<Manifest, String> {
    toml::from_str(manifest).map_err(|error| format!("{MANIFEST}: {error}"))
}

/// The manifest as it was committed; an empty one where there is none.
fn manifest_of(images: &Path) -> Result<Manifest, String> {
    fs::read_to_string(images.join(MANIFEST)).map_or(Ok(Manifest::default()), |text| parse(&text))
}

fn made(path: PathBuf) -> Result<PathBuf, String> {
    let made = fs::create_dir_all(&path);
    made.map(|()| path.clone()).map_err(|error| format!("{}: {error}", path.display()))
}

/// The manifest: families built now, and of the others what it said before.
fn merged(built: Vec<Family>, images: &Path, recipe: &Recipe) -> Result<Manifest, String> {
    let before = manifest_of(images)?;
    let newly: Vec<String> = built.iter().map(|family| family.name.clone()).collect();
    let listed = |name: &str| recipe.family.iter().any(|family| family.name == name);
    let kept = before.family.into_iter();
    let kept = kept.filter(|family| !newly.contains(&family.name) && listed(&family.name));
    let mut family: Vec<Family> = kept.chain(built).collect();
    family.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Manifest { compiler: format!("NVRTC {CUDA}"), assembler: format!("ptxas {CUDA}"), family })
}

/// One line of what was built, and what could not be looked at.
fn summary(family: &Family) -> String {
    let of = |kind: Kind| family.image.iter().filter(move |image| image.kind == kind);
    let ptx: Vec<String> =
        of(Kind::Ptx).map(|image| format!("{} ({})", image.class, image.isa)).collect();
    let cubins: Vec<String> = of(Kind::Cubin).map(|image| image.target.to_string()).collect();
    let bytes: usize = family.image.iter().map(|image| image.bytes).sum();
    let young =
        of(Kind::Ptx).filter(|image| image.also_assembled_by.is_empty()).map(|image| image.class);
    let list = |all: Vec<Sm>| all.iter().map(Sm::to_string).collect::<Vec<_>>().join(" ");
    format!(
        "{}: PTX {}; cubins {}; {} KiB; not gated by ptxas {}: {}",
        family.name,
        ptx.join(" "),
        cubins.join(" "),
        bytes / 1024,
        toolchain::OLD,
        or_none(list(young.collect())),
    )
}

fn or_none(text: String) -> String {
    if text.is_empty() { "none".to_owned() } else { text }
}

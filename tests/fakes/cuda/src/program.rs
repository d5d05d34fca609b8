//! What runs: PTX, in the interpreter. A cubin that is one of warpscope's own runs as the PTX it was assembled from; of
//! another one only the names are known, and a launch of it is refused.

use ptx_interpreter::{Fault, FaultKind, Limits, Module};
use warpscope_kernels::image::by_bytes;

use crate::codes::{
    ILLEGAL_ADDRESS, INVALID_VALUE, LAUNCH_FAILED, LAUNCH_TIMEOUT, MISALIGNED_ADDRESS,
};
use crate::image::Cubin;
use crate::launch::Launch;

/// An entry point.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    /// Shared memory it always has.
    pub(crate) shared_bytes: u32,
    /// Local memory of a thread.
    pub(crate) local_bytes: u32,
    /// Most threads of a block, if it says so.
    pub(crate) threads: Option<u32>,
}

/// Where a parameter lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// A loaded program.
pub(crate) struct Program {
    /// What the interpreter runs, if anything.
    pub(crate) module: Option<Module>,
    /// Entry points that do not run, each with why, in a sentence.
    named: Vec<(String, String)>,
}

impl Program {
    /// PTX as a program handed it over. What the interpreter does not read is taken for invalid, unless it is one of
    /// warpscope's own images, which an assembler has accepted.
    pub(crate) fn of_ptx(text: &str) -> Result<Self, String> {
        match Module::parse(text) {
            Ok(module) => Ok(Self { module: Some(module), named: Vec::new() }),
            Err(_) if by_bytes(text.as_bytes()).is_some() => Ok(Self::of_accepted(text)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// A cubin.
    pub(crate) fn of_cubin(cubin: &Cubin, bytes: &[u8]) -> Self {
        if let Some(text) = by_bytes(bytes).and_then(|image| image.source()?.text()) {
            return Self::of_accepted(&text);
        }
        let why = "no PTX is known for this cubin";
        let named = cubin.kernels.iter().map(|it| (it.name.clone(), why.to_owned()));
        Self { module: None, named: named.collect() }
    }

    /// PTX that an assembler has accepted: entry points that the interpreter does not read are left out of what runs.
    fn of_accepted(text: &str) -> Self {
        let mut text = text.to_owned();
        let mut named = Vec::new();
        loop {
            let error = match Module::parse(&text) {
                Ok(module) => return Self { module: Some(module), named },
                Err(error) => error,
            };
            let Some((name, rest)) = without_entry(&text, error.line) else {
                return Self { module: None, named };
            };
            named.push((name, format!("the interpreter does not run it: {error}")));
            text = rest;
        }
    }

    /// An entry point by name. Of one that does not run, nothing but the name is known.
    pub(crate) fn entry(&self, name: &str) -> Option<Entry> {
        if self.named.iter().any(|known| known.0 == name) {
            return Some(Entry {
                name: name.to_owned(),
                params: Vec::new(),
                shared_bytes: 0,
                local_bytes: 0,
                threads: None,
            });
        }
        let found = self.module.as_ref()?.entry(name)?;
        let offsets = found.param_offsets().0;
        let param = |(offset, param): (u32, &ptx_interpreter::Param)| Param {
            offset: offset as usize,
            size: param.bytes as usize,
        };
        let threads = found.required_threads.or(found.max_threads);
        Some(Entry {
            name: name.to_owned(),
            params: offsets.into_iter().zip(&found.params).map(param).collect(),
            shared_bytes: found.static_shared,
            local_bytes: found.local_bytes,
            threads: threads.map(|sizes| sizes.iter().product()),
        })
    }

    /// The module an entry point runs in, or why it does not run.
    pub(crate) fn runs(&self, name: &str) -> Result<&Module, &str> {
        match (&self.module, self.named.iter().find(|known| known.0 == name)) {
            (_, Some((_, why))) => Err(why),
            (Some(module), None) => Ok(module),
            (None, None) => Err("there is no such entry"),
        }
    }
}

/// The name of the entry a line lies in, and the text with blank lines in its place, so that lines keep their numbers. As the
/// compiler writes it: an entry ends with a brace in the first column.
fn without_entry(text: &str, line: u32) -> Option<(String, String)> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = (line as usize).checked_sub(1).filter(|at| *at < lines.len())?;
    let first = (0..=at).rev().find(|at| lines[*at].contains(".entry"))?;
    let last = (at..lines.len()).find(|at| lines[*at] == "}")?;
    let name = lines[first].split_once(".entry")?.1.split('(').next()?.trim().to_owned();
    lines[first..=last].fill("");
    Some((name, lines.join("\n")))
}

/// Runs a launch, and says how many instructions of warps that took.
pub(crate) fn run(
    module: &Module,
    name: &str,
    launch: &Launch,
    memory: &mut ptx_interpreter::Memory,
    limits: Limits,
) -> Result<u64, Fault> {
    let Launch { grid, block, shared, ref params, .. } = *launch;
    ptx_interpreter::launch(module, name, grid, block, shared, params, memory, limits)
        .map(|outcome| outcome.instructions)
}

/// What hardware makes of a fault, and whether it ends the context. What no hardware notices, as a race, ends it too.
pub(crate) fn status(kind: FaultKind) -> (u32, bool) {
    match kind {
        FaultKind::Bounds => (ILLEGAL_ADDRESS, true),
        FaultKind::Misaligned => (MISALIGNED_ADDRESS, true),
        FaultKind::Limit => (LAUNCH_TIMEOUT, true),
        FaultKind::Launch => (INVALID_VALUE, false),
        FaultKind::Race
        | FaultKind::Uninitialised
        | FaultKind::InFlight
        | FaultKind::Barrier
        | FaultKind::Divergence
        | FaultKind::Trap => (LAUNCH_FAILED, true),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Suffix;
    use warpscope_kernels::image::{Image, ImageKind, images};

    use super::*;
    use crate::image::{Chosen, Loader, choose, take};

    /// What a driver of today makes of an image on the device it is for.
    fn chosen(image: &Image) -> Chosen {
        // PTX is a text with a zero behind it.
        let given = [image.bytes(), vec![0]].concat();
        // SAFETY: it is an image.
        let taken = unsafe { take(given.as_ptr().cast()) }.expect("an image");
        assert!(taken == image.bytes(), "{image:?} is taken whole");
        let device = warpscope_kernels::Sm { suffix: Suffix::None, ..image.target };
        choose(&taken, Loader { device, driver: 13050 }).expect("its own device loads it")
    }

    #[test]
    fn every_image_of_warpscope_runs_as_the_ptx_it_was_made_from() {
        if images().is_empty() {
            println!("SKIPPED: no images are built in");
        }
        for image in images() {
            let program = match chosen(image) {
                Chosen::Ptx { text, target } => {
                    assert_eq!((image.kind, target), (ImageKind::Ptx, image.target));
                    Program::of_ptx(&text).expect("an assembler took it")
                }
                Chosen::Cubin(cubin, bytes) => {
                    assert_eq!((image.kind, cubin.target), (ImageKind::Cubin, image.target));
                    for entry in image.entries() {
                        let usage = entry.usage.expect("machine code has one");
                        let found = cubin.kernels.iter().find(|it| it.name == entry.name);
                        let registers = found.map(|it| it.registers);
                        assert_eq!(registers, Some(usage.registers), "{image:?} {}", entry.name);
                    }
                    Program::of_cubin(&cubin, &bytes)
                }
            };
            for entry in image.entries() {
                assert!(program.entry(entry.name).is_some(), "{image:?} {}", entry.name);
            }
            let told = program.named.iter().filter(|_| image.kind == ImageKind::Ptx);
            told.for_each(|(name, why)| println!("{image:?} {name} is not run: {why}"));
        }
    }

    #[test]
    fn of_a_strangers_cubin_the_names_are_known_and_nothing_runs() {
        let kernel = crate::image::Kernel { name: "secret".to_owned(), registers: 8 };
        let cubin = Cubin { target: warpscope_kernels::Sm::new(7, 5), kernels: vec![kernel] };
        let program = Program::of_cubin(&cubin, b"\x7fELF of somebody else");
        assert!(program.entry("secret").is_some() && program.entry("other").is_none());
        assert_eq!(program.runs("secret").err(), Some("no PTX is known for this cubin"));
    }

    #[test]
    fn entries_that_are_not_read_are_left_out_and_the_others_run() {
        let text = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry good(\n)\n{\nret;\n}\n\
                    .visible .entry strange()\n{\nnonsense;\n}\n.visible .entry last()\n{\nret;\n}\n";
        let program = Program::of_accepted(text);
        assert!(program.runs("good").is_ok() && program.runs("last").is_ok());
        let why = program.runs("strange").expect_err("nobody runs it").to_owned();
        assert!(why.contains("line 11"), "{why}");
        assert!(["good", "strange", "last"].iter().all(|name| program.entry(name).is_some()));
    }

    #[test]
    fn ptx_that_is_none_is_invalid() {
        let text =
            ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry f() { nonsense; }\n";
        assert!(Program::of_ptx(text).is_err());
    }
}

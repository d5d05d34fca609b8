//! Which image of a family the driver takes.
//!
//! What the table says should load is tried in its order, best first; the driver has the last word, and what it refused is
//! kept, for that is what a person asks about.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::context::Context;
use super::module::{Function, Module};
use super::status::{Effect, effect};
use crate::gpu::{DeviceFacts, MachineError};
use crate::image::{Candidate, Image, pick};

/// One image that should run on the device.
#[derive(Clone, Debug)]
pub struct Loadable {
    /// How it would run, in words: `cubin sm_80 (same major)`.
    pub how: String,
    /// Where its bytes are.
    pub bytes: Bytes,
}

/// Where the bytes of an image are.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// Packed into this program, to be unpacked when they are loaded.
    BuiltIn(&'static Image),
    /// Here.
    Given(Vec<u8>),
}

impl Loadable {
    fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.bytes {
            Bytes::BuiltIn(image) => Cow::Owned(image.bytes()),
            Bytes::Given(bytes) => Cow::Borrowed(bytes),
        }
    }

    /// sha256 of a built-in image; empty of one that was given.
    fn sha256(&self) -> String {
        match self.bytes {
            Bytes::BuiltIn(image) => image.sha256.to_owned(),
            Bytes::Given(_) => String::new(),
        }
    }
}

/// Gives the images of a family that should run on a device, best first, or says why there are none.
pub type Source = fn(&str, &DeviceFacts) -> Result<Vec<Loadable>, String>;

/// The images built into this program.
pub fn built_in(family: &str, device: &DeviceFacts) -> Result<Vec<Loadable>, String> {
    let pick = pick(family, device);
    let loadable = |candidate: &Candidate<'static>| Loadable {
        how: candidate.to_string(),
        bytes: Bytes::BuiltIn(candidate.image),
    };
    let found: Vec<_> = pick.candidates.iter().map(loadable).collect();
    if found.is_empty() { Err(pick.why_not) } else { Ok(found) }
}

/// How a family runs on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageUse {
    /// The family.
    pub family: String,
    /// The image that was taken, in words.
    pub how: String,
    /// Its sha256; empty of one that was given by the caller.
    pub sha256: String,
    /// Images the driver refused before, in words, each with what it said.
    pub refused: Vec<(String, String)>,
    /// What the driver's compiler said, mostly nothing.
    pub log: String,
}

struct Family {
    module: Rc<Module>,
    functions: BTreeMap<String, Function>,
    image: ImageUse,
}

/// Families loaded so far. None is loaded before it is needed.
pub(super) struct Images {
    source: Source,
    families: BTreeMap<String, Family>,
}

impl Images {
    /// None yet.
    pub(super) fn new(source: Source) -> Self {
        Self { source, families: BTreeMap::new() }
    }

    /// How each family runs that was loaded.
    pub(super) fn uses(&self) -> impl Iterator<Item = &ImageUse> {
        self.families.values().map(|family| &family.image)
    }

    /// An entry, loading its family where that was not done.
    pub(super) fn entry(
        &mut self,
        context: &Rc<Context>,
        facts: &DeviceFacts,
        (family, entry): (&str, &str),
    ) -> Result<&mut Function, MachineError> {
        if !self.families.contains_key(family) {
            let candidates = (self.source)(family, facts)
                .map_err(|why| MachineError::NoImage { family: family.to_owned(), why })?;
            self.load(context, (family, entry), candidates)?;
        }
        let Some(loaded) = self.families.get_mut(family) else {
            unreachable!("was there or has just been loaded")
        };
        if !loaded.functions.contains_key(entry) {
            let function = find(&loaded.module, family, entry)?;
            loaded.functions.insert(entry.to_owned(), function);
        }
        Ok(loaded.functions.get_mut(entry).expect("was there or has just been found"))
    }

    /// Makes the first of these images that the driver takes the image of a family. An image counts as taken when an entry
    /// was found in it, for a driver that loads lazily refuses no earlier.
    fn load(
        &mut self,
        context: &Rc<Context>,
        (family, entry): (&str, &str),
        candidates: Vec<Loadable>,
    ) -> Result<(), MachineError> {
        let taken = first_taken(family, candidates, |candidate| {
            let (module, log) = Module::load(context, &candidate.bytes());
            let found = module.and_then(|module| {
                let function = find(&module, family, entry)?;
                Ok((module, function))
            });
            (found, log)
        })?;
        let ((module, function), image) = taken;
        let functions = BTreeMap::from([(entry.to_owned(), function)]);
        self.families.insert(family.to_owned(), Family { module, functions, image });
        Ok(())
    }

    /// Puts an image of the caller's in the place of a family. Gives what the driver's compiler said, either way.
    pub(super) fn put(
        &mut self,
        context: &Rc<Context>,
        family: &str,
        candidate: &Loadable,
    ) -> (Result<(), MachineError>, String) {
        let (module, log) = Module::load(context, &candidate.bytes());
        let put = module.map(|module| {
            let image = use_of(family, candidate, Vec::new(), log.clone());
            let functions = BTreeMap::new();
            self.families.insert(family.to_owned(), Family { module, functions, image });
        });
        (put, log)
    }

    /// Unloads a family, where it was loaded.
    pub(super) fn forget(&mut self, family: &str) {
        self.families.remove(family);
    }
}

fn find(module: &Rc<Module>, family: &str, entry: &str) -> Result<Function, MachineError> {
    const NOT_FOUND: u32 = 500;
    module.function(entry).map_err(|error| match error {
        MachineError::Driver { code: NOT_FOUND, .. } => {
            MachineError::refused(format!("the image of {family} has no entry {entry}"))
        }
        other => other,
    })
}

fn use_of(
    family: &str,
    candidate: &Loadable,
    refused: Vec<(String, String)>,
    log: String,
) -> ImageUse {
    let (family, how) = (family.to_owned(), candidate.how.clone());
    ImageUse { family, how, sha256: candidate.sha256(), refused, log }
}

/// The first image the driver takes. An error that is not about the image ends the search.
fn first_taken<T>(
    family: &str,
    candidates: Vec<Loadable>,
    mut load: impl FnMut(&Loadable) -> (Result<T, MachineError>, String),
) -> Result<(T, ImageUse), MachineError> {
    let mut refused = Vec::new();
    for candidate in candidates {
        match load(&candidate) {
            (Ok(loaded), log) => return Ok((loaded, use_of(family, &candidate, refused, log))),
            (Err(error), log) if effect(&error) == Effect::Image => {
                let said = log.lines().next().map(|line| format!(": {line}")).unwrap_or_default();
                refused.push((candidate.how, format!("{error}{said}")));
            }
            (Err(error), _) => return Err(error),
        }
    }
    let told: Vec<_> = refused.iter().map(|(how, why)| format!("{how}: {why}")).collect();
    let why = format!("the driver refused every image of this build ({})", told.join("; "));
    Err(MachineError::NoImage { family: family.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::super::status::check;
    use super::*;

    fn candidates() -> Vec<Loadable> {
        let one = |how: &str| Loadable { how: how.to_owned(), bytes: Bytes::Given(Vec::new()) };
        vec![one("cubin sm_75"), one("PTX for sm_70"), one("PTX for sm_60")]
    }

    fn search(codes: &[u32]) -> (Result<(usize, ImageUse), MachineError>, usize) {
        let mut tried = 0;
        let found = first_taken("gemm", candidates(), |_| {
            let code = codes[tried];
            tried += 1;
            let log = if code == 218 { "line 3: what\nmore" } else { "" };
            (check("cuModuleLoadDataEx", code).map(|()| tried), log.to_owned())
        });
        (found, tried)
    }

    #[test]
    fn what_the_driver_refuses_is_followed_by_the_next_and_kept() {
        let (found, tried) = search(&[209, 218, 0]);
        let (_, image) = found.expect("the third");
        assert_eq!((tried, image.how.as_str()), (3, "PTX for sm_60"));
        let refused = [
            ("cubin sm_75", "cuModuleLoadDataEx returned 209 (CUDA_ERROR_NO_BINARY_FOR_GPU)"),
            (
                "PTX for sm_70",
                "cuModuleLoadDataEx returned 218 (CUDA_ERROR_INVALID_PTX): line 3: what",
            ),
        ];
        assert_eq!(image.refused, refused.map(|(how, why)| (how.to_owned(), why.to_owned())));
    }

    #[test]
    fn when_all_are_refused_each_is_named() {
        let (found, _) = search(&[209, 222, 221]);
        let error = found.expect_err("none").to_string();
        for word in ["gemm", "cubin sm_75", "222", "CUDA_ERROR_JIT_COMPILER_NOT_FOUND"] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn an_error_that_is_not_about_the_image_ends_the_search() {
        for code in [2, 700, 1234] {
            let (found, tried) = search(&[209, code, 0]);
            assert_eq!(tried, 2);
            assert!(matches!(found, Err(MachineError::Driver { code: c, .. }) if c == code));
        }
    }
}

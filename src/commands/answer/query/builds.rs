//! Builds and the CUDA in them: whose wheel a `cu128` is, and what a version of torch says of the CUDA beside it.

use warpscope_probes::releases;
use warpscope_probes::rules::{RuleBase, Settings, build_of};

use super::asked::Asked;
use super::package::{self, first_number};
use crate::engine::Question;
use crate::engine::builds::{
    TORCH, TORCH_WHEEL, cuda_of_its_torch, cuda_of_torch, cuda_of_wheel, image_cuda, is_published,
    triton_of_torch,
};
use crate::engine::vocabulary::{knows, plain};

/// The build of a package that is made anew every day.
const NIGHTLY: &str = "nightly";

/// Frameworks that run without torch. One beside them gives them no CUDA, and a build for a CUDA is theirs.
const WITHOUT_TORCH: &[&str] = &[
    "candle",
    "ctranslate2",
    "cublas",
    "cuda",
    "cudnn",
    "ik_llama.cpp",
    "jax",
    "koboldcpp",
    "llama-cpp",
    "llama-cpp-python",
    "llamafile",
    "lm-studio",
    "mistralrs",
    "mlc-llm",
    "nccl",
    "ollama",
    "onnxruntime",
    "tei",
    "tensorflow",
    "tensorrt",
    "tensorrt-edge-llm",
    "tensorrt-rtx",
    "whisper-cpp",
];

impl Asked<'_> {
    /// A setting that was named; of a build for one CUDA, whose it is.
    pub(super) fn say_setting(
        &mut self,
        base: &RuleBase,
        key: &str,
        value: &str,
    ) -> Result<(), String> {
        match cuda_of_wheel(value).filter(|_| key == "wheel") {
            Some(_) if self.framework.id == TORCH && self.is_nightly("wheel") => Ok(()),
            Some(cuda) if self.framework.id != TORCH => self.take_cuda_build(base, value, &cuda),
            _ => self.say(key, value),
        }
    }

    /// A build for one CUDA is torch's behind a torch, and where no build of the framework is called so: that a wheel of torch was taken
    /// says nothing against a wheel of the framework.
    fn take_cuda_build(&mut self, base: &RuleBase, build: &str, cuda: &str) -> Result<(), String> {
        let id = &self.framework.id;
        let is_own = knows(base, id, "wheel", build) && !self.is_behind_torch;
        let asks_cuda = package::speaks_of(base, self.framework, "cuda");
        match is_own {
            true => self.say("wheel", build)?,
            false if self.runs_on_torch() && !self.is_nightly(TORCH_WHEEL) => {
                self.say(TORCH_WHEEL, build)?;
            }
            false if !self.runs_on_torch() && !asks_cuda => self.unheard.push(build.to_owned()),
            false if !self.runs_on_torch() => self.imply_wheel(base, cuda)?,
            false => {}
        }
        if !asks_cuda {
            return Ok(());
        }
        self.imply("cuda", cuda)?;
        if self.runs_on_torch() { Ok(()) } else { self.imply_wheel(base, cuda) }
    }

    fn runs_on_torch(&self) -> bool {
        !WITHOUT_TORCH.contains(&&*self.framework.id)
    }

    fn is_nightly(&self, key: &str) -> bool {
        self.said.get(key).is_some_and(|build| build == NIGHTLY)
    }

    /// A release of torch that is built anew every day, of which the tables of releases say nothing.
    pub(super) fn take_nightly(&mut self, word: &str) -> Result<bool, String> {
        let key = match () {
            () if plain(word) != NIGHTLY => return Ok(false),
            () if self.framework.id == TORCH => "wheel",
            () if self.is_behind_torch => TORCH_WHEEL,
            () => return Ok(false),
        };
        self.said.remove(key);
        self.say(key, NIGHTLY)?;
        self.open.push(format!("torch {NIGHTLY}"));
        Ok(true)
    }

    pub(super) fn say_package(
        &mut self,
        base: &RuleBase,
        id: &str,
        version: &str,
    ) -> Result<(), String> {
        self.say(id, version)?;
        if id == "cuda" { self.imply_wheel(base, version) } else { Ok(()) }
    }

    /// The build that is called after a CUDA, where there is one of this release.
    fn imply_wheel(&mut self, base: &RuleBase, cuda: &str) -> Result<(), String> {
        let id = &self.framework.id;
        let wheels = [wheel_of_cuda(cuda), format!("cuda{}", first_number(cuda))];
        let release = self.said.get(id).filter(|_| id == TORCH);
        let is_there = |wheel: &&String| {
            knows(base, id, "wheel", wheel)
                && release.is_none_or(|torch| is_published(base, torch, wheel))
        };
        match wheels.iter().find(is_there) {
            Some(wheel) => self.imply("wheel", wheel),
            None => Ok(()),
        }
    }

    /// What follows from something that was named, unless it was named itself.
    fn imply(&mut self, key: &str, value: &str) -> Result<(), String> {
        if self.said.contains_key(key) && !self.implied.contains(key) {
            return Ok(());
        }
        self.implied.remove(key);
        self.said.remove(key);
        self.say(key, value)?;
        self.implied.insert(key.to_owned());
        Ok(())
    }

    /// Forgets what was only implied, where it is named after all.
    pub(super) fn forget_implied(&mut self, key: &str) {
        if self.implied.remove(key) {
            self.said.remove(key);
        }
    }

    /// What the torch beside the framework, or the build of the framework, says of the rest.
    pub(super) fn finish_builds(&mut self, base: &RuleBase) -> Result<(), String> {
        self.finish_torch_wheel(base)?;
        self.finish_triton()?;
        self.finish_release_file(base)?;
        let asks = package::speaks_of(base, self.framework, "cuda");
        let takes = asks && self.runs_on_torch();
        let said =
            self.said.iter().filter(|(key, _)| [TORCH, TORCH_WHEEL, "platform"].contains(&&***key));
        let said = Settings::new(said.map(|(key, value)| (&**key, &**value)))?;
        let of_torch = || cuda_of_its_torch(&said).filter(|_| takes);
        match self.cuda_of_image().filter(|_| asks).or_else(of_torch) {
            Some(cuda) => self.imply("cuda", &cuda),
            None => Ok(()),
        }
    }

    /// The build of a torch that was named without one: that of the framework, or the one for the CUDA that was named.
    fn finish_torch_wheel(&mut self, base: &RuleBase) -> Result<(), String> {
        let is_beside = self.framework.id != TORCH && self.runs_on_torch();
        let torch = self.said.get(TORCH).filter(|one| is_beside && build_of(one).is_none());
        let Some(torch) = torch else { return Ok(()) };
        let own = self.said.get("wheel").filter(|wheel| cuda_of_wheel(wheel).is_some());
        let of_cuda = self.said.get("cuda").map(|cuda| wheel_of_cuda(cuda));
        let of_cuda = of_cuda.filter(|wheel| is_published(base, torch, wheel));
        match own.cloned().or(of_cuda) {
            Some(wheel) => self.imply(TORCH_WHEEL, &wheel),
            None => Ok(()),
        }
    }

    /// On Windows a CUDA behind what needs no torch is the name of a release file: hardly anybody has a compiler there.
    fn finish_release_file(&mut self, base: &RuleBase) -> Result<(), String> {
        let id = &self.framework.id;
        let is_windows = self.said.get("platform").is_some_and(|one| one == "windows");
        let is_file = is_windows
            && self.said.contains_key("cuda")
            && knows(base, id, "wheel", "prebuilt")
            && !self.runs_on_torch();
        if is_file { self.imply("wheel", "prebuilt") } else { Ok(()) }
    }

    /// The CUDA of the image of the release that was named.
    fn cuda_of_image(&self) -> Option<String> {
        let is_image = self.said.get("wheel").is_some_and(|wheel| wheel == "docker");
        let version = self.said.get(&self.framework.id).filter(|_| is_image)?;
        image_cuda(&self.framework.id, version)
    }

    /// Kernels in Triton run by the one that the torch beside them, or the release, asks for.
    fn finish_triton(&mut self) -> Result<(), String> {
        if !self.has_triton || self.said.contains_key("triton") {
            return Ok(());
        }
        let pinned = |package: &str| {
            let version = self.said.get(&self.framework.id)?;
            let pins = releases::pins(&self.framework.id, version);
            pins.iter().find(|pin| pin.package == package)?.taken().map(str::to_owned)
        };
        let torch = self.said.get(TORCH).cloned().or_else(|| pinned(TORCH));
        let of_torch = torch.and_then(|torch| triton_of_torch(&torch).map(str::to_owned));
        match pinned("triton").or(of_torch) {
            Some(triton) => self.imply("triton", &triton),
            None => Ok(()),
        }
    }

    /// Rows for a CUDA that the release could not have met take that of its time, where there are no others of their kind.
    pub(super) fn take_cuda_of_its_time(&mut self, base: &RuleBase, version: &str) {
        if !self.runs_on_torch() {
            return;
        }
        let date = version.parse().ok();
        let date = date.and_then(|version| releases::date_of(&self.framework.id, &version));
        let torch = date.and_then(|date| releases::release_on(TORCH, date));
        let Some(cuda) = torch.and_then(cuda_of_torch) else { return };
        let shown = |row: &Question| package::is_shown(base, row, version);
        let without = |row: &Question| row.config.without(&["cuda"]);
        let kinds: Vec<Settings> =
            self.rows.0.iter().filter(|row| shown(row)).map(without).collect();
        self.rows.replace("cuda", cuda, |row| !shown(row) && !kinds.contains(&without(row)));
    }
}

/// `cu128` is built with CUDA 12.8.
fn wheel_of_cuda(cuda: &str) -> String {
    let numbers: Vec<&str> = cuda.split('.').take(2).collect();
    format!("cu{}", numbers.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frameworks_without_torch_are_frameworks() {
        for id in WITHOUT_TORCH {
            assert!(RuleBase::builtin().framework(id).is_some(), "{id}");
        }
    }
}

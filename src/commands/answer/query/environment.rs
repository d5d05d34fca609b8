//! What a framework runs with and on: packages, the driver, the system of a Jetson.

use warpscope_probes::rules::{Kind, RuleBase, kind_of};

use super::asked::Asked;
use super::package;
use super::word::{check_version, find};
use crate::engine::vocabulary::knows;
use crate::engine::{DRIVER, Question};

/// Majors of JetPack that had GPUs with CUDA.
const JETPACKS: &[&str] = &["4", "5", "6", "7"];

impl Asked<'_> {
    /// A package with a version that belongs to this framework, or what it runs on.
    pub(super) fn take_package(
        &mut self,
        base: &RuleBase,
        name: &str,
        version: &str,
    ) -> Result<bool, String> {
        if name == "jetpack" {
            return self.take_jetpack(base, Some(version)).map(|()| true);
        }
        let id = find(base, name).map_or(name, |framework| &framework.id);
        if id == DRIVER && self.framework.id != DRIVER {
            return self.take_driver(version).map(|()| true);
        }
        let names = |question: &Question| question.config.get(id).is_some();
        let in_row = self.rows.0.iter().any(names);
        let is_part = in_row || package::belongs_to(base, self.framework, id);
        if kind_of(id) != Ok(Kind::Package) || !is_part || *id == self.framework.id {
            return Ok(false);
        }
        if !package::is_library(id) || package::is_setting(base, self.framework, id) {
            self.rows.narrow(names);
        }
        self.say_package(base, id, version).map(|()| true)
    }

    pub(super) fn say_package(
        &mut self,
        base: &RuleBase,
        id: &str,
        version: &str,
    ) -> Result<(), String> {
        self.say(id, version)?;
        let major = version.split('.').next().unwrap_or(version);
        let wheels = [format!("cu{}", version.replace('.', "")), format!("cuda{major}")];
        let known = |wheel: &&String| knows(base, &self.framework.id, "wheel", wheel);
        match wheels.iter().find(known).filter(|_| id == "cuda") {
            Some(wheel) => self.imply_wheel(wheel),
            None => Ok(()),
        }
    }

    /// The build that is named after a CUDA, unless another was named that may hold any: `docker`.
    fn imply_wheel(&mut self, wheel: &str) -> Result<(), String> {
        match self.said.get("wheel") {
            Some(said) if !is_named_after_cuda(said) => Ok(()),
            said => {
                self.implied_wheel = said.is_none();
                self.say("wheel", wheel)
            }
        }
    }

    /// Forgets a build that was only implied, where one is named that may hold any CUDA.
    pub(super) fn forget_implied(&mut self, key: &str, value: &str) {
        if key == "wheel" && self.implied_wheel && !is_named_after_cuda(value) {
            self.said.remove(key);
            self.implied_wheel = false;
        }
    }

    pub(super) fn take_driver(&mut self, version: &str) -> Result<(), String> {
        check_version(version)?;
        self.note(DRIVER, version)?;
        self.driver = Some(version.to_owned());
        Ok(())
    }

    /// JetPack is the system of a Jetson, and the name of some builds for it.
    pub(super) fn take_jetpack(
        &mut self,
        base: &RuleBase,
        version: Option<&str>,
    ) -> Result<(), String> {
        let knows = |key, value| knows(base, &self.framework.id, key, value);
        let major = version.and_then(|version| version.split('.').next());
        if let Some(unknown) = major.filter(|major| !JETPACKS.contains(major)) {
            return Err(format!("JetPack {unknown} is not known; known: {}", JETPACKS.join(", ")));
        }
        self.is_jetson = true;
        if let Some(major) = major.filter(|_| knows("runner", "jetpack6")) {
            return self.say("runner", &format!("jetpack{major}"));
        }
        self.open.extend(version.map(|version| format!("jetpack {version}")));
        match knows("wheel", "jetpack") {
            true => self.say("wheel", "jetpack"),
            false => self.say("platform", "jetson"),
        }
    }
}

fn is_named_after_cuda(wheel: &str) -> bool {
    wheel.starts_with("cu")
}

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
        if *id == self.framework.id {
            return self.take_alias(base, name, version);
        }
        if kind_of(id) != Ok(Kind::Package) || !is_part {
            return Ok(false);
        }
        if !package::is_library(id) || package::is_setting(base, self.framework, id) {
            self.rows.narrow(names);
        }
        self.say_package(base, id, version).map(|()| true)
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

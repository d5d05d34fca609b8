//! What was published about a version that somebody names: the packages its release pins, and the code its wheel holds.
//!
//! The wheel is that of the package index for Linux, for the CPU that the GPU is sold with, else for x86-64. A library counts as a whole here, so two things are claimed: that the
//! package has no code for a GPU, and that it has some, which confirms a rule and refutes none.

use std::path::Path;

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::binary::{
    Compression, Format, Image, ImageKind, Load, Scan, Shape, loads,
};
use warpscope_probes::releases::{self, Library, Pin, WithoutArm};
use warpscope_probes::rules::{
    ANY_VERSION, Effect, Framework, Kind, RuleBase, Settings, Stage, kind_of,
};

use super::builds::{TORCH, triton_of_torch};
use super::installed::{is_compiled_here, is_other_build, target_coverage};
use super::question::{Origin, Question};
use super::target::Target;
use super::verdict::{Evidence, Finding, Level, Outcome, Scope};

/// Kernels that a framework loads whatever it is asked to do. Torch is none of them: a pin does not say for which CUDA it was built, and
/// the wheels of one version differ in their architectures.
const ALWAYS: &[&str] = &["sgl-kernel"];

/// The CPU beside a GPU of which nothing else is known.
const USUAL_CPU: &str = "x86_64";

/// PTX of a version every driver compiles: the tables do not say which it is.
const OLDEST: Isa = Isa::new(1, 0);

/// The question with the packages that the release it names pins, where they take part in it and it does not say otherwise itself.
pub(super) fn with_pins(question: Question) -> Question {
    let Some(version) = question.version.as_deref().filter(|_| question.origin == Origin::Asked)
    else {
        return question;
    };
    let mut config = question.config.clone();
    for (package, version) in pinned(&question.framework, version) {
        let open = config.get(&package).is_none_or(|one| one == ANY_VERSION);
        if open && takes_part(&package, &question) {
            // A version the rules cannot read says nothing.
            drop(config.set(&package, &version));
        }
    }
    Question { config, ..question }
}

/// The question without what its release pins: those another release pins may take its place.
pub(super) fn without_pins(question: &Question) -> Question {
    let mut config = question.config.without(ALWAYS);
    let version = question.version.as_deref().unwrap_or_default();
    for (package, version) in pinned(&question.framework, version) {
        if config.get(&package) == Some(&version) {
            drop(config.set(&package, ANY_VERSION));
        }
    }
    Question { config, ..question.clone() }
}

/// The same question of another release, with the packages which that one pins.
pub(crate) fn at_release(question: &Question, version: &str) -> Question {
    let open = without_pins(question);
    with_pins(Question { version: Some(version.to_owned()), ..open })
}

/// Packages with the one version that a fresh install of a release takes: those it pins, and those its torch does.
fn pinned(framework: &str, version: &str) -> Vec<(String, String)> {
    let taken = |pin: Pin| Some((pin.package.clone(), pin.taken()?.to_owned()));
    let mut all: Vec<_> =
        releases::pins(framework, version).into_iter().filter_map(taken).collect();
    let torch = all.iter().find(|one| one.0 == TORCH).and_then(|one| triton_of_torch(&one.1));
    if let Some(triton) = torch.filter(|_| all.iter().all(|one| one.0 != "triton")) {
        all.push(("triton".to_owned(), triton.to_owned()));
    }
    all.retain(|(name, _)| kind_of(name) == Ok(Kind::Package));
    all
}

/// Whether a question is about a package: it is always loaded, or a setting names it, be it in a word such as `triton_attn`.
fn takes_part(package: &str, question: &Question) -> bool {
    let names = |key: &str, value: &str| {
        key == package || kind_of(key) == Ok(Kind::Word) && value.split('_').next() == Some(package)
    };
    ALWAYS.contains(&package) || question.config.iter().any(|(key, value)| names(key, value))
}

/// What the published wheels of the framework and the packages of a question say about a GPU.
pub(super) fn findings(base: &RuleBase, target: &Target, question: &Question) -> Vec<Finding> {
    let Some(sm) = target.sm.filter(|_| question.origin == Origin::Asked) else {
        return Vec::new();
    };
    if is_other_build(&question.config, None) {
        return Vec::new();
    }
    // Those that were looked into are for Linux.
    let is_linux = question.config.get("platform") != Some("windows");
    let own = question.version.as_deref().map(|version| (question.framework.as_str(), version));
    let beside = question.config.packages().filter(|(key, _)| *key != question.framework);
    let device = (sm, target.cpu().unwrap_or(USUAL_CPU));
    let about = own.into_iter().chain(beside).filter_map(|(id, version)| {
        let framework = base.framework(id)?;
        not_on_arm(base, framework, version, target, question)
            .or_else(|| finding(base, framework, version, device, question).filter(|_| is_linux))
    });
    about.collect()
}

/// That no wheel for the Arm CPU beside a GPU was ever published: what has a source is built, what has none is not there.
fn not_on_arm(
    base: &RuleBase,
    framework: &Framework,
    version: &str,
    target: &Target,
    question: &Question,
) -> Option<Finding> {
    let key = if framework.id == question.framework {
        "wheel".to_owned()
    } else {
        format!("{}.wheel", framework.id)
    };
    let from_index = match question.config.get(&key) {
        Some(wheel) => wheel == "pypi",
        None => !target.is_jetson(),
    };
    if !from_index || target.cpu() != Some("aarch64") {
        return None;
    }
    let mut names = framework.packages.iter();
    let (name, there) =
        names.find_map(|name| Some((name, releases::without_arm(name, version)?)))?;
    let none = format!("the package index has no wheel of {name} {version} for Arm CPUs");
    let (outcome, detail, settles) = match there {
        WithoutArm::Nothing => (Outcome::Fails, none, Scope::Stage(Stage::Kernels)),
        WithoutArm::Source => (
            Outcome::NoObstacle,
            format!("{none}: pip builds it from its source"),
            Scope::Rules(good_rules(base, framework)),
        ),
    };
    let evidence = Evidence {
        level: Level::Published,
        outcome,
        id: format!("published.{}.arm", framework.id),
        detail,
        source: format!("package index: {name} (no file for aarch64)"),
        retrieved: releases::ARM_READ.to_owned(),
    };
    Some(evidence.about(&framework.id, target.sm, settles))
}

fn finding(
    base: &RuleBase,
    framework: &Framework,
    version: &str,
    (sm, cpu): (Sm, &str),
    question: &Question,
) -> Option<Finding> {
    let names = framework.packages.iter();
    let (name, libraries) =
        names.filter_map(|name| Some((name, releases::wheel(name, version, cpu)?))).next()?;
    let scans: Vec<Scan> = libraries.iter().map(scan_of).collect();
    let package = format!("{name} {version}");
    let runtime = question.config.get("cuda").and_then(|cuda| {
        let (major, minor) = cuda.split_once('.')?;
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    });
    let reach = target_coverage(&package, scans.iter(), (sm, None), runtime)?;
    let wheel = libraries.iter().find(|one| Path::new(&one.name) == reach.library)?;
    let fails = reach.outcome == Outcome::Fails;
    if fails && holds(&package, &scans, sm).is_some() {
        return None;
    }
    if !fails && is_compiled_here(question) {
        return None;
    }
    let (outcome, detail, settles) = if fails {
        (Outcome::Fails, reach.detail, Scope::Stage(Stage::Kernels))
    } else {
        (Outcome::Works, holds(&package, &scans, sm)?, Scope::Rules(good_rules(base, framework)))
    };
    let only = if fails { framework.own_kernels.clone() } else { Settings::default() };
    let evidence = Evidence {
        level: Level::Published,
        outcome,
        id: format!("published.{}", framework.id),
        detail,
        source: wheel.wheel.clone(),
        retrieved: releases::WHEELS_READ.to_owned(),
    };
    Some(Finding { only, ..evidence.about(&framework.id, Some(sm), settles) })
}

/// Rules that say it works; code in a wheel makes them more than a document.
fn good_rules(base: &RuleBase, framework: &Framework) -> Vec<String> {
    let good = base.rules_of(&framework.id).filter(|rule| rule.effect == Effect::Works);
    good.map(|rule| rule.id.to_string()).collect()
}

/// One container with everything a library holds.
fn scan_of(library: &Library) -> Scan {
    let image = |kind: ImageKind, target: &Sm| {
        let isa = (kind == ImageKind::Ptx).then_some(OLDEST);
        (Image { kind, target: *target, isa, compression: Compression::None, empty: false }, 1)
    };
    let code = library.code.iter().map(|target| image(ImageKind::Cubin, target));
    let text = library.ptx.iter().map(|target| image(ImageKind::Ptx, target));
    Scan {
        path: Path::new(&library.name).to_owned(),
        bytes: 0,
        format: Format::Elf,
        cpu: None,
        executable: vec![(Shape(code.chain(text).collect()), 1)],
        relocatable: Vec::new(),
        data: Vec::new(),
        sizes: std::collections::BTreeMap::new(),
        warnings: Vec::new(),
        damage: None,
        members: Vec::new(),
    }
}

/// `the published wheel of vllm 0.8.1 holds machine code for sm_80`.
fn holds(package: &str, scans: &[Scan], sm: Sm) -> Option<String> {
    let images = scans.iter().flat_map(|scan| &scan.executable).flat_map(|(shape, _)| &shape.0);
    let how = images.map(|(image, _)| loads(image, sm, None));
    let code = match how.max_by_key(|load| match load {
        Load::Cubin => 2,
        Load::Jit(_) => 1,
        Load::No(_) => 0,
    })? {
        Load::Cubin => format!("machine code for {sm}"),
        Load::Jit(_) => format!("PTX that the driver compiles for {sm}"),
        Load::No(_) => return None,
    };
    Some(format!("the published wheel of {package} holds {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(framework: &str, version: &str, config: &[(&str, &str)]) -> Question {
        Question {
            framework: framework.to_owned(),
            version: Some(version.to_owned()),
            origin: Origin::Asked,
            config: Settings::new(config.iter().copied()).expect("good settings"),
            ..Question::default()
        }
    }

    fn said(question: &Question, (major, minor): (u8, u8)) -> Vec<(String, Outcome)> {
        let target = Target::of_sm("card", Sm::new(major, minor));
        let found = findings(RuleBase::builtin(), &target, question);
        found.into_iter().map(|one| (one.framework, one.evidence.outcome)).collect()
    }

    #[test]
    fn a_release_brings_the_versions_it_pins() {
        let pinned = |question| with_pins(question).config;
        let with = |package| pinned(asked("vllm", "0.8.1", &[package]));
        assert_eq!(pinned(asked("vllm", "0.8.1", &[])), Settings::default());
        assert_eq!(with(("torch", "any")).get("torch"), Some("2.6.0"));
        assert_eq!(with(("torch", "2.7.0")).get("torch"), Some("2.7.0"));
        assert_eq!(with(("attention", "xformers")).get("xformers"), Some("0.0.29.post2"));
        let known =
            Question { origin: Origin::Known, ..asked("vllm", "0.8.1", &[("torch", "any")]) };
        assert_eq!(pinned(known).get("torch"), Some("any"));
    }

    #[test]
    fn the_wheel_is_for_the_cpu_beside_the_gpu() {
        let newest = asked("bitsandbytes", "0.50.0", &[]);
        assert_eq!(said(&newest, (11, 0)), [("bitsandbytes".to_owned(), Outcome::Works)]);
        assert_eq!(said(&newest, (12, 1)), [("bitsandbytes".to_owned(), Outcome::Works)]);
    }

    #[test]
    fn what_has_no_wheel_for_arm_is_built_or_not_there() {
        let on = |label: &str, sm, framework: &str, version: &str, config: &[(&str, &str)]| {
            let target = Target::of_sm(label, sm);
            let question = asked(framework, version, config);
            let found = findings(RuleBase::builtin(), &target, &question).into_iter();
            found.map(|one| one.evidence.outcome).collect::<Vec<_>>()
        };
        let grace = |framework: &str, version: &str, config: &[(&str, &str)]| {
            on("NVIDIA GH200", Sm::new(9, 0), framework, version, config)
        };
        assert_eq!(grace("vllm", "0.8.5", &[]), [Outcome::NoObstacle]);
        assert_eq!(grace("vllm", "0.10.2", &[]), []);
        assert_eq!(grace("lmdeploy", "0.15.0", &[]), [Outcome::Fails]);
        assert_eq!(grace("lmdeploy", "0.15.0", &[("wheel", "source")]), []);
        assert_eq!(grace("onnxruntime", "1.28.0", &[("platform", "windows")]), [Outcome::Fails]);
        assert_eq!(on("GB10", Sm::new(12, 1), "autoawq-kernels", "0.0.9", &[]), [Outcome::Fails]);
        // A module's wheels are NVIDIA's, where the package index is not named.
        let orin = |config: &[(&str, &str)]| {
            on("Jetson AGX Orin", Sm::new(8, 7), "lmdeploy", "0.15.0", config)
        };
        assert_eq!((orin(&[]), orin(&[("wheel", "pypi")])), (vec![], vec![Outcome::Fails]));
    }

    #[test]
    fn the_wheel_is_that_of_linux() {
        let on = |platform| asked("onnxruntime", "1.23.2", &[("platform", platform)]);
        assert_eq!(said(&on("linux"), (5, 2)), [("onnxruntime".to_owned(), Outcome::Fails)]);
        // The wheel for Windows holds machine code for sm_52.
        assert_eq!(said(&on("windows"), (5, 2)), []);
    }

    #[test]
    fn a_published_wheel_says_whether_it_has_code() {
        let awq = asked("autoawq-kernels", "0.0.9", &[]);
        assert_eq!(said(&awq, (6, 1)), [("autoawq-kernels".to_owned(), Outcome::Fails)]);
        assert_eq!(said(&awq, (8, 9)), [("autoawq-kernels".to_owned(), Outcome::Works)]);
        assert_eq!(said(&asked("autoawq-kernels", "0.0.10", &[]), (6, 1)), []);
        let source = asked("autoawq-kernels", "0.0.9", &[("wheel", "source")]);
        assert_eq!(said(&source, (6, 1)), []);
        // PTX for 9.0 compiles for what comes later.
        let gptq = asked("autogptq", "0.7.1", &[]);
        assert_eq!(said(&gptq, (12, 0)), [("autogptq".to_owned(), Outcome::Works)]);
    }
}

//! Builds of torch: the CUDA and the Triton of a release, and which builds the tables know.

use std::cmp::Ordering;

use warpscope_probes::releases;
use warpscope_probes::rules::{ANY_VERSION, Rule, RuleBase, Settings, Side, Version, build_of};

/// The framework whose wheels others run on.
pub(crate) const TORCH: &str = "torch";
/// Which of its builds, where it takes part as a package.
pub(crate) const TORCH_WHEEL: &str = "torch.wheel";

/// What the wheel of torch on PyPI for Linux is built with, and the Triton it asks for, from this release on.
///
/// Source: `nvidia-cuda-runtime`, `cuda-toolkit` and `triton` in the package data of torch 1.13 to 2.15 on PyPI, 2026-11-28; for what
/// came before them the rules of torch.
const OF_TORCH: &[(&str, &str, Option<&str>)] = &[
    ("1.5", "10.2", None),
    ("1.13", "11.7", None),
    ("2.0", "11.7", Some("2.0.0")),
    ("2.1", "12.1", Some("2.1.0")),
    ("2.2", "12.1", Some("2.2.0")),
    ("2.3", "12.1", Some("2.3.0")),
    ("2.3.1", "12.1", Some("2.3.1")),
    ("2.4", "12.1", Some("3.0.0")),
    ("2.5", "12.4", Some("3.1.0")),
    ("2.6", "12.4", Some("3.2.0")),
    ("2.7", "12.6", Some("3.3.0")),
    ("2.7.1", "12.6", Some("3.3.1")),
    ("2.8", "12.8", Some("3.4.0")),
    ("2.9", "12.8", Some("3.5.0")),
    ("2.9.1", "12.8", Some("3.5.1")),
    ("2.10", "12.8", Some("3.6.0")),
    ("2.11", "13.0", Some("3.6.0")),
    ("2.12", "13.0", Some("3.7.0")),
    ("2.12.1", "13.0", Some("3.7.1")),
    ("2.14", "13.0", Some("3.8.0")),
    ("2.15", "13.2", Some("3.9.0")),
];

/// Builds that are no release, or whose code nobody lists.
const UNLISTED: &[&str] = &["nightly", "ngc"];

fn of_torch(version: &str) -> Option<&'static (&'static str, &'static str, Option<&'static str>)> {
    let version: Version = version.parse().ok()?;
    let is_since = |first: &str| {
        first.parse().ok().and_then(|first| version.compare(&first)).is_some_and(Ordering::is_ge)
    };
    OF_TORCH.iter().rev().find(|row| is_since(row.0))
}

/// The CUDA of the wheel of torch on PyPI.
pub(crate) fn cuda_of_torch(version: &str) -> Option<&'static str> {
    of_torch(version).map(|row| row.1)
}

/// The CUDA of the torch that takes part, of its own build or of the wheel on PyPI for Linux.
pub(crate) fn cuda_of_its_torch(settings: &Settings) -> Option<String> {
    let torch = settings.get(TORCH);
    let local = torch.and_then(|torch| torch.split_once('+')).map(|one| one.1);
    match settings.get(TORCH_WHEEL).or(local) {
        Some(build) => cuda_of_wheel(build),
        None if settings.get("platform") == Some("windows") => None,
        None => cuda_of_torch(torch?).map(str::to_owned),
    }
}

/// The Triton that a release of torch asks for.
pub(crate) fn triton_of_torch(version: &str) -> Option<&'static str> {
    of_torch(version)?.2
}

/// The CUDA of the image that the makers of a framework publish for a release.
pub(crate) fn image_cuda(framework: &str, version: &str) -> Option<String> {
    let pins = releases::pins(framework, version);
    let cuda = pins.iter().find(|pin| pin.package == "cuda")?;
    let is_of_image = cuda.source.contains("Dockerfile") || cuda.source.ends_with(" archive");
    // Its stages may name one CUDA in two ways: `12.1 12.1.0`.
    let mut named = cuda.value.split(' ').filter(|_| is_of_image);
    let first = named.next()?;
    let minor = |cuda: &str| cuda.split('.').take(2).map(str::to_owned).collect::<Vec<_>>();
    named.all(|other| minor(other) == minor(first)).then(|| first.to_owned())
}

/// `cu126` is built with CUDA 12.6, `cu92` with 9.2.
pub(crate) fn cuda_of_wheel(wheel: &str) -> Option<String> {
    let digits = wheel.strip_prefix("cu")?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let major = digits.len().checked_sub(1).filter(|major| is_number && (1..=2).contains(major))?;
    (digits != "11" && digits != "12" && digits != "13")
        .then(|| format!("{}.{}", &digits[..major], &digits[major..]))
}

/// Rules of torch that say what holds of a build of a release whatever is done with it.
fn about_build<'a>(
    base: &'a RuleBase,
    torch: &str,
    wheel: &'a str,
) -> impl Iterator<Item = &'a Rule> {
    let version: Option<Version> = torch.parse().ok();
    base.rules_of(TORCH).filter(move |rule| {
        (rule.selector.len() == 1 || !has_cuda(wheel))
            && rule.selector.names("wheel", wheel)
            && rule.versions.contains(version.as_ref()) == Some(true)
    })
}

/// Whether there is a wheel of this release for this CUDA.
pub(crate) fn is_published(base: &RuleBase, torch: &str, wheel: &str) -> bool {
    about_build(base, torch, wheel).any(|rule| rule.side == Side::Outside || !rule.effect.is_bad())
}

fn has_cuda(wheel: &str) -> bool {
    cuda_of_wheel(wheel).is_some()
}

/// The torch of a question where it is a build of which no table lists the code: `2.6.0+cu128`, which is no release, a nightly one,
/// NVIDIA's own. What is known of the release of that number does not hold for it.
pub(super) fn unlisted_torch(
    base: &RuleBase,
    framework: &str,
    version: Option<&str>,
    settings: &Settings,
) -> Option<String> {
    let (torch, wheel) = match framework {
        TORCH => (version, settings.get("wheel")),
        _ => (settings.get(TORCH), settings.get(TORCH_WHEEL)),
    };
    let torch = torch.filter(|torch| *torch != ANY_VERSION && *torch != "none");
    let local = torch.and_then(|torch| torch.split_once('+')).map(|one| one.1);
    let build = wheel.or_else(|| torch.and_then(build_of)).or(local);
    let is_release = torch.is_none_or(|torch| !torch.contains("dev"));
    let is_listed = build.is_none_or(|build| {
        !UNLISTED.contains(&build)
            && torch.is_none_or(|torch| about_build(base, torch, build).next().is_some())
    });
    if is_release && is_listed {
        return None;
    }
    let release = torch.map_or("", |torch| torch.split('+').next().unwrap_or(torch));
    Some([release, build.unwrap_or_default()].join(" ").trim().to_owned())
}

/// Whether a rule says no because of the torch that takes part, or of the one that a framework comes with.
pub(super) fn is_about_torch(base: &RuleBase, rule: &Rule) -> bool {
    let own = &*rule.framework == TORCH && rule.selector.has("wheel");
    let replaced = || {
        let mut others = base.rules_of(&rule.framework).filter(|one| one.selector.has(TORCH));
        others.any(|one| one.overrides.contains(&rule.id))
    };
    rule.effect.is_bad() && (own || rule.selector.has(TORCH) || replaced())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Origin, Outcome, Question, Target, evaluate};

    #[test]
    fn a_release_of_torch_has_a_cuda_and_a_triton() {
        for (torch, cuda, triton) in [
            ("1.4.0", None, None),
            ("1.12.1", Some("10.2"), None),
            ("2.4.0", Some("12.1"), Some("3.0.0")),
            ("2.5.1", Some("12.4"), Some("3.1.0")),
            ("2.7.1", Some("12.6"), Some("3.3.1")),
            ("2.7.1+cu128", Some("12.6"), Some("3.3.1")),
            ("2.13.0", Some("13.0"), Some("3.7.1")),
        ] {
            assert_eq!((cuda_of_torch(torch), triton_of_torch(torch)), (cuda, triton), "{torch}");
        }
    }

    /// https://pytorch.org/get-started/previous-versions
    #[test]
    fn wheels_of_torch_are_published_for_some_cuda() {
        let base = RuleBase::builtin();
        for (torch, wheel, published) in [
            ("2.6.0", "cu126", true),
            ("2.6.0", "cu128", false),
            ("2.7.0", "cu118", true),
            ("2.7.1", "cu128", true),
            ("2.9.0", "cu130", true),
            ("2.12.0", "cu128", false),
        ] {
            assert_eq!(is_published(base, torch, wheel), published, "{torch} {wheel}");
        }
    }

    #[test]
    fn a_wheel_names_its_cuda() {
        for (wheel, cuda) in [
            ("cu128", Some("12.8")),
            ("cu92", Some("9.2")),
            ("cu12", None),
            ("cpu", None),
            ("cu128.nv", None),
            ("cuda12", None),
        ] {
            assert_eq!(cuda_of_wheel(wheel).as_deref(), cuda, "{wheel}");
        }
        assert_eq!(image_cuda("vllm", "0.18.0").as_deref(), Some("12.9.1"));
        assert_eq!(image_cuda("tgi", "1.3.4").as_deref(), Some("12.1"));
        // One for each CUDA.
        assert_eq!(image_cuda("lmdeploy", "0.10.0"), None);
    }

    fn asked(
        (framework, version): (&str, &str),
        config: &[(&str, &str)],
        sm: (u8, u8),
    ) -> (Outcome, String) {
        let question = Question {
            framework: framework.to_owned(),
            version: Some(version.to_owned()),
            origin: Origin::Asked,
            config: Settings::new(config.iter().copied()).expect("good settings"),
            ..Question::default()
        };
        let target = Target::of_sm("card", warpscope_kernels::Sm::new(sm.0, sm.1));
        let verdict = evaluate(RuleBase::builtin(), &target, &question, &[]);
        (verdict.outcome, verdict.reason)
    }

    /// lllyasviel/stable-diffusion-webui-forge#2746 runs on an RTX 5070 Ti with 2.6.0+cu128.nv; #2861 does not with 2.5.1+cu121.
    #[test]
    fn what_is_known_of_a_release_does_not_hold_for_another_build_of_its_number() {
        let forge = |torch: &str| asked(("forge", "2025-03"), &[("torch", torch)], (12, 0));
        assert_eq!(forge("2.5.1+cu121").0, Outcome::Fails);
        for torch in ["2.6.0+cu128.nv", "2.6.0.dev20241112+cu121", "2.7.0a0+ecf3bae40a.nv25.02"] {
            let (outcome, reason) = forge(torch);
            assert_eq!(outcome, Outcome::Unknown, "{torch}: {reason}");
            assert!(reason.contains("in no list"), "{reason}");
        }
        let nightly = [("torch.wheel", "nightly")];
        assert_eq!(asked(("comfyui", "0.3.14"), &nightly, (12, 0)).0, Outcome::Unknown);
        assert_eq!(asked(("comfyui", "0.3.14"), &[], (12, 0)).0, Outcome::Fails);
    }
}

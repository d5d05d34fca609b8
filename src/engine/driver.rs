//! What a GPU's driver has against a build: rules of the driver hold for whatever runs on it.

use warpscope_probes::releases;
use warpscope_probes::rules::{ANY_VERSION, Rule, RuleBase, Settings, Version, build_of};

use super::builds::{cuda_of_torch, cuda_of_wheel, image_cuda};
use super::question::Question;

/// The framework whose releases are those of the driver.
pub(crate) const DRIVER: &str = "driver";

/// Rules of this driver that speak against some build, or against all.
pub(super) fn against<'a>(base: &'a RuleBase, driver: &Version) -> Vec<&'a Rule> {
    let speaks = |rule: &&Rule| {
        rule.effect.is_bad()
            && !rule.selector.has("feature")
            && rule.versions.contains(Some(driver)) == Some(true)
    };
    base.rules_of(DRIVER).filter(speaks).collect()
}

/// Whether an image decides if a rule about the driver holds: it may bring what lets its CUDA run by an older one.
pub(super) fn is_up_to_image(question: &Question, rule: &Rule) -> bool {
    let asks_driver = *rule.framework == *DRIVER || rule.on.driver.is_some();
    let beside = *rule.framework != *question.framework;
    asks_driver && beside && question.config.get("wheel") == Some("docker")
}

/// The CUDA of the image that a question is about.
pub(super) fn image_of(question: &Question) -> Option<String> {
    let is_image = question.config.get("wheel") == Some("docker");
    image_cuda(&question.framework, question.version.as_deref().filter(|_| is_image)?)
}

/// The CUDA that a configuration is built with, as rules of the driver ask for it; nothing where it is not known.
pub(super) fn build(framework: &str, version: Option<&str>, config: &Settings) -> Settings {
    let cuda = cuda(framework, version, config).map(|cuda| ("cuda", cuda));
    Settings::new(cuda.as_ref().map(|(key, cuda)| (*key, cuda.as_str()))).unwrap_or_default()
}

/// The CUDA that is named, that of the build that is named, or that of the torch on PyPI that comes with a release.
fn cuda(framework: &str, version: Option<&str>, config: &Settings) -> Option<String> {
    let said = |key| config.get(key).filter(|value| *value != ANY_VERSION);
    if let Some(cuda) = said("cuda") {
        return Some(cuda.to_owned());
    }
    let torch = match framework {
        "torch" => version.map(str::to_owned),
        _ => said("torch").map(str::to_owned).or_else(|| pinned_torch(framework, version?)),
    };
    let build = torch.as_deref().and_then(build_of);
    let named = said("torch.wheel").or_else(|| said("wheel"));
    match build.or(named) {
        None | Some("pypi") if said("platform").is_none_or(|one| one == "linux") => {
            cuda_of_torch(&torch?).map(str::to_owned)
        }
        Some("docker") => image_cuda(framework, version?),
        Some(wheel) => cuda_of_wheel(wheel),
        None => None,
    }
}

fn pinned_torch(framework: &str, version: &str) -> Option<String> {
    let pins = releases::pins(framework, version);
    let torch = pins.iter().find(|pin| pin.package == "torch")?;
    torch.taken().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Outcome, Question, Target, evaluate};

    fn built_with(framework: &str, version: &str, config: &[(&str, &str)]) -> Option<String> {
        let config = Settings::new(config.iter().copied()).expect("good settings");
        cuda(framework, Some(version), &config)
    }

    #[test]
    fn the_cuda_of_a_build_is_named_or_that_of_its_torch() {
        for (framework, version, config, want) in [
            ("torch", "2.0.1", &[][..], Some("11.7")),
            ("torch", "2.10.0", &[], Some("12.8")),
            ("torch", "2.11.0", &[("wheel", "pypi")], Some("13.0")),
            ("torch", "2.7.0+cu118", &[], Some("11.8")),
            ("torch", "2.7.0", &[("wheel", "cu126")], Some("12.6")),
            ("torch", "2.11.0", &[("platform", "windows")], None),
            ("torch", "2.7.0+cpu", &[], None),
            // vllm@v0.20.0:requirements/cuda.txt asks for torch 2.11.0.
            ("vllm", "0.20.0", &[], Some("13.0")),
            ("vllm", "0.20.0", &[("wheel", "source")], None),
            // vllm@v0.20.0:docker/Dockerfile, text-generation-inference@v1.3.4:Dockerfile.
            ("vllm", "0.20.0", &[("wheel", "docker")], Some("13.0.2")),
            ("sglang", "0.5.12", &[("wheel", "docker")], Some("13.0.1")),
            ("vllm", "0.20.0", &[("torch.wheel", "cu126")], Some("12.6")),
            ("llama-cpp", "6000", &[("cuda", "12.8")], Some("12.8")),
            ("llama-cpp", "6000", &[], None),
        ] {
            let said = built_with(framework, version, config);
            assert_eq!(said.as_deref(), want, "{framework} {version} {config:?}");
        }
    }

    fn outcome(sm: (u8, u8), driver: &str, framework: &str, version: &str) -> (Outcome, String) {
        outcome_with(sm, driver, (framework, version), &[("dtype", "fp16")])
    }

    fn outcome_with(
        sm: (u8, u8),
        driver: &str,
        (framework, version): (&str, &str),
        config: &[(&str, &str)],
    ) -> (Outcome, String) {
        let config = Settings::new(config.iter().copied()).expect("good settings");
        let question = Question {
            framework: framework.to_owned(),
            version: Some(version.to_owned()),
            config,
            ..Question::default()
        };
        let target = Target {
            driver: Some(driver.to_owned()),
            ..Target::of_sm("card", warpscope_kernels::Sm::new(sm.0, sm.1))
        };
        let verdict = evaluate(RuleBase::builtin(), &target, &question, &[]);
        (verdict.outcome, verdict.reason)
    }

    /// CUDA 13.2 release notes, table 3: CUDA 13 needs 580, CUDA 12 needs 525.60.13; CUDA 12.8 is the first that knows sm_120, and came with 570.
    #[test]
    fn a_driver_that_is_too_old_for_the_cuda_or_the_gpu_stops_it() {
        let (outcome_of, said) = outcome((9, 0), "550.54.14", "vllm", "0.20.0");
        assert!(outcome_of == Outcome::Fails && said.contains("CUDA 13"), "{said}");
        assert_eq!(outcome((9, 0), "580.65.06", "vllm", "0.20.0").0, Outcome::Works);
        assert_eq!(outcome((9, 0), "550.54.14", "vllm", "0.11.0").0, Outcome::Works);
        let (outcome_of, said) = outcome((12, 0), "565.57.01", "vllm", "0.10.2");
        assert!(outcome_of == Outcome::Fails && said.contains("570"), "{said}");
        let docker = [("dtype", "fp16"), ("wheel", "docker"), ("cuda", "13.0.2")];
        let (outcome_of, said) = outcome_with((8, 0), "535.54.03", ("vllm", "0.20.0"), &docker);
        assert!(outcome_of == Outcome::Works && said.contains("Still open"), "{said}");
        let image = [("dtype", "bf16"), ("wheel", "docker")];
        let (_, said) = outcome_with((9, 0), "550.54.14", ("sglang", "0.5.12"), &image);
        assert!(said.contains("Still open without the libraries of the image"), "{said}");
        assert!(!outcome((8, 7), "540.4.0", "vllm", "0.20.0").1.contains("CUDA 13"));
    }
}

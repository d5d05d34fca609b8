//! Which configurations the installed binaries speak of: those of their own build, and those whose kernels lie in them.

use warpscope_probes::rules::{ANY_VERSION, Settings};

use crate::engine::question::Question;

/// The configuration that asks for nothing but the installed binaries of a framework.
pub const BINARIES: (&str, &str) = ("wheel", "installed");

/// Key of the CUDA version a build was made with.
pub(super) const CUDA: &str = "cuda";

/// Key of the build, and the value a package from the index may be asked about by.
const WHEEL: &str = BINARIES.0;
const INDEX: &str = "pypi";

/// Settings whose kernels are compiled when they run: no library holds them, and none can vouch for them.
const COMPILED: &[(&str, &str)] = &[
    ("feature", "torch_compile"),
    ("feature", "torch_compile_suppress_errors"),
    ("attention", "flashinfer"),
    ("attention", "flashinfer_mla"),
    ("attention", "triton_attn"),
    ("attention", "triton_splitk"),
];

/// Whether a configuration names a build that is not the installed one, which stands beside packages of these versions.
pub(crate) fn is_other_build(config: &Settings, beside: Option<&Settings>) -> bool {
    let installed = beside.and_then(|beside| beside.get(CUDA));
    let wheel = |asked: &str| match asked {
        INDEX => true,
        asked if asked == BINARIES.1 => true,
        asked => installed.is_some_and(|cuda| asked == format!("cu{}", cuda.replace('.', ""))),
    };
    let cuda = |asked: &str| installed.is_none_or(|cuda| asked == cuda || asked == ANY_VERSION);
    !config.get(WHEEL).is_none_or(wheel) || !config.get(CUDA).is_none_or(cuda)
}

/// A configuration of what is installed, with the CUDA its build was made with where it names no other build.
pub(crate) fn with_own_build(config: Settings, beside: &Settings) -> Settings {
    let built = beside.get(CUDA).filter(|_| config.get(CUDA).is_none());
    let built = built.filter(|_| !is_other_build(&config, Some(beside)));
    let built = built.and_then(|cuda| Settings::new([(CUDA, cuda)]).ok());
    built.map_or(config.clone(), |built| config.with(&built))
}

/// Whether what is asked about is compiled when it runs.
pub(crate) fn is_compiled_here(question: &Question) -> bool {
    COMPILED.iter().any(|(key, value)| question.config.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use warpscope_probes::rules::RuleBase;

    use super::*;

    #[test]
    fn binaries_speak_of_their_own_build_alone() {
        let settings =
            |pairs: &[(&str, &str)]| Settings::new(pairs.iter().copied()).expect("good settings");
        let beside = settings(&[(CUDA, "12.8")]);
        let other = |pairs: &[(&str, &str)]| is_other_build(&settings(pairs), Some(&beside));
        for own in
            [&[][..], &[(WHEEL, "pypi")], &[BINARIES], &[(WHEEL, "cu128")], &[(CUDA, "12.8")]]
        {
            assert!(!other(own), "{own:?}");
        }
        for foreign in [(WHEEL, "cu126"), (WHEEL, "source"), (WHEEL, "docker"), (CUDA, "12.6")] {
            assert!(other(&[foreign]), "{foreign:?}");
        }
        // Which CUDA the installed build is for may not be known: a build named by it is not taken for the installed one.
        assert!(is_other_build(&settings(&[(WHEEL, "cu128")]), None));
        assert!(!is_other_build(&settings(&[(CUDA, "12.6")]), None));
    }

    #[test]
    fn a_question_about_what_is_installed_knows_its_cuda() {
        let settings =
            |pairs: &[(&str, &str)]| Settings::new(pairs.iter().copied()).expect("good settings");
        let cuda = |config: &[(&str, &str)], beside: &[(&str, &str)]| {
            let config = with_own_build(settings(config), &settings(beside));
            config.get(CUDA).map(str::to_owned)
        };
        let beside = [(CUDA, "12.8")];
        assert_eq!(cuda(&[("dtype", "fp16")], &beside).as_deref(), Some("12.8"));
        assert_eq!(cuda(&[(CUDA, "12.6")], &beside).as_deref(), Some("12.6"));
        assert_eq!(cuda(&[(WHEEL, "cu126")], &beside), None);
        assert_eq!(cuda(&[("dtype", "fp16")], &[]), None);
    }

    #[test]
    fn what_is_compiled_when_it_runs_exists_in_the_rules() {
        let rows = RuleBase::builtin().configs();
        assert!(rows.iter().any(|row| row.settings.get("feature") == Some("torch_compile")));
        for (key, value) in COMPILED {
            assert!(Settings::new([(*key, *value)]).is_ok(), "{key}={value}");
        }
    }
}

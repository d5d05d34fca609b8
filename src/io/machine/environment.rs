//! What is installed in a Python environment: versions, pins that disagree, and which CUDA libraries the loader takes.

use std::path::Path;

use warpscope_probes::inspect::env::{Environment, Places, Progress, Sweep};

use crate::engine::explain::{Digest, Facts, Origin};

/// CUDA libraries whose winner decides, by the names of their facts.
const LIBRARIES: &[(&str, &str)] = &[
    ("cublas", "cublas_loaded"),
    ("cublasLt", "cublas_lt_loaded"),
    ("cudnn", "cudnn_loaded"),
    ("nccl", "nccl_loaded"),
    ("nvrtc", "nvrtc_loaded"),
    ("cudart", "cudart_loaded"),
];

/// What the environment in a folder says about a text.
pub(super) fn facts(root: &Path, digest: &Digest) -> Facts {
    let sweep =
        Sweep { places: Places::here(vec![root.to_owned()]), pids: Vec::new(), only_named: true };
    let found = sweep.run(&mut Progress::silent());
    let mut facts = Facts::default();
    for environment in &found.environments {
        of(&mut facts, environment, digest);
    }
    facts
}

fn of(facts: &mut Facts, environment: &Environment, digest: &Digest) {
    for package in &environment.packages {
        let name = package.normalized.replace('-', "_");
        facts.state(&format!("{name}_version"), &package.full_version(), Origin::Here);
    }
    let (pins, libraries): (Vec<&String>, Vec<&String>) =
        environment.problems.iter().partition(|problem| problem.contains(" asks for "));
    let (compiled, others): (Vec<&String>, Vec<&String>) =
        pins.into_iter().partition(|problem| problem.contains("undefined symbol"));
    for (fact, problems) in
        [("abi_conflict", compiled), ("pin_conflict", others), ("library_conflict", libraries)]
    {
        if let Some(problem) = told(&problems, digest) {
            facts.state(fact, problem, Origin::Here);
        }
    }
    for (library, fact) in LIBRARIES {
        let mut copies = environment.cuda.iter().filter(|one| one.name == *library);
        let Some(winner) = copies.find(|one| one.wins) else { continue };
        let version = winner.version.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
        let (path, via) = (winner.path.display(), &winner.via);
        facts.state(fact, &format!("{path}{version} ({via})"), Origin::Here);
    }
}

/// The clause that says what is wrong, of the problem about a package or library that the text names; of the first where none is.
fn told<'a>(problems: &[&'a String], digest: &Digest) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let lines: Vec<String> = digest.lines.iter().map(|line| plain(&line.text)).collect();
    let names = |problem: &&&String| {
        let subject = plain(problem.split(' ').next().unwrap_or_default());
        lines.iter().any(|line| line.contains(&subject))
    };
    let sentence = problems.iter().find(names).or(problems.first())?;
    let end = [". ", ": ", ", which may give"].iter().filter_map(|end| sentence.find(end)).min();
    Some(end.map_or(sentence.as_str(), |end| &sentence[..end]))
}

#[cfg(test)]
mod tests {
    use warpscope_probes::inspect::env::{CudaLibrary, Package};

    use super::*;
    use crate::engine::explain::Reader;

    fn digest(text: &str) -> Digest {
        let mut reader = Reader::default();
        reader.push(text.as_bytes());
        reader.finish()
    }

    #[test]
    fn the_conflict_that_the_text_is_about_is_told() {
        let sentence = |name: &str| {
            format!(
                "{name} 1.0 asks for torch==2.6.0, but torch 2.7.1 is installed: its compiled code was built for another torch and may fail \
                 at import with \"undefined symbol\". Install one that fits."
            )
        };
        let environment = Environment {
            packages: vec![Package {
                normalized: "flash-attn".into(),
                version: "2.8.3".into(),
                local: Some("cu12".into()),
                ..Package::default()
            }],
            problems: vec![sentence("vllm"), sentence("flash-attn")],
            cuda: vec![CudaLibrary {
                name: "cudnn".into(),
                version: Some("9.1".into()),
                path: "/opt/libcudnn.so.9".into(),
                via: "LD_LIBRARY_PATH".into(),
                wins: true,
                ..CudaLibrary::default()
            }],
            ..Environment::default()
        };
        let mut facts = Facts::default();
        of(
            &mut facts,
            &environment,
            &digest("ImportError: flash_attn_2_cuda.so: undefined symbol"),
        );
        let shown = |name: &str| facts.get(name).map(|fact| fact.shown.as_str());
        assert_eq!(
            shown("abi_conflict"),
            Some("flash-attn 1.0 asks for torch==2.6.0, but torch 2.7.1 is installed")
        );
        assert_eq!(shown("flash_attn_version"), Some("2.8.3+cu12"));
        assert_eq!(shown("cudnn_loaded"), Some("/opt/libcudnn.so.9 9.1 (LD_LIBRARY_PATH)"));
        assert_eq!((shown("pin_conflict"), shown("library_conflict")), (None, None));
    }
}

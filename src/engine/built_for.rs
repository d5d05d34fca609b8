//! What the list of architectures that a build was made for says of a GPU: device code runs on no GPU older than the one it was made for.

use warpscope_kernels::Sm;
use warpscope_probes::rules::Stage;

use super::question::Question;
use super::target::Target;
use super::verdict::{Evidence, Finding, Level, Outcome, Scope};

const SOURCE: &str =
    "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility";
const RETRIEVED: &str = "2026-11-26";

/// That nothing in the build runs, where every entry of its list is newer than the GPU.
pub(super) fn finding(target: &Target, question: &Question) -> Option<Finding> {
    let sm = target.sm?;
    let list = question.config.get("arch_list")?;
    let oldest = entries(list)?.into_iter().min()?;
    if (sm.major, sm.minor) >= (oldest.major, oldest.minor) {
        return None;
    }
    let detail = format!(
        "the build was made for {list}, and device code runs on no GPU older than the one it was made for"
    );
    let evidence = Evidence {
        level: Level::Rule,
        outcome: Outcome::Fails,
        id: "built_for".to_owned(),
        detail,
        source: SOURCE.to_owned(),
        retrieved: RETRIEVED.to_owned(),
    };
    Some(evidence.about(&question.framework, Some(sm), Scope::Stage(Stage::Kernels)))
}

/// Whether a build for these architectures has this device among them, as one without a list would.
pub(super) fn is_built_for(arch_list: &str, sm: Sm) -> bool {
    let own = |one: &Sm| (one.major, one.minor) == (sm.major, sm.minor);
    arch_list == "native" || entries(arch_list).is_some_and(|all| all.iter().any(own))
}

/// The compute capabilities of a list such as `7.5+8.0+ptx`; none where it holds anything else.
fn entries(list: &str) -> Option<Vec<Sm>> {
    let names = list.split('+').filter(|entry| *entry != "ptx");
    names.map(|entry| entry.trim_end_matches(['a', 'f']).parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use warpscope_probes::rules::Settings;

    use super::*;

    fn on(sm: Sm, list: &str) -> Option<Outcome> {
        let config = Settings::new([("arch_list", list)]).expect("good settings");
        let question = Question { framework: "demo".to_owned(), config, ..Question::default() };
        finding(&Target::of_sm("card", sm), &question).map(|one| one.evidence.outcome)
    }

    #[test]
    fn only_a_gpu_older_than_every_entry_is_ruled_out() {
        assert_eq!(on(Sm::new(6, 1), "8.0"), Some(Outcome::Fails));
        assert_eq!(on(Sm::new(7, 5), "8.0+9.0a+ptx"), Some(Outcome::Fails));
        for list in ["native", "7.5", "7.0+8.0", "ampere"] {
            assert_eq!(on(Sm::new(7, 5), list), None, "{list}");
        }
    }
}

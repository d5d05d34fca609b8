use std::collections::BTreeSet;

use warpscope_kernels::image::{ImageKind, images};

use super::*;
use crate::rules::RuleBase;

#[test]
fn ids_stand_once_and_titles_are_half_sentences() {
    let ids: BTreeSet<_> = probes().map(|probe| probe.id).collect();
    assert_eq!(ids.len(), probes().count());
    for probe in probes() {
        assert!(!probe.title.ends_with('.') && !probe.title.is_empty(), "{}", probe.id);
        assert!(probe.id.contains('.') && !probe.id.contains(char::is_whitespace), "{}", probe.id);
    }
}

#[test]
fn every_probe_settles_a_rule_there_is_or_says_why_none() {
    let rules: BTreeSet<&str> = RuleBase::builtin().rules().iter().map(|rule| &*rule.id).collect();
    for probe in probes() {
        assert_eq!(probe.settles.is_empty(), !probe.settles_none.is_empty(), "{}", probe.id);
        for id in probe.settles {
            assert!(rules.contains(id), "{}: there is no rule {id}", probe.id);
        }
    }
}

/// A rule that names the call which would decide it is settled by that call.
#[test]
fn probes_that_rules_name_exist_and_settle_them() {
    let mut named = 0;
    for rule in RuleBase::builtin().rules() {
        let Some(id) = &rule.probe else { continue };
        named += 1;
        let probe = probe(id).unwrap_or_else(|| panic!("{}: there is no probe {id}", rule.id));
        let entry = rule.id.strip_suffix(".inside").unwrap_or(&rule.id);
        assert!(probe.settles.contains(&entry), "{} does not settle {}", probe.id, rule.id);
    }
    assert!(named >= 4, "{named}");
}

/// Every instruction that rules speak of has a gate.
#[test]
fn every_instruction_of_the_rules_has_a_gate() {
    let settled: BTreeSet<&str> = probes().flat_map(|probe| probe.settles).copied().collect();
    for rule in RuleBase::builtin().rules().iter().filter(|rule| rule.framework == "hardware") {
        let entry = rule.id.strip_suffix(".inside").unwrap_or(&rule.id);
        // A fallback is what frameworks do, not what the device does.
        let device = !matches!(entry, "hardware.fp16.storage");
        assert_eq!(settled.contains(entry), device, "{entry}");
    }
}

/// What a probe runs is in an image, and rates are compared where both are.
#[test]
fn what_probes_run_is_built() {
    let built = |family: &str, entry: &str| {
        images().iter().any(|image| image.family == family && image.entry(entry).is_some())
    };
    if images().is_empty() {
        println!("SKIPPED (no images built)");
        return;
    }
    for probe in probes() {
        match probe.subject {
            Subject::Instruction(gate) => assert!(built(gate.family, gate.entry), "{}", probe.id),
            Subject::Rate(rate) => {
                for one in [rate.of, rate.against] {
                    assert!(built(one.family, one.entry), "{} {}", probe.id, one.entry);
                }
                assert!(rate.slow_to < rate.works_from, "{}", probe.id);
            }
            Subject::Load(Load::Cubin(target)) => {
                let mut cubins = images().iter().filter(|image| image.kind == ImageKind::Cubin);
                let found = cubins.any(|one| one.target == target && one.entry("echo").is_some());
                assert!(found, "{}", probe.id);
            }
            Subject::Load(_) | Subject::Shared(_) | Subject::Product(_) => {}
            Subject::Overflow => assert!(built("gate", "overflow")),
            Subject::Allocate => {}
        }
    }
}

/// `kernels.md`'s table and the rules' come from ptxas; the images do, too, by another way: each instruction is in the image of a
/// target exactly where the rules say that target has it.
#[test]
fn an_image_has_an_instruction_where_its_rule_says_so() {
    use crate::rules::{DeviceFacts, Side};
    let base = RuleBase::builtin();
    for probe in probes() {
        let Subject::Instruction(gate) = probe.subject else { continue };
        let Some(id) = probe.settles.first() else { continue };
        let rule = base.rules().iter().find(|rule| rule.id == *id && rule.side == Side::Outside);
        let rule = rule.unwrap_or_else(|| panic!("{id} speaks of those without"));
        let cubins = images().iter().filter(|image| image.kind == ImageKind::Cubin);
        for image in cubins.filter(|image| image.family == gate.family) {
            // Instructions of one architecture are in its own image only.
            let own = |sm: Sm| {
                images().iter().any(|one| {
                    one.family == gate.family
                        && one.kind == ImageKind::Cubin
                        && one.target == Sm { suffix: Suffix::Arch, ..sm }
                })
            };
            if image.target.suffix == Suffix::None && own(image.target) {
                continue;
            }
            let device = Sm::new(image.target.major, image.target.minor);
            let facts = DeviceFacts { sm: Some(device), ..DeviceFacts::default() };
            let has = rule.on.holds(&facts, base.parts());
            let built = image.entry(gate.entry).is_some();
            assert_eq!(Some(built), has, "{} on {}", probe.id, image.target);
        }
    }
}

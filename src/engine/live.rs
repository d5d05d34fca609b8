//! Results of instruction probes in the terms of the engine.

use warpscope_kernels::Sm;
use warpscope_probes::live::{Answer, ProbeReport};
use warpscope_probes::rules::{Effect, Rule, RuleBase, Settings, Version};

use super::device::Device;
use super::target::Target;
use super::verdict::{Evidence, Finding, Level, Outcome, Scope};

/// The findings of a report, one per framework. A simulated device proves nothing, and neither does a probe that could not run.
pub fn live_findings(base: &RuleBase, report: &ProbeReport, sm: Option<Sm>) -> Vec<Finding> {
    if report.simulated || report.answer == Answer::Unknown {
        return Vec::new();
    }
    let rules = base.rules().iter().filter(|rule| report.settles.iter().any(|id| *id == rule.id));
    let mut findings: Vec<Finding> = Vec::new();
    for rule in rules {
        match findings.iter_mut().find(|one| one.framework == rule.framework) {
            Some(Finding { settles: Scope::Rules(ids), .. }) => ids.push(rule.id.to_string()),
            _ => findings.push(Finding {
                framework: rule.framework.to_string(),
                sm,
                uuid: Some(report.uuid.clone()),
                settles: Scope::Rules(vec![rule.id.to_string()]),
                only: Settings::default(),
                repair: None,
                evidence: evidence(report),
            }),
        }
    }
    findings
}

/// Rules about this device that its probes contradict. A simulated device contradicts nothing.
pub fn contradicted_rules<'b>(
    base: &'b RuleBase,
    report: &ProbeReport,
    target: &Target,
) -> Vec<&'b Rule> {
    if report.simulated || report.answer == Answer::Unknown {
        return Vec::new();
    }
    let settled = |rule: &&Rule| {
        let entry = rule.id.strip_suffix(".inside").unwrap_or(&rule.id);
        report.settles.iter().any(|id| *id == *rule.id || id == entry)
    };
    let device = Device::new(base, target);
    let speaks = |rule: &&Rule| {
        let version = version_of(&rule.framework, report, target);
        rule.applies(&device.facts(), base.parts()) == Some(true)
            && rule.versions.contains(version.as_ref()) == Some(true)
    };
    let otherwise = |rule: &&Rule| disagree(rule.effect, report.answer);
    base.rules().iter().filter(settled).filter(speaks).filter(otherwise).collect()
}

/// The version that a rule of a framework asks for: of the driver, or of the library that was called.
fn version_of(framework: &str, report: &ProbeReport, target: &Target) -> Option<Version> {
    let text = match framework {
        "driver" => target.driver.as_deref()?,
        "cublas" => report.ran.strip_prefix("cuBLAS ")?.split(' ').next()?,
        _ => return None,
    };
    text.parse().ok()
}

/// Whether one says it works as it should and the other that it does not.
fn disagree(effect: Effect, answer: Answer) -> bool {
    let bad = matches!(answer, Answer::WrongOutput | Answer::Fails);
    match effect {
        Effect::Resolves | Effect::Unknown => false,
        Effect::Slow => bad || answer == Answer::Works,
        Effect::Works => answer != Answer::Works,
        other => other.is_bad() != bad,
    }
}

fn evidence(report: &ProbeReport) -> Evidence {
    Evidence {
        level: Level::Live,
        outcome: match report.answer {
            Answer::Works => Outcome::Works,
            Answer::Slow => Outcome::Slow,
            Answer::WrongOutput => Outcome::WrongOutput,
            Answer::Fails => Outcome::Fails,
            Answer::Unknown => Outcome::Unknown,
        },
        id: format!("live.{}", report.id),
        detail: report.detail.clone(),
        source: format!("run here: {}", report.ran),
        retrieved: report.measured.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Assumptions, Question, Target, evaluate};

    fn report(answer: Answer, settles: &[&str]) -> ProbeReport {
        ProbeReport {
            id: "gate.demo".into(),
            answer,
            detail: "the instruction was loaded and run".into(),
            facts: Vec::new(),
            settles: settles.iter().map(|id| (*id).to_owned()).collect(),
            uuid: "GPU-1".into(),
            driver: Some("570.124.06".into()),
            ran: "gate.sm_75".into(),
            measured: "2026-11-21".into(),
            took_ms: 3.0,
            simulated: false,
        }
    }

    fn at(sm: Sm) -> Target {
        Target { driver: Some("570.124.06".into()), ..Target::of_sm("here", sm) }
    }

    fn contradicts(id: &str, answer: Answer, sm: Sm) -> Vec<String> {
        let of = ProbeReport {
            ran: "cuBLAS 12.4.5 /lib/libcublas.so.12".into(),
            ..report(answer, &[id])
        };
        let rules = contradicted_rules(RuleBase::builtin(), &of, &at(sm));
        rules.iter().map(|rule| rule.id.to_string()).collect()
    }

    /// Rules: bf16 products from sm_80 on; int4 in hardware up to sm_89; cuBLAS 12 takes fp16 up to sm_90; drivers from 575.51 on know
    /// the PTX of CUDA 12.9.
    #[test]
    fn an_answer_contradicts_the_rule_that_speaks_of_the_device_and_of_no_other() {
        let (t4, h100) = (Sm::new(7, 5), Sm::new(9, 0));
        for (id, answer, sm, disputed) in [
            ("hardware.mma_bf16", Answer::Works, t4, true),
            ("hardware.mma_bf16", Answer::Fails, t4, false),
            ("hardware.mma_bf16", Answer::Works, h100, false),
            ("hardware.mma_bf16", Answer::WrongOutput, h100, true),
            ("hardware.mma_bf16", Answer::Unknown, t4, false),
            ("hardware.mma_int4.slow", Answer::Works, h100, true),
            ("hardware.mma_int4.slow", Answer::Slow, h100, false),
            ("hardware.mma_int4.slow", Answer::Works, t4, false),
            ("hardware.mma_int4.native", Answer::Slow, t4, true),
            ("cublas.gemm_ex.fp16", Answer::Fails, t4, true),
            ("cublas.gemm_ex.fp16_13", Answer::Fails, t4, false),
            ("driver.ptx.cuda_12_9", Answer::Works, t4, true),
            ("driver.ptx.cuda_12_9", Answer::Fails, t4, false),
            ("latte.t5_4bit.cublas", Answer::Works, t4, false),
        ] {
            assert_eq!(!contradicts(id, answer, sm).is_empty(), disputed, "{id} {answer:?} {sm}");
        }
    }

    #[test]
    fn what_a_stand_in_or_nobody_found_settles_nothing() {
        let base = RuleBase::builtin();
        let id = base.rules()[0].id.clone();
        let settles = [&*id];
        assert_eq!(live_findings(base, &report(Answer::Works, &settles), None).len(), 1);
        assert_eq!(live_findings(base, &report(Answer::Unknown, &settles), None), []);
        let simulated = ProbeReport { simulated: true, ..report(Answer::Works, &settles) };
        assert_eq!(live_findings(base, &simulated, None), []);
        assert_eq!(live_findings(base, &report(Answer::Works, &["no.such.rule"]), None), []);
    }

    #[test]
    fn a_probe_speaks_of_the_gpu_it_ran_on_and_of_no_other() {
        let base = RuleBase::builtin();
        let rule = base.rules().iter().find(|rule| rule.framework == "flash-attn").expect("known");
        let sm = Sm::new(7, 5);
        let findings = live_findings(base, &report(Answer::Works, &[&rule.id]), Some(sm));
        let assumptions = Assumptions { findings, ..Assumptions::default() };
        let question = Question { framework: "flash-attn".into(), ..Question::default() };
        let here = Target { uuid: Some("GPU-1".into()), ..Target::of_sm("here", sm) };
        let there = Target { uuid: Some("GPU-2".into()), ..here.clone() };
        assert_eq!(assumptions.about(base, &here, &question).len(), 1);
        assert_eq!(assumptions.about(base, &there, &question).len(), 0);
        let told = evaluate(base, &here, &question, &assumptions.about(base, &here, &question));
        assert!(told.evidence.iter().any(|one| one.level == Level::Live), "{told:?}");
    }
}

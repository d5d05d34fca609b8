//! What probes found on a device, in the terms of the engine.

use warpscope_kernels::Sm;
use warpscope_probes::live::{Answer, ProbeReport};
use warpscope_probes::rules::{RuleBase, Settings};

use super::verdict::{Evidence, Finding, Level, Outcome, Settles};

/// What a report settles, one finding per framework. A stand-in computed nothing real, so it settles nothing; nor does what could not be tried.
pub fn found_live(base: &RuleBase, report: &ProbeReport, sm: Option<Sm>) -> Vec<Finding> {
    if report.simulated || report.answer == Answer::Unknown {
        return Vec::new();
    }
    let rules = base.rules().iter().filter(|rule| report.settles.iter().any(|id| *id == rule.id));
    let mut findings: Vec<Finding> = Vec::new();
    for rule in rules {
        match findings.iter_mut().find(|one| one.framework == rule.framework) {
            Some(Finding { settles: Settles::Rules(ids), .. }) => ids.push(rule.id.to_string()),
            _ => findings.push(Finding {
                framework: rule.framework.to_string(),
                sm,
                uuid: Some(report.uuid.clone()),
                settles: Settles::Rules(vec![rule.id.to_string()]),
                only: Settings::default(),
                evidence: evidence(report),
            }),
        }
    }
    findings
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
    use crate::engine::{Premises, Question, Target, evaluate};

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

    #[test]
    fn what_a_stand_in_or_nobody_found_settles_nothing() {
        let base = RuleBase::builtin();
        let id = base.rules()[0].id.clone();
        let settles = [&*id];
        assert_eq!(found_live(base, &report(Answer::Works, &settles), None).len(), 1);
        assert_eq!(found_live(base, &report(Answer::Unknown, &settles), None), []);
        let simulated = ProbeReport { simulated: true, ..report(Answer::Works, &settles) };
        assert_eq!(found_live(base, &simulated, None), []);
        assert_eq!(found_live(base, &report(Answer::Works, &["no.such.rule"]), None), []);
    }

    #[test]
    fn a_probe_speaks_of_the_gpu_it_ran_on_and_of_no_other() {
        let base = RuleBase::builtin();
        let rule = base.rules().iter().find(|rule| rule.framework == "flash-attn").expect("known");
        let sm = Sm::new(7, 5);
        let findings = found_live(base, &report(Answer::Works, &[&rule.id]), Some(sm));
        let premises = Premises { findings, ..Premises::default() };
        let question = Question { framework: "flash-attn".into(), ..Question::default() };
        let here = Target { uuid: Some("GPU-1".into()), ..Target::of_sm("here", sm) };
        let there = Target { uuid: Some("GPU-2".into()), ..here.clone() };
        assert_eq!(premises.about(&here, &question).len(), 1);
        assert_eq!(premises.about(&there, &question).len(), 0);
        let told = evaluate(base, &here, &question, &premises.about(&here, &question));
        assert!(told.evidence.iter().any(|one| one.level == Level::Live), "{told:?}");
    }
}

use warpscope_kernels::Sm;

use crate::worker::protocol::{GoalReport, JudgedGoal};

/// A report beside what a device is to reach, for those who only read lines.
pub fn judged(report: &GoalReport, sm: Sm) -> JudgedGoal {
    let (figure, aim) = (report.figure(), report.aim(sm));
    JudgedGoal {
        goal: report.goal.clone(),
        figure: figure.map(|figure| figure.median),
        spread: figure.map(|figure| figure.mad),
        floor: aim.and_then(|aim| aim.floor),
        target: aim.map(|aim| aim.target),
        verdict: report.verdict(sm).words().to_lowercase(),
        profile: report.profile(),
    }
}

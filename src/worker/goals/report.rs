use serde::{Deserialize, Serialize};
use warpscope_kernels::Sm;
use warpscope_kernels::gpu::Limiter;

use super::classes::{Aim, aim};
use super::table::{GOALS, Goal, Measure};
use crate::runs::statistics::{Spread, median_interval};
use crate::worker::protocol::{GoalReport, SampleClocks, Strain};

/// How a figure stands to what was to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The target is reached, by all of the interval of the figure.
    Met,
    /// The floor is reached.
    FloorMet,
    /// Neither is.
    Missed,
    /// The interval of the figure holds what decides.
    Undecided,
    /// Nobody set a target for this class of devices.
    NoAim,
    /// There is no figure.
    NotMeasured,
}

impl Verdict {
    /// For a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::FloorMet => "floor met",
            Self::Missed => "MISSED",
            Self::Undecided => "undecided",
            Self::NoAim => "no aim",
            Self::NotMeasured => "not measured",
        }
    }
}

impl GoalReport {
    /// The goal it is about.
    pub fn of(&self) -> Option<&'static Goal> {
        GOALS.iter().find(|goal| goal.id == self.goal)
    }

    /// The ratio over all blocks, with its spread; microseconds of a product where that is the figure.
    pub fn figure(&self) -> Option<Spread> {
        Spread::of(self.samples())
    }

    /// What this device is to reach.
    pub fn aim(&self, sm: Sm) -> Option<Aim> {
        aim(sm, self.of()?.measure)
    }

    /// How the figure stands to it.
    pub fn verdict(&self, sm: Sm) -> Verdict {
        let Some((low, high)) = self.interval() else { return Verdict::NotMeasured };
        let Some(aim) = self.aim(sm) else { return Verdict::NoAim };
        let less = self.of().is_some_and(|goal| goal.measure == Measure::W4Time);
        let (worst, best) = if less { (-high, -low) } else { (low, high) };
        let wants = |want: f64| if less { -want } else { want };
        let (target, floor) = (wants(aim.target), aim.floor.map(wants));
        match floor {
            _ if worst >= target => Verdict::Met,
            Some(floor) if worst >= floor && best < target => Verdict::FloorMet,
            _ if best < floor.unwrap_or(target) => Verdict::Missed,
            _ => Verdict::Undecided,
        }
    }

    /// What the median of the figure lies in with 95% confidence.
    pub fn interval(&self) -> Option<(f64, f64)> {
        median_interval(self.samples())
    }

    /// A ratio for each block; microseconds of a product where that is the figure.
    fn samples(&self) -> Vec<f64> {
        if self.against.is_some() {
            return self.ratios.clone();
        }
        self.own.samples_ns.iter().map(|ns| ns / self.products / 1e3).collect()
    }

    /// What may explain a figure: what limits it, the clock, what held that down, and where the cost of the kernel stands.
    pub fn profile(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.limiter.map(|limiter| {
            let by = match limiter {
                Limiter::Memory => "memory",
                Limiter::Arithmetic => "arithmetic",
                Limiter::Latency => "launches",
            };
            format!("limited by {by}")
        }));
        parts.push(clock(&self.own.clocks, &self.strain));
        parts.extend(self.strain.power_w.map(|watts| format!("{watts:.0} W")));
        if !self.own.entry.is_empty() {
            parts.push(format!("{}, whose loop `build-kernels --table` shows", self.own.entry));
        }
        parts.join("; ")
    }
}

/// How fast the multiprocessors ran, in one conclusion: the clock that kernels counted, which is what they computed at, and then what NVML
/// reported. An H200 counts 1,800 MHz in kernels for tensor cores where NVML reports 1,980 MHz and no reason (2026-11-26).
fn clock(counted: &SampleClocks, strain: &Strain) -> String {
    let reasons = strain.held_by.join(", ");
    let reported = strain.sm_mhz.map(|(low, high)| match format!("{low:.0} MHz") {
        one if low == high => one,
        _ => format!("{low:.0}–{high:.0} MHz"),
    });
    let reported = match (reported, reasons.as_str()) {
        (None, _) => None,
        (Some(clock), "") => Some(format!("NVML reported {clock} and no reason to slow down")),
        (Some(clock), held) => Some(format!("NVML reported {clock}, held down by {held}")),
    };
    let effective = counted.median().map(|mhz| {
        let slow = counted.best_mhz.filter(|_| !counted.low.is_empty());
        let below = slow.map_or_else(String::new, |best| {
            let share = 100.0 * (1.0 - mhz / best);
            format!(", {share:.0}% below the best of this run, {best:.0} MHz")
        });
        format!("effective clock {mhz:.0} MHz{below}")
    });
    match (effective, reported) {
        (None, None) => "clocks unknown".to_owned(),
        (Some(effective), None) => effective,
        (None, Some(reported)) => reported,
        (Some(effective), Some(reported)) => format!("{effective}; {reported}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::protocol::ArmReport;

    fn report(goal: &str, ratios: &[f64], samples_us: &[f64]) -> GoalReport {
        let arm = |samples_ns| ArmReport {
            what: "x".to_owned(),
            entry: "w4_mma_f16_m8".to_owned(),
            variant: String::new(),
            amount: 1.0,
            samples_ns,
            clocks: SampleClocks::default(),
        };
        let timed = ratios.is_empty();
        GoalReport {
            goal: goal.to_owned(),
            own: arm(samples_us.iter().map(|us| us * 2e3).collect()),
            against: (!timed).then(|| arm(Vec::new())),
            ratios: ratios.to_vec(),
            products: 2.0,
            cache: "cold".to_owned(),
            limiter: None,
            difference: None,
            strain: Strain::default(),
        }
    }

    const HOPPER: Sm = Sm::new(9, 0);

    #[test]
    fn a_ratio_is_judged_by_its_interval() {
        for (ratios, want) in [
            (&[0.97, 0.98, 0.99][..], Verdict::Met),
            (&[0.90, 0.91, 0.96], Verdict::FloorMet),
            (&[0.87], Verdict::Missed),
            (&[0.96, 0.98, 0.98], Verdict::Undecided),
            (&[0.87, 0.89, 0.90], Verdict::Undecided),
        ] {
            assert_eq!(report("gemm.bf16.8192", ratios, &[]).verdict(HOPPER), want, "{ratios:?}");
        }
        let turing = report("w4.f16.8192.cold", &[], &[10.0]).verdict(Sm::new(7, 5));
        assert_eq!(turing, Verdict::NoAim);
        let nothing = report("w4.f16.8192.cold", &[], &[]).verdict(HOPPER);
        assert_eq!(nothing, Verdict::NotMeasured);
    }

    #[test]
    fn of_a_time_less_is_better_and_copies_share_it() {
        let report = |us: &[f64]| report("w4.f16.8192.cold", &[], us);
        let good = report(&[20.0, 20.2, 20.4]);
        assert_eq!(good.figure().map(|figure| figure.median), Some(20.2));
        assert_eq!(good.verdict(HOPPER), Verdict::Met);
        assert_eq!(report(&[20.0, 20.4, 30.0]).verdict(HOPPER), Verdict::Undecided);
        assert_eq!(report(&[20.6]).verdict(HOPPER), Verdict::Missed);
    }

    #[test]
    fn a_profile_says_what_held_the_clock_down() {
        let mut one = report("gemm.bf16.8192", &[0.5], &[]);
        assert!(one.profile().starts_with("clocks unknown"), "{}", one.profile());
        one.limiter = Some(Limiter::Arithmetic);
        one.strain = Strain {
            sm_mhz: Some((1410.0, 1755.0)),
            power_w: Some(698.6),
            held_by: vec!["power cap".to_owned()],
        };
        let want = "limited by arithmetic; NVML reported 1410–1755 MHz, held down by power cap; 699 W; w4_mma_f16_m8, whose loop `build-kernels --table` shows";
        assert_eq!(one.profile(), want);
    }

    /// What an H200 said of nf4.f16.m1, gemv.bf16 and gemm.bf16.8192 on 2026-11-26.
    #[test]
    fn the_clock_that_kernels_counted_decides_and_what_nvml_reported_stands_beside_it() {
        let counted = |mhz| SampleClocks::of(vec![Some(mhz); 240], &mut Some(1980.0));
        let strain = |low, high, held: &[&str]| Strain {
            sm_mhz: Some((low, high)),
            power_w: None,
            held_by: held.iter().copied().map(str::to_owned).collect(),
        };
        let (idle, capped) = (strain(1980.0, 1980.0, &[]), strain(1440.0, 1560.0, &["power cap"]));
        let words = [
            (
                1820.0,
                &idle,
                "effective clock 1820 MHz, 8% below the best of this run, 1980 MHz; NVML reported 1980 MHz and no reason to slow down",
            ),
            (
                1979.0,
                &idle,
                "effective clock 1979 MHz; NVML reported 1980 MHz and no reason to slow down",
            ),
            (
                1364.0,
                &capped,
                "effective clock 1364 MHz, 31% below the best of this run, 1980 MHz; NVML reported 1440–1560 MHz, held down by power cap",
            ),
        ];
        for (mhz, strain, want) in words {
            assert_eq!(clock(&counted(mhz), strain), want);
        }
        assert_eq!(
            clock(&counted(1364.0), &Strain::default()),
            words[2].2.split("; ").next().unwrap_or_default()
        );
    }
}

//! What a GPU's child has measured, with the day and the session of each result.

use std::collections::BTreeMap;

use warpscope_probes::Timestamp;

use crate::bench::{
    BenchEvent, CaseReport, HeadroomReport, Holding, KernelReport, PathDtype, PathReport,
};

/// Something measured, when, and in which session: ceilings count only within one.
#[derive(Clone, Debug, PartialEq)]
pub struct Dated<T> {
    /// The frame before it came.
    pub at: Timestamp,
    /// Session it is of, from 1.
    pub session: u32,
    /// What was measured.
    pub value: T,
}

/// One path of the micro decoder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathResult {
    /// Right or wrong: the small model, against fp64.
    pub numeric: Option<Dated<PathReport>>,
    /// How fast: the model with the layers of a real one.
    pub speed: Option<Dated<PathReport>>,
}

/// What became of a kernel's conformance cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checks {
    /// How many were right.
    pub right: u32,
    /// How many were wrong.
    pub wrong: u32,
    /// The first wrong one: its name and what is wrong.
    pub first_wrong: Option<(String, String)>,
    /// Largest relative error against fp64.
    pub error: Option<f64>,
}

/// What a GPU's child has measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The newest session, from 1.
    pub session: u32,
    /// What the child holds, or held.
    pub holding: Option<Holding>,
    /// Paths of the micro decoder, by weight profile and number format.
    pub paths: BTreeMap<(String, PathDtype), PathResult>,
    /// Kernels, each at the size measured last.
    pub kernels: BTreeMap<String, Dated<KernelReport>>,
    /// How far each path reaches.
    pub headroom: BTreeMap<String, Dated<HeadroomReport>>,
    /// Conformance by kernel.
    pub checks: BTreeMap<String, Dated<Checks>>,
    /// What could not be done, and why, by what was asked.
    pub failures: BTreeMap<String, Dated<String>>,
    /// When the newest of them came.
    pub newest: Option<Timestamp>,
}

impl Results {
    /// Begins a session.
    pub fn begin(&mut self) {
        self.session += 1;
    }

    /// Whether a stand-in computes. Nobody has said so where nothing is known yet.
    pub fn is_simulated(&self) -> bool {
        self.holding.as_ref().is_some_and(|holding| holding.device.simulated)
    }

    /// Times count only of a device that said it is a real one.
    fn times_count(&self) -> bool {
        self.holding.as_ref().is_some_and(|holding| !holding.device.simulated)
    }

    /// Takes a result; what is none is left alone.
    pub fn take(&mut self, at: Timestamp, event: BenchEvent) {
        let session = self.session;
        match event {
            BenchEvent::Holding(holding) => self.holding = Some(holding),
            BenchEvent::Report(report) => self.path(at, *report),
            BenchEvent::Kernel(report) => self.kernel(at, *report),
            BenchEvent::Headroom(report) => {
                let path = report.path.clone();
                self.headroom.insert(path, Dated { at, session, value: report });
            }
            BenchEvent::Case(report) => self.case(at, report),
            BenchEvent::Failed(failure) => {
                let value = failure.error.to_string();
                self.failures.insert(failure.what, Dated { at, session, value });
            }
            _ => return,
        }
        self.newest = Some(at);
    }

    fn path(&mut self, at: Timestamp, mut report: PathReport) {
        // The small model is watched for numbers that are not finite while it runs, so its times are no speeds.
        let judged = !report.expected_tokens.is_empty();
        if judged || !self.times_count() {
            forget_times(&mut report);
        }
        let session = self.session;
        let path = self.paths.entry((report.profile.clone(), report.dtype)).or_default();
        let slot = if judged { &mut path.numeric } else { &mut path.speed };
        *slot = Some(Dated { at, session, value: report });
    }

    fn kernel(&mut self, at: Timestamp, mut report: KernelReport) {
        if !self.times_count() {
            report.samples_ns.clear();
        }
        self.failures.remove(&report.kernel);
        let value = Dated { at, session: self.session, value: report };
        self.kernels.insert(value.value.kernel.clone(), value);
    }

    /// Cases of a new session begin anew.
    fn case(&mut self, at: Timestamp, report: CaseReport) {
        let session = self.session;
        let checks = self.checks.entry(report.kernel).or_insert_with(|| Dated {
            at,
            session,
            value: Checks::default(),
        });
        if checks.session != session {
            *checks = Dated { at, session, value: Checks::default() };
        }
        checks.at = at;
        let value = &mut checks.value;
        value.error = value.error.into_iter().chain(report.error).reduce(f64::max);
        match report.wrong {
            None => value.right += 1,
            Some(wrong) => {
                value.wrong += 1;
                value.first_wrong.get_or_insert((report.case, wrong));
            }
        }
    }

    /// The newest report of a path that says whether it is right.
    pub fn numeric(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        Some(&self.path_result(profile, dtype)?.numeric.as_ref()?.value)
    }

    /// The newest report of a path that says how fast it is.
    pub fn speed(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        Some(&self.path_result(profile, dtype)?.speed.as_ref()?.value)
    }

    /// What is known of a path.
    pub fn path_result(&self, profile: &str, dtype: PathDtype) -> Option<&PathResult> {
        self.paths.get(&(profile.to_owned(), dtype))
    }

    /// Whether nothing has been measured.
    pub fn is_empty(&self) -> bool {
        self.newest.is_none()
    }
}

fn forget_times(report: &mut PathReport) {
    report.decode_tokens_per_s = None;
    report.decode_mad_tokens_per_s = None;
    report.prefill_gflop_per_s = None;
    report.gb_per_s = None;
    report.read_bandwidth_share = None;
}

//! What a device's worker has measured, with the day and the session of each result.

use std::collections::BTreeMap;

use warpscope_kernels::gpu::MachineError;
use warpscope_probes::Timestamp;

use crate::store::Series;
use crate::worker::cpu::CPU;
use crate::worker::precision::{Precision, precision_of};
use crate::worker::{
    CaseReport, Ceiling, Hello, Holding, KernelReport, PathDtype, PathReport, RangeReport,
    WorkerEvent, precision,
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

/// What a device's worker has measured.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The newest session, from 1.
    pub session: u32,
    /// What the worker holds of a GPU, or held.
    pub holding: Option<Holding>,
    /// Who computes, and a CPU's budget.
    pub hello: Option<Hello>,
    /// What bounds the paths of a CPU.
    pub ceiling: Option<Ceiling>,
    /// Decode rates of a CPU over time, per path of the clean profile.
    pub rates: BTreeMap<PathDtype, Series>,
    /// Paths of the micro decoder, by weight profile and the path's id.
    pub paths: BTreeMap<(String, &'static str), PathResult>,
    /// Kernels, each at the size measured last.
    pub kernels: BTreeMap<String, Dated<KernelReport>>,
    /// How far each path reaches.
    pub ranges: BTreeMap<String, Dated<RangeReport>>,
    /// Conformance by kernel.
    pub checks: BTreeMap<String, Dated<Checks>>,
    /// What could not be done, and why, by what was asked.
    pub failures: BTreeMap<String, Dated<String>>,
    /// When the newest of them came.
    pub newest: Option<Timestamp>,
}

impl Results {
    /// Begins a session. What could not be done in the last one may be possible now.
    pub fn begin(&mut self) {
        self.session += 1;
        self.failures.clear();
    }

    /// Whether the device is a fake; not while nothing is known of it.
    pub fn is_simulated(&self) -> bool {
        self.holding.as_ref().is_some_and(|holding| holding.device.simulated)
    }

    /// Times count only of a device that said it is a real one.
    fn times_count(&self) -> bool {
        self.holding.as_ref().is_some_and(|holding| !holding.device.simulated)
    }

    /// Takes a result; what is none is left alone.
    pub fn take(&mut self, at: Timestamp, event: WorkerEvent) {
        let session = self.session;
        match event {
            WorkerEvent::Hello(hello) => return self.hello = Some(hello),
            WorkerEvent::Ceiling(ceiling) => return self.ceiling = Some(ceiling),
            WorkerEvent::Holding(holding) => return self.holding = Some(holding),
            WorkerEvent::Report(report) => self.path(at, *report),
            WorkerEvent::Kernel(report) => self.kernel(at, *report),
            WorkerEvent::Range(report) => {
                let path = report.path.clone();
                self.ranges.insert(path, Dated { at, session, value: report });
            }
            WorkerEvent::Case(report) => self.case(at, report),
            WorkerEvent::Failed(failure) if failure.error == MachineError::Stopped => return,
            WorkerEvent::Failed(failure) => {
                let value = failure.error.to_string();
                self.failures.insert(failure.what, Dated { at, session, value });
                return;
            }
            _ => return,
        }
        self.newest = Some(at);
    }

    fn path(&mut self, at: Timestamp, mut report: PathReport) {
        // On a GPU the small model is watched for numbers that are not finite while it runs, so its times are no speeds.
        let judged = !report.expected_tokens.is_empty();
        if report.device == CPU {
            self.count_rate(&report);
        } else if judged || !self.times_count() {
            forget_times(&mut report);
        }
        let session = self.session;
        let Some(config) = report.precision() else { return };
        let path = self.paths.entry((report.profile.clone(), config.id)).or_default();
        let slot = if judged { &mut path.numeric } else { &mut path.speed };
        *slot = Some(Dated { at, session, value: report });
    }

    fn count_rate(&mut self, report: &PathReport) {
        if report.complete && report.profile == "clean" {
            let rate = report.decode_tokens_per_s.map(|rate| rate as f32);
            self.rates.entry(report.dtype).or_default().push(rate);
        }
    }

    fn kernel(&mut self, at: Timestamp, mut report: KernelReport) {
        if !self.times_count() {
            report.samples_ns.clear();
        }
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

    /// The newest report of the small model by the default path of a format.
    pub fn report(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        self.numeric(profile, precision_of(dtype)?)
    }

    /// The newest report of a path that says whether it is right.
    pub fn numeric(&self, profile: &str, config: Precision) -> Option<&PathReport> {
        Some(&self.path_result(profile, config)?.numeric.as_ref()?.value)
    }

    /// The newest report of a path that says how fast it is.
    pub fn speed(&self, profile: &str, config: Precision) -> Option<&PathReport> {
        Some(&self.path_result(profile, config)?.speed.as_ref()?.value)
    }

    /// Share of the bandwidth of its memory, measured in the same session, at which a path reads; none where a cache does.
    pub fn read_share(&self, profile: &str, config: Precision) -> Option<f64> {
        let speed = self.path_result(profile, config)?.speed.as_ref()?;
        let from_memory = speed.value.cache_resident == Some(false);
        let ceiling = self.read_ceiling_of(speed.session).filter(|_| from_memory)?;
        Some(speed.value.gb_per_s? * 1e9 / ceiling)
    }

    /// What is known of a path.
    pub fn path_result(&self, profile: &str, config: Precision) -> Option<&PathResult> {
        self.paths.get(&(profile.to_owned(), config.id))
    }

    /// How fast the default path of a format decodes, where that was measured.
    pub fn speed_of(&self, dtype: PathDtype) -> Option<&Dated<PathReport>> {
        self.path_result("clean", precision_of(dtype)?)?.speed.as_ref()
    }

    /// Why the device does not have a path, where it does not.
    pub fn absent(&self, config: Precision) -> Option<String> {
        precision::absent(config, &self.holding.as_ref()?.device)
    }

    /// Whether any rate is that of a cache.
    pub fn reads_a_cache(&self) -> bool {
        let paths = self.paths.values().flat_map(|path| [&path.numeric, &path.speed]);
        self.kernels.values().any(|report| report.value.l2_resident)
            || paths.flatten().any(|report| report.value.cache_resident == Some(true))
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
    report.read_gb_per_s = None;
    report.read_bandwidth_share = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::parse;

    fn f16() -> Precision {
        precision_of(PathDtype::Fp16).expect("has a path")
    }

    fn take(results: &mut Results, second: u64, line: &str) {
        let event = parse(1, line.as_bytes()).expect(line);
        results.take(Timestamp(second * 1000), event);
    }

    fn holding(simulated: bool) -> String {
        format!(
            r#"{{"event":"holding","device":{{"name":"synthetic","sm":"8.0","sms":1,"shared_per_block":1,"shared_per_block_optin":1,"l2_bytes":1,
            "memory_bytes":1,"driver_cuda":12080,"simulated":{simulated}}},"uuid":"GPU-synthetic","context_bytes":null,"arena_bytes":0,
            "arena_cap_bytes":0,"images":[]}}"#
        )
    }

    const KERNEL: &str = r#"{"event":"kernel","kernel":"gemv.f16","route":{"route":"native","by":"synthetic"},
        "shape":{"m":1,"n":8,"k":8},"samples_ns":[1.0,2.0],"bytes":1.0,"flops":1.0,"limiter":"memory","l2_resident":false,
        "output_hash":null,"image":"","sm_mhz":null}"#;

    fn report(tokens: &str, rate: &str) -> String {
        format!(
            r#"{{"event":"report","dtype":"fp16","profile":"clean","device":"gpu","tokens":{tokens},"expected_tokens":{tokens},"text":"",
            "complete":true,"non_finite":0,"first_bad":null,"error":null,"error_limit":0.1,"decode_tokens_per_s":{rate},
            "prefill_gflop_per_s":null,"gb_per_s":{rate},"read_bandwidth_share":null}}"#
        )
    }

    #[test]
    fn times_count_only_of_a_device_that_is_known_to_be_real() {
        for (first, samples, speed) in
            [(None, 0, None), (Some(true), 0, None), (Some(false), 2, Some(9.0))]
        {
            let mut results = Results::default();
            if let Some(simulated) = first {
                take(&mut results, 1, &holding(simulated));
            }
            take(&mut results, 2, KERNEL);
            take(&mut results, 2, &report("[]", "9.0"));
            assert_eq!(results.kernels["gemv.f16"].value.samples_ns.len(), samples, "{first:?}");
            let told = results.speed("clean", f16()).and_then(|r| r.decode_tokens_per_s);
            assert_eq!(told, speed, "{first:?}");
        }
    }

    #[test]
    fn the_small_model_says_what_is_right_and_the_large_one_how_fast() {
        let mut results = Results::default();
        take(&mut results, 1, &holding(false));
        take(&mut results, 2, &report("[]", "9.0"));
        take(&mut results, 3, &report("[1,2]", "1.0"));
        let speed = results.speed("clean", f16()).and_then(|r| r.decode_tokens_per_s);
        assert_eq!(speed, Some(9.0));
        let judged = results.numeric("clean", f16()).expect("was judged");
        assert_eq!((judged.tokens.len(), judged.decode_tokens_per_s), (2, None));
    }

    /// What was written before a report named its path is of the default one of its format.
    #[test]
    fn a_path_has_results_of_its_own_beside_the_default_one_of_its_format() {
        let mut results = Results::default();
        take(&mut results, 1, &holding(false));
        let named = |path: &str| {
            report("[1,2]", "null")
                .replace("\"profile\"", &format!("\"path\":\"{path}\",\"profile\""))
        };
        for line in [report("[1,2]", "null"), named("f16.acc16"), named("of another world")] {
            take(&mut results, 2, &line);
        }
        let ids: Vec<_> = results.paths.keys().map(|key| key.1).collect();
        assert_eq!(ids, ["f16", "f16.acc16"]);
    }

    #[test]
    fn cases_count_within_a_session_and_the_worst_error_stays() {
        let mut results = Results::default();
        let case = |error: &str, wrong: &str| {
            format!(
                r#"{{"event":"case","kernel":"gemm.f16","case":"1×1","error":{error},"wrong":{wrong}}}"#
            )
        };
        results.begin();
        take(&mut results, 1, &case("0.5", "null"));
        take(&mut results, 1, &case("0.25", "\"too far\""));
        take(&mut results, 1, &case("null", "null"));
        let checks = results.checks["gemm.f16"].value.clone();
        assert_eq!((checks.right, checks.wrong, checks.error), (2, 1, Some(0.5)));
        assert_eq!(checks.first_wrong, Some(("1×1".into(), "too far".into())));
        results.begin();
        take(&mut results, 9, &case("0.125", "null"));
        assert_eq!(results.checks["gemm.f16"].value.error, Some(0.125));
    }

    #[test]
    fn what_a_worker_holds_is_no_result_and_what_was_stopped_no_failure() {
        let mut results = Results::default();
        take(&mut results, 1, &holding(false));
        take(&mut results, 1, r#"{"event":"failed","what":"x","error":{"error":"stopped"}}"#);
        take(&mut results, 1, r#"{"event":"started"}"#);
        assert!(results.is_empty() && results.failures.is_empty());
        take(
            &mut results,
            1,
            r#"{"event":"failed","what":"x","error":{"error":"out_of_memory","asked":5}}"#,
        );
        assert_eq!(results.failures["x"].value, "the device has no 5 bytes left");
        results.begin();
        assert!(results.failures.is_empty());
    }
}

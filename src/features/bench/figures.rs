//! What raw times of kernels amount to: rates, and shares of what was seen to be possible in the same session.

use warpscope_kernels::gpu::{Limiter, Route};

use super::results::{Dated, Results};
use crate::worker::{KernelReport, Spread};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bytes,
    /// Seconds for one repetition.
    Seconds,
}

/// What a kernel reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// From the median time.
    pub value: f64,
    /// What it counts.
    pub unit: Unit,
    /// Median deviation of the times, as a share of their median.
    pub spread: f64,
    /// Share of the ceiling measured in the same session, 0–1 and possibly above; null where there is none to compare with.
    pub share: Option<f64>,
}

/// What limits the kernels named with it.
#[derive(Clone, Copy, Debug)]
pub struct Peak {
    /// Label in the roofline plot.
    pub label: &'static str,
    /// Kernel that measures it.
    pub kernel: &'static str,
    /// Kernels that run by the same instruction.
    pub of: &'static [&'static str],
}

/// The kernel that measures how fast memory can be read.
pub const READ: &str = "mem.read";

/// Peaks of the instructions, and what is judged by them. Where a device has several for a format, the one the kernels use comes first.
pub const PEAKS: &[Peak] = &[
    Peak {
        label: "fp16",
        kernel: "alu.mma.f16",
        of: &["gemm.f16", "gemm.f16out32", "attn.prefill.f16", "w4.gemm.f16"],
    },
    Peak { label: "fp16 sums", kernel: "alu.mma.f16acc16", of: &["gemm.f16acc16"] },
    Peak {
        label: "bf16",
        kernel: "alu.mma.bf16",
        of: &["gemm.bf16", "gemm.bf16out32", "attn.prefill.bf16", "w4.gemm.bf16"],
    },
    Peak { label: "tf32", kernel: "alu.mma.tf32", of: &["gemm.tf32"] },
    Peak { label: "int8", kernel: "alu.mma.s8", of: &["gemm.s8"] },
    Peak { label: "int4", kernel: "alu.mma.s4", of: &["gemm.s4"] },
    Peak { label: "fp8", kernel: "alu.mma.e4m3", of: &["gemm.e4m3"] },
    Peak { label: "fp8 e5m2", kernel: "alu.mma.e5m2", of: &["gemm.e5m2"] },
    Peak { label: "fp32", kernel: "alu.ffma", of: &["gemm.f32", "attn.prefill.f32"] },
    Peak { label: "dp4a", kernel: "alu.dp4a", of: &["gemm.s8"] },
];

/// What a kernel reached by itself; nothing where time means nothing.
pub fn reached(report: &KernelReport) -> Option<Figure> {
    let times = Spread::of(report.samples_ns.iter().copied()).filter(|times| times.median > 0.0)?;
    let seconds = times.median * 1e-9;
    let (value, unit) = match report.limiter {
        Limiter::Memory => (report.bytes / seconds, Unit::Bytes),
        Limiter::Arithmetic => (report.flops / seconds, Unit::Operations),
        Limiter::Latency => (seconds, Unit::Seconds),
    };
    let spread = times.mad / times.median;
    value.is_finite().then_some(Figure { value, unit, spread, share: None })
}

/// Family of the instruction a kernel is about: `wgmma` of `wgmma.m64n256k16`; none where others stand in.
fn instruction(report: &KernelReport) -> Option<&str> {
    let Route::Native { by } = &report.route else { return None };
    by.split('.').next()
}

impl Results {
    /// What a kernel reached, beside the ceiling of the same session.
    pub fn figure(&self, report: &Dated<KernelReport>) -> Option<Figure> {
        let figure = reached(&report.value)?;
        let ceiling = match figure.unit {
            Unit::Bytes if report.value.l2_resident => None,
            Unit::Bytes => self.rate_of(READ, report.session),
            Unit::Operations => {
                let mut peaks = PEAKS.iter().filter(|p| p.of.contains(&&*report.value.kernel));
                peaks.find_map(|peak| self.peak_of(peak, report))
            }
            Unit::Seconds => None,
        };
        let share = ceiling.filter(|ceiling| *ceiling > 0.0).map(|ceiling| figure.value / ceiling);
        Some(Figure { share, ..figure })
    }

    /// What a ceiling's kernel reached in a session.
    fn rate_of(&self, kernel: &str, session: u32) -> Option<f64> {
        let report = self.kernels.get(kernel).filter(|report| report.session == session)?;
        let native = matches!(report.value.route, Route::Native { .. });
        let honest = native && !(kernel == READ && report.value.l2_resident);
        reached(&report.value).filter(|_| honest).map(|figure| figure.value)
    }

    /// The peak that a kernel is held against, where both run by the same instruction: `wgmma` passes what `mma` reaches.
    fn peak_of(&self, peak: &Peak, report: &Dated<KernelReport>) -> Option<f64> {
        let measured = self.kernels.get(peak.kernel)?;
        let same = instruction(&measured.value)? == instruction(&report.value)?;
        self.rate_of(peak.kernel, report.session).filter(|_| same)
    }

    /// How fast memory was read in the newest session, bytes per second.
    pub fn read_ceiling(&self) -> Option<f64> {
        self.read_ceiling_of(self.session)
    }

    /// The same in another session.
    pub(crate) fn read_ceiling_of(&self, session: u32) -> Option<f64> {
        self.rate_of(READ, session)
    }

    /// The peaks of the newest session with their labels, operations per second: those that bound a kernel measured in it, or that it has
    /// no kernel for.
    pub fn peaks(&self) -> Vec<(&'static str, f64)> {
        let rate = |peak: &Peak| Some((peak.label, self.rate_of(peak.kernel, self.session)?));
        PEAKS.iter().filter(|peak| self.bounds_any(peak)).filter_map(rate).collect()
    }

    fn bounds_any(&self, peak: &Peak) -> bool {
        let reports = peak.of.iter().filter_map(|kernel| self.kernels.get(*kernel));
        let mut here = reports.filter(|report| report.session == self.session).peekable();
        here.peek().is_none() || here.any(|report| self.peak_of(peak, report).is_some())
    }
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::gpu::Shape;
    use warpscope_kernels::gpu::family::kernels;
    use warpscope_probes::Timestamp;

    use super::*;
    use crate::worker::SampleClocks;

    fn report(kernel: &str, limiter: Limiter, ns: &[f64]) -> KernelReport {
        KernelReport {
            kernel: kernel.into(),
            route: Route::Native { by: "synthetic".into() },
            shape: Shape::default(),
            variant: None,
            samples_ns: ns.to_vec(),
            bytes: 4e6,
            flops: 1e9,
            limiter,
            l2_resident: false,
            output_hash: None,
            family: None,
            image: String::new(),
            sm_mhz: None,
            clocks: SampleClocks::default(),
            convergence: None,
            strain: None,
        }
    }

    fn dated(session: u32, value: KernelReport) -> Dated<KernelReport> {
        Dated { at: Timestamp(0), session, value }
    }

    #[test]
    fn the_median_counts_and_what_limits_says_in_which_unit() {
        let times = [2000.0, 1000.0, 2000.0, 9000.0, 3000.0];
        for (limiter, value, unit) in [
            (Limiter::Memory, 2e12, Unit::Bytes),
            (Limiter::Arithmetic, 5e14, Unit::Operations),
            (Limiter::Latency, 2e-6, Unit::Seconds),
        ] {
            let figure = reached(&report("x", limiter, &times)).expect("was timed");
            assert!((figure.value / value - 1.0).abs() < 1e-12, "{figure:?}");
            assert_eq!((figure.unit, figure.spread), (unit, 0.5));
        }
        assert_eq!(reached(&report("x", Limiter::Memory, &[])), None);
        assert_eq!(reached(&report("x", Limiter::Memory, &[0.0, f64::NAN])), None);
    }

    #[test]
    fn shares_are_of_ceilings_of_the_same_session_only() {
        let mut results = Results { session: 2, ..Results::default() };
        let put = |results: &mut Results, session, report: KernelReport| {
            results.kernels.insert(report.kernel.clone(), dated(session, report));
        };
        let share = |results: &Results, report: &KernelReport| {
            results.figure(&dated(2, report.clone())).and_then(|figure| figure.share)
        };
        let gemv = report("gemv.f16", Limiter::Memory, &[2000.0]);
        let gemm = report("gemm.f16", Limiter::Arithmetic, &[2000.0]);
        assert_eq!(share(&results, &gemv), None);
        put(&mut results, 1, report(READ, Limiter::Memory, &[1000.0]));
        assert_eq!((share(&results, &gemv), results.read_ceiling()), (None, None));
        put(&mut results, 2, report(READ, Limiter::Memory, &[1000.0]));
        put(&mut results, 2, report("alu.mma.f16", Limiter::Arithmetic, &[500.0]));
        assert_eq!(share(&results, &gemv), Some(0.5));
        assert_eq!(share(&results, &gemm), Some(0.25));
        let cached = KernelReport { l2_resident: true, ..gemv };
        assert_eq!(share(&results, &cached), None, "a cache is no memory");
        let emulated = KernelReport { route: Route::Emulated { by: "others".into() }, ..gemm };
        assert_eq!(
            share(&results, &emulated),
            None,
            "other instructions are no peak of this format"
        );
    }

    /// On an H200 bf16 products by wgmma reached 797 T and mma.sync 642 T, in one session (tests/gpu/h200-2026-11-27).
    #[test]
    fn a_product_is_held_against_its_own_instruction_only() {
        for (product, peak, shares) in [
            ("wgmma.m64n256k16", "mma.m16n8k16", false),
            ("mma.m16n8k16", "mma.m16n8k16", true),
            ("mma.m16n8k8", "mma.m16n8k16", true),
            ("dp4a", "mma.m8n8k16", false),
        ] {
            let mut results = Results { session: 1, ..Results::default() };
            let put = |results: &mut Results, kernel: &str, by: &str, ns| {
                let route = Route::Native { by: by.into() };
                let report = report(kernel, Limiter::Arithmetic, &[ns]);
                let report = dated(1, KernelReport { route, ..report });
                results.kernels.insert(kernel.into(), report.clone());
                report
            };
            put(&mut results, "alu.mma.bf16", peak, 642.0);
            assert_eq!(results.peaks().len(), 1, "nothing was found to pass it");
            let gemm = put(&mut results, "gemm.bf16", product, 797.0);
            let share = results.figure(&gemm).expect("was timed").share;
            assert_eq!((share.is_some(), results.peaks().len()), (shares, usize::from(shares)));
        }
    }

    /// What a product of large matrices is held against is known for every kernel that is one.
    #[test]
    fn every_kernel_that_arithmetic_limits_has_a_peak() {
        let facts = warpscope_kernels::gpu::DeviceFacts {
            name: "synthetic".into(),
            sm: warpscope_kernels::Sm::new(9, 0),
            sms: 132,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 227 << 10,
            l2_bytes: 50 << 20,
            memory_bytes: 80 << 30,
            driver_cuda: 12_080,
            simulated: true,
            tuned: warpscope_kernels::gpu::TunedConfigs::default(),
        };
        let limited = kernels().filter(|kernel| {
            let works = (kernel.works)(&facts, 64 << 20);
            works.iter().any(|work| work.limiter == Limiter::Arithmetic)
        });
        let judged =
            limited.filter(|kernel| !kernel.id.starts_with("alu.")).map(|kernel| kernel.id);
        let without: Vec<_> =
            judged.filter(|id| !PEAKS.iter().any(|peak| peak.of.contains(id))).collect();
        assert!(without.is_empty(), "{without:?}");
    }

    /// Families still without kernels are not asked.
    #[test]
    fn every_kernel_named_is_one_of_the_registry() {
        let named = PEAKS.iter().flat_map(|peak| peak.of.iter().chain([&peak.kernel]));
        for id in named.chain([&READ]) {
            let family = |id: &str| id.split('.').next().map(str::to_owned);
            let mut of_family = kernels().filter(|kernel| family(kernel.id) == family(id));
            let known = of_family.by_ref().count();
            assert!(known == 0 || kernels().any(|kernel| kernel.id == *id), "{id}");
        }
    }
}

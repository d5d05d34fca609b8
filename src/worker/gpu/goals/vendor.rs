//! The same product by cuBLASLt, on the same operands.

use std::path::PathBuf;

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::cuda::blas::{Blas, BlasError, Kind, Prepared, Product, Workspace};
use warpscope_kernels::gpu::family::gemm;
use warpscope_kernels::gpu::{Element, GraphId, Machine, MachineError, Shape};
use warpscope_probes::trust::as_named;

use super::super::job::On;
use super::super::operands::poison;
use super::super::timing::repetitions;
use super::arm::{Arm, Taken};
use super::difference::difference;
use crate::worker::goals::ByVendor;
use crate::worker::protocol::TimingMode;

/// Memory the library may use: what its own guide recommends for Hopper.
const WORKSPACE: u64 = 32 << 20;
/// The same for a fake device.
const WORKSPACE_SMALL: u64 = 4096;
/// What rounding to bf16 does to a result, as the self-test allows it.
const BF16: f64 = 2.5e-3;
/// What sums of fp8 may lose that are never promoted, where the library is asked for fast ones.
const FAST: f64 = 0.02;
/// Algorithms that are asked for, and how often each is timed.
const ALGORITHMS: usize = 32;
const ROUNDS: usize = 5;

/// The library's side, and how far its result lies from ours.
pub(super) fn arm(
    on: &mut On<'_>,
    taken: &mut Taken,
    own: &Arm,
    shape: Shape,
    by: ByVendor,
    cublas: &[PathBuf],
) -> Result<(Arm, f64), MachineError> {
    let (x, weights, y) = match own.slots[..] {
        [x, weights, y, ..] => (x, weights, y),
        _ => return Err(MachineError::refused(format!("{shape:?} is no product of two matrices"))),
    };
    let ByVendor { from, to, compute, fast_sums } = by;
    let bytes = u64::from(shape.m) * u64::from(shape.n) * to.bytes();
    let result = taken.allocate(on.machine, bytes)?;
    poison(on.machine, result, bytes)?;
    let room = if on.machine.facts().simulated { WORKSPACE_SMALL } else { WORKSPACE };
    let workspace = Workspace { place: taken.allocate(on.machine, room)?, bytes: room };
    // Y = X·Wᵀ row by row is Yᵀ = W·Xᵀ column by column.
    let Shape { m, n, k, .. } = shape;
    let strides = [k, k, n];
    let places = [weights, x, result];
    let product =
        Product { m: n, n: m, k, transposed: true, from, to, compute, fast_sums, strides, places };
    let machine = on
        .machine
        .cuda()
        .ok_or_else(|| MachineError::refused("there is no driver behind this machine"))?;
    let blas = open(machine, cublas)?;
    let version = blas.version().unwrap_or_else(|_| "of unknown version".to_owned());
    let recorded = record(machine, &blas, &product, workspace);
    // What is recorded is given back before its library, whatever came of it.
    taken.libraries.push(blas);
    let (graph, times, note) = recorded?;
    taken.keep(graph);
    let count = u64::from(m) * u64::from(n);
    let own_limit = gemm::limit(&own.report.what)
        .ok_or_else(|| MachineError::refused(format!("no limit of {}", own.report.what)))?;
    let own_element = gemm::output(&own.report.what).unwrap_or(element(to));
    let difference = difference(on.machine, [(y, own_element), (result, element(to))], count)?;
    let apart = apart(own_limit, by);
    if difference.is_nan() || difference > apart {
        let what =
            format!("our result and cuBLASLt's lie {difference:.1e} apart, more than {apart:.1e}");
        return Err(MachineError::Fault { what });
    }
    let what = format!("cuBLASLt {version}{}", mode(by));
    let mut arm = Arm::of_library(what, own.report.amount, (graph, times));
    arm.cache = note;
    Ok((arm, difference))
}

/// The first copy that works.
fn open(machine: &CudaMachine, cublas: &[PathBuf]) -> Result<Blas, MachineError> {
    let mut why = "no cuBLAS was found that may be loaded; --cublas names one".to_owned();
    for path in cublas {
        let opened = as_named(path)
            .map_err(|error| error.to_string())
            .and_then(|path| Blas::open(&path, machine).map_err(|error| error.to_string()));
        match opened {
            Ok(blas) => return Ok(blas),
            Err(error) => why = error,
        }
    }
    Err(MachineError::refused(why))
}

fn record(
    machine: &mut CudaMachine,
    blas: &Blas,
    product: &Product,
    workspace: Workspace,
) -> Result<(GraphId, usize, String), MachineError> {
    let all = blas.prepare_all(machine, product, Some(workspace), ALGORITHMS).map_err(told)?;
    let note = best_of(machine, &all)?;
    let prepared = &all[0];
    // Kernels are loaded by the first call, which no recording would bear.
    prepared.run(machine).map_err(told)?;
    let many = |machine: &mut CudaMachine, times: usize| {
        machine.record_calls(|machine| {
            (0..times).try_for_each(|_| prepared.put(machine).map_err(told))
        })
    };
    let once = many(machine, 1)?;
    machine.replay(once, 1)?;
    let Some(once_took) = machine.sample(once)? else { return Ok((once, 1, note)) };
    match repetitions(TimingMode::Sustained, once_took.ns, 1) {
        1 => Ok((once, 1, note)),
        times => {
            machine.forget(once)?;
            Ok((many(machine, times)?, times, note))
        }
    }
}

/// How the fastest algorithm the library offers stands to the one it thinks best, which is what programs get. Each is timed by the least of a
/// few samples in turn: what is to be seen is a different algorithm, not a per cent.
fn best_of(machine: &mut CudaMachine, all: &[Prepared<'_>]) -> Result<String, MachineError> {
    let mut graphs = Vec::new();
    for (at, prepared) in all.iter().enumerate() {
        // What it offers and then does not run is no candidate.
        match prepared.run(machine).map_err(told) {
            Ok(()) => {}
            Err(MachineError::Refused { .. }) if at > 0 => continue,
            Err(error) => return Err(error),
        }
        let put = |machine: &CudaMachine| prepared.put(machine).map_err(told);
        graphs.push((at, machine.record_calls(put)?));
    }
    let mut least = vec![f64::INFINITY; graphs.len()];
    for _ in 0..ROUNDS {
        for (least, (_, graph)) in least.iter_mut().zip(&graphs) {
            *least = machine.sample(*graph)?.map_or(*least, |sample| sample.ns.min(*least));
        }
    }
    graphs.iter().try_for_each(|(_, graph)| machine.forget(*graph))?;
    let numbers: Vec<usize> = graphs.iter().map(|(at, _)| *at).collect();
    Ok(comparison(&numbers, &least))
}

/// `cuBLASLt by heuristic 1; the best of 32 (number 7) takes 0.93 of its time`; nothing where nothing was timed.
fn comparison(numbers: &[usize], least: &[f64]) -> String {
    let best = (0..least.len()).min_by(|a, b| least[*a].total_cmp(&least[*b]));
    match (best, least.first()) {
        (Some(best), Some(first)) if first.is_finite() && *first > 0.0 => format!(
            "cuBLASLt by heuristic 1; the best of {} (number {}) takes {:.2} of its time",
            least.len(),
            numbers[best] + 1,
            least[best] / first
        ),
        _ => String::new(),
    }
}

fn told(error: BlasError) -> MachineError {
    match error {
        BlasError::Machine(error) => error,
        other => MachineError::refused(other.to_string()),
    }
}

/// How far two right results may lie apart: twice what the self-test allows ours, whose sums the library's are like, and what else the library is
/// asked to round. Whole numbers are equal.
fn apart(own_limit: f64, ByVendor { from, to, fast_sums, .. }: ByVendor) -> f64 {
    let narrowed = if (from, to) == (Kind::E4m3, Kind::Bf16) { BF16 } else { 0.0 };
    2.0 * own_limit + narrowed + if fast_sums { FAST } else { 0.0 }
}

/// What is told of a product that can be asked for in several ways.
fn mode(ByVendor { from, to, fast_sums, .. }: ByVendor) -> String {
    if from != Kind::E4m3 {
        return String::new();
    }
    let sums = if fast_sums { "fast" } else { "slow" };
    let results = if to == Kind::Bf16 { "bf16" } else { "fp32" };
    format!(", {sums} accumulation, {results} out")
}

fn element(kind: Kind) -> Element {
    match kind {
        Kind::F16 => Element::F16,
        Kind::Bf16 => Element::Bf16,
        Kind::I32 => Element::I32,
        _ => Element::F32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::goals::{Against, GOALS, Own};

    #[test]
    fn heuristic_one_and_the_best_are_both_told() {
        let said = comparison(&[0, 1, 4], &[100.0, 120.0, 93.0]);
        assert_eq!(
            said,
            "cuBLASLt by heuristic 1; the best of 3 (number 5) takes 0.93 of its time"
        );
        assert_eq!(comparison(&[0], &[f64::INFINITY]), "", "nothing was timed");
    }

    /// The limits of the self-test are 3e-4, 2.5e-3, 3e-3 and none.
    #[test]
    fn right_results_lie_as_far_apart_as_two_roundings() {
        let of = |id: &str| {
            let goal = GOALS.iter().find(|goal| goal.id == id).expect("is there");
            let (Against::Vendor(by), Own::Kernel { id, .. }) = (goal.against, goal.own) else {
                panic!("{id} is no product");
            };
            (apart(gemm::limit(id).expect("is a product"), by), mode(by))
        };
        for (goal, limit, said) in [
            ("gemm.f16.8192", 6e-4, ""),
            ("gemm.bf16.4096", 5e-3, ""),
            ("gemm.s8.8192", 0.0, ""),
            ("gemm.e4m3.8192", 6e-3, ", slow accumulation, fp32 out"),
            ("gemm.e4m3.8192.fast", 2.6e-2, ", fast accumulation, fp32 out"),
            ("gemm.e4m3.8192.bf16", 8.5e-3, ", slow accumulation, bf16 out"),
            ("gemm.e4m3.8192.fast.bf16", 2.85e-2, ", fast accumulation, bf16 out"),
        ] {
            let (apart, mode) = of(goal);
            assert!((apart - limit).abs() < 1e-9, "{goal}: {apart}");
            assert_eq!(mode, said, "{goal}");
        }
    }
}

//! K50: how far each path reaches before it leaves the finite numbers, in powers of two.
//!
//! One product with a row for each amplitude, whose terms all add up to that power of two, and one row whose terms add up
//! beyond 65 504 before they cancel. The first shows what results are stored in, the second what sums are kept in: storing
//! fp16 from fp32 sums passes it, fp16 sums do not. Amplitudes of random data were rejected: where they overflow depends on
//! the draw, and an exact power of two does not.

mod dense;

use super::family::stream::{Path, Places, Streamed, product, store};
use super::family::{gemv, nf4, w4};
use super::{BufferId, DeviceFacts, Machine, MachineError, Shape, Slot};

/// The smallest amplitude that is tried, as a power of two.
const LEAST: i32 = 8;
/// The largest.
const MOST: i32 = 24;
/// Terms of a sum.
const TERMS: usize = 512;
/// Every activation, as a power of two.
const X: i32 = 5;
/// Magnitude of a weight in the cancelling row, as a power of two: after half of the terms the sum is 2²².
const CANCELLING: i32 = 9;
/// How far from the truth what is left after cancelling may be. Eight-bit activations and sums in fp32 stay far below.
const TOLERANCE: f64 = 1.0 / 16.0;

/// A path that can be tried.
#[derive(Clone, Copy)]
pub struct Probe {
    path: &'static Path,
    kernel: &'static str,
}

/// How far a path reaches.
#[derive(Clone, Debug, PartialEq)]
pub struct Headroom {
    /// Path: `gemv.f16 fp32 out`.
    pub path: &'static str,
    /// Kernel it is of.
    pub kernel: &'static str,
    /// First power of two of the amplitude at which an output is not finite; `None` where none is up to the last one tried.
    pub first_bad_log2: Option<i32>,
    /// The last one tried.
    pub tried_log2: i32,
    /// Whether a sum whose partial sums pass 65 504 while its result does not comes out right.
    pub survives_cancelling: bool,
}

/// Kernels of few tokens and their paths.
const STREAMED: &[(&str, &[Path])] = &[
    ("gemv.f16", gemv::F16::PATHS),
    ("gemv.bf16", gemv::Bf16::PATHS),
    ("gemv.f32", gemv::F32::PATHS),
    ("w4.f16", w4::F16::PATHS),
    ("w4.bf16", w4::Bf16::PATHS),
    ("w4.gemm.f16", w4::GemmF16::PATHS),
    ("w4.gemm.bf16", w4::GemmBf16::PATHS),
    ("awq.f16", w4::Awq::PATHS),
    ("w4a8", w4::EightBits::PATHS),
    ("nf4.f16", nf4::F16::PATHS),
    ("nf4.bf16", nf4::Bf16::PATHS),
];

/// Every path of products, family by family.
pub fn probes() -> impl Iterator<Item = Probe> {
    let kernels = dense::PATHS.iter().chain(STREAMED);
    kernels.flat_map(|(kernel, paths)| paths.iter().map(move |path| Probe { path, kernel }))
}

impl Probe {
    /// The path: `gemv.f16 fp32 out`.
    pub fn path(&self) -> &'static str {
        self.path.id
    }

    /// The kernel it is of.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// Why a device does not have the path, where it does not.
    pub fn absent(&self, facts: &DeviceFacts) -> Option<String> {
        let nowhere = Slot { buffer: BufferId(0), offset: 0 };
        let (weights, scratch) = ([nowhere; 4], [nowhere; 4]);
        let places = Places { x: nowhere, weights: &weights, scratch: &scratch, y: nowhere };
        (self.path.launch)(facts, self.path.formats, &places, shape()).err()
    }

    /// Tries the path, in less than a megabyte, which is given back.
    pub fn run(&self, machine: &mut dyn Machine) -> Result<Headroom, MachineError> {
        let mut held = Vec::new();
        let result = self.in_memory(machine, &mut held);
        let freed: Result<Vec<()>, _> =
            held.into_iter().map(|buffer| machine.free(buffer)).collect();
        result.and_then(|headroom| freed.map(|_| headroom))
    }

    fn in_memory(
        &self,
        machine: &mut dyn Machine,
        held: &mut Vec<BufferId>,
    ) -> Result<Headroom, MachineError> {
        let refused = |why| MachineError::Refused { why };
        let Path { formats, .. } = *self.path;
        let shape = shape();
        let stored = (self.path.store)(shape.n as usize, TERMS, &weights()).map_err(refused)?;
        let x = store(formats.input, &[f64::from(X).exp2(); TERMS]);
        let reference = product(&formats.input.values(&x), &stored.values, TERMS);
        let mut outputs = vec![0; shape.n as usize * formats.output.bytes()];
        let mut hold = |machine: &mut dyn Machine, bytes: usize| {
            let buffer = machine.allocate(bytes as u64)?;
            held.push(buffer);
            Ok(Slot::from(buffer))
        };
        let (x_at, y) = (hold(machine, x.len())?, hold(machine, outputs.len())?);
        machine.write(x_at, &x)?;
        machine.write(y, &outputs)?;
        let mut weights_at = Vec::new();
        for part in &stored.parts {
            let slot = hold(machine, part.len())?;
            machine.write(slot, part)?;
            weights_at.push(slot);
        }
        let mut scratch = Vec::new();
        for content in (self.path.scratch)(machine.facts(), shape) {
            let slot = hold(machine, content.bytes())?;
            machine.write(slot, &vec![0; content.bytes()])?;
            scratch.push(slot);
        }
        let places = Places { x: x_at, weights: &weights_at, scratch: &scratch, y };
        let launches =
            (self.path.launch)(machine.facts(), formats, &places, shape).map_err(refused)?;
        machine.run(&launches)?;
        machine.read(y, &mut outputs)?;
        Ok(self.judged(&formats.output.values(&outputs), &reference))
    }

    fn judged(&self, outputs: &[f64], reference: &[f64]) -> Headroom {
        let (cancelled, reached) = (outputs.last(), outputs.iter().zip(LEAST..=MOST));
        let expected = reference.last().copied().unwrap_or(f64::NAN);
        let right = |y: &f64| (y - expected).abs() <= expected.abs() * TOLERANCE;
        Headroom {
            path: self.path.id,
            kernel: self.kernel,
            first_bad_log2: reached.into_iter().find(|(y, _)| !y.is_finite()).map(|(_, log2)| log2),
            tried_log2: MOST,
            survives_cancelling: cancelled.is_some_and(right),
        }
    }
}

fn shape() -> Shape {
    Shape { m: 1, n: (MOST - LEAST + 2) as u32, k: TERMS as u32, ..Shape::default() }
}

/// A row for each amplitude, and the one that cancels but for a quarter of its last term.
fn weights() -> Vec<f32> {
    let power = |log2: i32| f64::from(log2).exp2() as f32;
    let constant = |log2: i32| vec![power(log2 - X - TERMS.ilog2() as i32); TERMS];
    let mut rows: Vec<f32> = (LEAST..=MOST).flat_map(constant).collect();
    let half = TERMS / 2;
    rows.extend(vec![power(CANCELLING); half]);
    rows.extend(vec![-power(CANCELLING); half - 1]);
    rows.push(-0.75 * power(CANCELLING));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Element;
    use crate::gpu::family::kernels;

    #[test]
    fn paths_are_unique_and_of_kernels_that_there_are() {
        for probe in probes() {
            assert_eq!(probes().filter(|other| other.path() == probe.path()).count(), 1);
            assert!(kernels().any(|kernel| kernel.id == probe.kernel()), "{}", probe.kernel());
            assert!(probe.path().starts_with(probe.kernel()), "{}", probe.path());
        }
    }

    /// Whatever the weights are stored in, the sums are what they are meant to be.
    #[test]
    fn every_storage_holds_the_amplitudes() {
        for probe in probes() {
            let stored = (probe.path.store)(shape().n as usize, TERMS, &weights()).unwrap();
            let sums = product(&[f64::from(X).exp2(); TERMS], &stored.values, TERMS);
            for (sum, log2) in sums.iter().zip(LEAST..=MOST) {
                assert_eq!(*sum, f64::from(log2).exp2(), "{}", probe.path());
            }
            let left = sums[sums.len() - 1];
            assert!((1000.0..30_000.0).contains(&left), "{}: {left}", probe.path());
        }
    }

    /// What the outputs of sums in fp32 look like, stored in fp16; in fp16 sums, and in fp32.
    #[test]
    fn what_is_not_finite_or_not_right_is_found() {
        let probe = probes().next().unwrap();
        let amplitudes: Vec<f64> = (LEAST..=MOST).map(|log2| f64::from(log2).exp2()).collect();
        let reference = [&amplitudes[..], &[4096.0]].concat();
        let fp16 = Element::F16.values(&store(Element::F16, &reference));
        let judged = probe.judged(&fp16, &reference);
        assert_eq!((judged.first_bad_log2, judged.survives_cancelling), (Some(16), true));
        for lost in [f64::NAN, f64::INFINITY, 0.0] {
            let outputs = [&amplitudes[..], &[lost]].concat();
            let judged = probe.judged(&outputs, &reference);
            assert_eq!((judged.first_bad_log2, judged.survives_cancelling), (None, false));
        }
    }
}

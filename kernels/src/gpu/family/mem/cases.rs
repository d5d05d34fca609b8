//! What proves the scans, the references and the data; the scans are timed, too.

use half::{bf16, f16};

use super::{
    Finite, HASH_BYTES, Precision, REPORT_BYTES, Sample, finite, hash, hash_of, noise, noise_bytes,
    reference,
};
use crate::Dtype;
use crate::gpu::family::stream::{Launches, NOWHERE, Operands, product, store, suffix};
use crate::gpu::{
    Case, Content, DeviceFacts, Element, Expect, GpuKernel, Limiter, Plan, Route, Shape, Slot, Work,
};

/// Launches that the case's own sizes make possible.
fn planned(launch: impl Fn(&[Slot]) -> Launches + 'static) -> Plan {
    Box::new(move |slots| launch(slots).expect("the sizes of a case are possible"))
}

/// Elements of the scanned tensors and multiprocessors to plan for.
const SCANS: &[(usize, u32)] = &[(1, 80), (7, 80), (100, 80), (4099, 1), (40_000, 1)];

/// What a scan finds, by the plainest reading of its definition.
fn found(values: &[f64], normal: f64) -> Finite {
    let count = |test: &dyn Fn(&f64) -> bool| values.iter().filter(|v| test(v)).count() as u32;
    let place = |test: &dyn Fn(&f64) -> bool| values.iter().position(test).map(|at| at as u32);
    let finite = values.iter().filter(|v| v.is_finite()).map(|v| v.abs());
    let largest = finite
        .reduce(f64::max)
        .and_then(|largest| place(&|v| v.abs() == largest).map(|at| (largest as f32, at)));
    Finite {
        nan: count(&|v| v.is_nan()),
        infinite: count(&|v| v.is_infinite()),
        over_fp16: count(&|v| v.is_finite() && v.abs() > 65_504.0),
        subnormal: count(&|v| *v != 0.0 && v.abs() < normal),
        largest,
        first_bad: place(&|v| !v.is_finite()),
    }
}

/// Bytes with all kinds of numbers among ordinary ones, and none in the smallest.
fn mixed(element: Element, count: usize, seed: u32) -> Vec<u8> {
    let mut bytes = noise_bytes(element, count, seed);
    let special = [
        f64::NAN,
        f64::INFINITY,
        65_520.0,
        -70_000.0,
        3e-8,
        -1e-40,
        f64::NEG_INFINITY,
        65_504.0,
        0.0,
    ];
    let size = element.bytes();
    for (i, value) in special.iter().enumerate() {
        let at = count / 2 + i * 17;
        if count > 8 && at < count {
            bytes[at * size..(at + 1) * size].copy_from_slice(&store(element, &[*value]));
        }
    }
    bytes
}

fn scanned(
    facts: &DeviceFacts,
    element: Element,
    count: usize,
    bytes: Vec<u8>,
    what: &str,
) -> Case {
    let normal = match element {
        Element::F16 => f16::MIN_POSITIVE.to_f64(),
        Element::Bf16 => bf16::MIN_POSITIVE.to_f64(),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let report = found(&element.values(&bytes), normal).to_report();
    let sms = facts.sms;
    let facts = facts.clone();
    Case {
        name: format!("{count} {} {what}, {sms} multiprocessors", suffix(element)),
        buffers: vec![Content::Bytes(bytes), Content::Poison(REPORT_BYTES)],
        plan: planned(move |slots| finite(&facts, slots[0], element, count as u32, slots[1])),
        expect: vec![Expect::bits(1, Element::U32, report.to_vec())],
    }
}

fn finite_cases(facts: &DeviceFacts) -> Vec<Case> {
    let formats = [Element::F32, Element::F16, Element::Bf16];
    let sizes = formats.into_iter().flat_map(|element| SCANS.iter().map(move |s| (element, s)));
    let drawn = sizes.map(|(element, &(count, sms))| {
        let facts = DeviceFacts { sms, ..facts.clone() };
        scanned(&facts, element, count, mixed(element, count, 3), "mixed")
    });
    let nan = store(Element::F32, &[f64::NAN; 33]);
    let nothing = scanned(facts, Element::F32, 33, nan, "NaN");
    let twice = scanned(facts, Element::F16, 300, store(Element::F16, &[-2.0; 300]), "equal");
    drawn.chain([nothing, twice]).collect()
}

fn hash_cases(facts: &DeviceFacts) -> Vec<Case> {
    let case = |&(count, sms): &(usize, u32)| {
        let facts = DeviceFacts { sms, ..facts.clone() };
        let bytes = noise_bytes(Element::U8, count, 4);
        let expected = hash_of(&bytes).to_le_bytes().to_vec();
        Case {
            name: format!("{count} bytes, {sms} multiprocessors"),
            buffers: vec![Content::Bytes(bytes), Content::Poison(HASH_BYTES)],
            plan: planned(move |slots| hash(&facts, slots[0], count as u32, slots[1])),
            expect: vec![Expect::bits(1, Element::U32, expected)],
        }
    };
    SCANS.iter().map(case).collect()
}

fn noise_cases(facts: &DeviceFacts) -> Vec<Case> {
    let formats =
        [Element::F64, Element::F32, Element::F16, Element::Bf16, Element::U32, Element::U8];
    let sizes = formats.into_iter().flat_map(|element| [3, 1001].map(|count| (element, count)));
    let case = |(element, count): (Element, usize)| {
        let facts = DeviceFacts { sms: 1, ..facts.clone() };
        Case {
            name: format!("{count} {}", suffix(element)),
            buffers: vec![Content::Poison(count * element.bytes())],
            plan: planned(move |slots| {
                Ok(vec![noise(&facts, slots[0], element, count as u32, 0x9000_0001)?])
            }),
            expect: vec![Expect::bits(0, element, noise_bytes(element, count, 0x9000_0001))],
        }
    };
    sizes.map(case).collect()
}

/// Sizes and samples of the references.
const REFERENCES: &[([u32; 3], [u32; 2])] =
    &[([1, 1, 1], [1, 1]), ([3, 7, 33], [3, 7]), ([20, 50, 999], [3, 4])];

/// Largest relative error: half of 2⁻⁵³ for every sum of fp64, of 2⁻⁴⁶ for those of pairs.
fn reference_cases(precision: Precision) -> Vec<Case> {
    let limit = match precision {
        Precision::Double => 1e-14,
        Precision::FloatPairs => 1e-12,
    };
    let formats = [Element::F32, Element::F16, Element::Bf16];
    let sizes =
        formats.into_iter().flat_map(|element| REFERENCES.iter().map(move |r| (element, r)));
    let case = |(element, &([m, n, k], [rows, columns])): (Element, &([u32; 3], [u32; 2]))| {
        let (shape, sample) = (Shape { m, n, k, ..Shape::default() }, Sample { rows, columns });
        let x = noise_bytes(element, (m * k) as usize, 1);
        let w = noise_bytes(element, (n * k) as usize, 2);
        let all = product(&element.values(&x), &element.values(&w), k as usize);
        let sampled = sample.places(shape).map(|(row, column)| all[(row * n + column) as usize]);
        let reference_values: Vec<f64> = sampled.collect();
        let plan = move |slots: &[Slot]| {
            let operands = Operands { x: slots[0], weights: slots[1], y: slots[2] };
            Ok(vec![reference(precision, element, operands, shape, sample)?])
        };
        Case {
            name: format!("{rows}×{columns} of {m}×{n}×{k} {}", suffix(element)),
            buffers: vec![
                Content::Bytes(x),
                Content::Bytes(w),
                Content::Poison(reference_values.len() * 8),
            ],
            plan: planned(plan),
            expect: vec![Expect::near(2, Element::F64, reference_values, limit)],
        }
    };
    sizes.map(case).collect()
}

/// Sizes at which scans are timed by default, KiB.
const SIZES: &[u32] = &[16 << 10, 64 << 10];

/// What scans so many bytes.
type Scan = fn(&DeviceFacts, u32, &[Slot]) -> Launches;

/// A scan of so many KiB of fp16 numbers into so many bytes.
fn scan_work(
    facts: &DeviceFacts,
    shape: Shape,
    arena: u64,
    (launches, found): (Scan, usize),
) -> Result<Work, String> {
    let bytes = u64::from(shape.only(&["n"])?.n) << 10;
    let small = u32::try_from(bytes).ok().filter(|bytes| u64::from(*bytes) + 32 <= arena);
    let small = small.filter(|bytes| *bytes > 0);
    let count = small.ok_or_else(|| format!("{bytes} bytes are not scanned at once"))?;
    launches(facts, count, &[NOWHERE; 2])?;
    let facts = facts.clone();
    let noise = Content::Noise { element: Element::F16, count: count as usize / 2, seed: 1 };
    Ok(Work {
        shape,
        buffers: vec![noise, Content::Poison(found)],
        plan: planned(move |slots| launches(&facts, count, slots)),
        bytes: bytes as f64,
        flops: 0.0,
        limiter: Limiter::Memory,
        variant: "",
    })
}

fn shapes() -> impl Iterator<Item = Shape> {
    SIZES.iter().map(|&n| Shape { n, ..Shape::default() })
}

fn finite_work(facts: &DeviceFacts, shape: Shape, arena: u64) -> Result<Work, String> {
    let launches = |facts: &DeviceFacts, bytes, slots: &[Slot]| {
        finite(facts, slots[0], Element::F16, bytes / 2, slots[1])
    };
    scan_work(facts, shape, arena, (launches, REPORT_BYTES))
}

fn hash_work(facts: &DeviceFacts, shape: Shape, arena: u64) -> Result<Work, String> {
    let launches =
        |facts: &DeviceFacts, bytes, slots: &[Slot]| hash(facts, slots[0], bytes, slots[1]);
    scan_work(facts, shape, arena, (launches, HASH_BYTES))
}

const fn untimed(
    id: &'static str,
    title: &'static str,
    dtype: Dtype,
    cases: fn(&DeviceFacts) -> Vec<Case>,
) -> GpuKernel {
    let route = |_: &DeviceFacts| Route::Native { by: "integer operations".to_owned() };
    GpuKernel { id, title, family: "mem", dtype, route, cases, ..GpuKernel::UNTIMED }
}

/// Scans, references and data.
pub(super) const FINITE: GpuKernel = GpuKernel {
    works: |facts, arena| shapes().filter_map(|s| finite_work(facts, s, arena).ok()).collect(),
    work: |facts, shape| finite_work(facts, shape, facts.memory_bytes / 2),
    ..untimed("probe.finite", "scan for what is not finite", Dtype::Fp16, finite_cases)
};
pub(super) const HASH: GpuKernel = GpuKernel {
    works: |facts, arena| shapes().filter_map(|s| hash_work(facts, s, arena).ok()).collect(),
    work: |facts, shape| hash_work(facts, shape, facts.memory_bytes / 2),
    ..untimed("hash", "hash of a piece of memory", Dtype::Fp32, hash_cases)
};
pub(super) const NOISE: GpuKernel =
    untimed("mem.noise", "data from a hash", Dtype::Fp32, noise_cases);
pub(super) const DOUBLE: GpuKernel = GpuKernel {
    route: |_| Route::Native { by: "fma.f64".to_owned() },
    ..untimed("ref.fp64", "reference products in fp64", Dtype::Fp64, |_| {
        reference_cases(Precision::Double)
    })
};
pub(super) const PAIRS: GpuKernel = GpuKernel {
    route: |_| Route::Native { by: "fma.f32".to_owned() },
    ..untimed("ref.fp32x2", "reference products in pairs of fp32", Dtype::Fp32, |_| {
        reference_cases(Precision::FloatPairs)
    })
};

//! What holds of the kernels that stream weights, memory and data, without running them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::Sm;
use crate::gpu::family::{gemv, mem, nf4, w4};
use crate::gpu::{BufferId, Content, DeviceFacts, GpuKernel, Judge, Launch, MOST_VARIANTS, Route};

/// The devices of the product's stand-in, and their multiprocessors and second-level caches in MiB.
const DEVICES: &[(u8, u8, u32, u64)] = &[
    (6, 0, 56, 4),
    (6, 1, 10, 1),
    (7, 0, 80, 6),
    (7, 5, 40, 4),
    (8, 0, 108, 40),
    (8, 9, 128, 72),
    (9, 0, 132, 50),
    (10, 0, 148, 126),
    (12, 0, 170, 96),
];

fn devices() -> impl Iterator<Item = DeviceFacts> {
    DEVICES.iter().map(|&(major, minor, sms, l2)| DeviceFacts {
        name: format!("sm_{major}{minor}"),
        sm: Sm::new(major, minor),
        sms,
        shared_per_block: 48 << 10,
        shared_per_block_optin: 48 << 10,
        l2_bytes: l2 << 20,
        memory_bytes: 16 << 30,
        driver_cuda: 12_090,
        simulated: true,
        tuned: crate::gpu::TunedConfigs::default(),
    })
}

fn kernels() -> impl Iterator<Item = &'static GpuKernel> {
    [gemv::KERNELS, mem::KERNELS, nf4::KERNELS, w4::KERNELS].into_iter().flatten()
}

/// Buffers of a case or work, one after the other in one.
fn slots(buffers: &[Content]) -> Vec<Slot> {
    (0..buffers.len() as u32).map(|id| Slot { buffer: BufferId(id), offset: 0 }).collect()
}

/// Limits of every device: CUDA C++ programming guide, "Compute Capabilities".
fn assert_launchable(launch: &Launch, what: &str) {
    let Launch { grid, block, shared_bytes, .. } = launch;
    assert!(grid.iter().chain(block).all(|size| *size > 0), "{what}: {launch:?}");
    assert!(grid[0] < 1 << 31 && grid[1] <= 65_535 && grid[2] <= 65_535, "{what}: {launch:?}");
    assert!(block.iter().product::<u32>() <= 1024 && *shared_bytes <= 48 << 10, "{what}");
}

#[test]
fn a_kernel_has_the_same_cases_wherever_it_has_the_same_ways() {
    for kernel in kernels() {
        let mut by_ways = BTreeMap::new();
        // The oldest, the one in the middle and the newest.
        for facts in devices().step_by(4) {
            let (dispatches, cases) =
                ((kernel.variants)(&facts).len(), (kernel.cases)(&facts).len());
            let absent = matches!((kernel.route)(&facts), Route::Absent { .. });
            let same = *by_ways.entry((dispatches, absent)).or_insert(cases);
            assert_eq!(cases, same, "{} {}", kernel.id, facts.sm);
            assert_eq!(cases == 0, absent, "{} {}", kernel.id, facts.sm);
        }
        assert!(by_ways.values().any(|cases| *cases >= 3), "{}", kernel.id);
    }
}

/// A forced variant is what is timed, and each has a name of its own.
#[test]
fn variants_are_few_and_can_be_forced() {
    let shape = Shape { m: 1, n: 1024, k: 2048, ..Shape::default() };
    for (facts, kernel) in devices().flat_map(|facts| kernels().map(move |k| (facts.clone(), k))) {
        let variants = (kernel.variants)(&facts);
        assert!(variants.len() <= MOST_VARIANTS, "{}", kernel.id);
        let names: BTreeSet<&str> = variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names.len(), variants.len(), "{}", kernel.id);
        for name in names {
            let work = (kernel.work)(&facts.with_variant(kernel.id, name), shape);
            assert_eq!(work.expect("the size is possible").variant, name, "{}", kernel.id);
        }
        if let (false, Ok(work)) = (variants.is_empty(), (kernel.work)(&facts, shape)) {
            assert!(variants.iter().any(|variant| variant.name == work.variant), "{}", kernel.id);
        }
    }
}

#[test]
fn cases_judge_all_that_is_poisoned_and_can_be_launched() {
    let facts = devices().last().expect("there are devices");
    for (kernel, case) in kernels().flat_map(|k| (k.cases)(&facts).into_iter().map(move |c| (k, c)))
    {
        let what = format!("{} {}", kernel.id, case.name);
        for launch in (case.plan)(&slots(&case.buffers)) {
            assert_launchable(&launch, &what);
            assert_eq!(launch.family, kernel.family, "{what}");
        }
        for expect in &case.expect {
            let bytes = case.buffers[expect.buffer].bytes();
            let expected = match &expect.judge {
                Judge::Bits(bits) => bits.len(),
                Judge::Near { reference, .. } => reference.len() * expect.element.bytes(),
            };
            assert_eq!(bytes, expected, "{what}");
            // What is zero in front of a launch is so behind it.
            let as_found = match (&case.buffers[expect.buffer], &expect.judge) {
                (Content::Zero(_), Judge::Bits(bits)) => bits.iter().all(|byte| *byte == 0),
                (buffer, _) => matches!(buffer, Content::Poison(_)),
            };
            assert!(as_found, "{what}");
        }
    }
}

#[test]
fn names_of_cases_are_unique() {
    let facts = devices().last().expect("there are devices");
    for kernel in kernels() {
        let cases = (kernel.cases)(&facts);
        let names: BTreeSet<&str> = cases.iter().map(|case| &case.name[..]).collect();
        assert_eq!(names.len(), cases.len(), "{}", kernel.id);
    }
}

#[test]
fn what_is_timed_fits_the_arena_and_passes_by_the_cache_where_it_can() {
    let arena = 256 << 20;
    for facts in devices() {
        for kernel in kernels() {
            for work in (kernel.works)(&facts, arena) {
                let size: usize = work.buffers.iter().map(Content::bytes).sum();
                let launches = (work.plan)(&slots(&work.buffers));
                let what = format!("{} {:?} on {}", kernel.id, work.shape, facts.sm);
                assert!(size as u64 <= arena && !launches.is_empty(), "{what}");
                launches.iter().for_each(|launch| assert_launchable(launch, &what));
                let largest = work.buffers.iter().map(Content::bytes).max().unwrap_or(0) as u64;
                let cold = size as u64 + largest > 2 * facts.l2_bytes.min(arena / 2)
                    || launches.len() >= 64;
                assert!(cold || kernel.family == "mem" || kernel.id.ends_with("dequant"), "{what}");
            }
        }
    }
}

/// The bytes that a product must move: weights once for all tokens, activations in and out.
#[test]
fn bytes_and_operations_are_those_of_the_product() {
    let facts = devices().next().expect("there are devices");
    let shape = Shape { m: 4, n: 1024, k: 2048, ..Shape::default() };
    let weights = 1024.0 * 2048.0;
    for (id, per_weight, per_number) in [
        ("gemv.f16", 2.0, 2.0),
        ("gemv.f32", 4.0, 4.0),
        ("w4.bf16", 0.5 + 2.0 / 128.0, 2.0),
        ("nf4.f16", 0.5 + 4.0 / 64.0, 2.0),
    ] {
        let kernel = kernels().find(|kernel| kernel.id == id).expect("the kernel is there");
        let work = (kernel.work)(&facts, shape).expect("the size is possible");
        let copies = (work.plan)(&slots(&work.buffers)).len() as f64;
        let bytes = weights * per_weight + 4.0 * (1024.0 + 2048.0) * per_number;
        assert_eq!((work.bytes, work.flops), (bytes * copies, 8.0 * weights * copies), "{id}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_in_words() {
    let facts = devices().next().expect("there are devices");
    let shape = |m, n, k| Shape { m, n, k, ..Shape::default() };
    for (id, shape, why) in [
        ("gemv.f16", shape(1, 8, 9), "multiples of 8"),
        ("gemv.f16", shape(9, 8, 8), "up to 8"),
        ("gemv.f16", shape(0, 8, 8), "nothing"),
        ("w4.f16", shape(1, 8, 64), "multiples of 128"),
        ("w4a8", shape(1, 8, 128), "no dp4a"),
        ("nf4.f16", shape(1, 1 << 20, 1 << 20), "2^32"),
        ("mem.read", shape(0, 0, 0), "multiple of 16"),
        ("mem.copy", shape(0, u32::MAX, 0), "too many"),
        ("mem.read", shape(1, 1024, 0), "no m; give 0 instead of 1"),
        ("mem.triad", shape(0, 1024, 64), "no k; give 0 instead of 64"),
        ("hash", shape(0, 1 << 30, 0), "not scanned"),
        ("hash", shape(0, 1024, 1), "no k"),
        ("w4.dequant", shape(1, 128, 128), "no m"),
        ("ref.fp64", shape(1, 1, 1), "not timed"),
    ] {
        let kernel = kernels().find(|kernel| kernel.id == id).expect("the kernel is there");
        let error = (kernel.work)(&facts, shape).err().expect("it cannot be");
        assert!(error.contains(why), "{id}: {error}");
    }
}

/// On sm_80 and later, products of many tokens run on tensor cores, and those of one do not.
#[test]
fn the_route_names_every_instruction_that_runs() {
    for (facts, id) in devices().flat_map(|f| ["gemv.f16", "gemv.bf16"].map(|id| (f.clone(), id))) {
        let kernel = kernels().find(|kernel| kernel.id == id).expect("the kernel is there");
        let on_tensor_cores = |m| {
            let shape = Shape { m, n: 1024, k: 2048, ..Shape::default() };
            (kernel.work)(&facts, shape).expect("the size is possible").variant == "mma"
        };
        let has = facts.sm >= Sm::new(8, 0);
        assert_eq!([1, 3].map(on_tensor_cores), [false, has], "{id} {}", facts.sm);
        let (Route::Native { by } | Route::Emulated { by }) = (kernel.route)(&facts) else {
            panic!("{id} runs everywhere")
        };
        let first = if has { "fma.f32, from 3 tokens on mma.m16n8k16" } else { &by };
        assert_eq!((by.as_str(), by.contains("mma.m")), (first, has), "{id} {}", facts.sm);
    }
}

#[test]
fn memory_is_read_beyond_every_cache() {
    for facts in devices() {
        let kernel = kernels().find(|kernel| kernel.id == "mem.read").expect("the kernel is there");
        let largest = (kernel.works)(&facts, 2 << 30).pop().expect("there is room");
        assert!(largest.bytes > 2.0 * facts.l2_bytes as f64, "{}", facts.sm);
    }
}

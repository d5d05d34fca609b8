//! What is timed runs without a fault, on buffers of just the size it asks for and filled as a worker fills them, and writes all of its results:
//! whatever they held before, they are the same.

use ptx_interpreter::devices;
use warpscope_kernels::gpu::family::mem::noise_bytes;
use warpscope_kernels::gpu::{Content, DeviceFacts, GpuKernel, Machine, Shape, Slot, Work, family};

use crate::machine::machine;

/// Families whose sizes are rows and columns, and small ones.
const FAMILIES: &[&str] =
    &["elementwise", "gemm", "gemm_fp8", "gemm_int", "gemv", "mem", "nf4", "w4", "w4_gemm"];
const SHAPES: [Shape; 2] = [shape(1, 67, 384), shape(8, 40, 256)];

const fn shape(m: u32, n: u32, k: u32) -> Shape {
    Shape { m, n, k, group: 0, context: 0 }
}

fn fill(machine: &mut dyn Machine, content: &Content, before: u8) -> Slot {
    let bytes = match content {
        Content::Bytes(bytes) => bytes.clone(),
        Content::Poison(count) | Content::Scratch(count) => vec![before; *count],
        Content::Zero(count) => vec![0; *count],
        Content::Noise { element, count, seed } => noise_bytes(*element, *count, *seed),
    };
    let slot = machine.allocate(bytes.len() as u64).map(Slot::from).expect("there is memory");
    machine.write(slot, &bytes).expect("it was allocated");
    slot
}

/// Results of a work that held these bytes before.
fn run(machine: &mut dyn Machine, work: &Work, before: u8, what: &str) -> Vec<Vec<u8>> {
    let slots: Vec<Slot> =
        work.buffers.iter().map(|content| fill(machine, content, before)).collect();
    let launches = (work.plan)(&slots);
    let rotated = launches.len() > 1;
    assert!(rotated || !what.starts_with("gemv"), "{what}: weights do not rotate");
    machine.run(&launches).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut results = Vec::new();
    for (content, slot) in work.buffers.iter().zip(slots) {
        if let Content::Poison(count) = content {
            let mut bytes = vec![0; *count];
            machine.read(slot, &mut bytes).expect("it was allocated");
            results.push(bytes);
        }
        machine.free(slot.buffer).expect("it was allocated");
    }
    results
}

/// Works of a kernel at small sizes; none where it is not timed at all or not here.
fn works(kernel: &GpuKernel, facts: &DeviceFacts) -> Vec<Work> {
    if (kernel.works)(facts, 256 << 20).is_empty() {
        return Vec::new();
    }
    // What a kernel does not have is zero.
    let sizes = |Shape { m, n, k, .. }| [(m, n, k), (m, n, 0), (0, n, k), (0, n, 0)];
    let work = |size| {
        sizes(size).into_iter().find_map(|(m, n, k)| (kernel.work)(facts, shape(m, n, k)).ok())
    };
    let works: Vec<Work> = SHAPES.into_iter().filter_map(work).collect();
    // What chooses the largest takes one row.
    let least = if kernel.id.starts_with("argmax") { 1 } else { SHAPES.len() };
    assert!(works.len() >= least, "{} takes no small size", kernel.id);
    works
}

#[test]
fn what_is_timed_runs_within_its_buffers() {
    for facts in devices().into_iter().step_by(4) {
        // A small cache, so that few copies of the weights are rotated.
        let facts = DeviceFacts { l2_bytes: 52 << 10, ..facts };
        let mut machine = machine(&facts);
        for kernel in family::kernels().filter(|kernel| FAMILIES.contains(&kernel.family)) {
            for work in works(kernel, &facts) {
                let what = format!("{} {:?} on {}", kernel.id, work.shape, facts.sm);
                let [first, second] =
                    [0xff, 0].map(|before| run(&mut machine, &work, before, &what));
                assert!(first == second, "{what}: results that are not written");
            }
        }
    }
}

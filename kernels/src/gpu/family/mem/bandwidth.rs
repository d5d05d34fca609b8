//! K01: how fast memory is read, copied, and read twice to be written once.
//!
//! Sizes are in KiB of each stream, in a shape's `n`. Reading alone is measured beside copying because that is what a product
//! with few tokens does, and it is several per cent faster.

use super::noise::noise_bytes;
use super::scan::{blocks, scan};
use crate::Dtype;
use crate::gpu::family::stream::{NOWHERE, THREADS, check_aligned, store};
use crate::gpu::{
    Case, Content, DeviceFacts, Element, Expect, GpuKernel, Launch, Limiter, Route, Shape, Slot,
    Work,
};

/// Bytes of a vector: what a thread loads at once.
const VECTOR: usize = 16;
/// What the sum of a thread is compared with where nothing is to be found: no noise adds up to it everywhere.
const NEVER: u32 = 0x5bd1_e995;
/// Sizes that are timed by default, KiB of a stream: the last is beyond what any second-level cache keeps.
const SIZES: &[u32] = &[16 << 10, 64 << 10, 192 << 10, 768 << 10];
/// Scale of the triad.
const SCALE: f32 = 3.0;

/// Vectors in so many bytes.
fn vectors(bytes: u64) -> Result<u32, String> {
    if bytes == 0 || !bytes.is_multiple_of(VECTOR as u64) {
        return Err(format!("{bytes} bytes are not a multiple of {VECTOR}"));
    }
    u32::try_from(bytes / VECTOR as u64).map_err(|_| format!("{bytes} bytes are too many"))
}

/// Threads that read so many bytes.
fn threads(facts: &DeviceFacts, bytes: u64) -> u32 {
    blocks(facts, bytes / VECTOR as u64) * THREADS
}

/// Bytes that [`read`] needs for what it finds.
pub fn found_bytes(facts: &DeviceFacts, bytes: u64) -> u64 {
    u64::from(threads(facts, bytes)) * 4
}

/// Reads so many bytes. Every thread whose words' exclusive or is `wanted` writes that to its place in `found`; this is only
/// there so that nothing can be left out.
pub fn read(
    facts: &DeviceFacts,
    from: Slot,
    found: Slot,
    bytes: u64,
    wanted: u32,
) -> Result<Launch, String> {
    check_aligned(&[from, found])?;
    let count = vectors(bytes)?;
    let args = [from.into(), found.into(), count.into(), wanted.into()];
    Ok(scan(facts, "read", u64::from(count), args))
}

/// Copies so many bytes.
pub fn copy(facts: &DeviceFacts, from: Slot, to: Slot, bytes: u64) -> Result<Launch, String> {
    check_aligned(&[from, to])?;
    let count = vectors(bytes)?;
    Ok(scan(facts, "copy", u64::from(count), [from.into(), to.into(), count.into()]))
}

/// to = a + scale · b on so many bytes of fp32 numbers, with one rounding.
pub fn triad(
    facts: &DeviceFacts,
    [a, b, to]: [Slot; 3],
    bytes: u64,
    scale: f32,
) -> Result<Launch, String> {
    check_aligned(&[a, b, to])?;
    let count = vectors(bytes)?;
    let args = [a.into(), b.into(), to.into(), count.into(), scale.into()];
    Ok(scan(facts, "triad", u64::from(count), args))
}

/// A test of the memory: its streams, of which the last is written.
trait Stream {
    /// Streams that are read.
    const READ: usize;
    /// Whether as much is written.
    const WRITES: bool;
    /// Operations for each fp32 number.
    const FLOPS: f64;

    fn launch(facts: &DeviceFacts, slots: &[Slot], bytes: u64) -> Result<Launch, String>;

    /// What is to come out of the streams that are read, and the streams themselves.
    fn case(facts: &DeviceFacts, bytes: usize, seed: u32) -> (Vec<Vec<u8>>, Vec<u8>);
}

struct Read;
struct Copy;
struct Triad;

impl Stream for Read {
    const READ: usize = 1;
    const WRITES: bool = false;
    const FLOPS: f64 = 0.0;

    fn launch(facts: &DeviceFacts, slots: &[Slot], bytes: u64) -> Result<Launch, String> {
        read(facts, slots[0], slots[1], bytes, NEVER)
    }

    /// The last vector of every thread makes its sum what is wanted. A thread without one finds zero, and nothing is written.
    fn case(facts: &DeviceFacts, bytes: usize, seed: u32) -> (Vec<Vec<u8>>, Vec<u8>) {
        let mut from = noise_bytes(Element::U32, bytes / 4, seed);
        let threads = threads(facts, bytes as u64) as usize;
        let mut sums = vec![0_u32; threads];
        let mut last = vec![None; threads];
        for (i, vector) in from.chunks_exact(VECTOR).enumerate() {
            let words =
                vector.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
            sums[i % threads] ^= words.fold(0, |sum, word| sum ^ word);
            last[i % threads] = Some(i * VECTOR);
        }
        let mut found = vec![0xff; threads * 4];
        for (thread, at) in last.into_iter().enumerate() {
            let Some(at) = at else { continue };
            let correction = (sums[thread] ^ NEVER).to_le_bytes();
            from[at..at + 4].iter_mut().zip(correction).for_each(|(byte, c)| *byte ^= c);
            found[4 * thread..4 * thread + 4].copy_from_slice(&NEVER.to_le_bytes());
        }
        (vec![from], found)
    }
}

impl Stream for Copy {
    const READ: usize = 1;
    const WRITES: bool = true;
    const FLOPS: f64 = 0.0;

    fn launch(facts: &DeviceFacts, slots: &[Slot], bytes: u64) -> Result<Launch, String> {
        copy(facts, slots[0], slots[1], bytes)
    }

    fn case(_: &DeviceFacts, bytes: usize, seed: u32) -> (Vec<Vec<u8>>, Vec<u8>) {
        let from = noise_bytes(Element::U32, bytes / 4, seed);
        (vec![from.clone()], from)
    }
}

impl Stream for Triad {
    const READ: usize = 2;
    const WRITES: bool = true;
    const FLOPS: f64 = 2.0;

    fn launch(facts: &DeviceFacts, slots: &[Slot], bytes: u64) -> Result<Launch, String> {
        triad(facts, [slots[0], slots[1], slots[2]], bytes, SCALE)
    }

    fn case(_: &DeviceFacts, bytes: usize, seed: u32) -> (Vec<Vec<u8>>, Vec<u8>) {
        let [a, b] = [0, 1].map(|i| noise_bytes(Element::F32, bytes / 4, seed + i));
        // In fp64 the product of two fp32 numbers is exact, and so is the sum of these: fp32 is rounded to once.
        let sums = Element::F32.values(&a).into_iter().zip(Element::F32.values(&b));
        let sums: Vec<f64> = sums.map(|(a, b)| a + f64::from(SCALE) * b).collect();
        (vec![a, b], store(Element::F32, &sums))
    }
}

/// Vectors of the cases and multiprocessors to plan for: a thread has none, one, or as many as it loads at once and more.
const CASES: &[(usize, u32)] = &[(1, 80), (1000, 80), (2048 * 9 + 77, 1)];

fn cases<S: Stream>(facts: &DeviceFacts) -> Vec<Case> {
    let case = |(seed, &(vectors, sms)): (u32, &(usize, u32))| {
        let facts = DeviceFacts { sms, ..facts.clone() };
        let bytes = vectors * VECTOR;
        let (from, to) = S::case(&facts, bytes, 10 * seed);
        let mut buffers: Vec<Content> = from.into_iter().map(Content::Bytes).collect();
        buffers.push(Content::Poison(to.len()));
        let plan = move |slots: &[Slot]| {
            vec![S::launch(&facts, slots, bytes as u64).expect("the sizes of a case are possible")]
        };
        Case {
            name: format!("{bytes} bytes, {sms} multiprocessors"),
            buffers,
            plan: Box::new(plan),
            expect: vec![Expect::bits(S::READ, Element::U32, to)],
        }
    };
    (1..).zip(CASES).map(case).collect()
}

fn timed<S: Stream>(facts: &DeviceFacts, shape: Shape, arena: u64) -> Result<Work, String> {
    let bytes = u64::from(shape.only(&["n"])?.n) << 10;
    S::launch(facts, &[NOWHERE; 3], bytes)?;
    let written = if S::WRITES { bytes } else { found_bytes(facts, bytes) };
    if S::READ as u64 * bytes + written > arena {
        return Err(format!("streams of {bytes} bytes do not fit into {arena}"));
    }
    let noise = |seed| Content::Noise { element: Element::F32, count: (bytes / 4) as usize, seed };
    let mut buffers: Vec<Content> = (1..=S::READ as u32).map(noise).collect();
    // What is read is written nowhere, unless by a chance of one in 2^32.
    let written = written as usize;
    buffers.push(if S::WRITES { Content::Poison(written) } else { Content::Scratch(written) });
    let facts = facts.clone();
    let plan = move |slots: &[Slot]| {
        vec![S::launch(&facts, slots, bytes).expect("it was possible elsewhere")]
    };
    Ok(Work {
        shape,
        buffers,
        plan: Box::new(plan),
        bytes: (S::READ + usize::from(S::WRITES)) as f64 * bytes as f64,
        flops: S::FLOPS * bytes as f64 / 4.0,
        limiter: Limiter::Memory,
        variant: "",
    })
}

fn works<S: Stream>(facts: &DeviceFacts, arena: u64) -> Vec<Work> {
    let shapes = SIZES.iter().map(|&n| Shape { n, ..Shape::default() });
    shapes.filter_map(|shape| timed::<S>(facts, shape, arena).ok()).collect()
}

fn route(_: &DeviceFacts) -> Route {
    Route::Native { by: "16-byte loads".to_owned() }
}

const fn kernel<S: Stream>(id: &'static str, title: &'static str) -> GpuKernel {
    GpuKernel {
        id,
        title,
        family: "mem",
        dtype: Dtype::Fp32,
        route,
        cases: cases::<S>,
        works: works::<S>,
        work: |facts, shape| timed::<S>(facts, shape, facts.memory_bytes / 2),
        ..GpuKernel::UNTIMED
    }
}

/// Reading.
pub(super) const READ: GpuKernel = kernel::<Read>("mem.read", "read-only memory bandwidth");
/// Copying.
pub(super) const COPY: GpuKernel = kernel::<Copy>("mem.copy", "memory bandwidth of a copy");
/// Reading twice and writing once.
pub(super) const TRIAD: GpuKernel =
    kernel::<Triad>("mem.triad", "memory bandwidth of a scaled sum");

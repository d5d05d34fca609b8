//! What limits the kernels: reading memory once, and the arithmetic of each format in registers, measured on the same threads.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::aligned::Aligned;
use super::feature::Feature;
use super::interruption::interruptions;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// A loop that reads a buffer once.
pub struct ReadLoop {
    /// Stable id.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// Sums the buffer.
    pub run: fn(&[f32]) -> f32,
}

/// A loop of multiply-adds in registers, one by one or by dot products.
pub struct FmaLoop {
    /// Stable id.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// Runs so many rounds; returns the operations done and a value that depends on all of them.
    pub run: fn(u64, f32) -> (f64, f32),
}

/// Every read loop, best first; the last runs everywhere.
pub const READ_LOOPS: &[ReadLoop] = &[
    #[cfg(target_arch = "x86_64")]
    ReadLoop { id: "read.avx512", needs: &[Feature::Avx512f], run: avx512::read },
    #[cfg(target_arch = "x86_64")]
    ReadLoop { id: "read.avx2", needs: &[Feature::Avx2, Feature::Fma], run: avx2::read },
    ReadLoop { id: "read.portable", needs: &[], run: read_portable },
];

/// Every multiply-add loop, best first; the last runs everywhere.
pub const FMA_LOOPS: &[FmaLoop] = &[
    #[cfg(target_arch = "x86_64")]
    FmaLoop { id: "fma.avx512", needs: &[Feature::Avx512f], run: avx512::fma },
    #[cfg(target_arch = "x86_64")]
    FmaLoop { id: "fma.avx2", needs: &[Feature::Avx2, Feature::Fma], run: avx2::fma },
    FmaLoop { id: "fma.portable", needs: &[], run: fma_portable },
];

/// Every loop of bfloat16 products summed in fp32, best first; the last runs everywhere.
pub const BF16_LOOPS: &[FmaLoop] = &[
    #[cfg(target_arch = "x86_64")]
    FmaLoop { id: "dot16.avx512bf16", needs: avx512::BF16, run: avx512::dot16 },
    #[cfg(target_arch = "x86_64")]
    FmaLoop { id: "dot16.fma.avx2", needs: avx2::AVX2, run: avx2::fma },
    FmaLoop { id: "dot16.portable", needs: &[], run: fma_portable },
];

const LANES: usize = 32;

fn read_portable(buffer: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let chunks = buffer.chunks_exact(LANES);
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, v)| *sum += v);
    }
    sums.iter().sum()
}

/// Multiply, then add: a fused operation would be a library call on targets that do not guarantee it.
fn fma_portable(rounds: u64, seed: f32) -> (f64, f32) {
    let mut sums: [f32; LANES] = std::array::from_fn(|i| i as f32);
    for _ in 0..rounds {
        sums.iter_mut().for_each(|sum| *sum = *sum * seed + seed);
    }
    (rounds as f64 * (LANES * 2) as f64, sums.iter().sum())
}

fn usable(needs: &[Feature]) -> bool {
    needs.iter().all(|f| f.is_present())
}

/// The best read loop of this CPU.
pub fn fastest_read() -> &'static ReadLoop {
    READ_LOOPS.iter().find(|l| usable(l.needs)).expect("the portable loop runs everywhere")
}

/// The best multiply-add loop of this CPU.
pub fn fastest_fma() -> &'static FmaLoop {
    FMA_LOOPS.iter().find(|l| usable(l.needs)).expect("the portable loop runs everywhere")
}

/// Starts `threads` threads at once, runs `work` on each, and returns the time until the last is done, for each repetition.
fn timed(threads: usize, repetitions: usize, work: impl Fn(usize) + Sync) -> Vec<Duration> {
    let gate = Barrier::new(threads);
    let (gate, work) = (&gate, &work);
    let member = |index: usize| {
        let repetition = |_| {
            gate.wait();
            let start = Instant::now();
            work(index);
            gate.wait();
            start.elapsed()
        };
        (0..repetitions).map(repetition).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        for index in 1..threads {
            scope.spawn(move || member(index));
        }
        member(0)
    })
}

/// Passes that nothing interrupted, and the fastest of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct CleanPasses {
    count: usize,
    best: f64,
}

impl CleanPasses {
    /// Counts a pass, unless it was interrupted and has no rate.
    pub fn add(&mut self, rate: Option<f64>) {
        if let Some(rate) = rate {
            (self.count, self.best) = (self.count + 1, self.best.max(rate));
        }
    }

    /// The fastest; none before so many passes: one alone may be luck.
    pub fn fastest_of(&self, least: usize) -> Option<f64> {
        (self.count >= least).then_some(self.best)
    }
}

/// A buffer that threads read together, again and again.
pub struct ReadTest {
    buffer: Aligned<f32>,
    threads: usize,
}

impl ReadTest {
    /// A buffer of so many bytes.
    pub fn new(threads: usize, bytes: usize) -> Self {
        let buffer = Aligned::collect(bytes / size_of::<f32>(), std::iter::repeat(1.0_f32));
        Self { buffer, threads: threads.max(1) }
    }

    /// Bytes per second of one pass; none where the scheduler took the processor away meanwhile.
    pub fn pass(&self) -> Option<f64> {
        let (run, share) = (fastest_read().run, (self.buffer.len() / self.threads).max(1));
        let before = interruptions();
        let times = timed(self.threads, 1, |index| {
            black_box(run(black_box(self.buffer.chunks(share).nth(index).unwrap_or(&[]))));
        });
        let clean = interruptions() == before;
        clean.then(|| rate(size_of_val(&self.buffer[..]) as f64, &times))
    }
}

/// Passes that are tried for each that is wanted: beside other work most are interrupted.
pub const READ_TRIES: usize = 10;

/// Bytes per second of the fastest of `passes` over a buffer of `bytes`, shared by `threads`; none where the machine is too busy to tell.
pub fn read_bytes_per_s(threads: usize, bytes: usize, passes: usize) -> Option<f64> {
    let (test, mut clean) = (ReadTest::new(threads, bytes), CleanPasses::default());
    for _ in 0..passes * READ_TRIES {
        clean.add(test.pass());
        if clean.fastest_of(passes).is_some() {
            break;
        }
    }
    clean.fastest_of(passes)
}

/// Operations per second of the fastest of `passes` of `rounds` multiply-add rounds on each of `threads`.
pub fn fma_flop_per_s(threads: usize, rounds: u64, passes: usize) -> f64 {
    let run = fastest_fma().run;
    let operations = run(black_box(1), black_box(0.5)).0 * rounds as f64 * threads.max(1) as f64;
    let times = timed(threads.max(1), passes, |_| {
        black_box(run(black_box(rounds), black_box(0.5)));
    });
    rate(operations, &times)
}

fn rate(amount: f64, times: &[Duration]) -> f64 {
    let best = times.iter().min().copied().unwrap_or_default();
    if best.is_zero() { 0.0 } else { amount / best.as_secs_f64() }
}

/// Size of the last-level cache next to the first CPU, where Linux tells it.
pub fn last_level_cache_bytes() -> Option<usize> {
    let cache = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache");
    let size = |index: u32| {
        let text = std::fs::read_to_string(cache.join(format!("index{index}/size"))).ok()?;
        cache_size(&text)
    };
    (0..8).filter_map(size).max()
}

/// Reads `32768K`, `32M`.
fn cache_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_loops_add_up_every_number() {
        let buffer: Vec<f32> = (0..4096).map(|i| (i % 7) as f32).collect();
        let want: f32 = buffer.iter().sum();
        for l in READ_LOOPS {
            if usable(l.needs) {
                assert_eq!((l.run)(&buffer), want, "{}", l.id);
            } else {
                println!("SKIPPED ({} needs {:?})", l.id, l.needs);
            }
        }
    }

    /// x ← x/2 + 1/2 tends to 1, so the lanes count themselves.
    #[test]
    fn multiply_add_loops_do_what_they_count() {
        for l in FMA_LOOPS {
            if usable(l.needs) {
                let (operations, sum) = (l.run)(200, 0.5);
                assert_eq!(f64::from(sum) * 2.0 * 200.0, operations, "{}", l.id);
            } else {
                println!("SKIPPED ({} needs {:?})", l.id, l.needs);
            }
        }
    }

    /// Factors are 1, so the sums count the products. Multiply-adds stand in where there is no dot product of bfloat16: they
    /// tend to 1 as above.
    #[test]
    fn dot_product_loops_do_what_they_count() {
        for l in BF16_LOOPS {
            if !usable(l.needs) {
                println!("SKIPPED ({} needs {:?})", l.id, l.needs);
                continue;
            }
            let (operations, sum) = (l.run)(200, 0.5);
            let is_dot = l.id != "dot16.fma.avx2" && l.id != "dot16.portable";
            let counted = if is_dot { sum } else { sum * 200.0 };
            assert_eq!(f64::from(counted) * 2.0, operations, "{}", l.id);
        }
    }

    #[test]
    fn the_fastest_counts_once_enough_passes_were_undisturbed() {
        for (passes, want) in [
            (&[Some(5.0), Some(7.0)][..], Some(7.0)),
            (&[Some(5.0), None, None, Some(4.0)], Some(5.0)),
            (&[Some(26.5), None, None], None),
            (&[None; 40], None),
        ] {
            let mut clean = CleanPasses::default();
            passes.iter().for_each(|rate| clean.add(*rate));
            assert_eq!(clean.fastest_of(2), want, "{passes:?}");
        }
    }

    #[test]
    fn cache_sizes_read_as_linux_writes_them() {
        assert_eq!(cache_size("32768K\n"), Some(32 << 20));
        assert_eq!(cache_size("32M"), Some(32 << 20));
        assert_eq!(cache_size(""), None);
        assert_eq!(cache_size("é"), None);
        assert_eq!(cache_size("99999999999999999999K"), None);
    }
}

//! Prints what the kernels reach against the ceilings of the same run: `cargo run --release -p warpscope-kernels --example
//! kernels_bench`. One thread; figures, not a test.
//!
//! A kernel and its ceiling take turns in short samples of processor time. Printed are the fastest samples, and the median and
//! the tenths of the ratios, pair by pair. With `serve` as argument it answers lines
//! `KERNEL m n k` with seconds, for a script that lets another program take turns.

#[path = "kernels_bench/pair.rs"]
mod pair;
#[path = "kernels_bench/serve.rs"]
mod serve;

use std::hint::black_box;

use half::bf16;
use warpscope_kernels::cpu::{
    Aligned, BF16_GEMMS, BF16_LOOPS, Bf16Gemm, FMA_LOOPS, FORMATS, Feature, FmaLoop, Format, GEMMS,
    KERNELS, KernelSpec, Matrix, TILE, Team, fastest_read, fma_flop_per_s, read_bytes_per_s,
};
use warpscope_kernels::model::{Decoder, Grid, M0, Model, Profile, argmax, prompt};

use pair::{Pair, best};

/// Bytes of a matrix beyond the caches.
const LARGE: usize = 128 << 20;
/// Added to the name of a kernel given inputs of which one in 128 dwarfs the others.
const OUTLIERS: &str = "+outliers";
/// Inputs of a row of it.
const COLS: usize = 4096;
/// Tokens, rows and inputs of prompts.
const PROMPTS: &[(usize, usize, usize)] = &[
    (32, 512, 512),
    (32, 4096, 512),
    (32, 4096, 4096),
    (128, 512, 512),
    (128, 2048, 2048),
    (128, 4096, 4096),
    (512, 512, 512),
    (512, 4096, 4096),
];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => serve::answer(std::io::stdin().lock()),
        [] => all(""),
        [part] => all(part),
        _ => eprintln!("usage: kernels_bench [serve | PART OF A KERNEL'S NAME]"),
    }
}

/// Every kernel whose name has `part` in it.
fn all(part: &str) {
    gemms(part);
    for kernel in KERNELS {
        if kernel.id.contains(part) && can(kernel.id, kernel.needs) {
            let rows = LARGE * 8 / bits(kernel.format) / COLS;
            gemv(kernel, (512, 512), "");
            gemv(kernel, (rows, COLS), "");
            if kernel.format == Format::Int4 {
                gemv(kernel, (rows, COLS), OUTLIERS);
            }
        }
    }
    if "decoder".contains(part) {
        let (read, fma) = (read_bytes_per_s(1, LARGE, 8), fma_flop_per_s(1, 1 << 20, 8));
        let read = read.expect("a machine that is not too busy to be measured");
        FORMATS.iter().for_each(|(format, _)| decode(*format, read, fma));
    }
}

fn bits(format: Format) -> usize {
    match format {
        Format::Fp32 => 32,
        Format::Fp16 | Format::Bf16 => 16,
        Format::Int4 => 4,
    }
}

fn can(id: &str, needs: &[Feature]) -> bool {
    let can = needs.iter().all(|feature| feature.is_present());
    if !can {
        println!("SKIPPED ({id} needs {needs:?})");
    }
    can
}

/// About two milliseconds of the best arithmetic loop; gives the operations.
fn ceiling(loops: &'static [FmaLoop]) -> impl FnMut() -> f64 {
    let l = loops.iter().find(|l| l.needs.iter().all(|f| f.is_present()));
    let run = l.expect("the last loop runs everywhere").run;
    let second =
        best(3, || _ = black_box(run(black_box(1 << 14), black_box(0.5)))) / f64::from(1 << 14);
    let rounds = (0.002 / second) as u64;
    move || black_box(run(black_box(rounds), black_box(0.5))).0
}

fn gemms(part: &str) {
    for gemm in GEMMS.iter().filter(|g| g.id.contains(part) && can(g.id, g.needs)) {
        for (rows, k) in [(64, 512), (512, 512), (1536, 512), (512, 1536), (2048, 2048)] {
            let (x, w) = (vec![0.5; TILE * k], vec![0.25; rows * k]);
            let mut y = vec![0.0; rows * TILE];
            let operations = 2.0 * (TILE * rows * k) as f64;
            let product = || {
                (gemm.run)(black_box(&x), &w, &mut y);
                operations
            };
            Pair::measure(0.1, product, ceiling(FMA_LOOPS)).arithmetic(gemm.id, (TILE, rows, k));
        }
    }
    for gemm in BF16_GEMMS.iter().filter(|g| g.id.contains(part) && can(g.id, g.needs)) {
        for &shape in shapes(gemm.id) {
            narrow(gemm, shape);
        }
    }
}

/// The kernels that stand in where instructions are missing are shown at one shape.
fn shapes(id: &str) -> &'static [(usize, usize, usize)] {
    if id.ends_with(".portable") || id.ends_with(".avx2") { &PROMPTS[..1] } else { PROMPTS }
}

fn narrow(gemm: &Bf16Gemm, (tokens, rows, k): (usize, usize, usize)) {
    let (x, w) = (vec![0.5; tokens * k], vec![bf16::from_f32(0.25); rows * k]);
    let mut y = vec![0.0; tokens * rows];
    let operations = 2.0 * (tokens * rows * k) as f64;
    let product = || {
        gemm.multiply(black_box(&x), &w, k, &mut y);
        operations
    };
    Pair::measure(0.2, product, ceiling(BF16_LOOPS)).arithmetic(gemm.id, (tokens, rows, k));
}

/// A plain read of so many bytes.
fn reading(bytes: usize) -> impl FnMut() -> f64 {
    let plain = Aligned::collect(bytes / size_of::<f32>(), std::iter::repeat(1.0_f32));
    let run = fastest_read().run;
    move || {
        black_box(run(black_box(&plain)));
        bytes as f64
    }
}

fn gemv(kernel: &KernelSpec, (rows, cols): (usize, usize), inputs: &str) {
    let matrix = Matrix::from_grid(&Grid::new(5, [rows, cols], -6), kernel.format);
    let (mut x, mut y) = (vec![0.5; cols], vec![0.0; rows]);
    if inputs == OUTLIERS {
        x.iter_mut().step_by(128).for_each(|x| *x = 100.0);
    }
    let bytes = matrix.bytes();
    let product = || {
        kernel.run_rows(&matrix, 0..rows, black_box(&x), black_box(&mut y));
        bytes as f64
    };
    Pair::measure(0.4, product, reading(bytes))
        .bandwidth(&format!("{}{inputs}", kernel.id), (rows, cols, bytes));
}

fn decode(format: Format, read: f64, fma: f64) {
    let mut decoder = Decoder::new(Model::new(format, Profile::Clean), Team::new(format, 1));
    let mut token = 0;
    let prefill = best(9, || {
        decoder.reset();
        token = argmax(&decoder.forward(&prompt()));
    });
    let bytes = decoder.bytes_per_step() as f64;
    let step = best(M0.decode - 1, || token = argmax(&decoder.forward(&[token])));
    let rate = M0.prefill_flop() / prefill;
    println!(
        "decoder.{format}  prefill {:.1} GFLOP/s {:.2} of the fp32 peak  decode {:.0} tok/s  {:.1} GB/s {:.2} of read",
        rate / 1e9,
        rate / fma,
        1.0 / step,
        bytes / step / 1e9,
        bytes / step / read
    );
}

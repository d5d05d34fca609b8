//! Prints what the kernels reach against the ceilings of the same run: `cargo run --release -p warpscope-kernels --example
//! kernels_bench`. One thread; figures, not a test.

use std::hint::black_box;
use std::time::Instant;

use warpscope_kernels::cpu::{
    FORMATS, Format, GEMMS, KERNELS, KernelSpec, Matrix, TILE, Team, fastest_read, fma_flop_per_s,
    read_bytes_per_s,
};
use warpscope_kernels::model::{Decoder, Grid, M0, Model, Profile, argmax, prompt};

/// Fastest of `count` runs, in seconds.
fn best(count: usize, mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..count).map(time).fold(f64::MAX, f64::min)
}

fn main() {
    let read = read_bytes_per_s(1, 128 << 20, 8);
    let fma = fma_flop_per_s(1, 1 << 22, 8);
    println!("ceiling  read {:.1} GB/s  fma {:.1} GFLOP/s", read / 1e9, fma / 1e9);
    for (rows, k) in [(64, 512), (512, 512), (1536, 512), (512, 1536), (2048, 2048)] {
        gemm(rows, k, fma);
    }
    for kernel in KERNELS {
        if !kernel.is_usable() {
            println!("SKIPPED ({} needs {:?})", kernel.id, kernel.needs);
            continue;
        }
        gemv(kernel, 512, 512);
        gemv(kernel, large(kernel.format), 4096);
    }
    for (format, _) in FORMATS {
        decode(*format, read, fma);
    }
}

fn gemm(rows: usize, k: usize, fma: f64) {
    let (x, w) = (vec![0.5; TILE * k], vec![0.25; rows * k]);
    let mut y = vec![0.0; rows * TILE];
    for gemm in GEMMS.iter().filter(|g| g.is_usable()) {
        let seconds = best(30, || (gemm.run)(black_box(&x), &w, &mut y));
        let rate = 2.0 * (TILE * rows * k) as f64 / seconds;
        println!(
            "{} {TILE}x{rows}x{k}  {:.1} GFLOP/s  {:.2} of peak",
            gemm.id,
            rate / 1e9,
            rate / fma
        );
    }
}

/// Rows of 4096 that make about 128 MB.
fn large(format: Format) -> usize {
    match format {
        Format::Fp32 => 8192,
        Format::Fp16 | Format::Bf16 => 16384,
        Format::Int4 => 65536,
    }
}

/// The matrix and a plain read of the same size take turns, so that what else the machine does meets both.
fn gemv(kernel: &KernelSpec, rows: usize, cols: usize) {
    let grid = Grid::new(5, [rows, cols], -6);
    let matrix = Matrix::from_grid(&grid, kernel.format);
    let (x, mut y) = (vec![0.5; cols], vec![0.0; rows]);
    let plain = vec![1.0_f32; matrix.bytes() / size_of::<f32>()];
    let read = fastest_read().run;
    let count = if rows > 1000 { 30 } else { 300 };
    let (mut product, mut reading) = (f64::MAX, f64::MAX);
    for _ in 0..count {
        reading = reading.min(best(1, || _ = black_box(read(black_box(&plain)))));
        product = product
            .min(best(1, || kernel.run_rows(&matrix, 0..rows, black_box(&x), black_box(&mut y))));
    }
    println!(
        "{} {rows}x{cols} ({:.1} MB)  {:.1} GB/s  {:.2} of reading as much",
        kernel.id,
        matrix.bytes() as f64 / 1e6,
        matrix.bytes() as f64 / product / 1e9,
        reading / product
    );
}

fn decode(format: Format, read: f64, fma: f64) {
    let mut decoder = Decoder::new(Model::new(format, Profile::Clean), Team::new(format, 1));
    let mut token = 0;
    let prefill = best(5, || {
        decoder.reset();
        token = argmax(&decoder.forward(&prompt()));
    });
    let bytes = decoder.bytes_per_step() as f64;
    let step = best(M0.decode - 1, || token = argmax(&decoder.forward(&[token])));
    let rate = M0.prefill_flop() / prefill;
    println!(
        "decoder.{format}  prefill {:.1} GFLOP/s {:.2} of peak  decode {:.0} tok/s  {:.1} GB/s {:.2} of read",
        rate / 1e9,
        rate / fma,
        1.0 / step,
        bytes / step / 1e9,
        bytes / step / read
    );
}

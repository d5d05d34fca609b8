//! Prints what the kernels reach against the ceilings of the same run: `cargo run --release -p warpscope-kernels --example
//! kernels_bench`. One thread; figures, not a test.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use warpscope_kernels::cpu::{
    FORMATS, Format, KERNELS, Matrix, Team, fma_flop_per_s, gemm_f32, read_bytes_per_s,
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
    for size in [512, 1024, 2048] {
        gemm(32, size, size, fma);
        gemm(size, size, size, fma);
    }
    for kernel in KERNELS {
        if !kernel.is_usable() {
            println!("SKIPPED ({} needs {:?})", kernel.id, kernel.needs);
            continue;
        }
        gemv(kernel, 512, 512, read);
        gemv(kernel, 32768, 4096, read);
    }
    for (format, _) in FORMATS {
        decode(*format, read, fma);
    }
}

fn gemm(m: usize, n: usize, k: usize, fma: f64) {
    let (x, w) = (vec![0.5; m * k], vec![0.25; n * k]);
    let mut y = vec![0.0; m * n];
    let seconds = best(20, || gemm_f32(black_box(&x), &w, &mut y, k, n));
    let rate = 2.0 * (m * n * k) as f64 / seconds;
    println!("gemm.fp32 {m}x{n}x{k}  {:.1} GFLOP/s  {:.2} of peak", rate / 1e9, rate / fma);
}

fn gemv(kernel: &warpscope_kernels::cpu::KernelSpec, rows: usize, cols: usize, read: f64) {
    let grid = Grid { tensor: 5, rows, cols, exponent: -6 };
    let matrix = Matrix::from_grid(&grid, kernel.format);
    let (x, mut y) = (vec![0.5; cols], vec![0.0; rows]);
    let count = if rows > 1000 { 6 } else { 300 };
    let seconds = best(count, || kernel.run_rows(&matrix, 0..rows, black_box(&x), &mut y));
    let rate = matrix.bytes() as f64 / seconds;
    println!(
        "{} {rows}x{cols} ({:.1} MB)  {:.1} GB/s  {:.2} of read",
        kernel.id,
        matrix.bytes() as f64 / 1e6,
        rate / 1e9,
        rate / read
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
    black_box(Arc::new(decoder));
}

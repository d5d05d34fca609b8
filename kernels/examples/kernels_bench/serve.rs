//! Answers lines with the seconds of one product, so that another program can take turns.
//!
//! A line is `KERNEL m n k`: tokens, rows, inputs. The first line for a product makes its operands; an answer is the
//! median of the runs of one short block, with conversions of the inputs in it, as a caller would pay them.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::BufRead;
use std::time::Duration;

use half::bf16;
use warpscope_kernels::cpu::{
    KernelSpec, Matrix, TILE, from_tile, pick, pick_bf16_gemm, pick_gemm, to_tiles,
};
use warpscope_kernels::model::Grid;

use super::pair::thread_time;

/// Time of one block.
const BLOCK: Duration = Duration::from_millis(30);

type Work = Box<dyn FnMut()>;

/// Answers until the input ends.
pub(crate) fn answer(input: impl BufRead) {
    let mut works: BTreeMap<String, Work> = BTreeMap::new();
    for line in input.lines().map_while(Result::ok) {
        if !works.contains_key(&line) {
            match work(&line) {
                Some(work) => _ = works.insert(line.clone(), work),
                None => {
                    println!("unknown: {line}");
                    continue;
                }
            }
        }
        if let Some(work) = works.get_mut(&line) {
            println!("{:e}", block(work));
        }
    }
}

/// Median run of a block.
fn block(work: &mut Work) -> f64 {
    let start = thread_time();
    let mut times = Vec::new();
    while thread_time() - start < BLOCK || times.len() < 3 {
        let start = thread_time();
        work();
        times.push((thread_time() - start).as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn work(line: &str) -> Option<Work> {
    let mut words = line.split_ascii_whitespace();
    let kernel = words.next()?;
    let sizes: Vec<usize> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
    let [m, n, k] = sizes[..] else { return None };
    let fits = m.checked_mul(k)? <= 1 << 26
        && n.checked_mul(k)? <= 1 << 28
        && m.checked_mul(n)? <= 1 << 26;
    if !fits || m == 0 || n == 0 || k == 0 || !k.is_multiple_of(128) {
        return None;
    }
    let grid = Grid::new(7, [n, k], -6);
    let x: Vec<f32> = Grid::new(8, [m, k], -3).weights().collect();
    match (kernel, m) {
        ("fp32" | "fp16" | "bf16" | "int4", 1) => {
            Some(one_token(pick(kernel.parse().ok()?), (grid, x)))
        }
        ("fp32", _) => Some(fp32(grid, x)),
        ("bf16", _) => Some(many_bf16(grid, x)),
        _ => None,
    }
}

fn one_token(kernel: &'static KernelSpec, (grid, x): (Grid, Vec<f32>)) -> Work {
    let matrix = Matrix::from_grid(&grid, kernel.format);
    let mut y = vec![0.0; grid.rows];
    Box::new(move || kernel.run_rows(&matrix, 0..matrix.rows(), black_box(&x), &mut y))
}

fn fp32(grid: Grid, x: Vec<f32>) -> Work {
    let (weights, k, n): (Vec<f32>, _, _) = (grid.weights().collect(), grid.cols, grid.rows);
    let mut y = vec![0.0; x.len() / k * n];
    let (mut tiles, mut out) = (Vec::new(), vec![0.0; n * TILE]);
    let gemm = pick_gemm();
    Box::new(move || {
        to_tiles(black_box(&x), k, &mut tiles);
        for (tile, y) in tiles.chunks_exact(TILE * k).zip(y.chunks_mut(TILE * n)) {
            (gemm.run)(tile, &weights, &mut out);
            from_tile(&out, y, n);
        }
    })
}

fn many_bf16(grid: Grid, x: Vec<f32>) -> Work {
    let weights: Vec<bf16> = grid.weights().map(bf16::from_f32).collect();
    let mut y = vec![0.0; x.len() / grid.cols * grid.rows];
    let gemm = pick_bf16_gemm();
    Box::new(move || gemm.multiply(black_box(&x), &weights, grid.cols, &mut y))
}

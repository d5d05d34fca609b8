//! Threads that share the rows of a matrix.
//!
//! They live as long as the team and sleep between products. A pool crate was rejected: its workers spin before they sleep,
//! which a benchmark under a CPU budget must not.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::format::Format;
use super::gemm::{GemmSpec, TILE, from_tile, pick_gemm, to_tiles};
use super::matrix::{Matrix, Weights};
use super::narrow::{Bf16Gemm, Tiles, pick_bf16_gemm};
use super::registry::{KernelSpec, pick};

/// Rows expanded to fp32 at a time for products of many tokens in fp16 and int4; they stay in the second-level cache.
const PANEL: usize = 64;

/// A share of a product.
struct Job {
    matrix: Arc<Matrix>,
    rows: Range<usize>,
    x: Arc<[f32]>,
}

struct Member {
    jobs: Sender<Job>,
    done: Receiver<Vec<f32>>,
}

/// The calling thread and its helpers, with the kernel of one format.
pub struct Team {
    members: Vec<Member>,
    hands: Hands,
}

impl Team {
    /// A team of `threads`, the calling one included, with the best kernel of this CPU.
    pub fn new(format: Format, threads: usize) -> Self {
        Self::with_kernel(pick(format), threads)
    }

    /// A team with a kernel of one's choice.
    pub fn with_kernel(kernel: &'static KernelSpec, threads: usize) -> Self {
        let members = (1..threads).map(|_| Member::start(kernel)).collect();
        Self { members, hands: Hands::new(kernel) }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static KernelSpec {
        self.hands.kernel
    }

    /// `y = x · Wᵀ` for all tokens in `x`.
    pub fn multiply(&mut self, matrix: &Arc<Matrix>, x: &[f32], y: &mut [f32]) {
        let (n, k) = (matrix.rows(), matrix.cols());
        assert_eq!(x.len() / k * n, y.len());
        let share = n.div_ceil(self.members.len() + 1).next_multiple_of(4).min(n);
        let mine = 0..share;
        if share < n {
            let x: Arc<[f32]> = x.into();
            for (i, member) in self.members.iter().enumerate() {
                let rows = ((i + 1) * share).min(n)..((i + 2) * share).min(n);
                let job = Job { matrix: Arc::clone(matrix), rows, x: Arc::clone(&x) };
                member.jobs.send(job).expect("members live as long as the team");
            }
        }
        self.hands.multiply(matrix, mine, x, y, n);
        if share < n {
            for (i, member) in self.members.iter().enumerate() {
                let part = member.done.recv().expect("members live as long as the team");
                let start = ((i + 1) * share).min(n);
                let width = ((i + 2) * share).min(n) - start;
                for (row, part) in y.chunks_exact_mut(n).zip(part.chunks_exact(width.max(1))) {
                    row[start..start + width].copy_from_slice(part);
                }
            }
        }
    }
}

impl Member {
    fn start(kernel: &'static KernelSpec) -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, done) = channel();
        std::thread::spawn(move || {
            let mut hands = Hands::new(kernel);
            for job in inbox {
                let tokens = job.x.len() / job.matrix.cols();
                let width = job.rows.len();
                let mut y = vec![0.0; tokens * width];
                hands.multiply(&job.matrix, job.rows, &job.x, &mut y, width.max(1));
                if outbox.send(y).is_err() {
                    return;
                }
            }
        });
        Self { jobs, done }
    }
}

/// Kernels and working memory of one thread.
struct Hands {
    kernel: &'static KernelSpec,
    gemm: &'static GemmSpec,
    bf16: &'static Bf16Gemm,
    tiles: Vec<f32>,
    narrow: Tiles,
    panel: Vec<f32>,
    out: Vec<f32>,
}

impl Hands {
    fn new(kernel: &'static KernelSpec) -> Self {
        Self {
            kernel,
            gemm: pick_gemm(),
            bf16: pick_bf16_gemm(),
            tiles: Vec::new(),
            narrow: Tiles::default(),
            panel: Vec::new(),
            out: Vec::new(),
        }
    }

    /// The product for a range of rows; rows of `y` lie `stride` apart.
    fn multiply(
        &mut self,
        matrix: &Matrix,
        rows: Range<usize>,
        x: &[f32],
        y: &mut [f32],
        stride: usize,
    ) {
        let k = matrix.cols();
        if x.len() == k {
            let count = rows.len();
            return self.kernel.run_rows(matrix, rows, x, &mut y[..count]);
        }
        if let Weights::Bf16(w) = matrix.weights() {
            self.bf16.lay_out(x, k, &mut self.narrow);
            let weights = &w[rows.start * k..rows.end * k];
            return self.bf16.multiply_tiles(&self.narrow, weights, y, stride);
        }
        to_tiles(x, k, &mut self.tiles);
        for start in rows.clone().step_by(PANEL) {
            let part = start..rows.end.min(start + PANEL);
            let first = start - rows.start;
            self.out.resize(part.len() * TILE, 0.0);
            let weights = match matrix.weights() {
                Weights::Fp32(w) => &w[part.start * k..part.end * k],
                _ => {
                    self.panel.resize(part.len() * k, 0.0);
                    matrix.expand(part, &mut self.panel);
                    &self.panel
                }
            };
            for (tile, y) in self.tiles.chunks_exact(TILE * k).zip(y.chunks_mut(TILE * stride)) {
                (self.gemm.run)(tile, weights, &mut self.out);
                from_tile(&self.out, &mut y[first..], stride);
            }
        }
    }
}

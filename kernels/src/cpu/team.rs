//! Threads that share the rows of a matrix.
//!
//! They live as long as the team and sleep between products. A pool crate was rejected: its workers spin before they sleep,
//! which a benchmark under a CPU budget must not.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::format::Format;
use super::gemm::gemm_f32;
use super::matrix::Matrix;
use super::registry::{KernelSpec, pick};

/// Rows expanded to fp32 at a time for products of many tokens; they stay in the second-level cache.
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
    kernel: &'static KernelSpec,
    members: Vec<Member>,
    panel: Vec<f32>,
}

impl Team {
    /// A team of `threads`, the calling one included, with the best kernel of this CPU.
    pub fn new(format: Format, threads: usize) -> Self {
        Self::with_kernel(pick(format), threads)
    }

    /// A team with a kernel of one's choice.
    pub fn with_kernel(kernel: &'static KernelSpec, threads: usize) -> Self {
        let members = (1..threads).map(|_| Member::start(kernel)).collect();
        Self { kernel, members, panel: Vec::new() }
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static KernelSpec {
        self.kernel
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
        rows_times(self.kernel, matrix, mine, x, (y, n), &mut self.panel);
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
            let mut panel = Vec::new();
            for job in inbox {
                let tokens = job.x.len() / job.matrix.cols();
                let width = job.rows.len();
                let mut y = vec![0.0; tokens * width];
                rows_times(kernel, &job.matrix, job.rows, &job.x, (&mut y, width), &mut panel);
                if outbox.send(y).is_err() {
                    return;
                }
            }
        });
        Self { jobs, done }
    }
}

/// The product for a range of rows; `y` is the output and the distance between its rows.
fn rows_times(
    kernel: &KernelSpec,
    matrix: &Matrix,
    rows: Range<usize>,
    x: &[f32],
    y: (&mut [f32], usize),
    panel: &mut Vec<f32>,
) {
    let (k, (y, stride)) = (matrix.cols(), y);
    if x.len() == k {
        let count = rows.len();
        return kernel.run_rows(matrix, rows, x, &mut y[..count]);
    }
    panel.resize(PANEL * k, 0.0);
    for (i, start) in rows.clone().step_by(PANEL).enumerate() {
        let part = start..rows.end.min(start + PANEL);
        let panel = &mut panel[..part.len() * k];
        matrix.expand(part, panel);
        gemm_f32(x, panel, &mut y[i * PANEL..], k, stride);
    }
}

//! Products by cuBLAS and cuBLASLt: which combinations of formats, shapes and alignments the library takes on this device, with its
//! status and the result looked at.
//!
//! Operands are outer products of small integers and signs, so the result is known without computing it: C[i, j] = p[i] · r[j] · s.

use half::{bf16, f16};
use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::cuda::blas::{Blas, BlasError, Compute, Kind, Product};
use warpscope_kernels::gpu::{BufferId, Machine, MachineError, Slot};

use super::Answer;
use super::found::Found;

/// A function of the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `cublasGemmEx`.
    GemmEx,
    /// `cublasHgemm`.
    Hgemm,
    /// `cublasLtMatmul`.
    LtMatmul,
}

impl Call {
    /// As the library names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GemmEx => "cublasGemmEx",
            Self::Hgemm => "cublasHgemm",
            Self::LtMatmul => "cublasLtMatmul",
        }
    }
}

/// How operands lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Columns one behind the other, from the start of a buffer.
    Packed,
    /// Columns so many elements further apart than they are long.
    Stride(u32),
    /// From so many elements behind the start of a buffer.
    Offset(u32),
}

/// One product that is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Rows, columns and inner side.
    pub shape: [u32; 3],
    /// How the operands lie.
    pub lie: Lie,
    /// Whether the answer depends on it; otherwise it is told and no more.
    pub decides: bool,
}

/// Products of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The function.
    pub call: Call,
    /// Format of A and B.
    pub from: Kind,
    /// Format of C.
    pub to: Kind,
    /// What is computed in.
    pub compute: Compute,
    /// What is tried, in order.
    pub trials: &'static [Trial],
}

impl Grid {
    /// `cublasGemmEx 16F·16F→16F, compute 32F`.
    fn title(&self) -> String {
        let (from, to, compute) = (self.from.id(), self.to.id(), self.compute.id());
        format!("{} {from}·{from}→{to}, compute {compute}", self.call.name())
    }
}

/// What came of a trial.
enum Came {
    Right,
    Wrong(String),
    Refused(BlasError),
}

/// Tries all products of a grid.
pub(super) fn find(machine: &mut CudaMachine, blas: &Blas, grid: &Grid) -> Found {
    let version = blas.version().unwrap_or_else(|_| "of no version".to_owned());
    let mut bad: Option<(Trial, Came)> = None;
    let mut facts = Vec::new();
    for trial in grid.trials {
        let came = match tried(machine, blas, grid, trial) {
            Ok(came) => came,
            Err(error) => {
                facts.push((named(grid, trial), error.to_string()));
                return lost((grid, trial), &error, facts).by(ran(blas, &version));
            }
        };
        facts.push((named(grid, trial), told(&came)));
        let ended = matches!(&came, Came::Refused(BlasError::Machine(_)));
        if (trial.decides || ended) && bad.is_none() && !matches!(came, Came::Right) {
            bad = Some((*trial, came));
        }
        if ended {
            break;
        }
    }
    Found { facts, ..judged(grid, &version, bad) }.by(ran(blas, &version))
}

fn ran(blas: &Blas, version: &str) -> String {
    format!("cuBLAS {version} {}", blas.path().display())
}

/// The device failed during a trial. Of one that does not decide that says nothing about the product, and the rest was not tried.
fn lost(
    (grid, trial): (&Grid, &Trial),
    error: &MachineError,
    facts: Vec<(String, String)>,
) -> Found {
    let found = if trial.decides {
        Found::failure(&grid.title(), error)
    } else {
        let what = named(grid, trial);
        Found::unknown(format!(
            "{what}: {error}; the answer does not depend on this, and the rest was not tried"
        ))
    };
    Found { facts, ..found }
}

fn judged(grid: &Grid, version: &str, bad: Option<(Trial, Came)>) -> Found {
    let title = grid.title();
    match bad {
        None => Found::works(format!(
            "{title}: cuBLAS {version} takes it here, and the results are right"
        )),
        Some((trial, Came::Wrong(what))) => Found::wrong(format!(
            "{}: cuBLAS {version} gives a wrong result: {what}",
            named(grid, &trial)
        )),
        Some((trial, Came::Refused(BlasError::Machine(error)))) => {
            Found::failure(&format!("{} by cuBLAS {version}", named(grid, &trial)), &error)
        }
        Some((trial, Came::Refused(error))) => {
            let answer = if is_about_it(&error) { Answer::Fails } else { Answer::Unknown };
            Found::new(answer, format!("{}: {error} (cuBLAS {version})", named(grid, &trial)))
        }
        Some((_, Came::Right)) => Found::unknown("a right result was taken for a wrong one"),
    }
}

/// Whether a status speaks of the product, and not of memory that ran out or of a library that did not start.
fn is_about_it(error: &BlasError) -> bool {
    const ABOUT_PRODUCT: [u32; 5] = [7, 8, 13, 14, 15];
    matches!(error, BlasError::Status { code, .. } if ABOUT_PRODUCT.contains(code))
}

fn named(grid: &Grid, trial: &Trial) -> String {
    let [m, n, k] = trial.shape;
    let lie = match trial.lie {
        Lie::Packed => String::new(),
        Lie::Stride(more) => format!(", strides {more} longer"),
        Lie::Offset(by) => format!(", {by} elements into the buffer"),
    };
    format!("{} {m}×{n}×{k}{lie}", grid.title())
}

fn told(came: &Came) -> String {
    match came {
        Came::Right => "CUBLAS_STATUS_SUCCESS, right".to_owned(),
        Came::Wrong(what) => format!("CUBLAS_STATUS_SUCCESS, wrong: {what}"),
        Came::Refused(error) => error.to_string(),
    }
}

/// A trial: memory, operands, the call, a look at the result. All memory is given back.
fn tried(
    machine: &mut CudaMachine,
    blas: &Blas,
    grid: &Grid,
    trial: &Trial,
) -> Result<Came, MachineError> {
    let mut held = Vec::new();
    let came = in_memory(machine, blas, (grid, trial), &mut held);
    held.into_iter().try_for_each(|buffer| machine.free(buffer))?;
    came
}

fn in_memory(
    machine: &mut CudaMachine,
    blas: &Blas,
    (grid, trial): (&Grid, &Trial),
    held: &mut Vec<BufferId>,
) -> Result<Came, MachineError> {
    let mut product = product(grid, trial);
    let bytes = product.bytes();
    let contents = [operand(&product, 0), operand(&product, 1), vec![0xff; bytes[2] as usize]];
    for ((place, kind), content) in
        product.places.iter_mut().zip([grid.from, grid.from, grid.to]).zip(&contents)
    {
        let offset = offset(trial.lie) * kind.bytes();
        let buffer = machine.allocate(offset + content.len() as u64)?;
        held.push(buffer);
        *place = Slot { buffer, offset };
        machine.write(*place, content)?;
    }
    let called = match grid.call {
        Call::GemmEx => blas.gemm_ex(machine, &product),
        Call::Hgemm => blas.hgemm(machine, &product),
        Call::LtMatmul => blas.lt_matmul(machine, &product),
    };
    match called {
        Err(BlasError::Machine(error)) => return Err(error),
        Err(error) => return Ok(Came::Refused(error)),
        Ok(()) => {}
    }
    let mut result = vec![0; bytes[2] as usize];
    machine.read(product.places[2], &mut result)?;
    Ok(wrong(&product, &result).map_or(Came::Right, Came::Wrong))
}

fn offset(lie: Lie) -> u64 {
    if let Lie::Offset(by) = lie { by.into() } else { 0 }
}

/// The product with nowhere to lie yet.
fn product(grid: &Grid, trial: &Trial) -> Product {
    let [m, n, k] = trial.shape;
    let more = if let Lie::Stride(more) = trial.lie { more } else { 0 };
    Product {
        m,
        n,
        k,
        transposed: true,
        from: grid.from,
        to: grid.to,
        compute: grid.compute,
        fast_sums: false,
        strides: [k + more, k + more, m + more],
        places: [Slot { buffer: BufferId(0), offset: 0 }; 3],
    }
}

/// What a row or column of the result is multiplied by: one of four numbers that every format holds.
fn factor(line: u32, operand: u32) -> i32 {
    [1, -2, 2, -1][((line + line / 5 + operand) % 4) as usize]
}

/// The sign along the inner side.
fn sign(at: u32, operand: u32) -> i32 {
    let mixed = at.wrapping_mul(0x9e37_79b1 + 2 * operand);
    if mixed >> 30 == 0 { -1 } else { 1 }
}

/// An operand column by column, with its gaps.
fn operand(product: &Product, which: usize) -> Vec<u8> {
    let columns = [product.m, product.n][which];
    let stride = product.strides[which] as usize;
    let width = product.from.bytes() as usize;
    let mut bytes = vec![0; product.bytes()[which] as usize];
    for column in 0..columns {
        let factor = factor(column, which as u32);
        let of = [-factor, factor].map(|value| encode(product.from, value));
        let start = column as usize * stride * width;
        for (at, place) in
            bytes[start..].chunks_exact_mut(width).take(product.k as usize).enumerate()
        {
            let positive = sign(at as u32, which as u32) > 0;
            place.copy_from_slice(&of[usize::from(positive)][..width]);
        }
    }
    bytes
}

/// A small integer in a format, lowest byte first.
fn encode(kind: Kind, value: i32) -> [u8; 4] {
    let wide = |half: u16| {
        let [low, high] = half.to_le_bytes();
        [low, high, 0, 0]
    };
    match kind {
        Kind::F32 => (value as f32).to_le_bytes(),
        Kind::F16 => wide(f16::from_f32(value as f32).to_bits()),
        Kind::Bf16 => wide(bf16::from_f32(value as f32).to_bits()),
        Kind::I8 | Kind::I32 => value.to_le_bytes(),
        Kind::E4m3 => {
            let size = [0_u8, 0x38, 0x40, 0x44][value.unsigned_abs() as usize % 4];
            [size | if value < 0 { 0x80 } else { 0 }, 0, 0, 0]
        }
    }
}

/// A number of a result.
fn decode(kind: Kind, raw: &[u8]) -> f64 {
    match (kind, raw) {
        (Kind::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
        (Kind::I32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).into(),
        (Kind::F16, &[a, b]) => f16::from_le_bytes([a, b]).into(),
        (Kind::Bf16, &[a, b]) => bf16::from_le_bytes([a, b]).into(),
        _ => f64::NAN,
    }
}

/// The first element that is wrong. What a format cannot hold exactly it may round, by half a unit in its last place.
fn wrong(product: &Product, result: &[u8]) -> Option<String> {
    let (m, width) = (product.m as usize, product.to.bytes() as usize);
    let stride = product.strides[2] as usize;
    let signs: i32 = (0..product.k).map(|at| sign(at, 0) * sign(at, 1)).sum();
    for column in 0..product.n {
        let start = column as usize * stride * width;
        for (row, raw) in result[start..].chunks_exact(width).take(m).enumerate() {
            let want = f64::from(factor(row as u32, 0) * factor(column, 1) * signs);
            let got = decode(product.to, raw);
            // Of NaN nothing is true.
            let right = (got - want).abs() <= want.abs() * unit(product.to);
            if !right {
                return Some(format!("row {row}, column {column} is {got}, not {want}"));
            }
        }
    }
    None
}

/// Half a unit in the last place of a format, relative.
fn unit(kind: Kind) -> f64 {
    match kind {
        Kind::F16 => 2.0_f64.powi(-11),
        Kind::Bf16 => 2.0_f64.powi(-8),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: Trial = Trial { shape: [6, 7, 40], lie: Lie::Stride(3), decides: true };
    const GRID: Grid = Grid {
        call: Call::GemmEx,
        from: Kind::F16,
        to: Kind::F16,
        compute: Compute::F32,
        trials: &[TRIAL],
    };

    /// The product as anybody would write it, on what lies in the operands.
    fn multiplied(product: &Product) -> Vec<u8> {
        let operands = [operand(product, 0), operand(product, 1)];
        let at = |which: usize, column: u32, row: u32| {
            let start = (column * product.strides[which] + row) as usize * 2;
            decode(Kind::F16, &operands[which][start..start + 2])
        };
        let mut out = vec![0xff; product.bytes()[2] as usize];
        for (row, column) in
            (0..product.m).flat_map(|row| (0..product.n).map(move |column| (row, column)))
        {
            let sum: f64 = (0..product.k).map(|k| at(0, row, k) * at(1, column, k)).sum();
            let start = (column * product.strides[2] + row) as usize * 2;
            out[start..start + 2].copy_from_slice(&encode(Kind::F16, sum as i32)[..2]);
        }
        out
    }

    #[test]
    fn the_closed_form_is_the_product() {
        let product = product(&GRID, &TRIAL);
        let mut result = multiplied(&product);
        assert_eq!(wrong(&product, &result), None);
        result[0] ^= 1;
        assert!(wrong(&product, &result).is_some_and(|what| what.starts_with("row 0, column 0")));
        let untouched = vec![0xff; result.len()];
        assert!(wrong(&product, &untouched).is_some(), "NaN is not right");
    }

    /// A sum that is zero, or that leaves a format, would prove nothing.
    #[test]
    fn sums_of_every_depth_are_worth_looking_at() {
        for k in [16_u32, 24, 64, 4096] {
            let signs: i32 = (0..k).map(|at| sign(at, 0) * sign(at, 1)).sum();
            assert!(signs != 0 && 4 * signs.abs() < 65_504, "{k}: {signs}");
        }
    }

    /// 716 is a misaligned address, which ends the context.
    #[test]
    fn a_fault_in_a_trial_that_does_not_decide_leaves_the_answer_open() {
        let (call, name) = ("cuStreamSynchronize".to_owned(), "MISALIGNED_ADDRESS".to_owned());
        let error = MachineError::Driver { call, code: 716, name };
        for (decides, answer) in [(true, Answer::Fails), (false, Answer::Unknown)] {
            let trial = Trial { decides, ..TRIAL };
            let found = lost((&GRID, &trial), &error, Vec::new());
            assert_eq!(found.answer, answer);
            assert!(found.detail.contains("MISALIGNED_ADDRESS"), "{}", found.detail);
        }
    }

    #[test]
    fn a_status_is_told_with_its_product() {
        let refused = |code| Came::Refused(BlasError::Status { call: "cublasGemmEx", code });
        let latte = judged(&GRID, "12.1.3", Some((TRIAL, refused(15))));
        assert_eq!(latte.answer, Answer::Fails);
        assert_eq!(
            latte.detail,
            "cublasGemmEx 16F·16F→16F, compute 32F 6×7×40, strides 3 longer: cublasGemmEx returned \
             CUBLAS_STATUS_NOT_SUPPORTED (cuBLAS 12.1.3)"
        );
        for (code, answer) in [
            (1, Answer::Unknown),
            (3, Answer::Unknown),
            (7, Answer::Fails),
            (8, Answer::Fails),
            (13, Answer::Fails),
            (16, Answer::Unknown),
            (99, Answer::Unknown),
        ] {
            assert_eq!(judged(&GRID, "12", Some((TRIAL, refused(code)))).answer, answer, "{code}");
        }
        let wrong = judged(&GRID, "12", Some((TRIAL, Came::Wrong("row 0".into()))));
        assert_eq!(wrong.answer, Answer::WrongOutput);
        assert_eq!(judged(&GRID, "12", None).answer, Answer::Works);
    }
}

//! warpscope's own matrix-vector kernels as candidates, so that the loop can be tried on any machine.
//!
//! Each run is a child like any other program under test: it prints a line of points with its error against fp64, and can fault or hang alone.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

use warpscope_kernels::cpu::{Format, KERNELS, KernelSpec, Matrix};
use warpscope_kernels::model::{GROUP, Grid};

use super::command_line::CommandLine;
use super::contract::Work;
use crate::worker::process::ARGUMENT;

/// First argument of a worker that runs one kernel.
pub const KERNEL_ARGUMENT: &str = "gemv";
/// Largest error relative to Σ|w·x|: summation in fp32 of any length the sizes below allow.
pub(super) const TOLERANCE: f64 = 1e-5;
/// Most weights of a matrix.
const MOST_WEIGHTS: usize = 1 << 28;
/// Shortest sample: long against reading the clock.
const SAMPLE_NS: f64 = 200_000.0;
/// Most samples of one run.
const MOST_SAMPLES: usize = 10_000;
/// Parameters, with what they are.
const PARAMETERS: &[(&str, &str)] =
    &[("kernel", "the instruction set of a kernel"), ("block", "rows of one call, 0 for all")];

/// Kernels of a format by the last word of their id.
fn find(format: Format, word: &str) -> Option<&'static KernelSpec> {
    KERNELS.iter().find(|spec| spec.format == format && last_word(spec) == word)
}

fn last_word(spec: &KernelSpec) -> &str {
    spec.id.rsplit('.').next().unwrap_or(spec.id)
}

/// Checks parameters, and puts in every kernel of this CPU where none is named. `Err` names the parameter.
pub(super) fn complete(
    params: &mut BTreeMap<String, Vec<String>>,
    dtypes: &[String],
) -> Result<(), (String, String)> {
    let known: Vec<&str> = PARAMETERS.iter().map(|row| row.0).collect();
    if let Some(name) = params.keys().find(|name| !known.contains(&name.as_str())) {
        let rows: Vec<String> =
            PARAMETERS.iter().map(|(name, what)| format!("{name} ({what})")).collect();
        let why = format!("unknown parameter `{name}` of kind \"cpu\"; known: {}", rows.join(", "));
        return Err((name.clone(), why));
    }
    for block in params.get("block").into_iter().flatten() {
        if block.parse::<usize>().is_err() {
            return Err(("block".to_owned(), format!("`block` {block:?} is not a number of rows")));
        }
    }
    let words = |usable: bool| {
        let mut words: Vec<String> = Vec::new();
        for spec in KERNELS.iter().filter(|spec| !usable || spec.is_usable()) {
            let word = last_word(spec);
            if dtypes.iter().any(|dtype| dtype == spec.format.id())
                && !words.iter().any(|one| one == word)
            {
                words.push(word.to_owned());
            }
        }
        words
    };
    if let Some(kernels) = params.get("kernel") {
        let all = words(false);
        if let Some(bad) = kernels.iter().find(|kernel| !all.contains(kernel)) {
            let why = format!("no kernel {bad:?}; known: {}", all.join(", "));
            return Err(("kernel".to_owned(), why));
        }
    } else {
        params.insert("kernel".to_owned(), words(true));
    }
    Ok(())
}

/// Whether the kernels can do what is asked for.
pub(super) fn check(
    work: Work,
    shapes: &[BTreeMap<String, String>],
    dtypes: &[String],
) -> Result<(), String> {
    for dtype in dtypes {
        let format: Format = dtype.parse()?;
        let wanted = if format == Format::Int4 { Work::W4a16 } else { Work::Gemv };
        if work != wanted {
            return Err(
                "kind \"cpu\" has kernels for gemv in fp32, fp16 and bf16, and for w4a16 in int4"
                    .to_owned(),
            );
        }
    }
    for shape in shapes {
        let sizes = ["n", "k"].map(|name| shape.get(name).and_then(|text| text.parse().ok()));
        let [Some(rows), Some(columns)] = sizes else {
            return Err("kind \"cpu\" needs a [[shape]] with n rows and k columns".to_owned());
        };
        size_of_problem(rows, columns)?;
        let one_token = shape.get("m").is_none_or(|m| m == "1");
        if !one_token || shape.keys().any(|name| !["m", "n", "k"].contains(&name.as_str())) {
            return Err("a shape of kind \"cpu\" has n and k, and m = 1 or none".to_owned());
        }
    }
    Ok(())
}

fn size_of_problem(rows: usize, columns: usize) -> Result<(), String> {
    let fits = rows.checked_mul(columns).is_some_and(|all| (1..=MOST_WEIGHTS).contains(&all));
    if fits && columns.is_multiple_of(GROUP) {
        return Ok(());
    }
    Err(format!(
        "n = {rows}, k = {columns}: k must be a multiple of {GROUP}, n · k at most {MOST_WEIGHTS}"
    ))
}

/// The arguments of a worker; the caller puts its own name in front.
pub(super) fn command(params: &BTreeMap<String, Vec<String>>) -> CommandLine {
    let block = params.contains_key("block").then_some("block={block}");
    let words = [
        "warpscope",
        ARGUMENT,
        KERNEL_ARGUMENT,
        "dtype={dtype}",
        "kernel={kernel}",
        "n={n}",
        "k={k}",
        "samples={samples}",
    ];
    CommandLine::of_words(words.into_iter().chain(block).map(str::to_owned).collect())
}

/// Why a kernel cannot be run for a format here; `None` where it can.
pub fn why_missing(dtype: &str, kernel: &str) -> Option<String> {
    let format: Format = match dtype.parse() {
        Ok(format) => format,
        Err(why) => return Some(why),
    };
    match find(format, kernel) {
        None => Some(format!("no kernel {kernel} for {dtype}")),
        Some(spec) if !spec.is_usable() => Some(format!("this CPU cannot run {}", spec.id)),
        Some(_) => None,
    }
}

/// Runs one kernel and gives its line of points.
pub fn run_kernel(arguments: &[String]) -> Result<String, String> {
    let given: BTreeMap<&str, &str> =
        arguments.iter().filter_map(|argument| argument.split_once('=')).collect();
    let text = |name: &str| given.get(name).copied().ok_or_else(|| format!("{name}= is missing"));
    let number = |name: &str| -> Result<usize, String> {
        let text = text(name)?;
        text.parse().map_err(|_| format!("{name}={text} is not a number"))
    };
    let (dtype, kernel) = (text("dtype")?, text("kernel")?);
    if let Some(why) = why_missing(dtype, kernel) {
        return Err(why);
    }
    let format: Format = dtype.parse()?;
    let spec = find(format, kernel).ok_or_else(|| format!("no kernel {kernel}"))?;
    let (rows, columns) = (number("n")?, number("k")?);
    size_of_problem(rows, columns)?;
    let block = if given.contains_key("block") { number("block")? } else { 0 };
    let matrix = Matrix::from_grid(&Grid::new(1, [rows, columns], -6), format);
    let work = Product { spec, matrix, block: if block == 0 { rows } else { block } };
    let x = inputs(columns, format);
    let mut y = vec![f32::NAN; rows];
    work.run(&x, &mut y);
    let error = work.error(&x, &y);
    let times = work.time(&x, &mut y, number("samples")?.clamp(1, MOST_SAMPLES));
    let times: Vec<String> = times.iter().map(|ns| format!("{ns:.1}")).collect();
    let bytes = work.matrix.bytes() + size_of_val(&x[..]) + size_of_val(&y[..]);
    let flops = 2 * rows * columns;
    Ok(format!(
        "name={} device=cpu dtype={dtype} n={rows} k={columns} error={error:e} flops={flops} bytes={bytes} t_ns={}",
        spec.id,
        times.join(",")
    ))
}

/// Inputs the format can hold, with more bits than sums in fp32 keep: an error of zero would prove nothing.
fn inputs(count: usize, format: Format) -> Vec<f32> {
    let coarse = Grid::new(2, [1, count], -3);
    let fine = Grid { tensor: 3, ..coarse };
    let mut x: Vec<f32> = coarse.weights().zip(fine.weights()).map(|(a, b)| a + b / 13.0).collect();
    format.storage().round(&mut x);
    x
}

struct Product {
    spec: &'static KernelSpec,
    matrix: Matrix,
    /// Rows of one call.
    block: usize,
}

impl Product {
    fn run(&self, x: &[f32], y: &mut [f32]) {
        let rows = y.len();
        for start in (0..rows).step_by(self.block) {
            let end = (start + self.block).min(rows);
            self.spec.run_rows(&self.matrix, start..end, x, &mut y[start..end]);
        }
    }

    /// Largest error of a row relative to Σ|w·x|, against fp64; NaN where an output is.
    fn error(&self, x: &[f32], y: &[f32]) -> f64 {
        let mut weights = vec![0.0_f32; x.len()];
        let mut worst = 0.0_f64;
        for (row, y) in y.iter().enumerate() {
            self.matrix.expand(row..row + 1, &mut weights);
            let products = weights.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
            let (want, size) = products.fold((0.0, 0.0), |(s, a), p| (s + p, a + p.abs()));
            let error = (f64::from(*y) - want).abs() / f64::max(size, f64::MIN_POSITIVE);
            if error.is_nan() {
                return error;
            }
            worst = worst.max(error);
        }
        worst
    }

    /// Nanoseconds of one product, so many times; short ones are repeated within a sample.
    fn time(&self, x: &[f32], y: &mut [f32], samples: usize) -> Vec<f64> {
        let mut once = |repetitions: usize| {
            let start = Instant::now();
            for _ in 0..repetitions {
                self.run(black_box(x), y);
                black_box(&mut *y);
            }
            start.elapsed().as_nanos() as f64 / repetitions as f64
        };
        let first = once(1).max(1.0);
        let repetitions = (SAMPLE_NS / first).ceil().clamp(1.0, 1e6) as usize;
        once(repetitions);
        (0..samples).map(|_| once(repetitions).max(0.1)).collect()
    }
}

#[cfg(test)]
mod tests;

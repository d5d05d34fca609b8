//! A kernel of the user's own for a GPU: how it is made, launched, checked and timed.
//!
//! Every run is a child that loads the driver, so a kernel that faults takes only its own context with it. Its operands are made, and its result
//! judged, from the contract alone: a kernel cannot say of itself that it is right.

mod child;
mod compiler;
mod device;
mod energy;
mod expression;
mod judged;
mod libraries;
mod operands;
mod roof;
mod vendor;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpscope_probes::trust::Vetted;

use super::command_line::CommandLine;
use super::contract::Work;
pub use child::run_cuda;
pub use device::find_device;
pub use expression::Expression;
pub use libraries::Libraries;
pub use operands::default_limit;
pub(super) use operands::{check, operand_names};

/// First argument of a worker that runs one kernel on a GPU.
pub const CUDA_ARGUMENT: &str = "cuda";

/// Second argument of one that only looks for the device; the device follows.
pub const FIND: &str = "find";

/// What a kernel is given as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// CUDA C++, compiled by NVRTC.
    Cu,
    /// PTX, compiled by the driver.
    Ptx,
    /// An image for one architecture.
    Cubin,
}

/// Every [`Code`] with its word in a spec.
pub(super) const CODES: &[(Code, &str)] =
    &[(Code::Cu, "cu"), (Code::Ptx, "ptx"), (Code::Cubin, "cubin")];

/// One parameter of the entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A buffer of the contract, by name.
    Operand(String),
    /// A whole number of 32 bits, or of 64.
    Whole(Expression, bool),
    /// binary32.
    Float(f32),
}

/// How one kernel is launched; what the words in braces stand for differs by candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuda {
    /// What it is given as.
    pub code: Code,
    /// The file, the entry, and options of the compiler.
    pub words: CommandLine,
    /// Blocks in x, y and z.
    pub grid: [Expression; 3],
    /// Threads of a block in x, y and z.
    pub block: [Expression; 3],
    /// Dynamic shared memory, bytes.
    pub shared: Expression,
    /// Parameters, in the order of their declaration.
    pub arguments: Vec<Argument>,
    /// What an elementwise kernel computes.
    pub function: Option<String>,
    /// The NVRTC to use; found where nothing is said.
    pub nvrtc: Option<PathBuf>,
    /// The cuBLAS to be held against; found where nothing is said.
    pub cublas: Option<PathBuf>,
}

/// What a child is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CudaJob {
    /// Name of the kernel in points.
    pub name: String,
    /// What it is given as.
    pub code: Code,
    /// The file.
    pub file: PathBuf,
    /// The entry.
    pub entry: String,
    /// Options of the compiler.
    pub options: Vec<String>,
    /// Kind of work.
    pub work: String,
    /// What an elementwise kernel computes.
    pub function: Option<String>,
    /// Number format.
    pub dtype: String,
    /// Sizes.
    pub shape: BTreeMap<String, String>,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// Parameters.
    pub arguments: Vec<JobArgument>,
    /// Samples wanted.
    pub samples: usize,
    /// Whether the energy of a launch is wanted too.
    #[serde(default)]
    pub energy: bool,
    /// UUID of the device, or its index; the first where nothing is said.
    pub device: Option<String>,
    /// Where NVRTC may be, in the order it is tried.
    pub nvrtc: Vec<PathBuf>,
    /// Where the cuBLAS to be held against may be.
    pub cublas: Vec<PathBuf>,
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobArgument {
    /// A buffer of the contract.
    Operand(String),
    /// 32-bit integer.
    U32(u32),
    /// 64-bit integer.
    U64(u64),
    /// binary32.
    F32(f32),
}

/// What a job is made of besides the spec.
pub struct Candidate<'a> {
    /// Where the spec is.
    pub folder: &'a Path,
    /// Name of the kernel in points.
    pub name: &'a str,
    /// Kind of work.
    pub work: Work,
    /// Number format.
    pub dtype: &'a str,
    /// Sizes.
    pub shape: &'a BTreeMap<String, String>,
    /// Sizes, parameters and the rest of the words in braces.
    pub values: &'a Values,
    /// Samples wanted.
    pub samples: usize,
    /// Whether the energy of a launch is wanted too.
    pub energy: bool,
    /// Where it runs.
    pub device: Option<&'a str>,
    /// The libraries to use where the spec names none.
    pub libraries: &'a Libraries,
}

impl Cuda {
    /// The job of a candidate. `Err` says why this candidate cannot be launched.
    pub fn job(&self, candidate: &Candidate<'_>) -> Result<CudaJob, String> {
        let Candidate { values, libraries, .. } = *candidate;
        let named = |path: &Option<PathBuf>, found: &Vetted| match path {
            Some(path) => vec![path.clone()],
            None => found.load.clone(),
        };
        let mut words = self.words.fill(values).into_iter();
        let (file, entry) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let arguments = self.arguments.iter().map(|one| argument(one, values));
        Ok(CudaJob {
            name: candidate.name.to_owned(),
            code: self.code,
            file: candidate.folder.join(file),
            entry,
            options: words.collect(),
            work: candidate.work.word().to_owned(),
            function: self.function.clone(),
            dtype: candidate.dtype.to_owned(),
            shape: candidate.shape.clone(),
            grid: three("grid", &self.grid, values)?,
            block: three("block", &self.block, values)?,
            shared: number("shared", &self.shared, values)?,
            arguments: arguments.collect::<Result<_, _>>()?,
            samples: candidate.samples,
            energy: candidate.energy,
            device: candidate.device.map(str::to_owned),
            nvrtc: named(&self.nvrtc, &libraries.nvrtc),
            cublas: named(&self.cublas, &libraries.cublas),
        })
    }

    /// Names in whole numbers of the launch, for the check that each has a value.
    pub(super) fn names(&self) -> Vec<&str> {
        let arguments = self.arguments.iter().filter_map(|argument| match argument {
            Argument::Whole(expression, _) => Some(expression),
            Argument::Operand(_) | Argument::Float(_) => None,
        });
        let launch = self.grid.iter().chain(&self.block).chain([&self.shared]);
        launch.chain(arguments).flat_map(Expression::names).collect()
    }
}

/// The values of a candidate's parameters, by name.
type Values = BTreeMap<String, String>;

fn number(what: &str, expression: &Expression, values: &Values) -> Result<u32, String> {
    let value = expression.value(values)?;
    u32::try_from(value).map_err(|_| format!("{what} {expression} is {value}"))
}

fn three(what: &str, all: &[Expression; 3], values: &Values) -> Result<[u32; 3], String> {
    let [x, y, z] = all.each_ref().map(|one| number(what, one, values));
    Ok([x?, y?, z?])
}

fn argument(argument: &Argument, values: &Values) -> Result<JobArgument, String> {
    match argument {
        Argument::Operand(name) => Ok(JobArgument::Operand(name.clone())),
        Argument::Float(value) => Ok(JobArgument::F32(*value)),
        Argument::Whole(expression, false) => {
            number("parameter", expression, values).map(JobArgument::U32)
        }
        Argument::Whole(expression, true) => {
            let value = u64::try_from(expression.value(values)?);
            value.map(JobArgument::U64).map_err(|_| format!("parameter {expression} is negative"))
        }
    }
}

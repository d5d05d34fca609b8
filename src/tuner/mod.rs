//! The loop of a person with an editor: candidates of one kernel, each checked before it is timed, timed in turn with a baseline, and judged.
//!
//! Pure but for [`run_kernel`], which computes in a child of its own: what is to be done, in which order, and what it means. Building, running
//! and killing belong to the command. A wrong result has no time here: the type that carries samples is only made from a run that was checked.
//! The whole grid is the default, because it hides nothing; a budget and a strategy are for grids nobody waits for.

mod check;
mod command_line;
mod contract;
mod cpu;
mod cuda;
mod invalid;
mod metrics;
mod names;
mod output;
mod parameters;
mod parse;
mod search;
mod spec;
mod strategy;
mod trial;
mod winners;

pub use check::{Accuracy, Numbers, NumbersError, compare};
pub use command_line::CommandLine;
pub use contract::{Amount, Check, Contract, Work};
pub use cpu::{KERNEL_ARGUMENT, run_kernel, why_missing};
pub use cuda::{
    CUDA_ARGUMENT, Candidate, Code, Cuda, CudaJob, Expression, FIND, JobArgument, Libraries,
    default_limit, find_device, run_cuda,
};
pub use invalid::{Fault, Invalid};
pub use output::{ParsedOutput, Tainted, read_output};
pub use parameters::Parameters;
pub use parse::{SpecError, parse};
pub use search::{Halt, Interrupted, Job, Observer, Runner, search};
pub use spec::{ENERGY, Kind, Objective, Spec};
pub use strategy::{Space, Strategy};
pub use trial::{Board, CandidateRun, Problem, State};
pub use winners::{Timed, WINNERS_SCHEMA, Winner, Winners};

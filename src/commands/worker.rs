//! This program as its own child: the benchmarks, and what asks the driver. Not in the table of commands: its arguments are a contract between two
//! processes of one binary, written and read in [`crate::worker`], and nobody types them.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;

use rustix::stdio::dup2_stdout;
use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};

use super::output;
use crate::commands::cli::{CliError, Exit, Result};
use crate::commands::elevated;
use crate::commands::record::{LAUNCH, RELAY, launch, relay};
use crate::config::Environment;
use crate::io::memory::share_heap;
use crate::io::source::nvml::{NVML_ARGUMENT, serve_nvml};
use crate::tuner::{CUDA_ARGUMENT, FIND, KERNEL_ARGUMENT, find_device, run_cuda, run_kernel};
use crate::worker::cpu::{CpuDevice, CpuOptions};
use crate::worker::gpu::{CudaOpener, GpuDevice};
use crate::worker::process::{CPU_ARGUMENT, GPU_ARGUMENT};
use crate::worker::{CONTEXT_LOST, WorkerEnd, children, run_worker};

/// Computes until the parent is gone or has heard enough.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>, env: &Environment) -> Result<Exit> {
    elevated::forbid_injections(env)?;
    let arguments: Vec<OsString> = arguments.collect();
    if arguments == [RELAY] {
        return Ok(relay().map(|()| Exit::Fine)?);
    }
    if let Some((first, rest)) = arguments.split_first()
        && first == LAUNCH
    {
        return Ok(launch(rest));
    }
    children::die_with_parent();
    if let Some((first, rest)) = arguments.split_first()
        && first == NVML_ARGUMENT
    {
        return nvml(rest.first().map(PathBuf::from));
    }
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let print = |line: Result<String, String>| output::print(&line.map_err(CliError::Failed)?);
    match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some((KERNEL_ARGUMENT, rest)) => print(run_kernel(rest)),
        Some((CUDA_ARGUMENT, [find, device])) if find == FIND => {
            find_device(device).map(|()| Exit::Fine).map_err(CliError::NoGpu)
        }
        Some((CUDA_ARGUMENT, [job])) => print(run_cuda(job)),
        Some((CPU_ARGUMENT, rest)) => cpu(rest),
        Some((GPU_ARGUMENT, rest)) => gpu(rest, env),
        _ => Err(CliError::Usage(format!("no worker is called {}", arguments.join(" ")))),
    }
}

/// Serves the CPU.
fn cpu(arguments: &[String]) -> Result<Exit> {
    let options = CpuOptions::from_arguments(arguments).map_err(CliError::usage)?;
    children::die_with_input();
    run_worker(|stop| CpuDevice::new(options, stop), io::stdin(), io::stdout())?;
    Ok(Exit::Fine)
}

/// Serves one device, or none in particular.
fn gpu(arguments: &[String], env: &Environment) -> Result<Exit> {
    let uuid = match arguments {
        [] => None,
        [uuid] => Some(uuid.clone()),
        more => return Err(CliError::Usage(format!("one device at a time: {}", more.join(" ")))),
    };
    children::die_with_input();
    let nvml = env.get("WARPSCOPE_LIBRARY").map(Into::into);
    let opener = CudaOpener { uuid, nvml };
    match run_worker(|stop| GpuDevice::new(&opener, stop), io::stdin(), io::stdout())? {
        WorkerEnd::Told => Ok(Exit::Fine),
        WorkerEnd::ContextLost => Ok(Exit::Command(CONTEXT_LOST)),
    }
}

/// Asks NVML for a parent that does not load it.
fn nvml(library: Option<PathBuf>) -> Result<Exit> {
    share_heap();
    children::die_with_input();
    // What the library prints must not come between two answers.
    let answers = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdout(File::options().write(true).open("/dev/null")?).map_err(io::Error::from)?;
    let mut provider =
        NvmlProvider::new(NvmlOptions { library, catalogue: false, ..NvmlOptions::default() });
    serve_nvml(&mut provider, io::stdin().lock(), answers)?;
    Ok(Exit::Fine)
}

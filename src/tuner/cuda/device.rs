//! The device of a job, with its kernel loaded.

use std::sync::Arc;

use warpscope_kernels::cuda::nvrtc::Output;
use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine, advice};
use warpscope_kernels::gpu::{DeviceFacts, Machine, MachineError};

use super::compiler::{Compiler, read};
use super::{Code, CudaJob};

/// The name the image has on the machine.
pub(super) const FAMILY: &str = "tuned";
/// CUDA_ERROR_UNSUPPORTED_PTX_VERSION.
const UNSUPPORTED_PTX: u32 = 222;

/// Whether there is a device by this UUID or index; any where nothing is describe.
pub fn find_device(wanted: &str) -> Result<(), String> {
    let cuda = Cuda::open().map_err(describe)?;
    let devices = cuda.devices().map_err(describe)?;
    choose(&devices, wanted).map(|_| ())
}

pub(super) fn describe(error: MachineError) -> String {
    match advice(&error) {
        Some(advice) => format!("{error}. {advice}"),
        None => error.to_string(),
    }
}

pub(super) fn open(job: &CudaJob) -> Result<(CudaMachine, String), String> {
    let cuda = Cuda::open().map_err(describe)?;
    let devices = cuda.devices().map_err(describe)?;
    let (uuid, facts) = choose(&devices, job.device.as_deref().unwrap_or_default())?;
    let cap = Cap { arena_bytes: facts.memory_bytes, stop: Arc::default() };
    Ok((cuda.machine(uuid, cap).map_err(describe)?, uuid.clone()))
}

fn choose<'a>(
    devices: &'a [(String, DeviceFacts)],
    wanted: &str,
) -> Result<&'a (String, DeviceFacts), String> {
    let found = match wanted.parse::<usize>() {
        Ok(index) => devices.get(index),
        Err(_) if wanted.is_empty() => devices.first(),
        Err(_) => devices.iter().find(|device| device.0 == wanted),
    };
    found.ok_or_else(|| match devices {
        [] => "the driver shows no device".to_owned(),
        _ => {
            let known: Vec<&str> = devices.iter().map(|device| device.0.as_str()).collect();
            format!("no device {wanted}; there are {}", known.join(", "))
        }
    })
}

/// Makes the job's image the one of [`FAMILY`].
pub(super) fn load(machine: &mut CudaMachine, job: &CudaJob) -> Result<(), String> {
    if job.code != Code::Cu {
        return load_image(machine, &read(&job.file)?)
            .map_err(|(error, log)| with_log(error, &log));
    }
    let compiler = Compiler::new(&job.file, &job.options, &job.nvrtc)?;
    let facts = machine.facts().clone();
    match load_image(machine, &compiler.compile(&facts, Output::Ptx)?) {
        Ok(()) => Ok(()),
        // A compiler newer than the driver: its images run, its PTX does not.
        Err((MachineError::Driver { code: UNSUPPORTED_PTX, .. }, _)) => {
            let image = compiler.compile(&facts, Output::Cubin)?;
            load_image(machine, &image).map_err(|(error, log)| with_log(error, &log))
        }
        Err((error, log)) => Err(with_log(error, &log)),
    }
}

fn load_image(machine: &mut CudaMachine, image: &[u8]) -> Result<(), (MachineError, String)> {
    let (loaded, log) = machine.load_image(FAMILY, image);
    loaded.map_err(|error| (error, log))
}

fn with_log(error: MachineError, log: &str) -> String {
    [describe(error).as_str(), log.trim()].join("\n").trim_end().to_owned()
}

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine, ImageUse};
use warpscope_kernels::gpu::MachineError;
use warpscope_probes::nvml::Watch;

use super::contention::ContentionProbe;
use super::session::{DeviceSession, TIERS, tier};
use super::worker::{Opened, Opener};
use crate::worker::protocol::{Acquire, DeviceHere};

/// Opens a device through the driver.
pub struct CudaOpener {
    /// UUID of the device; any that is visible where nothing is said.
    pub uuid: Option<String>,
    /// The NVML library to ask who else is there; the usual one where nothing is said.
    pub nvml: Option<PathBuf>,
}

impl Opener for CudaOpener {
    fn name(&self) -> String {
        self.uuid.clone().unwrap_or_else(|| "any".to_owned())
    }

    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError> {
        let here = |(uuid, device)| DeviceHere { uuid, device };
        Ok(Cuda::open()?.devices()?.into_iter().map(here).collect())
    }

    fn open(&self, how: &Acquire, stop: &Arc<AtomicBool>) -> Result<Opened, MachineError> {
        let cuda = Cuda::open()?;
        let uuid = match &self.uuid {
            Some(uuid) => uuid.clone(),
            None => first(&cuda)?,
        };
        let arena_bytes = how.arena_bytes.unwrap_or(0);
        let mut machine = cuda.machine(&uuid, Cap { arena_bytes, stop: Arc::clone(stop) })?;
        if how.arena_bytes.is_none() {
            let (free, _) = machine.memory()?;
            let asked = TIERS[TIERS.len() - 1];
            machine.set_cap(tier(free, how.mode).ok_or(MachineError::OutOfMemory { asked })?);
        }
        Ok(Opened { uuid, session: Box::new(machine) })
    }

    fn contention(&self) -> Option<Box<dyn ContentionProbe>> {
        let watch = Watch::open(self.nvml.as_deref(), self.uuid.as_deref()?).ok()?;
        Some(Box::new(watch))
    }
}

fn first(cuda: &Cuda) -> Result<String, MachineError> {
    let first = cuda.devices()?.into_iter().next();
    first.map(|(uuid, _)| uuid).ok_or_else(|| MachineError::Missing { what: "a device".to_owned() })
}

impl DeviceSession for CudaMachine {
    fn pool(&self) -> (u64, u64) {
        self.arena()
    }

    fn set_cap(&mut self, arena_bytes: u64) {
        self.set_cap(arena_bytes);
    }

    fn images(&self) -> Vec<ImageUse> {
        self.images()
    }

    fn ended(&self) -> Option<&MachineError> {
        self.ended()
    }

    fn cuda(&mut self) -> Option<&mut CudaMachine> {
        Some(self)
    }
}

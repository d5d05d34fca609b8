use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine, ImageUse};
use warpscope_kernels::gpu::MachineError;
use warpscope_probes::nvml::Watch;

use super::child::{Opened, Opener};
use super::held::{Held, TIERS, tier};
use super::lookout::Eyes;
use super::request::Hold;
use crate::worker::DeviceHere;

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

    fn open(&self, hold: &Hold, stop: &Arc<AtomicBool>) -> Result<Opened, MachineError> {
        let cuda = Cuda::open()?;
        let uuid = match &self.uuid {
            Some(uuid) => uuid.clone(),
            None => first(&cuda)?,
        };
        let arena_bytes = hold.arena_bytes.unwrap_or(0);
        let mut machine = cuda.machine(&uuid, Cap { arena_bytes, stop: Arc::clone(stop) })?;
        if hold.arena_bytes.is_none() {
            let (free, _) = machine.memory()?;
            let asked = TIERS[TIERS.len() - 1];
            machine.set_cap(tier(free, hold.regime).ok_or(MachineError::OutOfMemory { asked })?);
        }
        Ok(Opened { uuid, machine: Box::new(machine) })
    }

    fn eyes(&self) -> Option<Box<dyn Eyes>> {
        let watch = Watch::open(self.nvml.as_deref(), self.uuid.as_deref()?).ok()?;
        Some(Box::new(watch))
    }
}

fn first(cuda: &Cuda) -> Result<String, MachineError> {
    let first = cuda.devices()?.into_iter().next();
    first.map(|(uuid, _)| uuid).ok_or_else(|| MachineError::Missing { what: "a device".to_owned() })
}

impl Held for CudaMachine {
    fn arena(&self) -> (u64, u64) {
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

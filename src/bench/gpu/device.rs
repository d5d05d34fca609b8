use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpscope_kernels::cuda::{Cap, Cuda, CudaMachine, ImageUse};
use warpscope_kernels::gpu::{
    BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Slot,
};

use super::child::Opener;
use super::held::{Held, tier};
use crate::bench::DeviceHere;

/// Opens a device through the driver.
pub struct CudaOpener {
    /// UUID of the device; any that is visible where nothing is said.
    pub uuid: Option<String>,
}

impl Opener for CudaOpener {
    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError> {
        let here = |(uuid, device)| DeviceHere { uuid, device };
        Ok(Cuda::open()?.devices()?.into_iter().map(here).collect())
    }

    fn open(
        &self,
        arena: Option<u64>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Box<dyn Held>, MachineError> {
        let cuda = Cuda::open()?;
        let uuid = match &self.uuid {
            Some(uuid) => uuid.clone(),
            None => first(&cuda)?,
        };
        let cap = Cap { arena_bytes: arena.unwrap_or(0), stop: Arc::clone(stop) };
        let mut machine = cuda.machine(&uuid, cap)?;
        if arena.is_none() {
            let (free, _) = machine.memory()?;
            let asked = super::TIERS[super::TIERS.len() - 1];
            machine.set_cap(tier(free).ok_or(MachineError::OutOfMemory { asked })?);
        }
        Ok(Box::new(OnDevice { uuid, machine }))
    }
}

fn first(cuda: &Cuda) -> Result<String, MachineError> {
    let first = cuda.devices()?.into_iter().next();
    first.map(|(uuid, _)| uuid).ok_or_else(|| MachineError::Missing { what: "a device".to_owned() })
}

/// A machine of the driver, with the UUID it was opened by.
struct OnDevice {
    uuid: String,
    machine: CudaMachine,
}

impl Held for OnDevice {
    fn uuid(&self) -> &str {
        &self.uuid
    }

    fn arena(&self) -> (u64, u64) {
        self.machine.arena()
    }

    fn free_at_start(&self) -> u64 {
        self.machine.free_at_start()
    }

    fn images(&self) -> Vec<ImageUse> {
        self.machine.images()
    }

    fn ended(&self) -> Option<&MachineError> {
        self.machine.ended()
    }
}

//! NVIDIA devices: the one [`Machine`](crate::gpu::Machine) that is hardware.
//!
//! libcuda is loaded when it is asked for, by cudarc, which also gives the types; each function is looked up once and may be
//! missing, and a status is a number (`driver`, `status`). Handles give themselves back (`context`, `module`), so what
//! stands above them is safe code. cudarc's own safe layer was rejected: it panics without a library or a symbol, its status
//! enum is undefined behaviour for numbers of newer drivers, and its memory and module types know no cap and no fallback.
//!
//! This belongs into a child process all the same: a fault ends the context for good, and a hang ends with the process only.

mod accounts;
pub mod blas;
mod clocks;
mod config;
mod context;
mod device;
mod driver;
mod images;
mod limits;
mod machine;
mod module;
pub mod nvrtc;
mod pack;
mod status;
mod tensor;

use std::rc::Rc;

pub use images::{Bytes, ImageUse, Loadable, Source, built_in};
pub use machine::{Cap, CudaMachine};
pub use status::{Effect, STATUSES, Status, advice, status};

use crate::gpu::{DeviceFacts, MachineError};
use device::Device;
use driver::Driver;

/// The driver, started.
pub struct Cuda {
    driver: Rc<Driver>,
}

impl Cuda {
    /// Loads and starts the driver. [`advice`] says what to do about an error.
    pub fn open() -> Result<Self, MachineError> {
        let driver = Driver::load()?;
        device::start(&driver)?;
        Ok(Self { driver: Rc::new(driver) })
    }

    /// CUDA version of the driver: `12080` for 12.8.
    pub fn driver_version(&self) -> Result<u32, MachineError> {
        device::driver_version(&self.driver)
    }

    /// Whether a stand-in was loaded.
    pub fn simulated(&self) -> bool {
        self.driver.simulated
    }

    /// Every visible device by its UUID, `GPU-…`, in the driver's order.
    pub fn devices(&self) -> Result<Vec<(String, DeviceFacts)>, MachineError> {
        let devices = Device::all(&self.driver)?;
        let one = |device: Device| Ok((device.uuid(&self.driver)?, device.facts(&self.driver)?));
        devices.into_iter().map(one).collect()
    }

    /// A device to run the kernels of this program on. Its context costs some hundred megabytes of its memory.
    pub fn machine(&self, uuid: &str, cap: Cap) -> Result<CudaMachine, MachineError> {
        self.machine_with(uuid, cap, built_in)
    }

    /// The same, with images from elsewhere.
    pub fn machine_with(
        &self,
        uuid: &str,
        cap: Cap,
        images: Source,
    ) -> Result<CudaMachine, MachineError> {
        for device in Device::all(&self.driver)? {
            if device::same_uuid(&device.uuid(&self.driver)?, uuid) {
                return CudaMachine::new(&self.driver, device, cap, images);
            }
        }
        Err(MachineError::Missing { what: format!("device {uuid}") })
    }
}

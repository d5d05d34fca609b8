//! What is held of a device while it computes: context, stream, events, memory. Each is given back when it is dropped, and
//! keeps alive what it stands on, so the order is right by itself.
#![expect(unsafe_code, reason = "handles of libcuda and copies through pointers")]

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;

use cudarc::driver::sys::{
    CUctx_flags, CUdeviceptr, CUevent, CUevent_flags, CUstream, CUstream_flags,
};

use super::device::Device;
use super::driver::Driver;
use crate::gpu::{MachineError, Nanoseconds};

/// The primary context of a device, bound to this thread.
pub(super) struct Context {
    pub(super) driver: Rc<Driver>,
    device: Device,
}

impl Context {
    /// Makes the context. Waiting will block, not spin.
    pub(super) fn new(driver: &Rc<Driver>, device: Device) -> Result<Rc<Self>, MachineError> {
        let flags = CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC as u32;
        // Refused where something else in this process uses the context already; then it waits as that wants.
        // SAFETY: the device comes from this driver.
        let _waits_otherwise = unsafe { driver.primary_flags(device.handle, flags) };
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is written.
        unsafe { driver.primary_retain(&raw mut handle, device.handle) }?;
        let context = Rc::new(Self { driver: Rc::clone(driver), device });
        // SAFETY: the context was just retained and is released by drop only.
        unsafe { driver.context_current(handle) }?;
        Ok(context)
    }

    /// Free and total memory of the device, bytes.
    pub(super) fn memory(&self) -> Result<(u64, u64), MachineError> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are written.
        unsafe { self.driver.memory_info(&raw mut free, &raw mut total) }?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it was retained once; nothing that stands on it lives.
        let _nobody_to_tell = unsafe { self.driver.primary_release(self.device.handle) };
    }
}

/// The one stream everything runs in, in order.
pub(super) struct Stream {
    context: Rc<Context>,
    handle: CUstream,
}

impl Stream {
    /// A stream of the lowest priority.
    pub(super) fn new(context: &Rc<Context>) -> Result<Self, MachineError> {
        let driver = &context.driver;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are written.
        unsafe { driver.stream_priorities(&raw mut least, &raw mut greatest) }?;
        let mut handle = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `handle` is written.
        unsafe { driver.stream_create(&raw mut handle, flags, least) }?;
        Ok(Self { context: Rc::clone(context), handle })
    }

    /// The driver's handle.
    pub(super) fn raw(&self) -> CUstream {
        self.handle
    }

    /// Waits for everything in it.
    pub(super) fn wait(&self) -> Result<(), MachineError> {
        // SAFETY: the stream lives.
        unsafe { self.context.driver.stream_wait(self.handle) }
    }

    /// Copies to the device and waits.
    pub(super) fn copy_in(&self, to: CUdeviceptr, bytes: &[u8]) -> Result<(), MachineError> {
        let from = bytes.as_ptr().cast::<c_void>();
        // SAFETY: the bytes are borrowed until the stream was waited for; the driver checks the other end.
        let copied = unsafe { self.context.driver.copy_in(to, from, bytes.len(), self.handle) };
        copied.and(self.wait())
    }

    /// Copies from the device and waits.
    pub(super) fn copy_out(&self, from: CUdeviceptr, bytes: &mut [u8]) -> Result<(), MachineError> {
        let (to, count) = (bytes.as_mut_ptr().cast::<c_void>(), bytes.len());
        // SAFETY: the bytes are borrowed until the stream was waited for; the driver checks the other end.
        let copied = unsafe { self.context.driver.copy_out(to, from, count, self.handle) };
        copied.and(self.wait())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream was created and is destroyed once.
        let _nobody_to_tell = unsafe { self.context.driver.stream_destroy(self.handle) };
    }
}

/// A moment in a stream, by the device's clock.
pub(super) struct Event {
    context: Rc<Context>,
    handle: CUevent,
}

impl Event {
    /// An event that is waited for without spinning.
    pub(super) fn new(context: &Rc<Context>) -> Result<Self, MachineError> {
        let mut handle = ptr::null_mut();
        let flags = CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        // SAFETY: `handle` is written.
        unsafe { context.driver.event_create(&raw mut handle, flags) }?;
        Ok(Self { context: Rc::clone(context), handle })
    }

    /// Notes the moment at which the stream gets here.
    pub(super) fn record(&self, stream: &Stream) -> Result<(), MachineError> {
        // SAFETY: event and stream live.
        unsafe { self.context.driver.event_record(self.handle, stream.handle) }
    }

    /// Waits for it, and says how long after another it was.
    pub(super) fn since(&self, start: &Self) -> Result<Nanoseconds, MachineError> {
        // SAFETY: the event lives.
        unsafe { self.context.driver.event_wait(self.handle) }?;
        let mut milliseconds = 0.0_f32;
        let out = &raw mut milliseconds;
        // SAFETY: both events live; `milliseconds` is written.
        unsafe { self.context.driver.event_elapsed(out, start.handle, self.handle) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event was created and is destroyed once.
        let _nobody_to_tell = unsafe { self.context.driver.event_destroy(self.handle) };
    }
}

/// A piece of device memory.
pub(super) struct Block {
    context: Rc<Context>,
    address: CUdeviceptr,
}

impl Block {
    /// Takes so many bytes, at least one.
    pub(super) fn new(context: &Rc<Context>, bytes: usize) -> Result<Self, MachineError> {
        let mut address = 0;
        // SAFETY: `address` is written.
        unsafe { context.driver.memory_take(&raw mut address, bytes) }?;
        Ok(Self { context: Rc::clone(context), address })
    }

    /// Where it begins.
    pub(super) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: it was taken and is given back once; kernels that used it were waited for.
        let _nobody_to_tell = unsafe { self.context.driver.memory_give(self.address) };
    }
}

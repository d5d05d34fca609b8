//! Loaded images, their entries, and recordings of launches.
#![expect(unsafe_code, reason = "handles of libcuda and launches through pointers")]

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use cudarc::driver::sys::{
    CUfunction, CUfunction_attribute as Asked, CUgraphExec, CUjit_option as Jit, CUmodule,
    CUstreamCaptureMode,
};

use super::config::{Attribute, Config};
use super::context::{Context, Stream};
use super::pack;
use crate::gpu::{Launch, MachineError};

/// The first class of images whose kernels wait for the launch in front of them, as `CU_FUNC_ATTRIBUTE_PTX_VERSION` has it.
const WAITS_FROM: i32 = 90;
/// `CUDA_ERROR_NOT_SUPPORTED`
const NOT_SUPPORTED: u32 = 801;
/// Room for each of the two logs of the driver's compiler.
const LOG_BYTES: usize = 16 << 10;

/// A loaded image.
pub(super) struct Module {
    context: Rc<Context>,
    handle: CUmodule,
}

impl Module {
    /// Loads an image: a cubin, a fatbin, or PTX. The log is what the driver's compiler said, mostly nothing.
    pub(super) fn load(
        context: &Rc<Context>,
        image: &[u8],
    ) -> (Result<Rc<Self>, MachineError>, String) {
        // PTX is a text with a zero at its end; behind a binary one does no harm.
        let image = [image, &[0]].concat();
        let (mut info, mut error) = (vec![0_u8; LOG_BYTES], vec![0_u8; LOG_BYTES]);
        let room = LOG_BYTES as *mut c_void;
        let mut options = [
            Jit::CU_JIT_INFO_LOG_BUFFER as c_uint,
            Jit::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES as c_uint,
            Jit::CU_JIT_ERROR_LOG_BUFFER as c_uint,
            Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_uint,
        ];
        let mut values = [info.as_mut_ptr().cast(), room, error.as_mut_ptr().cast(), room];
        let mut handle = ptr::null_mut();
        // SAFETY: the image ends with a zero and lives through the call, as do the logs, whose sizes are given.
        let loaded = unsafe {
            context.driver.module_load(
                &raw mut handle,
                image.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        let module = loaded.map(|()| Rc::new(Self { context: Rc::clone(context), handle }));
        (module, [text(&error), text(&info)].concat())
    }

    /// An entry by name.
    pub(super) fn function(self: &Rc<Self>, name: &str) -> Result<Function, MachineError> {
        let driver = &self.context.driver;
        let text = CString::new(name)
            .map_err(|_| MachineError::refused(format!("{name:?} is no name")))?;
        let mut handle = ptr::null_mut();
        // SAFETY: `handle` is written; the module lives; the name ends with a zero.
        unsafe { driver.function(&raw mut handle, self.handle, text.as_ptr()) }?;
        let function = Function {
            module: Rc::clone(self),
            handle,
            static_shared: 0,
            dynamic_shared: 0,
            prefers_shared: false,
            waits: false,
            parameters: None,
        };
        let class = function.attribute(Asked::CU_FUNC_ATTRIBUTE_PTX_VERSION as c_int)?;
        let shared = function.attribute(Asked::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as c_int)?;
        let parameters = function.parameters();
        let static_shared = u32::try_from(shared).unwrap_or(0);
        Ok(Function { static_shared, waits: class >= WAITS_FROM, parameters, ..function })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: it was loaded and is unloaded once; its functions keep it alive.
        let _nobody_to_tell = unsafe { self.context.driver.module_unload(self.handle) };
    }
}

/// What the driver wrote into a log.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}

/// An entry of a loaded image.
#[derive(Clone)]
pub(super) struct Function {
    module: Rc<Module>,
    handle: CUfunction,
    /// Shared memory it declares itself, bytes.
    pub(super) static_shared: u32,
    /// Dynamic shared memory that was asked for beyond what a block has without asking, bytes.
    pub(super) dynamic_shared: u32,
    /// Whether shared memory was preferred to the first-level cache.
    prefers_shared: bool,
    /// Whether it was compiled for devices on which kernels wait for the launch in front of them; else it must not start before that has ended,
    /// whatever the device can.
    waits: bool,
    /// Sizes of its parameters, where the driver tells.
    parameters: Option<Vec<usize>>,
}

impl Function {
    /// One attribute by its number: registers, local memory.
    pub(super) fn attribute(&self, number: i32) -> Result<i32, MachineError> {
        let mut value = 0;
        let driver = &self.module.context.driver;
        // SAFETY: `value` is written; the function's module lives.
        unsafe { driver.function_attribute(&raw mut value, number, self.handle) }?;
        Ok(value)
    }

    /// Asks for more dynamic shared memory than a block has without asking.
    pub(super) fn ask_for_shared(&mut self, bytes: u32) -> Result<(), MachineError> {
        let number = Asked::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as c_int;
        let value = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the function's module lives.
        unsafe { self.module.context.driver.function_set(self.handle, number, value) }?;
        self.dynamic_shared = bytes;
        Ok(())
    }

    /// Asks for as much shared memory on a multiprocessor as it can have. Between launches that want different shares of it a multiprocessor has to
    /// drain, which keeps one that may start early from doing so. It is a hint: a driver that does not take it is no reason to stop.
    pub(super) fn prefer_shared(&mut self) {
        let number = Asked::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT as c_int;
        if !self.prefers_shared {
            self.prefers_shared = true;
            // SAFETY: the function's module lives.
            let _hint =
                unsafe { self.module.context.driver.function_set(self.handle, number, 100) };
        }
    }

    fn parameters(&self) -> Option<Vec<usize>> {
        let driver = &self.module.context.driver;
        let size = |index| {
            let (mut offset, mut size) = (0, 0);
            let (out_offset, out_size) = (&raw mut offset, &raw mut size);
            // SAFETY: both are written; an index behind the last is an error.
            unsafe { driver.function_parameter(self.handle, index, out_offset, out_size) }
                .ok()
                .map(|()| size)
        };
        driver.has_parameters().then(|| (0..pack::MOST).map_while(size).collect())
    }

    /// Launches it, early where that is wished for. The parameters were packed for this very launch.
    pub(super) fn launch(
        &self,
        stream: &Stream,
        launch: &Launch,
        values: &pack::Packed,
        early: bool,
    ) -> Result<(), MachineError> {
        values.fits(self.parameters.as_deref())?;
        let mut values = values.clone();
        let mut pointers = values.pointers();
        if early && self.waits {
            match self.launch_early(stream, launch, &mut pointers) {
                Err(MachineError::Driver { code: NOT_SUPPORTED, .. }) => {}
                launched => return launched,
            }
        }
        let ([gx, gy, gz], [bx, by, bz]) = (launch.grid, launch.block);
        let driver = &self.module.context.driver;
        // SAFETY: function and stream live; there is a pointer for every parameter a kernel may have, each to eight bytes or
        // a tensor map, which live through the call, in which the driver copies them.
        unsafe {
            driver.launch(
                self.handle,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                launch.shared_bytes,
                stream.raw(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
    }
}

impl Function {
    fn launch_early(
        &self,
        stream: &Stream,
        launch: &Launch,
        pointers: &mut [*mut c_void; pack::MOST],
    ) -> Result<(), MachineError> {
        let mut attribute = Attribute::early();
        let config = Config::new(launch, stream.raw(), &mut attribute);
        let (config, pointers) = (&raw const config, pointers.as_mut_ptr());
        // SAFETY: as for a plain launch; configuration and attribute live through the call.
        unsafe {
            self.module.context.driver.launch_with(config, self.handle, pointers, ptr::null_mut())
        }
    }
}

/// Launches that were recorded and made ready.
pub(super) struct Graph {
    context: Rc<Context>,
    handle: CUgraphExec,
}

impl Graph {
    /// Records what `launch` puts into the stream. None of it runs.
    pub(super) fn record(
        context: &Rc<Context>,
        stream: &Stream,
        launch: impl FnOnce() -> Result<(), MachineError>,
    ) -> Result<Self, MachineError> {
        let driver = &context.driver;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as c_uint;
        // SAFETY: the stream lives.
        unsafe { driver.capture_begin(stream.raw(), mode) }?;
        let launched = launch();
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is being recorded; `graph` is written.
        let ended = unsafe { driver.capture_end(stream.raw(), &raw mut graph) };
        let ready = launched.and(ended).and_then(|()| {
            let mut handle = ptr::null_mut();
            // SAFETY: `handle` is written; the recording ended well, so `graph` is one.
            unsafe { driver.graph_ready(&raw mut handle, graph, 0) }?;
            Ok(Self { context: Rc::clone(context), handle })
        });
        if !graph.is_null() {
            // SAFETY: the driver wrote the handle; what was made ready does not need it.
            let _nobody_to_tell = unsafe { driver.graph_destroy(graph) };
        }
        ready
    }

    /// Puts it into the stream once more.
    pub(super) fn launch(&self, stream: &Stream) -> Result<(), MachineError> {
        // SAFETY: graph and stream live.
        unsafe { self.context.driver.graph_launch(self.handle, stream.raw()) }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was made ready and is destroyed once.
        let _nobody_to_tell = unsafe { self.context.driver.graph_ready_destroy(self.handle) };
    }
}

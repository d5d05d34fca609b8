//! The driver's functions, each looked up once.
//!
//! cudarc gives the types. Its loader was rejected: it prefers `libcuda.so`, which beside a toolkit is a stub that fails every call. Its functions were rejected: they panic where a driver lacks
//! one, and return an enum to which a newer driver's number is undefined behaviour. Here a function that is missing is an
//! error of the call that wants it, and a status is a number.
#![expect(unsafe_code, reason = "libcuda is a C library, and its functions are found by name")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmodule,
    CUstream, CUuuid,
};
use libloading::Library;

use super::config::Config;
use super::status;
use crate::gpu::MachineError;

/// The symbol only a stand-in has.
const SIMULATED: &str = "warpscope_simulated";

/// Declares the functions: name here, names there (the newest first), parameters.
macro_rules! driver {
    ($($(#[$note:meta])* $name:ident [$first:literal $(, $other:literal)*] ($($arg:ident: $type:ty),*);)*) => {
        /// Functions of the loaded driver; what it lacks is `None`.
        pub(super) struct Driver {
            /// Whether a stand-in was loaded.
            pub(super) simulated: bool,
            $($name: Option<unsafe extern "C" fn($($type),*) -> u32>,)*
        }

        impl Driver {
            fn resolve() -> Self {
                Self {
                    // SAFETY: nothing is read through the pointer.
                    simulated: unsafe { symbol::<*const c_void>(&[SIMULATED]) }.is_some(),
                    // SAFETY: the types are those of these names in NVIDIA's header.
                    $($name: unsafe { symbol(&[$first $(, $other)*]) },)*
                }
            }

            $(
                $(#[$note])*
                ///
                /// # Safety
                /// Pointers and handles are what the driver's documentation asks for, and handles are alive.
                pub(super) unsafe fn $name(&self, $($arg: $type),*) -> Result<(), MachineError> {
                    let Some(function) = self.$name else {
                        return Err(MachineError::Missing { what: $first.to_owned() });
                    };
                    // SAFETY: the caller vouches for the arguments.
                    status::check($first, unsafe { function($($arg),*) })
                }
            )*
        }
    };
}

/// The driver's library: what the driver installs under the name it has itself, then what developers link against.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// The library, loaded once and never unloaded.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: loading runs the initialisers of NVIDIA's library, which are known to be harmless.
    let load = |name: &&str| unsafe { Library::new(*name) }.ok();
    LIBRARY.get_or_init(|| NAMES.iter().find_map(load)).as_ref()
}

/// The first of these symbols that the library has.
///
/// # Safety
/// `F` is the type of what the names stand for. The library is present.
unsafe fn symbol<F: Copy>(names: &[&str]) -> Option<F> {
    // SAFETY: the caller vouches for presence and type; the library is never unloaded.
    let find = |name: &&str| {
        // SAFETY: as above.
        unsafe { library()?.get::<F>(name.as_bytes()) }.ok().map(|found| *found)
    };
    names.iter().find_map(find)
}

driver! {
    /// `cuInit`.
    init ["cuInit"] (flags: c_uint);
    /// CUDA version of the driver.
    driver_version ["cuDriverGetVersion"] (out: *mut c_int);
    /// Devices that are visible.
    device_count ["cuDeviceGetCount"] (out: *mut c_int);
    /// Handle of a device.
    device ["cuDeviceGet"] (out: *mut CUdevice, ordinal: c_int);
    /// Name of a device, with a zero at its end.
    device_name ["cuDeviceGetName"] (out: *mut c_char, room: c_int, device: CUdevice);
    /// UUID of a device; that of a MIG instance from the second version on.
    device_uuid ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"] (out: *mut CUuuid, device: CUdevice);
    /// Memory of a device.
    device_memory ["cuDeviceTotalMem_v2"] (out: *mut usize, device: CUdevice);
    /// One attribute of a device.
    device_attribute ["cuDeviceGetAttribute"] (out: *mut c_int, attribute: c_int, device: CUdevice);

    /// How the primary context will wait.
    primary_flags ["cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxSetFlags"]
        (device: CUdevice, flags: c_uint);
    /// Makes or joins the primary context.
    primary_retain ["cuDevicePrimaryCtxRetain"] (out: *mut CUcontext, device: CUdevice);
    /// Leaves the primary context.
    primary_release ["cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"] (device: CUdevice);
    /// Binds a context to this thread.
    context_current ["cuCtxSetCurrent"] (context: CUcontext);

    /// The lowest and the highest priority of streams.
    stream_priorities ["cuCtxGetStreamPriorityRange"] (least: *mut c_int, greatest: *mut c_int);
    /// A stream.
    stream_create ["cuStreamCreateWithPriority"]
        (out: *mut CUstream, flags: c_uint, priority: c_int);
    /// Gives a stream back.
    stream_destroy ["cuStreamDestroy_v2"] (stream: CUstream);
    /// Waits for everything in a stream.
    stream_wait ["cuStreamSynchronize"] (stream: CUstream);
    /// Begins to record a stream.
    capture_begin ["cuStreamBeginCapture_v2"] (stream: CUstream, mode: c_uint);
    /// Ends the recording.
    capture_end ["cuStreamEndCapture"] (stream: CUstream, out: *mut CUgraph);

    /// An event.
    event_create ["cuEventCreate"] (out: *mut CUevent, flags: c_uint);
    /// Notes an event in a stream.
    event_record ["cuEventRecord"] (event: CUevent, stream: CUstream);
    /// Waits for an event.
    event_wait ["cuEventSynchronize"] (event: CUevent);
    /// Milliseconds between two events.
    event_elapsed ["cuEventElapsedTime", "cuEventElapsedTime_v2"]
        (out: *mut f32, start: CUevent, end: CUevent);
    /// Gives an event back.
    event_destroy ["cuEventDestroy_v2"] (event: CUevent);

    /// Takes memory.
    memory_take ["cuMemAlloc_v2"] (out: *mut CUdeviceptr, bytes: usize);
    /// Gives memory back.
    memory_give ["cuMemFree_v2"] (address: CUdeviceptr);
    /// Free and total memory.
    memory_info ["cuMemGetInfo_v2"] (free: *mut usize, total: *mut usize);
    /// Copies to the device.
    copy_in ["cuMemcpyHtoDAsync_v2"]
        (to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    /// Copies from the device.
    copy_out ["cuMemcpyDtoHAsync_v2"]
        (to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);

    /// Loads an image.
    module_load ["cuModuleLoadDataEx"]
        (out: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void);
    /// Unloads a module.
    module_unload ["cuModuleUnload"] (module: CUmodule);
    /// An entry of a module.
    function ["cuModuleGetFunction"] (out: *mut CUfunction, module: CUmodule, name: *const c_char);
    /// One attribute of a function.
    function_attribute ["cuFuncGetAttribute"] (out: *mut c_int, attribute: c_int, function: CUfunction);
    /// Sets an attribute of a function.
    function_set ["cuFuncSetAttribute"] (function: CUfunction, attribute: c_int, value: c_int);
    /// Place and size of a parameter; from CUDA 12.4 on.
    function_parameter ["cuFuncGetParamInfo"]
        (function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    /// Launches a kernel.
    #[expect(clippy::too_many_arguments, reason = "as the driver declares it")]
    launch ["cuLaunchKernel"] (
        function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void
    );

    /// Launches a kernel with attributes; from CUDA 11.8 on.
    launch_with ["cuLaunchKernelEx"]
        (config: *const Config, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    /// Makes a tensor map; from CUDA 12.0 on.
    #[expect(clippy::too_many_arguments, reason = "as the driver declares it")]
    tensor_encode ["cuTensorMapEncodeTiled"] (
        out: *mut c_void, element: c_uint, rank: c_uint, address: CUdeviceptr, sizes: *const u64, strides: *const u64,
        tile: *const u32, steps: *const u32, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint
    );

    /// Makes a recording ready to be launched; from CUDA 11.4 on.
    graph_ready ["cuGraphInstantiateWithFlags"]
        (out: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong);
    /// Launches a recording.
    graph_launch ["cuGraphLaunch"] (graph: CUgraphExec, stream: CUstream);
    /// Gives a recording back.
    graph_destroy ["cuGraphDestroy"] (graph: CUgraph);
    /// Gives a recording that was made ready back.
    graph_ready_destroy ["cuGraphExecDestroy"] (graph: CUgraphExec);
}

impl Driver {
    /// Loads the library, without calling anything of it.
    pub(super) fn load() -> Result<Self, MachineError> {
        match library() {
            Some(_) => Ok(Self::resolve()),
            None => Err(MachineError::Missing { what: NAMES[0].to_owned() }),
        }
    }

    /// Whether launches can be recorded and replayed as one.
    pub(super) fn has_graphs(&self) -> bool {
        self.capture_begin.is_some()
            && self.capture_end.is_some()
            && self.graph_ready.is_some()
            && self.graph_launch.is_some()
    }

    /// Whether launches can have attributes.
    pub(super) fn has_attributes(&self) -> bool {
        self.launch_with.is_some()
    }

    /// Whether parameters of a function can be asked for.
    pub(super) fn has_parameters(&self) -> bool {
        self.function_parameter.is_some()
    }
}

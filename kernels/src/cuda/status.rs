//! What the driver's status numbers are called, which of them end a context, and what a person can do about them.
//!
//! A status is a plain number. cudarc's enum was rejected: a number it does not list is undefined behaviour, and every
//! CUDA release adds some.

use crate::gpu::MachineError;

/// One status of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its number.
    pub code: u32,
    /// Its name without `CUDA_ERROR_`.
    pub name: &'static str,
    /// What it does to the context.
    pub effect: Effect,
    /// What it means and what to do; empty where the name says enough.
    pub advice: &'static str,
}

/// What a status does to the context it is returned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// One call failed.
    Call,
    /// An image cannot be used here; another may.
    Image,
    /// Nothing in this process will work any more.
    Ends,
}

const fn call(code: u32, name: &'static str) -> Status {
    Status { code, name, effect: Effect::Call, advice: "" }
}

const fn told(code: u32, name: &'static str, advice: &'static str) -> Status {
    Status { code, name, effect: Effect::Call, advice }
}

const fn image(code: u32, name: &'static str, advice: &'static str) -> Status {
    Status { code, name, effect: Effect::Image, advice }
}

const fn ends(code: u32, name: &'static str, advice: &'static str) -> Status {
    Status { code, name, effect: Effect::Ends, advice }
}

/// Every status of CUDA 13.5 that this program can meet, by number. Numbers and names: `cuda.h`; what ends a context: the
/// descriptions of `CUresult` in the CUDA driver API reference ("the process must be terminated and relaunched").
pub const STATUSES: &[Status] = &[
    call(1, "INVALID_VALUE"),
    told(2, "OUT_OF_MEMORY", "the device has no memory left: look which processes hold it"),
    call(3, "NOT_INITIALIZED"),
    ends(4, "DEINITIALIZED", "the driver is shutting down"),
    told(
        34,
        "STUB_LIBRARY",
        "this libcuda is the toolkit's stub for linking: take its folder out of LD_LIBRARY_PATH",
    ),
    told(36, "CALL_REQUIRES_NEWER_DRIVER", "the driver is too old for this call"),
    told(
        46,
        "DEVICE_UNAVAILABLE",
        "another process holds the device for itself (compute mode), or it is being reset",
    ),
    call(47, "MULTICAST_RESOURCE_FULL"),
    told(
        100,
        "NO_DEVICE",
        "the driver library is here and sees no GPU: is the kernel module loaded, does /dev/nvidia0 exist in this \
         container, is CUDA_VISIBLE_DEVICES empty?",
    ),
    told(101, "INVALID_DEVICE", "no such device: CUDA_VISIBLE_DEVICES may name one that is gone"),
    told(102, "DEVICE_NOT_LICENSED", "a virtual GPU without a licence does not compute"),
    image(200, "INVALID_IMAGE", "the image is damaged"),
    call(201, "INVALID_CONTEXT"),
    call(202, "CONTEXT_ALREADY_CURRENT"),
    call(205, "MAP_FAILED"),
    call(206, "UNMAP_FAILED"),
    call(207, "ARRAY_IS_MAPPED"),
    call(208, "ALREADY_MAPPED"),
    image(
        209,
        "NO_BINARY_FOR_GPU",
        "no kernel image of this build runs on this compute capability",
    ),
    call(210, "ALREADY_ACQUIRED"),
    call(211, "NOT_MAPPED"),
    call(212, "NOT_MAPPED_AS_ARRAY"),
    call(213, "NOT_MAPPED_AS_POINTER"),
    ends(
        214,
        "ECC_UNCORRECTABLE",
        "device memory failed beyond correction: stop work on this GPU and look at its ECC counters",
    ),
    call(215, "UNSUPPORTED_LIMIT"),
    call(216, "CONTEXT_ALREADY_IN_USE"),
    call(217, "PEER_ACCESS_UNSUPPORTED"),
    image(218, "INVALID_PTX", "the driver's compiler refused the PTX"),
    call(219, "INVALID_GRAPHICS_CONTEXT"),
    ends(220, "NVLINK_UNCORRECTABLE", "a link between GPUs failed beyond correction"),
    image(
        221,
        "JIT_COMPILER_NOT_FOUND",
        "the driver's PTX compiler (libnvidia-ptxjitcompiler) is not installed",
    ),
    image(222, "UNSUPPORTED_PTX_VERSION", "the PTX is newer than this driver: update the driver"),
    image(
        223,
        "JIT_COMPILATION_DISABLED",
        "compilation of PTX is switched off: CUDA_DISABLE_PTX_JIT is set",
    ),
    call(224, "UNSUPPORTED_EXEC_AFFINITY"),
    image(
        225,
        "UNSUPPORTED_DEVSIDE_SYNC",
        "the image synchronises on the device in a way gone since CUDA 12",
    ),
    ends(226, "CONTAINED", "the device failed and contained the error to this process"),
    call(227, "INSUFFICIENT_LOADER_VERSION"),
    image(300, "INVALID_SOURCE", "the image is damaged"),
    call(301, "FILE_NOT_FOUND"),
    call(302, "SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    call(303, "SHARED_OBJECT_INIT_FAILED"),
    told(
        304,
        "OPERATING_SYSTEM",
        "a system call of the driver failed: may this user open /dev/nvidia* and /dev/nvidia-uvm?",
    ),
    call(400, "INVALID_HANDLE"),
    call(401, "ILLEGAL_STATE"),
    call(402, "LOSSY_QUERY"),
    call(500, "NOT_FOUND"),
    call(600, "NOT_READY"),
    ends(700, "ILLEGAL_ADDRESS", "a kernel touched memory it does not have"),
    told(
        701,
        "LAUNCH_OUT_OF_RESOURCES",
        "the kernel needs more registers or shared memory than a block may have",
    ),
    ends(
        702,
        "LAUNCH_TIMEOUT",
        "a kernel ran longer than the system allows on a GPU that drives a display",
    ),
    call(703, "LAUNCH_INCOMPATIBLE_TEXTURING"),
    call(704, "PEER_ACCESS_ALREADY_ENABLED"),
    call(705, "PEER_ACCESS_NOT_ENABLED"),
    call(708, "PRIMARY_CONTEXT_ACTIVE"),
    ends(709, "CONTEXT_IS_DESTROYED", "the context was destroyed"),
    ends(710, "ASSERT", "an assertion in a kernel failed"),
    call(711, "TOO_MANY_PEERS"),
    call(712, "HOST_MEMORY_ALREADY_REGISTERED"),
    call(713, "HOST_MEMORY_NOT_REGISTERED"),
    ends(714, "HARDWARE_STACK_ERROR", "a kernel overran its stack, or the device is at fault"),
    ends(715, "ILLEGAL_INSTRUCTION", "the device met an instruction it does not have"),
    ends(716, "MISALIGNED_ADDRESS", "a kernel touched memory at an address it may not"),
    ends(717, "INVALID_ADDRESS_SPACE", "a kernel mixed up kinds of memory"),
    ends(718, "INVALID_PC", "a kernel jumped out of its code"),
    ends(719, "LAUNCH_FAILED", "a kernel failed in a way the driver cannot name"),
    call(720, "COOPERATIVE_LAUNCH_TOO_LARGE"),
    ends(721, "TENSOR_MEMORY_LEAK", "a kernel ended without giving back tensor memory"),
    told(800, "NOT_PERMITTED", "the driver does not permit this here"),
    told(801, "NOT_SUPPORTED", "this device or driver does not support the call"),
    told(
        802,
        "SYSTEM_NOT_READY",
        "the system is not ready to compute: on servers with NVSwitch the fabric manager must run, at the driver's version",
    ),
    told(
        803,
        "SYSTEM_DRIVER_MISMATCH",
        "libcuda and the loaded kernel module are of different versions: restart after the driver update, or mount the \
         host's library into the container",
    ),
    told(
        804,
        "COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "this libcuda is of the forward-compatibility package, which works on data-centre GPUs only: take its folder \
         (/usr/local/cuda/compat) out of the library path",
    ),
    told(805, "MPS_CONNECTION_FAILED", "the MPS server cannot be reached"),
    told(806, "MPS_RPC_FAILURE", "the MPS server and this process do not understand each other"),
    told(807, "MPS_SERVER_NOT_READY", "the MPS server does not accept clients now"),
    told(808, "MPS_MAX_CLIENTS_REACHED", "the MPS server has no room for another client"),
    told(809, "MPS_MAX_CONNECTIONS_REACHED", "the device has no room for another connection"),
    ends(810, "MPS_CLIENT_TERMINATED", "the MPS server ended this client"),
    call(811, "CDP_NOT_SUPPORTED"),
    image(
        812,
        "CDP_VERSION_MISMATCH",
        "the image launches kernels from the device in another version",
    ),
    call(900, "STREAM_CAPTURE_UNSUPPORTED"),
    call(901, "STREAM_CAPTURE_INVALIDATED"),
    call(902, "STREAM_CAPTURE_MERGE"),
    call(903, "STREAM_CAPTURE_UNMATCHED"),
    call(904, "STREAM_CAPTURE_UNJOINED"),
    call(905, "STREAM_CAPTURE_ISOLATION"),
    call(906, "STREAM_CAPTURE_IMPLICIT"),
    call(907, "CAPTURED_EVENT"),
    call(908, "STREAM_CAPTURE_WRONG_THREAD"),
    ends(909, "TIMEOUT", "the device did not answer in time"),
    call(910, "GRAPH_EXEC_UPDATE_FAILURE"),
    call(911, "EXTERNAL_DEVICE"),
    call(912, "INVALID_CLUSTER_SIZE"),
    call(913, "FUNCTION_NOT_LOADED"),
    call(914, "INVALID_RESOURCE_TYPE"),
    call(915, "INVALID_RESOURCE_CONFIGURATION"),
    call(916, "KEY_ROTATION"),
    call(917, "STREAM_DETACHED"),
    call(918, "GRAPH_RECAPTURE_FAILURE"),
    told(
        919,
        "FABRIC_NOT_READY",
        "the fabric between the GPUs is still being set up: try again shortly",
    ),
    ends(
        999,
        "UNKNOWN",
        "the driver does not know itself what failed: the kernel log (dmesg, lines with NVRM and Xid) may",
    ),
];

/// What is known of a status.
pub fn status(code: u32) -> Option<&'static Status> {
    STATUSES.binary_search_by_key(&code, |status| status.code).ok().map(|at| &STATUSES[at])
}

/// The full name of a status; its number where nobody knows one.
fn name(code: u32) -> String {
    status(code).map_or_else(|| code.to_string(), |known| format!("CUDA_ERROR_{}", known.name))
}

/// Turns what a function of the driver returned into a result.
pub(super) fn check(call: &str, code: u32) -> Result<(), MachineError> {
    match code {
        0 => Ok(()),
        _ => Err(MachineError::Driver { call: call.to_owned(), code, name: name(code) }),
    }
}

/// What an error does to the context. A number nobody knows is taken for the worst.
pub(super) fn effect(error: &MachineError) -> Effect {
    match error {
        MachineError::Driver { code, .. } => status(*code).map_or(Effect::Ends, |s| s.effect),
        _ => Effect::Call,
    }
}

/// What a person can do about an error of the driver, where something is known.
pub fn advice(error: &MachineError) -> Option<&'static str> {
    match error {
        MachineError::Driver { code, .. } => {
            status(*code).map(|known| known.advice).filter(|advice| !advice.is_empty())
        }
        MachineError::Missing { what } if what.starts_with("libcuda") => Some(
            "there is no NVIDIA driver on the library path: install it, or give the container its libraries \
             (NVIDIA_DRIVER_CAPABILITIES=compute,utility)",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::*;

    #[test]
    fn statuses_stand_in_order_once() {
        assert!(STATUSES.is_sorted_by(|a, b| a.code < b.code));
        let names: std::collections::BTreeSet<_> = STATUSES.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), STATUSES.len());
    }

    /// The bindings are generated from NVIDIA's header.
    #[test]
    fn names_are_those_of_the_header() {
        for known in [
            CUresult::CUDA_ERROR_INVALID_VALUE,
            CUresult::CUDA_ERROR_STUB_LIBRARY,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
            CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
            CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
            CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
            CUresult::CUDA_ERROR_UNKNOWN,
        ] {
            assert_eq!(name(known as u32), format!("{known:?}"));
        }
    }

    #[test]
    fn a_number_nobody_knows_is_kept_and_taken_for_the_worst() {
        let error = check("cuInit", 9999).expect_err("is an error");
        assert_eq!(error.to_string(), "cuInit returned 9999 (9999)");
        assert_eq!((effect(&error), advice(&error)), (Effect::Ends, None));
        assert_eq!(check("cuInit", 0), Ok(()));
    }

    /// CUDA driver API reference, `CUresult`: "any further CUDA work will return the same error".
    #[test]
    fn what_ends_a_process_does() {
        for code in [700, 702, 714, 715, 716, 717, 718, 719] {
            assert_eq!(status(code).map(|s| s.effect), Some(Effect::Ends), "{code}");
        }
        for code in [1, 2, 209, 218, 222, 500, 701, 720, 801] {
            assert_ne!(status(code).map(|s| s.effect), Some(Effect::Ends), "{code}");
        }
    }

    #[test]
    fn what_stops_the_driver_from_starting_has_advice() {
        for code in [34, 46, 100, 101, 304, 802, 803, 804, 999] {
            assert!(status(code).is_some_and(|s| s.advice.len() > 20), "{code}");
        }
        let absent = MachineError::Missing { what: "libcuda.so.1".to_owned() };
        assert!(advice(&absent).is_some_and(|advice| advice.contains("driver")));
    }
}

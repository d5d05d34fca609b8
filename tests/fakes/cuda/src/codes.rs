//! `CUresult`: numbers, names and texts, as `cuda.h` and the driver give them.

/// Every number of CUDA 13.4 with its name, and the text of those that occur here.
#[rustfmt::skip]
pub const RESULTS: &[(u32, &str, &str)] = &[
    (0, "CUDA_SUCCESS", "no error"),
    (1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    (2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    (3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    (4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"),
    (5, "CUDA_ERROR_PROFILER_DISABLED", ""),
    (6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", ""),
    (7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", ""),
    (8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", ""),
    (34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"),
    (36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", ""),
    (46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"),
    (47, "CUDA_ERROR_MULTICAST_RESOURCE_FULL", ""),
    (100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    (101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    (102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "device doesn't have valid Grid license"),
    (200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"),
    (201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    (202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", ""),
    (205, "CUDA_ERROR_MAP_FAILED", ""),
    (206, "CUDA_ERROR_UNMAP_FAILED", ""),
    (207, "CUDA_ERROR_ARRAY_IS_MAPPED", ""),
    (208, "CUDA_ERROR_ALREADY_MAPPED", ""),
    (209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"),
    (210, "CUDA_ERROR_ALREADY_ACQUIRED", ""),
    (211, "CUDA_ERROR_NOT_MAPPED", ""),
    (212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", ""),
    (213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", ""),
    (214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"),
    (215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "limit is not supported on this architecture"),
    (216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "exclusive-thread device already in use by a different thread"),
    (217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access is not supported between these two devices"),
    (218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    (219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", ""),
    (220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error detected during the execution"),
    (221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"),
    (222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."),
    (223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"),
    (224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", ""),
    (225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", ""),
    (226, "CUDA_ERROR_CONTAINED", ""),
    (227, "CUDA_ERROR_INSUFFICIENT_LOADER_VERSION", ""),
    (300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"),
    (301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"),
    (302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"),
    (303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"),
    (304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"),
    (400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    (401, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"),
    (402, "CUDA_ERROR_LOSSY_QUERY", ""),
    (500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    (600, "CUDA_ERROR_NOT_READY", "device not ready"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    (701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    (702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"),
    (703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", ""),
    (704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", ""),
    (705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", ""),
    (708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "cannot set while device is active in this process"),
    (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"),
    (710, "CUDA_ERROR_ASSERT", "device-side assert triggered"),
    (711, "CUDA_ERROR_TOO_MANY_PEERS", ""),
    (712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", ""),
    (713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", ""),
    (714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"),
    (715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"),
    (717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"),
    (718, "CUDA_ERROR_INVALID_PC", "invalid program counter"),
    (719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"),
    (720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    (721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", ""),
    (800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"),
    (801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    (802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"),
    (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"),
    (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"),
    (805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server"),
    (806, "CUDA_ERROR_MPS_RPC_FAILURE", "the remote procedural call between the MPS server and the MPS client failed"),
    (807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "MPS server is not ready to accept new MPS client requests"),
    (808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the hardware resources required to create MPS client have been exhausted"),
    (809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the hardware resources required to support device connections have been exhausted"),
    (810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", ""),
    (811, "CUDA_ERROR_CDP_NOT_SUPPORTED", ""),
    (812, "CUDA_ERROR_CDP_VERSION_MISMATCH", ""),
    (900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"),
    (901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"),
    (902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"),
    (903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"),
    (904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"),
    (905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"),
    (906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "operation would make the legacy stream depend on a capturing blocking stream"),
    (907, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"),
    (908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"),
    (909, "CUDA_ERROR_TIMEOUT", "wait operation timed out"),
    (910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    (911, "CUDA_ERROR_EXTERNAL_DEVICE", ""),
    (912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", ""),
    (913, "CUDA_ERROR_FUNCTION_NOT_LOADED", ""),
    (914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", ""),
    (915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", ""),
    (916, "CUDA_ERROR_KEY_ROTATION", ""),
    (917, "CUDA_ERROR_STREAM_DETACHED", ""),
    (918, "CUDA_ERROR_GRAPH_RECAPTURE_FAILURE", ""),
    (919, "CUDA_ERROR_FABRIC_NOT_READY", ""),
    (999, "CUDA_ERROR_UNKNOWN", "unknown error"),
];

/// The name of a number and its text, if CUDA 13.4 knows it.
pub fn result(code: u32) -> Option<(&'static str, &'static str)> {
    let found = RESULTS.binary_search_by_key(&code, |result| result.0).ok()?;
    Some((RESULTS[found].1, RESULTS[found].2))
}

pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const OUT_OF_MEMORY: u32 = 2;
pub(crate) const NOT_INITIALIZED: u32 = 3;
pub(crate) const DEVICE_UNAVAILABLE: u32 = 46;
pub(crate) const NO_DEVICE: u32 = 100;
pub(crate) const INVALID_DEVICE: u32 = 101;
pub(crate) const INVALID_IMAGE: u32 = 200;
pub(crate) const INVALID_CONTEXT: u32 = 201;
pub(crate) const NO_BINARY_FOR_GPU: u32 = 209;
pub(crate) const UNSUPPORTED_LIMIT: u32 = 215;
pub(crate) const INVALID_PTX: u32 = 218;
pub(crate) const UNSUPPORTED_PTX_VERSION: u32 = 222;
pub(crate) const INVALID_HANDLE: u32 = 400;
pub(crate) const FILE_NOT_FOUND: u32 = 301;
pub(crate) const ILLEGAL_STATE: u32 = 401;
pub(crate) const NOT_FOUND: u32 = 500;
pub(crate) const ILLEGAL_ADDRESS: u32 = 700;
/// What a board that is lost leaves behind.
pub(crate) const UNKNOWN: u32 = 999;
pub(crate) const LAUNCH_TIMEOUT: u32 = 702;
pub(crate) const LAUNCH_OUT_OF_RESOURCES: u32 = 701;
pub(crate) const MISALIGNED_ADDRESS: u32 = 716;
pub(crate) const LAUNCH_FAILED: u32 = 719;
pub(crate) const NOT_SUPPORTED: u32 = 801;
pub(crate) const CAPTURE_UNSUPPORTED: u32 = 900;
pub(crate) const CAPTURE_INVALIDATED: u32 = 901;
pub(crate) const CAPTURE_UNMATCHED: u32 = 903;
pub(crate) const CONTEXT_IS_DESTROYED: u32 = 709;
pub(crate) const CAPTURE_WRONG_THREAD: u32 = 908;
pub(crate) const CAPTURE_IMPLICIT: u32 = 906;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_names_are_those_of_the_header() {
        assert!(RESULTS.is_sorted_by(|one, next| one.0 < next.0));
        assert!(RESULTS.iter().all(|result| result.1.starts_with("CUDA_")));
        assert_eq!(result(NO_BINARY_FOR_GPU).map(|it| it.0), Some("CUDA_ERROR_NO_BINARY_FOR_GPU"));
        assert_eq!(
            result(UNSUPPORTED_PTX_VERSION).map(|it| it.0),
            Some("CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
        );
        assert_eq!(
            result(CAPTURE_IMPLICIT).map(|it| it.0),
            Some("CUDA_ERROR_STREAM_CAPTURE_IMPLICIT")
        );
        assert_eq!(result(9999), None);
    }
}

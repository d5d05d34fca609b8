//! `cublasStatus_t`: numbers and names, as `cublas_api.h` has them.

/// What a call gives: nothing, or a status that is not 0.
pub type Answer = Result<(), u32>;

/// No handle, or no driver.
pub const NOT_INITIALIZED: u32 = 1;
/// A parameter makes no sense.
pub const INVALID_VALUE: u32 = 7;
/// The device lacks a feature.
pub const ARCH_MISMATCH: u32 = 8;
/// The product could not be started.
pub const EXECUTION_FAILED: u32 = 13;
/// Parameters that make sense, and no kernel for them.
pub const NOT_SUPPORTED: u32 = 15;

/// Every status with its name.
pub const STATUSES: &[(u32, &str)] = &[
    (0, "CUBLAS_STATUS_SUCCESS"),
    (NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED"),
    (3, "CUBLAS_STATUS_ALLOC_FAILED"),
    (INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE"),
    (ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH"),
    (11, "CUBLAS_STATUS_MAPPING_ERROR"),
    (EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED"),
    (14, "CUBLAS_STATUS_INTERNAL_ERROR"),
    (NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED"),
    (16, "CUBLAS_STATUS_LICENSE_ERROR"),
];

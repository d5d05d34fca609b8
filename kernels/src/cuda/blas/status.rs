use crate::gpu::MachineError;

/// Statuses of cuBLAS and cuBLASLt, by number: `cublas_api.h`, the same from CUDA 7.5 to 13.5.
pub const BLAS_STATUSES: &[(u32, &str)] = &[
    (0, "SUCCESS"),
    (1, "NOT_INITIALIZED"),
    (3, "ALLOC_FAILED"),
    (7, "INVALID_VALUE"),
    (8, "ARCH_MISMATCH"),
    (11, "MAPPING_ERROR"),
    (13, "EXECUTION_FAILED"),
    (14, "INTERNAL_ERROR"),
    (15, "NOT_SUPPORTED"),
    (16, "LICENSE_ERROR"),
];

/// `CUBLAS_STATUS_NOT_SUPPORTED`; the number again where nobody knows its name.
pub fn blas_status(code: u32) -> String {
    let known = BLAS_STATUSES.iter().find(|row| row.0 == code);
    known.map_or_else(|| code.to_string(), |(_, name)| format!("CUBLAS_STATUS_{name}"))
}

/// Why a library of products did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlasError {
    /// It cannot be loaded, or lacks what every one of its kind has.
    #[error("{0}")]
    Load(String),
    /// A function returned a status.
    #[error("{call} returned {}", blas_status(*code))]
    Status {
        /// The function: `cublasGemmEx`.
        call: &'static str,
        /// What it returned.
        code: u32,
    },
    /// The device failed, or the operands do not lie in its buffers.
    #[error("{0}")]
    Machine(MachineError),
}

impl From<MachineError> for BlasError {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// Turns what a function returned into a result.
pub(super) fn check(call: &'static str, code: u32) -> Result<(), BlasError> {
    if code == 0 { Ok(()) } else { Err(BlasError::Status { call, code }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message torch prints: github.com/Vchitect/Latte/issues/125.
    #[test]
    fn a_refusal_reads_as_users_see_it() {
        let error = check("cublasGemmEx", 15).expect_err("is an error").to_string();
        assert_eq!(error, "cublasGemmEx returned CUBLAS_STATUS_NOT_SUPPORTED");
        assert_eq!(blas_status(77), "77");
        assert!(BLAS_STATUSES.is_sorted_by(|a, b| a.0 < b.0));
    }
}

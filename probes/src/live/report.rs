use serde::{Deserialize, Serialize};

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It ran, and the result is right.
    Works,
    /// It ran and is right, at a fraction of the rate its format promises.
    Slow,
    /// It ran, and the result is wrong.
    WrongOutput,
    /// It was refused or did not end well.
    Fails,
    /// It could not be tried.
    Unknown,
}

/// What one probe found on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// Stable id: `gate.mma_bf16`.
    pub id: String,
    /// What was found.
    pub answer: Answer,
    /// One sentence for a person: what was called, what it returned.
    pub detail: String,
    /// Figures and status codes, in order: `cublasGemmEx 64×64×64` → `CUBLAS_STATUS_SUCCESS`.
    pub facts: Vec<(String, String)>,
    /// Rules it settles, by id.
    pub settles: Vec<String>,
    /// UUID of the device.
    pub uuid: String,
    /// Version of the driver: `570.124.06`; null where nobody told.
    pub driver: Option<String>,
    /// What ran: sha256 of the image, or the library with its version and path.
    pub ran: String,
    /// Day it was measured, `2026-11-21`.
    pub measured: String,
    /// How long it took, milliseconds.
    pub took_ms: f64,
    /// Whether a fake driver computed it: an answer about nothing real.
    pub simulated: bool,
}

//! What PTX instructions compute, as pure functions of registers: no state, no memory, no allocation.
//!
//! Registers are raw bits, as PTX has them; the opcode says what they mean. Warp-wide instructions take fragments `[[u32; 32]]`, register first and
//! lane second. Where the ISA leaves a result open (NaN payloads, `.approx`, tensor-core sums) the module that chooses says which and why.

pub mod approx;
pub mod bits;
pub mod convert;
pub mod exact;
pub mod float;
pub mod half;
pub mod matrix;
pub mod mma;

#[cfg(test)]
mod tests;

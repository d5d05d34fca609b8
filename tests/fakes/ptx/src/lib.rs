//! Executes PTX on the CPU, for tests: the very text that is shipped, so that what a GPU would run is what is proven.
//!
//! Text becomes a [`Module`] (`parse`: grammar; `decode`: names to register numbers, mnemonics to functions); [`launch`] runs one of its entries on
//! [`Memory`] (`machine`: blocks, warps, lanes), and says what it did or at which line it went wrong, as a [`Fault`]. [`Interpreter`] is all of this as
//! the machine that the kernels' cases run on.
//!
//! What is looked for: strays and misalignment in every space; shared memory read before it is written, or raced for; asynchronous copies read before
//! they land or overwritten while they may read; barriers and warp-wide instructions that not all reach; waits that nobody ends; kernels that do not
//! end. Blocks run one after the other, in an [`Order`] that may be
//! chosen. Launches that may start early do, by a seed: one that does not wait before it reads finds what was there before. What is not looked for:
//! other races for device memory, time, and that a lane relies on what another lane of its warp waited for without
//! `bar.warp.sync`. An instruction it does not have is an error when the text is read. Rejected: running the CUDA source on the host, which proves another
//! program than the one shipped, and emulating machine code, whose encoding is not documented.

mod decode;
mod devices;
mod error;
mod fault;
mod interpreter;
mod lanes;
mod machine;
mod memory;
mod module;
pub mod numerics;
mod parse;
mod program;
mod tensor;

pub use devices::{device, devices};
pub use error::PtxError;
pub use fault::{Fault, FaultKind};
pub use interpreter::{Images, Interpreter};
pub use machine::{Limits, Order, Outcome, Ready, Start, launch, launch_all};
pub use memory::Memory;
pub use module::{Entry, Module, Param};
pub use tensor::{TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, Tensor};

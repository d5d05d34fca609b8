//! Workers: child processes that compute, for the CPU and for each GPU, and what their parent knows of them.
//!
//! All computing runs in a worker: a fault, a hang or a kill there is shown by the parent and survived, and its memory goes when it goes. One
//! [`protocol`], one [`supervisor`], one [`scheduler`] serve both kinds of devices.

mod child;
pub mod children;
pub mod cpu;
mod ending;
pub mod goals;
pub mod gpu;
pub mod precision;
pub mod process;
pub mod protocol;
pub mod scheduler;
pub mod supervisor;
pub mod tuning;

pub use crate::runs::statistics::{Spread, Window};
pub use child::{Emit, Stop, Trouble, WorkerEnd, run_worker};
pub use ending::{CONTEXT_LOST, Ending, signal_name};
pub use process::{Update, WorkerTarget, supervise};
pub use protocol::*;
pub use supervisor::{Death, Limits, Patience, Supervisor, not_done};

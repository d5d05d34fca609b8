//! Whether a model fits a group of GPUs in a framework, what it takes there and how fast it will be. Pure arithmetic.
//!
//! Each part of memory is a range with its source; a verdict compares the range with what the tightest GPU has. Constants stand in
//! `framework` and beside the formula that uses them, each with where it was read. A simulation of each framework's allocator was
//! rejected: it would be out of date with the next release, while these few terms explain published measurements within their ranges.

mod activations;
mod alternatives;
mod batch;
mod command;
mod compute_buffer;
mod demand;
mod device;
mod estimate;
mod framework;
mod kv;
mod latent;
mod placement;
mod pool;
mod runtime;
mod search;
mod speed;
mod split;
mod training;
mod way;
mod weights;
mod words;

pub use alternatives::{Alternative, alternatives, requantized};
pub use command::Place;
pub use demand::{Demand, Images, KvFormat, Parallel, Tuning, is_packed_on_loading};
pub use device::Device;
pub use estimate::{Estimate, Range, gib, independent};
pub use framework::{FRAMEWORKS, Family, Framework, Release, release};
pub use placement::{Offload, Plan, plan};
pub use pool::Fits;
pub use search::{Split, best};
pub use speed::{Speed, speed};
pub use split::refusal;
pub use training::{Method, Training, TrainingPlan, training};
pub use way::{Link, Way};
pub use words::{named, parallel, parts, room, span, tokens};

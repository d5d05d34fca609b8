//! K30, K31: causal attention over a key/value cache, many queries at once or one.
//!
//! Decode splits the keys of a kv head over as many blocks as fill the device; how many is fixed when the launch is made,
//! how long each piece is follows from the position in device memory, so that a recorded graph serves every token.
//! Splitting by a fixed length was rejected: the number of blocks would change with the position.

mod attended;
mod attention;
mod cases;
mod decode;
mod prefill;
mod registry;
mod tile;

pub use attended::{Attended, attended};
pub use attention::{Attention, Engine};
pub use decode::{Fresh, Scratch, arrival_bytes, decode, part_bytes, splits, takes_fresh};
pub use prefill::prefill;
pub use registry::KERNELS;
pub use tile::Tile;

//! The interpreter from outside: what it computes, what it catches, and the kernels it is for.

mod bounded;
mod clock;
mod clusters;
mod collectives;
mod decoder;
mod early;
mod engines;
mod faults;
mod headroom;
mod instructions;
mod kernels;
mod machine;
mod machines;
mod mutations;
mod promotion;
mod proof;
mod small;
mod stream_k;
mod texts;
mod timed;
mod warpgroups;

//! The interpreter from outside: what it computes, what it catches, and the kernels it is for.

mod clusters;
mod collectives;
mod dealt;
mod decoder;
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
mod texts;
mod timed;
mod warpgroups;

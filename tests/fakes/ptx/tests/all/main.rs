//! The interpreter from outside: what it computes, what it catches, and the kernels it is for.

mod collectives;
mod faults;
mod instructions;
mod kernels;
mod mutations;
mod small;
mod texts;

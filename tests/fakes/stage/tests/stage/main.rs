//! The device layer of the program on the stand-in driver: what goes wrong there must come out here, and nothing else.

#![cfg(target_os = "linux")]

mod conformance;
mod faults;
mod hopper;
mod kernels;
mod play;

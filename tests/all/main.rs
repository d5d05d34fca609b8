//! One integration binary: everything that needs the whole program.

mod cli;
mod configs;
mod frames;
mod synthetic;

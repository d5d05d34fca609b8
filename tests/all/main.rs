//! One integration binary: everything that needs the whole program.

mod verdicts;

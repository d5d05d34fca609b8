//! What the kernels are to reach, as ratios: each to something measured in the same burst on the same device, because clocks, boards and libraries
//! differ by tens of per cent and data sheets are no measurement. A floor is what is needed to be of use, a target what good kernels reach.

mod classes;
mod judged;
mod report;
mod table;

pub use classes::{Aim, CLASSES, Class, SOURCES, aim};
pub use judged::judged;
pub use report::Verdict;
pub use table::{Against, ByVendor, GOALS, Goal, Measure, Own};

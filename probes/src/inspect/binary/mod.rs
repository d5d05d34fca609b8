//! Device code inside binaries: which targets it was built for, container by container.

mod coverage;

pub use coverage::Coverage;

//! How the Compat tab is set.

use std::collections::BTreeSet;

use crate::features::{Cursor, Input};

/// Order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As the rule files give it: what most people run comes first.
    #[default]
    Given,
    /// By name.
    Name,
    /// What fails on most GPUs first.
    Failing,
    /// What runs and fits on the selected GPUs first, fastest first.
    Fitting,
}

/// Every order with its words, in the order the sort key walks through them.
pub const ORDERS: &[(Order, &str)] = &[
    (Order::Given, "usual order"),
    (Order::Name, "by name"),
    (Order::Failing, "most failures first"),
    (Order::Fitting, "what works and fits first, fastest first"),
];

/// Which rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// All of them.
    #[default]
    All,
    /// Those that fail somewhere.
    Problems,
    /// Those that nothing is known to stop on the selected GPUs.
    Works,
    /// Of these, where the model fits.
    Fits,
}

/// Every choice of rows with its words, in the order the key walks through them.
pub const ONLY: &[(Only, &str)] = &[
    (Only::All, ""),
    (Only::Problems, "only problems"),
    (Only::Works, "only what works"),
    (Only::Fits, "only what works and fits"),
];

/// The Compat tab.
#[derive(Clone, Debug, Default)]
pub struct CompatView {
    /// Selected line.
    pub row: Cursor,
    /// Selected column.
    pub column: Cursor,
    /// First line and first column that were drawn, so that the next drawing scrolls only as far as it must.
    pub top: (usize, usize),
    /// Lines that were drawn, for page keys.
    pub visible: usize,
    /// Filter.
    pub filter: Input,
    /// Which rows are shown.
    pub only: Only,
    /// Order of the rows.
    pub order: Order,
    /// Ids of the frameworks whose rows are folded away.
    pub folded: BTreeSet<String>,
}

impl CompatView {
    /// Whether the rows of a framework are folded away. A filter opens all: what it finds must be seen.
    pub fn is_folded(&self, framework: &str) -> bool {
        self.filter.text.trim().is_empty() && self.folded.contains(framework)
    }
}

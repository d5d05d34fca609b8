//! How the Compat tab is set.

use crate::features::orders;
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
}

/// Every order with its words, in the order the sort key walks through them.
pub const ORDERS: &[(Order, &str)] = &[
    (Order::Given, "usual order"),
    (Order::Name, "by name"),
    (Order::Failing, "most failures first"),
];

impl Order {
    /// The next one, around the end.
    pub fn next(self) -> Self {
        orders::next(ORDERS, self)
    }

    /// Words for the screen.
    pub fn words(self) -> &'static str {
        orders::words(ORDERS, &self)
    }
}

/// The Compat tab.
#[derive(Clone, Debug, Default)]
pub struct CompatView {
    /// Selected line.
    pub row: Cursor,
    /// Selected GPU.
    pub column: Cursor,
    /// First line and first GPU that were drawn, so that the next drawing scrolls only as far as it must.
    pub top: (usize, usize),
    /// Lines that were drawn, for page keys.
    pub visible: usize,
    /// Filter.
    pub filter: Input,
    /// Only rows that fail somewhere.
    pub only_failures: bool,
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

//! Tables of orders that the sort key walks through, each with its words for the screen.

/// The order after one, around the end.
pub(crate) fn next<T: Copy + PartialEq>(orders: &[(T, &str)], now: T) -> T {
    let at = orders.iter().position(|row| row.0 == now).map_or(0, |at| at + 1);
    orders[at % orders.len()].0
}

/// Words for the screen.
pub(crate) fn words<T: PartialEq>(orders: &[(T, &'static str)], now: &T) -> &'static str {
    orders.iter().find(|row| row.0 == *now).map_or("", |row| row.1)
}

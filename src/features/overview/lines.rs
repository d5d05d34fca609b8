//! How the lines below the host are divided where GPUs are rows: rows, the card of the selected GPU, processes.

use super::card::GRAPH_LEAST;

/// Fewest lines of processes worth having: their head and two of them.
pub(super) const LEAST_PROCESSES: u16 = 3;

/// So many lines of processes are worth more than a card.
const BEFORE_CARD: u16 = 6;

/// Lines of each part, from top to bottom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    /// Rows of GPUs with their head.
    pub(super) rows: u16,
    /// The selected card with its graphs; 0 where there is no room.
    pub(super) card: u16,
    /// Processes with their head.
    pub(super) processes: u16,
}

impl Lines {
    /// Divides `height` lines among what each part could use: rows come first, then a few processes, the card, more processes,
    /// and half of what is left for graphs; nothing stays empty while a part could use it.
    pub(super) fn divide(height: u16, wanted: Self, has_graph: bool) -> Self {
        let few = wanted.processes.min(LEAST_PROCESSES);
        let rows = wanted.rows.min(height.saturating_sub(few).max(height.min(2)));
        let left = height - rows;
        let first = wanted.processes.min(BEFORE_CARD);
        let card = if left >= wanted.card.saturating_add(first) { wanted.card } else { 0 };
        let left = left - card;
        let spare = left.saturating_sub(first).min(left / 2);
        let graphs = if card > 0 && has_graph { spare } else { 0 };
        let graphs = if graphs >= GRAPH_LEAST { graphs } else { 0 };
        let processes = wanted.processes.min(left - graphs);
        let graphs = if graphs > 0 { left - processes } else { 0 };
        Self { rows, card: card + graphs, processes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn divide(height: u16, rows: u16, processes: u16) -> (u16, u16, u16) {
        let lines = Lines::divide(height, Lines { rows, card: 6, processes }, true);
        (lines.rows, lines.card, lines.processes)
    }

    #[test]
    fn rows_come_first_and_a_few_processes_are_always_there() {
        assert_eq!(divide(18, 9, 20), (9, 0, 9));
        assert_eq!(divide(18, 65, 20), (15, 0, 3));
        assert_eq!(divide(28, 9, 20), (9, 12, 7));
        assert_eq!(divide(28, 9, 0), (9, 19, 0));
        assert_eq!(divide(3, 9, 20), (2, 0, 1));
    }

    proptest! {
        #[test]
        fn no_line_is_empty_while_something_is_cut(height in 0_u16..200, rows in 1_u16..100, processes in 0_u16..100) {
            let (used, card, shown) = divide(height, rows, processes);
            prop_assert!(used + card + shown <= height);
            let free = height - used - card - shown;
            prop_assert!(free == 0 || used == rows && shown == processes);
        }
    }
}

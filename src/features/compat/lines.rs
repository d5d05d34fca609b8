//! The lines of the Compat tab: rows under the head of their framework, filtered, sorted, folded.

use std::cmp::Reverse;

use super::Verdicts;
use super::view::{CompatView, Only, Order};
use crate::engine::plan::{Fits, Way};
use crate::engine::{Outcome, Row};

/// Place of a row where what runs and fits comes first, the fastest first.
pub(super) type Rank = (bool, bool, Fits, u8, i64);

/// The least rank that does not run and fit for sure.
const UNSURE: Rank = (false, false, Fits::Tight, 0, i64::MIN);

/// The rows of one framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Id of the framework.
    pub framework: String,
    /// Its name.
    pub name: String,
    /// Positions of its rows in [`Verdicts::all_rows`].
    pub rows: Vec<usize>,
}

/// One line of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The head of a framework's rows.
    Head {
        /// Position in [`Verdicts::groups`].
        group: usize,
        /// The rows below it that pass the filter.
        rows: Vec<usize>,
        /// Whether they are folded away.
        folded: bool,
    },
    /// A row, by its position in [`Verdicts::all_rows`].
    Row(usize),
}

impl Line {
    /// The row it stands for; none of a head.
    pub fn row(&self) -> Option<usize> {
        match self {
            Self::Row(row) => Some(*row),
            Self::Head { .. } => None,
        }
    }
}

/// Rows by framework; a framework stands where its first row does.
pub(crate) fn groups(rows: &[Row]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let framework = &row.question.framework;
        match groups.iter_mut().find(|group| group.framework == *framework) {
            Some(group) => group.rows.push(at),
            None => groups.push(Group {
                framework: framework.clone(),
                name: row.framework.clone(),
                rows: vec![at],
            }),
        }
    }
    groups
}

/// The line that stands for `line` among others: itself, or the head its row is folded under.
pub fn place_of(lines: &[Line], groups: &[Group], line: &Line) -> Option<usize> {
    let head = |wanted: usize| {
        let is_it = move |line: &Line| matches!(line, Line::Head { group, .. } if *group == wanted);
        lines.iter().position(is_it)
    };
    match line {
        Line::Head { group, .. } => head(*group),
        Line::Row(row) => lines.iter().position(|other| other == line).or_else(|| {
            let at = head(groups.iter().position(|group| group.rows.contains(row))?)?;
            matches!(lines[at], Line::Head { folded: true, .. }).then_some(at)
        }),
    }
}

impl Verdicts {
    /// Every framework with its rows.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The framework a line belongs to.
    pub fn group_of(&self, line: &Line) -> Option<&Group> {
        match line {
            Line::Head { group, .. } => self.groups.get(*group),
            Line::Row(row) => self.groups.iter().find(|group| group.rows.contains(row)),
        }
    }

    /// The lines to show.
    pub fn lines(&self, view: &CompatView) -> Vec<Line> {
        let passing = |(at, group): (usize, &Group)| {
            let rows = group.rows.iter().copied().filter(|row| self.passes(*row, view));
            (at, rows.collect::<Vec<_>>())
        };
        let mut groups: Vec<_> = self.groups.iter().enumerate().map(passing).collect();
        groups.retain(|(_, rows)| !rows.is_empty());
        self.sort(&mut groups, view);
        let mut lines = Vec::new();
        for (group, rows) in groups {
            let folded = view.is_folded(&self.groups[group].framework);
            let below = if folded { Vec::new() } else { rows.clone() };
            lines.push(Line::Head { group, rows, folded });
            lines.extend(below.into_iter().map(Line::Row));
        }
        lines
    }

    /// Number of rows that pass the filter, whether folded away or not.
    pub fn passing(&self, view: &CompatView) -> impl Iterator<Item = usize> {
        (0..self.matrix.rows.len()).filter(|row| self.passes(*row, view))
    }

    fn passes(&self, row: usize, view: &CompatView) -> bool {
        let here = || self.cell(row, view.column.at);
        let shown = match view.only {
            Only::All => true,
            Only::Problems => self.failing(row) > 0,
            Only::Works => here().is_some_and(|cell| !cell.outcome.is_bad()),
            Only::Fits => self.rank(row, view.column.at) < UNSURE,
        };
        if !shown {
            return false;
        }
        view.filter.text.trim().is_empty() || view.filter.matches(&self.haystack(row))
    }

    /// Everything the filter looks at: framework, configuration, version, outcomes.
    fn haystack(&self, row: usize) -> String {
        let Row { framework, config, question } = &self.matrix.rows[row];
        let version = question.version.as_deref().unwrap_or_default();
        let mut text = format!("{framework} {} {config} {version}", question.framework);
        for cell in &self.matrix.cells[row] {
            let word = cell.outcome.words();
            if !text.contains(word) {
                text.push(' ');
                text.push_str(word);
            }
        }
        text
    }

    fn sort(&self, groups: &mut [(usize, Vec<usize>)], view: &CompatView) {
        match view.order {
            Order::Given => {}
            Order::Name => {
                groups.sort_by_key(|(group, _)| self.groups[*group].name.to_lowercase());
                let name = |row: &usize| self.matrix.rows[*row].config.to_lowercase();
                groups.iter_mut().for_each(|(_, rows)| rows.sort_by_key(name));
            }
            Order::Failing => {
                for (_, rows) in groups.iter_mut() {
                    rows.sort_by_key(|row| Reverse(self.failing(*row)));
                }
                let most = |rows: &[usize]| rows.first().map_or(0, |row| self.failing(*row));
                groups.sort_by_key(|(_, rows)| Reverse(most(rows)));
            }
            Order::Fitting => {
                let rank = |row: &usize| self.settled_rank(*row, view.column.at);
                groups.iter_mut().for_each(|(_, rows)| rows.sort_by_key(rank));
                groups.sort_by_key(|(_, rows)| rows.first().map(rank));
            }
        }
    }

    /// In how many columns a row does not run.
    fn failing(&self, row: usize) -> usize {
        let columns = 0..self.columns.all().len();
        let fails = |at: &usize| self.cell(row, *at).is_some_and(|cell| cell.outcome.is_bad());
        columns.filter(fails).count()
    }

    /// Puts every row at the place that it has now.
    pub(super) fn settle(&mut self) {
        let columns = 0..self.columns.all().len();
        let of = |row| columns.clone().map(|column| self.rank(row, column)).collect();
        let ranks = (0..self.matrix.rows.len()).map(of).collect();
        self.ranks = ranks;
    }

    fn settled_rank(&self, row: usize, column: usize) -> Rank {
        let settled = self.ranks.get(row).and_then(|ranks| ranks.get(column));
        settled.copied().unwrap_or_else(|| self.rank(row, column))
    }

    /// Place of a row in a column where what runs and fits comes first, the fastest first.
    fn rank(&self, row: usize, column: usize) -> Rank {
        let outcome = self.cell(row, column).map_or(Outcome::Unknown, |cell| cell.outcome);
        let way = self.planned.way(row, column);
        let speed = way.map_or(0.0, Way::tokens_per_second);
        let fits = way.map_or(Fits::Unknown, Way::fits);
        let unsure = outcome == Outcome::Unknown;
        (outcome.is_bad(), unsure, fits, outcome.severity(), -(speed * 1000.0) as i64)
    }

    /// Whether the model fits a row that runs in a column only within the error of the prediction.
    pub fn is_tight(&self, row: usize, column: usize) -> bool {
        let runs = || self.cell(row, column).is_some_and(|cell| !cell.outcome.is_bad());
        self.planned.fits(row, column) == Some(Fits::Tight) && runs()
    }

    /// What to say of several rows in one cell of a column: the worst that happens, and how often it is as bad.
    pub fn gist(&self, rows: &[usize], column: usize) -> Option<(Outcome, usize)> {
        let outcomes = || rows.iter().filter_map(|row| Some(self.cell(*row, column)?.outcome));
        if let Some(worst) = outcomes().filter(|outcome| outcome.is_bad()).max() {
            return Some((worst, outcomes().filter(|outcome| outcome.is_bad()).count()));
        }
        let worst = outcomes().max()?;
        Some((worst, outcomes().filter(|outcome| *outcome == worst).count()))
    }

    /// How many of these rows have each outcome in a column; outcomes that do not occur are left out.
    pub fn counts(
        &self,
        rows: impl Iterator<Item = usize>,
        column: usize,
    ) -> Vec<(Outcome, usize)> {
        let mut counts: Vec<(Outcome, usize)> = Vec::new();
        for outcome in rows.filter_map(|row| Some(self.cell(row, column)?.outcome)) {
            match counts.iter_mut().find(|(known, _)| *known == outcome) {
                Some((_, count)) => *count += 1,
                None => counts.push((outcome, 1)),
            }
        }
        counts.sort_by_key(|(outcome, _)| *outcome);
        counts
    }
}

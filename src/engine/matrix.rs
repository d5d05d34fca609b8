//! Every configuration people ask about, for every GPU: the Compat screen as data.

use warpscope_probes::rules::RuleBase;

use super::evaluate::cell_of;
use super::premises::{Premises, is_for};
use super::question::Question;
use super::target::Target;
use super::verdict::{Cell, Finding};
use super::walk::Plan;

/// One row of the matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Framework as its makers write it.
    pub framework: String,
    /// Configuration: `PyTorch engine · fp16`.
    pub config: String,
    /// What the row asks.
    pub question: Question,
}

/// Rows of configurations, columns of GPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Configurations, in order of the rule files.
    pub rows: Vec<Row>,
    /// One list per row, one outcome per target.
    pub cells: Vec<Vec<Cell>>,
}

/// The rows of the base.
pub fn rows(base: &RuleBase) -> Vec<Row> {
    let row = |config| {
        let question = Question::of_row(base, config);
        let name = base
            .framework(&config.framework)
            .map_or(&config.framework, |framework| &framework.name);
        Row { framework: name.clone(), config: config.label.clone(), question }
    };
    base.configs().iter().map(row).collect()
}

/// Asks every row of every target.
pub fn matrix(base: &RuleBase, targets: &[Target], premises: &Premises) -> Matrix {
    let mut rows = rows(base);
    for row in &mut rows {
        row.question = premises.put_in(&row.question);
    }
    let ask = |row: &Row| {
        let plan = Plan::new(base, &row.question);
        let found: Vec<&Finding> = premises.found_about(&row.question).collect();
        let about = |target| {
            let here = found.iter().copied().filter(|one| is_for(one, target));
            cell_of(&plan, target, here)
        };
        targets.iter().map(about).collect()
    };
    let cells = rows.iter().map(ask).collect();
    Matrix { rows, cells }
}

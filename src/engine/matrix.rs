//! Every configuration people ask about, for every GPU: the Compat screen as data.

use warpscope_probes::rules::{ConfigRow, Framework, RuleBase, Settings};

use super::assumptions::{Assumptions, is_for};
use super::device::Device;
use super::installed::BINARIES;
use super::published;
use super::question::{Origin, Question, distinct};
use super::target::Target;
use super::unversioned::{Chosen, by_release, plans};
use super::verdict::{Cell, Finding};

/// One row of the matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Framework as its makers write it.
    pub framework: String,
    /// Configuration: `PyTorch engine · fp16`.
    pub config: String,
    /// What the row asks.
    pub question: Question,
}

impl Row {
    /// Framework and configuration.
    pub fn name(&self) -> String {
        format!("{} {}", self.framework, self.config)
    }
}

/// Rows of configurations, columns of GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// Configurations, in order of the rule files.
    pub rows: Vec<Row>,
    /// One list per row, one outcome per target.
    pub cells: Vec<Vec<Cell>>,
}

/// The rows of the base: every configuration people ask about, and the installed binaries where any were found.
pub fn rows(base: &RuleBase, assumptions: &Assumptions) -> Vec<Row> {
    let asked: Vec<Question> =
        base.configs().iter().map(|row| Question::of_row(base, row)).collect();
    let given = asked.iter().filter_map(|row| Some((row, assumptions.in_row(base, row)?)));
    let questions = distinct(given).into_iter();
    let row = |question: Question| {
        let framework = base.framework(&question.framework);
        Row {
            framework: framework.map_or(&question.framework, |one| &one.name).clone(),
            config: question.words(),
            question,
        }
    };
    questions.chain(binaries(base, assumptions)).map(row).collect()
}

/// What a row asks where another version of its framework is chosen; none where no configuration of the base stands behind it.
pub fn at_version(
    base: &RuleBase,
    assumptions: &Assumptions,
    row: &Question,
    version: &str,
) -> Option<Question> {
    let asked = |given: &Assumptions, config: &ConfigRow| {
        given.in_row(base, &Question::of_row(base, config))
    };
    let is_it = |config: &&ConfigRow| {
        let same = |one: Question| one.is_same(row) && one.label == row.label;
        config.framework == row.framework && asked(assumptions, config).is_some_and(same)
    };
    let config = base.configs().iter().find(is_it)?;
    asked(&assumptions.choosing(&row.framework, version), config)
}

/// One question for each framework whose binaries were read.
fn binaries<'a>(
    base: &'a RuleBase,
    assumptions: &'a Assumptions,
) -> impl Iterator<Item = Question> + 'a {
    let read = |framework: &&Framework| {
        assumptions.findings.iter().any(|one| {
            one.framework == framework.id && one.only.get(BINARIES.0) == Some(BINARIES.1)
        })
    };
    base.frameworks().iter().filter(read).filter_map(|framework| {
        let given = assumptions.versions.get(&framework.id);
        let given = given.filter(|given| given.origin == Origin::Installed)?;
        Some(Question {
            framework: framework.id.clone(),
            version: Some(given.version.clone()),
            origin: given.origin,
            config: Settings::new([BINARIES]).ok()?,
            label: Some("the installed binaries".to_owned()),
            ..Question::default()
        })
    })
}

/// Asks every row of every target.
pub fn matrix(base: &RuleBase, targets: &[Target], assumptions: &Assumptions) -> Matrix {
    let rows = rows(base, assumptions);
    let devices: Vec<Device<'_>> = targets.iter().map(|one| Device::new(base, one)).collect();
    let kinds = Kinds::of(targets);
    let ask = |row: &Row| {
        let questions = by_release(base, &row.question);
        let plans = plans(base, &questions);
        let found: Vec<&Finding> = assumptions.found_about(&row.question).collect();
        let published = kinds.first.iter().map(|one| published::findings(base, one, &row.question));
        let published: Vec<Vec<Finding>> = published.collect();
        let about = |(device, kind): (&Device<'_>, &usize)| {
            let here = found.iter().copied().filter(|one| is_for(one, device.target));
            Chosen::new(&plans, device, here.chain(&published[*kind])).cell()
        };
        devices.iter().zip(&kinds.of_each).map(about).collect()
    };
    let cells = rows.iter().map(ask).collect();
    Matrix { rows, cells }
}

/// Targets by what packages are published for.
struct Kinds<'t> {
    /// The first of each kind.
    first: Vec<&'t Target>,
    /// The kind of each.
    of_each: Vec<usize>,
}

impl<'t> Kinds<'t> {
    fn of(targets: &'t [Target]) -> Self {
        let mut kinds = Self { first: Vec::new(), of_each: Vec::with_capacity(targets.len()) };
        for target in targets {
            let kind = |one: &Target| (one.sm, one.cpu());
            let known = kinds.first.iter().position(|one| kind(one) == kind(target));
            kinds.of_each.push(known.unwrap_or(kinds.first.len()));
            kinds.first.extend(known.is_none().then_some(target));
        }
        kinds
    }
}

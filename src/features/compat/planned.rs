//! How the model that is asked about runs in every row on the GPUs of every column.

use warpscope_probes::model::{Model, Shape};

use super::columns::Columns;
use crate::engine::plan::{Demand, Device, Fits, Framework, Way, release};
use crate::engine::{Question, Row};

/// Tokens of a request, until somebody asks for others.
const CONTEXT: u64 = 8192;

/// A plan for each row and column; none where no model with known dimensions is asked about, or the framework takes memory in ways that
/// are not known.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is asked of the model.
    pub demand: Demand,
    ways: Vec<Vec<Option<Way>>>,
}

impl Default for Planned {
    fn default() -> Self {
        Self { demand: Demand::new(CONTEXT), ways: Vec::new() }
    }
}

impl Planned {
    /// Plans everything.
    pub(super) fn renew(&mut self, model: Option<&Model>, rows: &[Row], columns: &Columns) {
        let Some(shape) = model.and_then(|model| model.shape.as_ref()) else {
            self.ways.clear();
            return;
        };
        let groups: Vec<_> = (0..columns.all().len()).map(|at| columns.devices(at)).collect();
        let on = |row: &Row| {
            let group =
                |group: &Option<Vec<Device>>| self.one(shape, group.as_deref()?, &row.question);
            groups.iter().map(group).collect()
        };
        self.ways = rows.iter().map(on).collect();
    }

    fn one(&self, shape: &Shape, group: &[Device], question: &Question) -> Option<Way> {
        let framework = Framework::find(&question.framework)?;
        let limit = shape.max_context.filter(|_| self.demand.context == CONTEXT);
        let context = limit.map_or(self.demand.context, |limit| limit.min(CONTEXT));
        let demand = Demand { context, ..self.demand.clone() };
        let demand = demand.configured(&question.config, shape.format.is_some());
        let demand = Demand { release: Some(release(question.version.as_deref())), ..demand };
        if !framework.can(&demand) {
            return None;
        }
        Some(Way::new(shape, group, framework, demand, None))
    }

    /// Whether anything is planned.
    pub fn is_there(&self) -> bool {
        !self.ways.is_empty()
    }

    /// The plan of a row in a column.
    pub fn way(&self, row: usize, column: usize) -> Option<&Way> {
        self.ways.get(row)?.get(column)?.as_ref()
    }

    /// Whether the model fits there.
    pub fn fits(&self, row: usize, column: usize) -> Option<Fits> {
        Some(self.way(row, column)?.fits())
    }
}

//! How the model that is asked about runs in every row on the GPUs of every column.

use warpscope_probes::model::{Model, Shape};

use super::columns::Columns;
use crate::engine::plan::{Demand, Device, Fits, Framework, Way, release};
use crate::engine::{GgufCopy, Question, Row};

/// Tokens of a request, until somebody asks for others.
const CONTEXT: u64 = 8192;

/// A plan for each row and column; none where no model with known dimensions is asked about, or the framework takes memory in ways that
/// are not known.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is asked of the model.
    pub demand: Demand,
    files: Option<Files>,
    rows: Vec<Vec<Option<Way>>>,
}

/// The files of the model that frameworks load.
#[derive(Clone, Debug)]
struct Files {
    shape: Shape,
    gguf: Option<GgufCopy>,
}

/// The GPUs of a column, and the main memory beside them.
struct Group {
    devices: Vec<Device>,
    host_memory: Option<u64>,
}

impl Group {
    fn of(columns: &Columns, column: usize) -> Option<Self> {
        let devices = columns.devices(column)?;
        Some(Self { devices, host_memory: columns.host_memory(column) })
    }
}

impl Default for Planned {
    fn default() -> Self {
        Self { demand: Demand::new(CONTEXT), files: None, rows: Vec::new() }
    }
}

impl Files {
    /// The copy that a framework loads instead of the files that were named.
    fn copy(&self, framework: &Framework) -> Option<&GgufCopy> {
        self.gguf.as_ref().filter(|_| !framework.family.loads(&self.shape))
    }

    /// The dimensions of what a framework loads.
    fn shape(&self, framework: &Framework) -> Option<&Shape> {
        match framework.family.loads(&self.shape) {
            true => Some(&self.shape),
            false => self.copy(framework)?.model.shape.as_ref(),
        }
    }
}

impl Planned {
    /// Plans everything.
    pub(super) fn renew(&mut self, model: Option<&Model>, rows: &[Row], columns: &Columns) {
        self.files = model.and_then(|model| {
            Some(Files { shape: model.shape.clone()?, gguf: GgufCopy::of(model) })
        });
        let all = 0..columns.all().len();
        let groups: Vec<_> = all.map(|column| Group::of(columns, column)).collect();
        let on = |row: &Row| {
            groups.iter().map(|group| self.one(&row.question, group.as_ref()?)).collect()
        };
        let rows = rows.iter().filter(|_| self.files.is_some()).map(on).collect();
        self.rows = rows;
    }

    /// The plan of a question on the GPUs of a column.
    pub(super) fn plan(
        &self,
        question: &Question,
        columns: &Columns,
        column: usize,
    ) -> Option<Way> {
        self.one(question, &Group::of(columns, column)?)
    }

    fn one(&self, question: &Question, group: &Group) -> Option<Way> {
        let framework = Framework::find(&question.framework)?;
        let shape = self.files.as_ref()?.shape(framework)?;
        let limit = shape.max_context.filter(|_| self.demand.context == CONTEXT);
        let context = limit.map_or(self.demand.context, |limit| limit.min(CONTEXT));
        let demand = Demand { context, ..self.demand.clone() };
        let demand = demand.configured(&question.config, shape.format.is_some());
        let demand = Demand { release: Some(release(question.version.as_deref())), ..demand };
        if !framework.can(&demand) {
            return None;
        }
        let way = Way::new(shape, &group.devices, framework, demand, None);
        Some(Way { plan: way.plan.map(|plan| plan.beside(group.host_memory)), ..way })
    }

    /// The dimensions of what a framework loads.
    pub(super) fn shape(&self, framework: &Framework) -> Option<&Shape> {
        self.files.as_ref()?.shape(framework)
    }

    /// The copy that a framework loads instead of the files that were named.
    pub(super) fn copy(&self, framework: &str) -> Option<&GgufCopy> {
        self.files.as_ref()?.copy(Framework::find(framework)?)
    }

    /// Whether anything is planned.
    pub fn is_there(&self) -> bool {
        self.files.is_some()
    }

    /// The plan of a row in a column.
    pub fn way(&self, row: usize, column: usize) -> Option<&Way> {
        self.rows.get(row)?.get(column)?.as_ref()
    }

    /// Whether the model fits there.
    pub fn fits(&self, row: usize, column: usize) -> Option<Fits> {
        Some(self.way(row, column)?.fits())
    }
}

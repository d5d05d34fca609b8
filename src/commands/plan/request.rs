//! What is planned, and how it is said.

use std::path::{Path, PathBuf};

use warpscope_probes::model::Model;

use crate::commands::answer::text::Style;
use crate::commands::cli::Form;
use crate::engine::plan::{Demand, Parallel};
use crate::engine::{Assumptions, Target};

/// What to plan, and how to say it.
#[derive(Clone)]
pub(crate) struct PlanRequest {
    /// The model as it was named.
    pub(crate) named: PathBuf,
    /// The model.
    pub(crate) model: Model,
    /// Main memory of the machine with the GPUs; none where they are what-if.
    pub(crate) host_memory: Option<u64>,
    /// All GPUs there are.
    pub(crate) machine: Vec<Target>,
    /// Groups of GPUs.
    pub(crate) groups: Vec<Vec<Target>>,
    /// Frameworks and configurations; all of them where empty.
    pub(crate) queries: Vec<String>,
    /// Whether the files are such as are usually made of the model that was named, and nobody is known to publish them.
    pub(crate) is_usual: bool,
    /// Words that change neither plan nor verdict.
    pub(crate) unheard: Vec<String>,
    /// Number format everything is asked in.
    pub(crate) dtype: Option<String>,
    /// What was asked of context, concurrency and cache.
    pub(crate) demand: Demand,
    /// The split that was asked for.
    pub(crate) split: Option<Parallel>,
    /// What was found here.
    pub(crate) assumptions: Assumptions,
    /// Whether every part is shown.
    pub(crate) why: bool,
    /// How it is written.
    pub(crate) form: Form,
    /// Its style.
    pub(crate) style: Style,
}

/// The last part of a path, for titles.
pub(super) fn short(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

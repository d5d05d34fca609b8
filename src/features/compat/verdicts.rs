//! Verdicts on every GPU in view, and what they take as given.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use warpscope_kernels::Dtype;
use warpscope_probes::Frame;
use warpscope_probes::catalogue::{Catalogue, How};
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::live::ProbeReport;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::columns::{Columns, News};
use super::lines::{Group, groups};
use super::planned::Planned;
use super::versions;
use crate::engine::installed::{Installed, known};
use crate::engine::plan::{Alternative, Demand, Fits, Framework, alternatives};
use crate::engine::{
    AssumedVersion, Assumptions, Cell, Level, Matrix, Origin, Outcome, Row, Target, Verdict,
    evaluate, evaluate_without_fixes, importance, live_findings, matrix, start_command,
    versions_of,
};
use crate::features::Rules;
use crate::features::shared::Judged;

/// Verdicts on every GPU in view, worked out anew only when the GPUs or the assumptions change, and once for GPUs that
/// differ in nothing a rule asks for.
#[derive(Debug, Default)]
pub struct Verdicts {
    rules: Rules,
    /// The GPUs in view, and the columns they share.
    pub(super) columns: Columns,
    pub(super) matrix: Matrix,
    pub(super) groups: Vec<Group>,
    assumptions: Assumptions,
    /// What is installed on this machine, and the day it was looked at.
    survey: Option<(Arc<EnvironmentScan>, String)>,
    /// What probes found on GPUs here, before or now.
    measured: Vec<ProbeReport>,
    /// Versions found on this machine; what the user chooses goes before them.
    installed: BTreeMap<String, AssumedVersion>,
    /// Everything about each kind, in short.
    judged: Vec<Arc<Judged>>,
    /// How the model runs in each row on the GPUs of each column.
    pub(super) planned: Planned,
    /// The last answer given in full, by row and kind: every drawing asks for the same again.
    pub(super) last: RefCell<Option<(usize, usize, Arc<Verdict>)>>,
}

impl Verdicts {
    /// Nothing is asked yet of these rules.
    pub fn new(base: Arc<RuleBase>) -> Self {
        Self { rules: base.into(), ..Self::default() }
    }

    /// Answers from now on by these rules.
    pub fn set_rules(&mut self, base: Arc<RuleBase>) {
        self.rules = base.into();
        self.lay_survey();
        self.answer();
    }

    /// Forgets the rules until they are asked again, unless free memory counts: that may ask them with any frame.
    pub(super) fn let_rules_go(&self) {
        if !self.has_model() {
            self.rules.let_go();
        }
    }

    /// Whether a model is chosen, so that free memory counts.
    pub fn has_model(&self) -> bool {
        self.assumptions.model.is_some()
    }

    #[cfg(test)]
    pub(super) fn renew(&mut self, frame: &Frame) {
        if let Some(news) = self.look(frame) {
            self.take(news);
        }
    }

    /// Looks at the GPUs of a frame; none where they change no answer.
    pub(super) fn look(&mut self, frame: &Frame) -> Option<News> {
        self.columns.look(frame, self.has_model())
    }

    /// Answers from now on for other GPUs.
    pub(super) fn take(&mut self, news: News) {
        self.columns.take(news, self.has_model());
        self.lay_survey();
        self.answer();
    }

    /// Takes one more GPU of a column into the group, or the group apart.
    pub fn mark(&mut self, column: usize) {
        self.columns.mark(column, self.assumptions.model.is_some());
        self.lay_survey();
        self.answer();
    }

    /// Answers from now on with what is installed on this machine.
    pub fn set_survey(&mut self, mut survey: Arc<EnvironmentScan>, today: String) {
        // Laid anew with every new GPU, and never shown: what the rules know of is all that is needed.
        Arc::make_mut(&mut survey).keep(|package| known(&self.rules.get(), package));
        self.survey = Some((survey, today));
        self.lay_survey();
        self.answer();
    }

    /// Adds what processes use that were looked at since.
    pub fn join_survey(&mut self, seen: &EnvironmentScan, today: String) {
        if let Some((survey, day)) = &mut self.survey {
            Arc::make_mut(survey).join(seen.clone());
            *day = today;
            self.lay_survey();
            self.answer();
        }
    }

    /// What is installed on this machine, once somebody has looked.
    pub fn survey(&self) -> Option<&Arc<EnvironmentScan>> {
        self.survey.as_ref().map(|(survey, _)| survey)
    }

    /// Brings what was found in line with the GPUs in view.
    fn lay_survey(&mut self) {
        if let Some((survey, today)) = &self.survey {
            let installed =
                Installed::new(&self.rules.get(), survey, self.columns.targets(), today);
            self.assumptions = self.with_installed(installed);
        }
        self.lay_measured();
    }

    /// Answers from now on with what probes found, in the place of what the same ones found before.
    pub fn set_measured(&mut self, found: Vec<ProbeReport>) {
        let is_new = |old: &ProbeReport| {
            found.iter().any(|new| (&new.id, &new.uuid) == (&old.id, &old.uuid))
        };
        self.measured.retain(|old| !is_new(old));
        self.measured.extend(found);
        self.lay_measured();
        self.answer();
    }

    /// Brings what probes found in line with the rules and the GPUs in view. What holds for one GPU holds for its kind.
    fn lay_measured(&mut self) {
        let findings = &mut self.assumptions.findings;
        findings.retain(|finding| finding.evidence.level != Level::Live);
        for report in &self.measured {
            let kind = self.columns.kind_with(&report.uuid);
            let of_kind = ProbeReport {
                uuid: kind.and_then(|kind| kind.uuid.clone()).unwrap_or(report.uuid.clone()),
                ..report.clone()
            };
            findings.extend(live_findings(
                &self.rules.get(),
                &of_kind,
                kind.and_then(|kind| kind.sm),
            ));
        }
    }

    /// Works out every answer.
    fn answer(&mut self) {
        self.last.take();
        let targets = self.columns.targets();
        self.matrix = matrix(&self.rules.get(), targets, &self.assumptions);
        self.groups = groups(&self.matrix.rows);
        self.judged = (0..targets.len()).map(|kind| Arc::new(self.judge(kind))).collect();
        self.plan();
    }

    /// Plans every row on every column anew.
    fn plan(&mut self) {
        self.last.take();
        let model = self.assumptions.model.as_ref();
        self.planned.renew(model, &self.matrix.rows, &self.columns);
    }

    /// Asks for another context, or for more requests at once.
    pub fn ask_for(&mut self, demand: Demand) {
        self.planned.demand = demand;
        self.plan();
    }

    /// A version the user chose goes before an installed one.
    fn with_installed(&mut self, found: Installed) -> Assumptions {
        let Installed { versions, beside, findings } = found;
        let mut assumptions = Assumptions { findings, beside, ..self.assumptions.clone() };
        versions::install(&mut assumptions, &versions);
        self.installed = versions;
        assumptions
    }

    /// Answers from now on for a model, or for none in particular.
    pub fn set_model(&mut self, model: Option<Model>) {
        let assumptions = Assumptions { model, ..self.assumptions.clone() };
        // What is free counts only for a model.
        self.columns.count_free(assumptions.model.is_some());
        self.assume(assumptions);
    }

    /// Asks about the next older or newer version of a framework than that of a row; false: there is none.
    pub fn step_version(&mut self, framework: &str, now: Option<&str>, step: isize) -> bool {
        let known = versions_of(&self.rules.get(), framework);
        let Some(version) = versions::step_from(&known, now, step) else { return false };
        let mut assumptions = self.assumptions.clone();
        assumptions
            .versions
            .insert(framework.into(), AssumedVersion { version, origin: Origin::Asked });
        self.assume(assumptions);
        true
    }

    /// Takes back the choice of a version; false: there was none.
    pub fn reset_version(&mut self, framework: &str) -> bool {
        let chosen = |given: &AssumedVersion| given.origin == Origin::Asked;
        if !self.assumptions.versions.get(framework).is_some_and(chosen) {
            return false;
        }
        let mut assumptions = self.assumptions.clone();
        assumptions.versions.remove(framework);
        if let Some(given) = self.installed.get(framework) {
            assumptions.versions.insert(framework.to_owned(), given.clone());
        }
        self.assume(assumptions);
        true
    }

    fn assume(&mut self, assumptions: Assumptions) {
        if assumptions != self.assumptions {
            self.assumptions = assumptions;
            self.answer();
        }
    }

    /// What answers take as given.
    pub fn assumptions(&self) -> &Assumptions {
        &self.assumptions
    }

    /// The version a framework is asked about, and where it comes from; nothing where each row has its own.
    pub fn given(&self, framework: &str) -> Option<&AssumedVersion> {
        self.assumptions.versions.get(framework)
    }

    /// Version of a framework when no other is given: the newest its rules know.
    pub fn known_version(&self, framework: &str) -> Option<String> {
        self.rules.get().framework(framework)?.version.clone()
    }

    /// Versions of a framework at which answers may change.
    pub fn versions(&self, framework: &str) -> Vec<String> {
        versions_of(&self.rules.get(), framework)
    }

    /// Every row of the matrix.
    pub fn all_rows(&self) -> &[Row] {
        &self.matrix.rows
    }

    /// The outcome in a row of [`Verdicts::all_rows`] in a column: on the GPU where it is worst, and with the model that has to fit.
    pub fn cell(&self, row: usize, column: usize) -> Option<Cell> {
        let cells = self.matrix.cells.get(row)?;
        let mut cell = cells.get(self.worst_target(row, column)?)?.clone();
        if !cell.outcome.is_bad() && self.planned.fits(row, column) == Some(Fits::DoesNotFit) {
            cell.outcome = Outcome::Fails;
        }
        Some(cell)
    }

    /// The kind of GPU in a column on which a row does worst.
    fn worst_target(&self, row: usize, column: usize) -> Option<usize> {
        let (cells, column) = (self.matrix.cells.get(row)?, self.columns.all().get(column)?);
        let severity = |target: &&usize| cells.get(**target).map(|cell| cell.outcome.severity());
        column.targets.iter().max_by_key(severity).copied()
    }

    /// The whole answer of a row of [`Verdicts::all_rows`] in a column, worked out when asked for.
    pub fn verdict(&self, row: usize, column: usize) -> Option<Arc<Verdict>> {
        let target = self.worst_target(row, column)?;
        if let Some((.., verdict)) =
            self.last.borrow().as_ref().filter(|last| (last.0, last.1) == (row, target))
        {
            return Some(Arc::clone(verdict));
        }
        let verdict = Arc::new(self.ask(row, target)?);
        self.last.replace(Some((row, target, Arc::clone(&verdict))));
        Some(verdict)
    }

    fn ask(&self, row: usize, target: usize) -> Option<Verdict> {
        let (row, target) = (self.matrix.rows.get(row)?, self.columns.targets().get(target)?);
        let found = self.assumptions.about(&self.rules.get(), target, &row.question);
        Some(evaluate(&self.rules.get(), target, &row.question, &found))
    }

    /// The command that starts a row on the GPUs of a column, where nothing is known to stand in its way.
    pub fn start(&self, row: usize, column: usize) -> Option<String> {
        if self.cell(row, column)?.outcome.is_bad() {
            return None;
        }
        let (about, target) = (self.matrix.rows.get(row)?, self.worst_target(row, column)?);
        let target = self.columns.targets().get(target)?;
        let text = start_command(&self.rules.get(), target, &about.question)?;
        let way = self.planned.way(row, column);
        let framework = Framework::find(&about.question.framework);
        Some(
            way.zip(framework)
                .map_or(text.clone(), |(way, framework)| way.command(&text, framework)),
        )
    }

    /// The change that makes most of what was asked fit in a row and column, of those that no rule refuses.
    pub fn helps(&self, row: usize, column: usize) -> Option<Alternative> {
        let (way, about) = (self.planned.way(row, column)?, self.matrix.rows.get(row)?);
        let framework = Framework::find(&about.question.framework)?;
        let shape = self.assumptions.model.as_ref()?.shape.as_ref()?;
        let devices = self.columns.devices(column)?;
        let used = devices.get(..way.gpus)?;
        let plan = way.plan.as_ref()?;
        let ways = alternatives(shape, used, framework, &way.demand, plan);
        ways.into_iter().find(|one| one.plan.fits < plan.fits && self.is_allowed(row, column, one))
    }

    fn is_allowed(&self, row: usize, column: usize, way: &Alternative) -> bool {
        let Some((key, value)) = way.setting else { return true };
        let asked = || {
            let target = self.columns.targets().get(self.worst_target(row, column)?)?;
            let mut question = self.matrix.rows.get(row)?.question.clone();
            question.config.set(key, value).ok()?;
            let found = self.assumptions.about(&self.rules.get(), target, &question);
            Some(evaluate_without_fixes(&self.rules.get(), target, &question, &found).outcome)
        };
        asked().is_some_and(|outcome| !outcome.is_bad())
    }

    /// The most important failure on one kind of GPU.
    fn worst_of(&self, kind: usize) -> Option<Verdict> {
        let rows = 0..self.matrix.rows.len();
        let bad = rows.filter(|row| self.matrix.cells[*row][kind].outcome.is_bad());
        let first =
            bad.min_by_key(|row| importance::place(&self.matrix.rows[*row].question.framework));
        let (row, kind) =
            (&self.matrix.rows.get(first?)?.question, self.columns.targets().get(kind)?);
        let found = self.assumptions.about(&self.rules.get(), kind, row);
        Some(evaluate_without_fixes(&self.rules.get(), kind, row, &found))
    }

    fn judge(&self, kind: usize) -> Judged {
        let mut counts = BTreeMap::new();
        for cells in &self.matrix.cells {
            *counts.entry(cells[kind].outcome).or_insert(0) += 1;
        }
        Judged {
            dtypes: support(&self.columns.targets()[kind]),
            counts: counts.into_iter().collect(),
            worst: self.worst_of(kind),
        }
    }

    /// The verdicts on each GPU in short, by its place in the frame.
    pub fn judged(&self) -> Vec<Arc<Judged>> {
        let kinds = (0..).map_while(|gpu| self.columns.kind_of(gpu));
        kinds.filter_map(|kind| self.judged.get(kind).cloned()).collect()
    }
}

fn support(target: &Target) -> Vec<(Dtype, How)> {
    let Some(sm) = target.sm else { return Vec::new() };
    let rows = Catalogue::load().dtype_support(sm, target.pci_device_id);
    rows.into_iter().map(|(dtype, support)| (dtype, support.how)).collect()
}

#[cfg(test)]
impl Verdicts {
    pub(super) fn set_installed(&mut self, found: Installed) {
        let assumptions = self.with_installed(found);
        self.assume(assumptions);
    }
}

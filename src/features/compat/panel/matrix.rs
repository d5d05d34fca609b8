//! The matrix itself: heads of the GPUs, and the lines that are in view.

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use warpscope_probes::Gpu;
use warpscope_probes::gpu::Presence;

use super::grid::{Grid, GridRequest};
use super::names::{lead, named, whole_name};
use super::{is_lost, origin_word};
use crate::engine::plan::{Fits, Plan, Way, gib};
use crate::engine::{Cell, Level, Origin, Outcome};
use crate::features::Shared;
use crate::features::compat::{Compat, Line};
use crate::widgets::format::{Short, counted};
use crate::widgets::layout::{cut_right, cut_top};
use crate::widgets::theme::Role;
use crate::widgets::{
    Align, CellWriter, Hit, Look, Scrollbar, Shown, Surface, outcome_role, scroll_to, text_width,
    verdict_cell,
};

/// Columns of a GPU from which the word what-if stands in its head; below, in a line above the heads.
const WORDY: u16 = 14;
/// Most columns of a name.
const NAME: u16 = 13;
/// Columns of a cell with room for a figure beside the verdict, and those that are asked for where there are figures.
const ROOMY: u16 = 9;
const FIGURES: u16 = 11;
/// Columns a configuration stands in from the name of its framework.
const INDENT: u16 = 2;

/// What the layout depends on.
pub(crate) fn request(state: &Compat, shared: &Shared, look: Look<'_>) -> GridRequest {
    let compat = &state.verdicts;
    let config = compat.all_rows().iter().map(|row| text_width(&row.config) + INDENT + 2).max();
    let columns = compat.columns.all();
    let name = columns
        .iter()
        .map(|column| text_width(&whole_name(column, shared, look.glyphs, NAME + 3)))
        .max();
    let view = &state.view;
    let figures = if compat.planned.is_there() { FIGURES } else { 0 };
    GridRequest {
        columns: columns.len(),
        config: config.unwrap_or(0),
        name: name.unwrap_or(0).max(figures),
        selected: view.column.at,
        first: view.top.1,
    }
}

/// The matrix on its way to the screen.
pub(crate) struct Matrix<'a> {
    state: &'a Compat,
    shared: &'a Shared,
    look: Look<'a>,
    lines: &'a [Line],
    grid: Grid,
}

impl<'a> Matrix<'a> {
    pub(crate) fn new(
        (state, shared): (&'a Compat, &'a Shared),
        look: Look<'a>,
        lines: &'a [Line],
        width: u16,
    ) -> Self {
        let grid = Grid::new(width.saturating_sub(2), request(state, shared, look));
        Self { state, shared, look, lines, grid }
    }

    /// Draws everything; says what can be clicked, and from where on lines and GPUs are shown.
    pub(crate) fn render(&self, mut on: Surface<'_>) {
        let bar = cut_right(&mut on.area, 2);
        self.heads(&mut on);
        let area = on.area;
        let bar =
            Rect { x: bar.right().saturating_sub(1), width: 1, y: area.y, height: area.height };
        let view = &self.state.view;
        let (selected, count) = (Some(view.row.at), self.lines.len());
        let mut first = scroll_to(view.top.0, selected, count, area.height.into());
        // The framework's name stays in view above its rows.
        if matches!(self.lines.get(first), Some(Line::Row(_))) && area.height > 2 {
            let lower = usize::from(area.height) - 1;
            let below = scroll_to(view.top.0, selected, count, lower);
            if let Some(head) = self.head_above(below) {
                first = below;
                self.line(head, on.cut_top(1));
            }
        }
        for (at, line) in (first..count).zip(on.area.rows()) {
            self.line(at, on.at(line));
        }
        on.at(bar).draw(&Scrollbar { look: self.look, total: count, offset: first });
        let lines = usize::from(on.area.height);
        on.hits.show(Shown { line: first, lines, column: self.grid.first });
    }

    /// The head of the framework whose rows begin above a line.
    fn head_above(&self, at: usize) -> Option<usize> {
        matches!(self.lines.get(at)?, Line::Row(_)).then_some(())?;
        (0..at).rev().find(|above| matches!(self.lines[*above], Line::Head { .. }))
    }

    fn place(&self, column: usize, line: Rect) -> Rect {
        let x = line.x.saturating_add(self.grid.x(column));
        Rect { x, width: self.grid.pitch, ..line }.intersection(line)
    }

    fn heads(&self, on: &mut Surface<'_>) {
        let what_if = |column: usize| self.gpus(column).any(|gpu| gpu.presence == Presence::WhatIf);
        if self.grid.pitch < WORDY && self.grid.columns().any(what_if) && on.area.height > 9 {
            self.band(on.cut_top(1), what_if);
        }
        let names = cut_top(&mut on.area, if self.grid.stacked() { 2 } else { 1 });
        let rows = u16::from(on.area.height > 9);
        let facts = cut_top(&mut on.area, rows);
        let header = self.look.style(Role::Header);
        let labels = if facts.height > 0 { facts } else { names };
        let mut labels = on.at(Rect { y: labels.bottom().saturating_sub(1), ..labels });
        let mut pen = labels.pen();
        pen.skip(INDENT).elide("CONFIGURATION", self.grid.config.saturating_sub(INDENT), header);
        if self.grid.version > 0 {
            pen.put("VERSION", header);
        }
        for column in self.grid.columns() {
            let style = self.head_style(column, what_if(column));
            for (line, text) in names.rows().zip(self.name(column)) {
                centred(on.at(self.place(column, line)), &text, style);
            }
            for line in facts.rows() {
                let (text, role) = match is_lost(self.state, self.shared, column) {
                    true => ("lost".to_owned(), Role::Bad),
                    false if what_if(column) => (self.fact(column, true), Role::WhatIf),
                    false => (self.fact(column, false), Role::Muted),
                };
                centred(on.at(self.place(column, line)), &text, self.look.style(role));
            }
            let height = names.height + facts.height;
            on.hits.add(Rect { height, ..self.place(column, names) }, Hit::Gpu(column));
        }
        self.more(on.at(names));
    }

    fn head_style(&self, column: usize, what_if: bool) -> Style {
        let style = self.look.style(match is_lost(self.state, self.shared, column) {
            true => Role::Bad,
            false if what_if => Role::WhatIf,
            false => Role::Text,
        });
        match column == self.state.view.column.at {
            true => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            false => style,
        }
    }

    fn gpus(&self, column: usize) -> impl Iterator<Item = &'a Gpu> {
        let column = self.state.verdicts.columns.all().get(column);
        let places = column.map_or(&[][..], |column| &column.gpus);
        places.iter().filter_map(|at| self.shared.frame.gpus.get(*at))
    }

    /// Index or count, and name, on one line or on two.
    fn name(&self, column: usize) -> Vec<String> {
        let Some(column) = self.state.verdicts.columns.all().get(column) else { return Vec::new() };
        match self.grid.stacked() {
            true => {
                let room = (self.grid.pitch - 1).min(NAME);
                vec![lead(column, self.look.glyphs), named(column, self.shared, room)]
            }
            false => vec![whole_name(column, self.shared, self.look.glyphs, self.grid.pitch - 1)],
        }
    }

    /// Compute capability, and that a GPU is not there where the room is wide enough to say so here.
    fn fact(&self, column: usize, what_if: bool) -> String {
        let mut all: Vec<_> = self.gpus(column).filter_map(|gpu| gpu.identity.sm.last()).collect();
        all.dedup();
        let sm = match all.as_slice() {
            [] => return "sm_?".to_owned(),
            [sm] => sm,
            _ => return "mixed".to_owned(),
        };
        let full = sm.to_string();
        match (self.grid.pitch >= WORDY && what_if, text_width(&full) < self.grid.pitch) {
            (true, _) => format!("{full} what-if"),
            (false, true) => full,
            (false, false) => sm.cc(),
        }
    }

    /// The word what-if above the columns it holds for.
    fn band(&self, mut on: Surface<'_>, what_if: impl Fn(usize) -> bool) {
        const WORD: &str = "what-if";
        let line = on.area;
        let mut shown = self.grid.columns().filter(|gpu| what_if(*gpu));
        let Some(first) = shown.next() else { return };
        let from = self.place(first, line).x;
        let until = self.place(shown.last().unwrap_or(first), line).right();
        let style = self.look.style(Role::WhatIf);
        // One narrow column has no room for the word: it begins further left.
        let from = from.min(until.saturating_sub(text_width(WORD) + 1)).max(line.x);
        on.area = Rect { x: from, width: until - from, ..line };
        let mut pen = on.pen();
        pen.skip(u16::from(pen.rest() > text_width(WORD))).put(WORD, style);
        let rest = pen.rest().saturating_sub(2);
        pen.skip(1).repeat(self.look.glyphs.horizontal, rest, style);
    }

    /// Marks GPUs that are scrolled away.
    fn more(&self, mut on: Surface<'_>) {
        let style = self.look.style(Role::Accent);
        let line = Rect { height: on.area.height.min(1), ..on.area };
        if self.grid.first > 0 {
            let x = line.x + self.grid.x(self.grid.first).saturating_sub(1);
            let at = Rect { x, width: 1, ..line };
            on.at(at).pen().glyph(self.look.glyphs.more_left, style);
        }
        if self.grid.columns().end < self.state.verdicts.columns.all().len() && line.width > 0 {
            let at = Rect { x: line.right() - 1, width: 1, ..line };
            on.at(at).pen().glyph(self.look.glyphs.more_right, style);
        }
    }

    fn line(&self, at: usize, mut on: Surface<'_>) {
        let (view, line) = (&self.state.view, on.area);
        let selected = view.row.at == at;
        let selection = self.look.theme.selection();
        if selected {
            on.buffer.set_style(line, selection);
        }
        match &self.lines[at] {
            Line::Head { group, rows, folded } => self.head(*group, (rows, *folded), on.at(line)),
            Line::Row(row) => self.row(*row, on.at(line)),
        }
        if selected {
            // Words take the selection's colour, outcomes keep theirs.
            on.buffer.set_style(self.words(line), selection);
            on.buffer.set_style(line, Style::new().add_modifier(selection.add_modifier));
        }
        self.mark_matches(on.at(line));
        on.hits.add(line, Hit::Cell { row: at, column: view.column.at });
        for column in self.grid.columns() {
            let place = self.place(column, line);
            if selected && column == view.column.at && self.says_something(at) {
                on.buffer.set_style(place, self.chosen());
            }
            on.hits.add(place, Hit::Cell { row: at, column });
        }
    }

    /// The part of a line before its cells.
    fn words(&self, line: Rect) -> Rect {
        Rect { width: self.grid.x(self.grid.first), ..line }.intersection(line)
    }

    /// Marks what the filter found in the words of a line.
    fn mark_matches(&self, on: Surface<'_>) {
        let filter = self.state.view.filter.text.to_lowercase();
        let words = self.words(on.area);
        if filter.trim().is_empty() || words.is_empty() {
            return;
        }
        let letter = |x| on.buffer[(x, words.y)].symbol().chars().next().unwrap_or(' ');
        let shown: Vec<char> =
            words.columns().flat_map(|column| letter(column.x).to_lowercase().next()).collect();
        let style = self.look.style(Role::Match);
        for word in filter.split_whitespace() {
            let word: Vec<char> = word.chars().collect();
            for (start, _) in shown.windows(word.len()).enumerate().filter(|one| one.1 == word) {
                let found = Rect { x: words.x + start as u16, width: word.len() as u16, ..words };
                on.buffer.set_style(found.intersection(words), style);
            }
        }
    }

    /// How the selected cell stands out of the selected line, which is reversed itself where there is no colour.
    fn chosen(&self) -> Style {
        let accent = self.look.style(Role::Accent);
        match self.look.theme.selection().add_modifier.contains(Modifier::REVERSED) {
            true => accent.remove_modifier(Modifier::REVERSED),
            false => accent.add_modifier(Modifier::REVERSED),
        }
    }

    /// Whether the cells of a line hold anything.
    fn says_something(&self, at: usize) -> bool {
        !matches!(self.lines[at], Line::Head { folded: false, .. })
    }

    fn head(&self, group: usize, (rows, folded): (&[usize], bool), mut on: Surface<'_>) {
        let (state, look, line) = (self.state, self.look, on.area);
        let Some(group) = state.verdicts.groups().get(group) else { return };
        let glyph = if folded { look.glyphs.collapsed } else { look.glyphs.expanded };
        let mut lead = on.at(self.words(line));
        let mut pen = lead.pen();
        pen.glyph(glyph, look.style(Role::Accent))
            .skip(1)
            .put(&group.name, look.style(Role::Title));
        let (version, role) = match state.verdicts.given(&group.framework) {
            Some(given) => {
                (format!("{} {}", given.version, origin_word(given.origin)), Role::Accent)
            }
            None => {
                (state.verdicts.known_version(&group.framework).unwrap_or_default(), Role::Muted)
            }
        };
        if text_width(&version) + 2 < pen.rest() {
            pen.skip(2).put(&version, look.style(role));
        }
        let count = counted(rows.len(), "row");
        if folded && text_width(&count) + 2 < pen.rest() {
            pen.skip(2).put(&count, look.style(Role::Muted));
        }
        for column in self.grid.columns().filter(|_| folded) {
            let place = on.at(inner(self.place(column, line)));
            self.gist(rows, column, place);
        }
    }

    /// How often each outcome occurs among rows that are folded away; where that is too long, the worst alone.
    fn gist(&self, rows: &[usize], column: usize, mut place: Surface<'_>) {
        let (look, verdicts) = (self.look, &self.state.verdicts);
        let Some(worst) = verdicts.gist(rows, column) else { return };
        let width = |counts: &[(Outcome, usize)]| -> u16 {
            let one = |(_, count): &(Outcome, usize)| 2 + text_width(&Short::of(count));
            counts.iter().map(one).sum::<u16>().saturating_sub(1)
        };
        let every = verdicts.counts(rows.iter().copied(), column);
        let lead = u16::from(self.has_figures(place.area));
        let fits = width(&every) + lead <= place.area.width;
        let counts = if fits { every } else { vec![worst] };
        let mut pen = place.pen();
        let middle = pen.rest().saturating_sub(width(&counts)) / 2;
        pen.skip(if lead > 0 { lead } else { middle });
        for (outcome, count) in counts {
            let style = look.style(outcome_role(outcome));
            pen.glyph(symbol(look, outcome), style).put(&Short::of(count), style).skip(1);
        }
    }

    fn row(&self, row: usize, mut on: Surface<'_>) {
        let (state, look, line) = (self.state, self.look, on.area);
        let about = &state.verdicts.all_rows()[row];
        let mut pen = on.pen();
        let room = self.grid.config.saturating_sub(INDENT + 1);
        pen.skip(INDENT).elide(&about.config, room, look.style(Role::Text));
        if self.grid.version > 0 {
            // Where it comes from stands in the head of the framework.
            let role = match about.question.origin {
                Origin::Known => Role::Muted,
                Origin::Asked | Origin::Installed => Role::Accent,
            };
            let version = about.question.version.as_deref().unwrap_or_default();
            pen.skip(1).elide(version, self.grid.version - 1, look.style(role));
        }
        for column in self.grid.columns() {
            let Some(cell) = state.verdicts.cell(row, column) else { continue };
            let mut place = on.at(inner(self.place(column, line)));
            let figures = self.has_figures(place.area);
            let mut pen = place.pen();
            if figures {
                planned(look, &mut pen, state.verdicts.planned.way(row, column), &cell);
            } else {
                pen.align = Align::Center;
                verdict_cell(look, &mut pen, &cell);
            }
        }
    }

    /// Whether figures stand beside the verdicts, which then all begin in one column.
    fn has_figures(&self, cell: Rect) -> bool {
        cell.width >= ROOMY && self.state.verdicts.planned.is_there()
    }
}

/// A verdict with the speed of the model, or with the memory it lacks.
fn planned(look: Look<'_>, pen: &mut CellWriter<'_>, way: Option<&Way>, cell: &Cell) {
    let outcome = cell.outcome;
    pen.skip(1);
    let Some(way) = way else { return verdict_cell(look, pen, cell) };
    if way.fits() == Fits::Tight && !outcome.is_bad() {
        let letter = cell.level.map_or("", Level::letter);
        pen.glyph(tight(look), look.style(Role::Warn)).put(letter, look.style(Role::Muted));
    } else {
        verdict_cell(look, pen, cell);
    }
    let text = match (way.fits(), &way.plan) {
        (Fits::DoesNotFit, Some(plan)) => Short::of(format_args!("{} GiB", needed(plan))),
        _ if outcome.is_bad() || way.speed.is_none() => return,
        _ => Short::of(format_args!("{:.0}/s", way.tokens_per_second())),
    };
    let gap = pen.rest().saturating_sub(text_width(&text));
    if gap > 0 {
        pen.skip(gap).put(&text, look.style(Role::Muted));
    }
}

/// What is too much: all that was asked for on each GPU, or in the memory of the machine; as short as a cell is narrow.
fn needed(plan: &Plan) -> String {
    let bytes = plan.offload.map_or(plan.total.mid, |offload| offload.host);
    let text = gib(bytes);
    match text.split_once('.') {
        Some((whole, _)) if whole.len() > 1 => format!("{:.0}", bytes / f64::from(1 << 30)),
        _ => text,
    }
}

/// The symbol of what fits only within the error bar.
pub(crate) fn tight(look: Look<'_>) -> &'static str {
    look.glyphs.tight
}

/// The symbol of an outcome in the glyphs in use.
pub(crate) fn symbol(look: Look<'_>, outcome: Outcome) -> &'static str {
    outcome.symbol(!look.glyphs.is_unicode)
}

fn centred(mut on: Surface<'_>, text: &str, style: Style) {
    on.area = inner(on.area);
    let mut pen = on.pen();
    pen.align = Align::Center;
    pen.fit(text, style);
}

/// The columns of a GPU without the blank after it.
fn inner(place: Rect) -> Rect {
    Rect { width: place.width.saturating_sub(1), ..place }
}

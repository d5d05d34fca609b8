//! One answer in words: short beside the matrix, in full in a popup.

use warpscope_probes::gpu::Presence;
use warpscope_probes::rules::COSTS;

use super::matrix::{symbol, tight};
use super::{is_lost, origin_word, plan};
use crate::engine::plan::Fits;
use crate::engine::{Evidence, Fix, Level, Origin, Outcome, Step, StepKind, Verdict};
use crate::features::compat::{Compat, Line};
use crate::features::{Feature, Shared};
use crate::widgets::format::counted;
use crate::widgets::theme::Role;
use crate::widgets::{Card, Hit, Look, Page, PageWriter, StyledText, Surface, outcome_role};

/// Columns the text of a step, a piece of evidence or a fix stands in.
const INDENT: usize = 4;

/// Lines that are left over when more than the essence is shown.
const LEAST_MORE: usize = 5;

/// Outcome, and what it is the outcome of. A model that does not fit is no better off where the rules allow it.
pub(crate) fn title(
    look: Look<'_>,
    verdict: &Verdict,
    (state, row): (&Compat, usize),
) -> [(String, Role); 2] {
    let column = state.view.column.at;
    let fits = state.verdicts.planned.fits(row, column);
    let (symbol, words, role) = match fits.filter(|_| !verdict.outcome.is_bad()) {
        Some(Fits::DoesNotFit) => (symbol(look, Outcome::Fails), "does not fit", Role::Fails),
        Some(Fits::Tight) => (tight(look), "tight", Role::Warn),
        _ => {
            let outcome = state.verdicts.with_memory(verdict.outcome, fits);
            (symbol(look, outcome), outcome.words(), outcome_role(outcome))
        }
    };
    let gpus = state.verdicts.columns.name(column);
    let what = format!("  {} {} on {gpus}", named(verdict), verdict.config);
    [(format!("{symbol} {words}"), role), (what, Role::Title)]
}

/// Framework and, where one is known, version.
fn named(verdict: &Verdict) -> String {
    match verdict.version.as_str() {
        "any" => verdict.framework.clone(),
        version => format!("{} {version}", verdict.framework),
    }
}

/// Draws the answer to the selected line beside or below the matrix.
pub(crate) fn pane(state: &Compat, shared: &Shared, mut on: Surface<'_>) {
    if on.area.height < 3 {
        return;
    }
    let look = on.look;
    let width = usize::from(on.area.width.saturating_sub(4));
    let height = usize::from(on.area.height - 2);
    let verdict = state.selected_verdict();
    let (title, fact, mut page, more) = match (state.selected_line(), &verdict) {
        (Some(Line::Row(row)), Some(verdict)) => {
            let column = state.view.column.at;
            let lost = is_lost(state, shared, column);
            let mut page = part(look, width, |w| match lost {
                true => loss(w),
                false => {
                    plan::write(w, state, row, column, false);
                    unplanned(w, state, row, verdict);
                    start(w, state, row, verdict);
                }
            });
            let left = height.saturating_sub(page.lines.len());
            if left > 0 && !(lost && verdict.outcome == Outcome::Unknown) {
                page.append(short(look, verdict, (width, left)));
            }
            let gpu = state.gpu().and_then(|at| shared.frame.gpus.get(at));
            let is_there = gpu.is_none_or(|gpu| gpu.presence != Presence::WhatIf);
            let what_if = if is_there { "" } else { "what-if, " };
            let title = title(look, verdict, (state, row)).to_vec();
            (title, format!("{what_if}{}", verdict.told_by()), page, "enter shows all")
        }
        (Some(Line::Head { group, rows, folded }), _) => {
            let (title, fact, page) = framework(state, look, (group, &rows), width);
            (title, fact, page, if folded { "enter unfolds" } else { "enter folds" })
        }
        _ => return,
    };
    page.lines.truncate(height);
    let left: Vec<StyledText<'_>> =
        title.iter().map(|(text, role)| look.piece(text, *role)).collect();
    let right = [look.piece(&fact, Role::Muted)];
    let foot = [look.piece(more, Role::Muted)];
    if verdict.is_some() {
        on.hits.add(on.area, Hit::Answer);
    }
    let card = Card::new(look).border(Role::BorderFocus).left(&left).right(&right);
    on.frame(card.foot(&foot));
    page.draw(0, on.area, on.buffer, on.hits);
}

/// The answer for a pane: what matters most first, each part cut short where not everything fits.
fn short(look: Look<'_>, verdict: &Verdict, (width, height): (usize, usize)) -> Page {
    let mut parts = [
        part(look, width, |w| {
            w.labelled("as of", verdict.as_of.as_deref().unwrap_or(""), Role::Warn)
        }),
        part(look, width, |w| w.labelled("why", &verdict.reason, Role::Text)),
        part(look, width, |w| wants(w, verdict)),
        part(look, width, |w| symptom(w, verdict)),
        part(look, width, |w| first_fix(w, verdict)),
    ];
    // The fix takes what the others leave; they give way only until it has a line.
    let others = |parts: &[Page; 5]| parts[..4].iter().map(|part| part.lines.len()).sum::<usize>();
    let fix = usize::from(verdict.fix.is_some());
    for at in [2, 3, 0, 1] {
        let over = (others(&parts) + fix).saturating_sub(height);
        let lines = parts[at].lines.len();
        parts[at].cut(lines.saturating_sub(over).max(1), look, width);
    }
    let left = height.saturating_sub(others(&parts)).max(1);
    parts[4].cut(left, look, width);
    let mut page = Page::default();
    parts.into_iter().for_each(|part| page.append(part));
    let more = part(look, width, |w| {
        if verdict.fixes.len() > 1 {
            fixes(w, verdict, None);
        }
        chain(w, verdict);
        evidence(w, verdict);
    });
    // A heading with nothing below it says nothing.
    if page.lines.len() + LEAST_MORE <= height {
        page.append(more);
    }
    page
}

fn part(look: Look<'_>, width: usize, write: impl FnOnce(&mut PageWriter<'_>)) -> Page {
    let mut writer = PageWriter::new(look, width);
    write(&mut writer);
    writer.page
}

/// What there is to say of a GPU that is lost, whatever it could run.
fn loss(w: &mut PageWriter<'_>) {
    w.labelled("lost", "the driver can no longer reach this GPU; n: what to do", Role::Bad);
}

/// What it needs and what there is, in one paragraph.
fn wants(w: &mut PageWriter<'_>, verdict: &Verdict) {
    match (verdict.needs.as_str(), verdict.has.as_str()) {
        ("", has) => w.labelled("has", has, Role::Muted),
        (needs, "") => w.labelled("needs", needs, Role::Muted),
        (needs, has) => w.labelled("needs", &format!("{needs}; this GPU has {has}"), Role::Muted),
    }
}

fn symptom(w: &mut PageWriter<'_>, verdict: &Verdict) {
    w.labelled("you see", verdict.symptom.as_deref().unwrap_or(""), Role::Bad);
}

/// That memory is open, where nothing is planned of a row that runs as far as the rules know.
fn unplanned(w: &mut PageWriter<'_>, state: &Compat, row: usize, verdict: &Verdict) {
    let planned = &state.verdicts.planned;
    let is_open = planned.is_there() && planned.way(row, state.view.column.at).is_none();
    if is_open && !verdict.outcome.is_bad() {
        let text = "what the model takes here is not worked out: whether it fits is not known";
        w.labelled("memory", text, Role::Warn);
    }
}

/// The command that starts a row, which is copied where there is nothing to mend.
fn start(w: &mut PageWriter<'_>, state: &Compat, row: usize, verdict: &Verdict) {
    if let Some(start) = state.verdicts.start(row, state.view.column.at) {
        let label = if verdict.fix.is_some() { "start" } else { "start (y)" };
        w.pasted(label, start.trim(), w.look.style(Role::Good));
    }
}

/// The cheapest way out.
fn first_fix(w: &mut PageWriter<'_>, verdict: &Verdict) {
    let Some(fix) = &verdict.fix else { return };
    w.pasted("fix (y)", fix.trim(), w.look.style(Role::Good));
}

/// The plan of the selected row, then the whole answer; `chosen` is the selected fix.
pub(crate) fn whole(
    (state, shared): (&Compat, &Shared),
    look: Look<'_>,
    chosen: usize,
    width: usize,
) -> Page {
    let Some(verdict) = state.selected_verdict() else { return Page::default() };
    let column = state.view.column.at;
    let mut all = part(look, width, |w| match state.selected_line() {
        _ if is_lost(state, shared, column) => loss(w),
        Some(Line::Row(row)) => {
            plan::write(w, state, row, column, true);
            unplanned(w, state, row, &verdict);
            start(w, state, row, &verdict);
        }
        _ => {}
    });
    if !all.lines.is_empty() {
        all.append(part(look, width, |w| w.gap()));
    }
    all.append(page(look, &verdict, chosen, width));
    all
}

/// The whole answer; `chosen` is the selected fix.
fn page(look: Look<'_>, verdict: &Verdict, chosen: usize, width: usize) -> Page {
    let mut w = PageWriter::new(look, width);
    let role = outcome_role(verdict.outcome);
    let answer =
        format!("{} {}, {}", symbol(look, verdict.outcome), verdict.outcome, verdict.told_by());
    w.labelled("answer", &answer, role);
    w.labelled("as of", verdict.as_of.as_deref().unwrap_or(""), Role::Warn);
    w.labelled("why", &verdict.reason, Role::Text);
    w.labelled("needs", &verdict.needs, Role::Text);
    w.labelled("has", &verdict.has, Role::Text);
    w.labelled("doubt", &verdict.doubts.join("; "), Role::Muted);
    chain(&mut w, verdict);
    evidence(&mut w, verdict);
    if verdict.symptom.is_some() {
        w.gap();
        symptom(&mut w, verdict);
    }
    fixes(&mut w, verdict, Some(chosen));
    w.page
}

/// The steps that led to the answer, by stage.
fn chain(w: &mut PageWriter<'_>, verdict: &Verdict) {
    if verdict.steps.is_empty() {
        return;
    }
    w.heading("Reasoning");
    for step in &verdict.steps {
        let (glyph, role) = mark(w.look, step.kind);
        let (glyph, stage) = (format!("  {glyph} "), format!("{}: ", step.stage));
        let style =
            w.look.style(if step.kind == StepKind::Decides { Role::Text } else { Role::Muted });
        let before = [(glyph.as_str(), w.look.style(role))];
        w.beside(&before, INDENT, &format!("{stage}{}", step_text(step)), style);
    }
}

fn step_text(step: &Step) -> String {
    match step.kind {
        StepKind::Decides => format!("{} (this decides)", step.text),
        StepKind::Passes | StepKind::Rerouted | StepKind::Stops | StepKind::Undecided => {
            step.text.clone()
        }
    }
}

fn mark(look: Look<'_>, kind: StepKind) -> (&'static str, Role) {
    match kind {
        StepKind::Passes => (look.glyphs.check, Role::Good),
        StepKind::Rerouted => (symbol(look, Outcome::Fallback), Role::Fallback),
        StepKind::Stops => (look.glyphs.cross, Role::Bad),
        StepKind::Decides => (look.glyphs.right, Role::Accent),
        StepKind::Undecided => (symbol(look, Outcome::Unknown), Role::Unknown),
    }
}

/// Everything that is known, each with its source.
fn evidence(w: &mut PageWriter<'_>, verdict: &Verdict) {
    if verdict.evidence.is_empty() {
        return;
    }
    w.heading("Evidence");
    for one in &verdict.evidence {
        let Evidence { outcome, id, detail, source, retrieved, .. } = one;
        let glyph = format!("  {} ", symbol(w.look, *outcome));
        let before = [(glyph.as_str(), w.look.style(outcome_role(*outcome)))];
        w.beside(&before, INDENT, detail, w.look.style(Role::Text));
        let origin = format!("{} {id}, {retrieved}", level(one.level));
        w.beside(&[], INDENT, &origin, w.look.style(Role::Muted));
        w.sources(source, INDENT);
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Rule => "rule",
        Level::Published => "published wheel",
        Level::Inspected => "inspected",
        Level::Live => "measured",
    }
}

/// Every way out, cheapest first; the selected one is marked and told apart.
fn fixes(w: &mut PageWriter<'_>, verdict: &Verdict, chosen: Option<usize>) {
    if let (Some(text), true) = (&verdict.fix, verdict.fixes.is_empty()) {
        w.heading("Fix (y copies it)");
        w.verbatim(text, INDENT, w.look.style(Role::Good));
    }
    if verdict.fixes.is_empty() {
        return;
    }
    w.heading(match (verdict.fixes.len(), chosen) {
        (1, _) => "Fix (y copies it)",
        (_, None) => "Fixes, cheapest first",
        _ => "Fixes, cheapest first (a number or h and l select, y copies)",
    });
    for (at, fix) in verdict.fixes.iter().enumerate() {
        let from = w.page.lines.len();
        way_out(w, at, fix, chosen.is_none_or(|chosen| chosen == at));
        w.page.clickable(from..w.page.lines.len(), Hit::Row(at));
    }
}

fn way_out(w: &mut PageWriter<'_>, at: usize, fix: &Fix, selected: bool) {
    let look = w.look;
    let marker = if selected { look.glyphs.marker } else { " " };
    let number = (at + 1).to_string();
    let before = [
        (marker, look.style(Role::Accent)),
        (number.as_str(), look.style(Role::Key)),
        (" ", look.style(Role::Text)),
    ];
    let cost = COSTS.iter().find(|row| row.0 == fix.cost).map_or("", |row| row.1);
    let then = fix.then.map(|then| format!(": {} {then}", symbol(look, then))).unwrap_or_default();
    let role = if selected { Role::Text } else { Role::Muted };
    w.beside(&before, INDENT, &format!("{} ({cost}){then}", fix.title), look.style(role));
    w.verbatim(&fix.text, INDENT, look.style(if selected { Role::Good } else { Role::Muted }));
}

/// A framework in words: its versions, and what fails on the selected GPU.
fn framework(
    state: &Compat,
    look: Look<'_>,
    (group, rows): (usize, &[usize]),
    width: usize,
) -> (Vec<(String, Role)>, String, Page) {
    let group = &state.verdicts.groups()[group];
    let gpu = state.view.column.at;
    let mut w = PageWriter::new(look, width);
    let given = state.verdicts.given(&group.framework);
    let known = state.verdicts.known_version(&group.framework);
    let version = match (given, known) {
        (Some(given), _) => {
            let reset = if given.origin == Origin::Asked { "; V resets it" } else { "" };
            format!("{}, {}{reset}; v picks another", given.version, origin_word(given.origin))
        }
        (None, Some(known)) => format!("{known} unless a row names another; v picks one"),
        (None, None) => "any; no rule depends on it".to_owned(),
    };
    w.labelled("version", &version, Role::Text);
    let versions = state.verdicts.versions(&group.framework);
    if !versions.is_empty() {
        w.labelled("< and >", &versions.join(" "), Role::Muted);
    }
    for row in rows {
        let Some(cell) =
            state.verdicts.cell(*row, gpu).filter(|cell| cell.outcome != Outcome::Works)
        else {
            continue;
        };
        let glyph = format!("  {} ", symbol(look, cell.outcome));
        let before = [(glyph.as_str(), look.style(outcome_role(cell.outcome)))];
        let config = &state.verdicts.all_rows()[*row].config;
        w.beside(&before, INDENT, &format!("{config}: {}", cell.outcome), look.style(Role::Text));
    }
    let counts = state.verdicts.counts(rows.iter().copied(), gpu);
    let counts: Vec<_> = counts
        .iter()
        .map(|(outcome, count)| format!("{} {count}", symbol(look, *outcome)))
        .collect();
    let title =
        vec![(group.name.clone(), Role::Title), (format!("  {}", counts.join("  ")), Role::Text)];
    (title, counted(rows.len(), "row"), w.page)
}

#[cfg(test)]
mod tests {
    use warpscope_probes::rules::Cost;

    use super::*;
    use crate::widgets::glyphs::Glyphs;
    use crate::widgets::theme::Theme;

    fn fix(cost: Cost, title: &str, text: &str, then: Option<Outcome>) -> Fix {
        Fix { cost, title: title.into(), text: text.into(), then }
    }

    fn verdict() -> Verdict {
        let fixes = vec![
            fix(Cost::Flag, "compute in float32", "run --dtype float32", Some(Outcome::Slow)),
            fix(Cost::Build, "take 2.0", "pip install 'x>=2'", None),
        ];
        let step = |kind, text: &str| Step {
            stage: "data type".into(),
            kind,
            rule: None,
            text: text.into(),
        };
        Verdict {
            gpu: "Tesla T4".into(),
            framework: "X".into(),
            version: "1.0".into(),
            origin: crate::engine::Origin::Known,
            config: "bf16".into(),
            outcome: Outcome::Fails,
            level: Some(Level::Inspected),
            disputed: true,
            confidence: None,
            doubts: Vec::new(),
            reason: "there is no bfloat16".into(),
            needs: "sm_80".into(),
            has: "sm_75".into(),
            symptom: Some("ValueError".into()),
            fix: Some(fixes[0].text.clone()),
            fixes,
            as_of: Some("told of 0.9".into()),
            evidence: vec![Evidence {
                level: Level::Inspected,
                outcome: Outcome::Fails,
                id: "x.so".into(),
                detail: "no image for sm_75".into(),
                source: "libx.so; https://example.com/x".into(),
                retrieved: "2026-11-21".into(),
            }],
            steps: vec![step(StepKind::Passes, "auto is bf16"), step(StepKind::Decides, "no bf16")],
            stages: Vec::new(),
        }
    }

    fn text(page: &Page) -> Vec<String> {
        page.lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
    }

    #[test]
    fn the_page_tells_everything_in_order() {
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::unicode());
        let page = page(look, &verdict(), 1, 80);
        let want = [
            "answer    ✖ fails, inspected here, disputed",
            "as of     told of 0.9",
            "why       there is no bfloat16",
            "needs     sm_80",
            "has       sm_75",
            "",
            "Reasoning",
            "  ✔ data type: auto is bf16",
            "  → data type: no bf16 (this decides)",
            "",
            "Evidence",
            "  ✖ no image for sm_75",
            "    inspected x.so, 2026-11-21",
            "    libx.so",
            "    https://example.com/x",
            "",
            "you see   ValueError",
            "",
            "Fixes, cheapest first (a number or h and l select, y copies)",
            " 1  compute in float32 (another flag): ▽ slow",
            "    run --dtype float32",
            "▌2  take 2.0 (another version or build)",
            "    pip install 'x>=2'",
        ];
        assert_eq!(text(&page), want);
        assert_eq!(page.lines_of(Hit::Row(1)), Some(21..23));
    }

    #[test]
    fn parts_of_a_pane_give_way_only_as_far_as_they_must() {
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::unicode());
        let long = |words: usize| "word ".repeat(words).trim_end().to_owned();
        let verdict = Verdict {
            reason: long(40),
            needs: long(15),
            has: String::new(),
            symptom: None,
            fix: None,
            fixes: Vec::new(),
            as_of: None,
            ..verdict()
        };
        for height in 2..=6 {
            let lines = text(&short(look, &verdict, (60, height)));
            assert_eq!(lines.len(), height, "{lines:#?}");
            let whole = height == 6;
            assert_eq!(lines.iter().any(|line| line.ends_with('…')), !whole, "{lines:#?}");
        }
    }

    #[test]
    fn a_pane_of_any_height_says_why_and_offers_the_fix_before_it_goes_into_detail() {
        let theme = Theme::default();
        let look = Look::new(&theme, Glyphs::unicode());
        let of = |height| text(&short(look, &verdict(), (60, height)));
        let essence = [
            "as of     told of 0.9",
            "why       there is no bfloat16",
            "needs     sm_80; this GPU has sm_75",
            "you see   ValueError",
            "fix (y)   run --dtype float32",
        ];
        assert_eq!(of(5), essence);
        assert_eq!(of(9), essence);
        assert_eq!(
            of(40)[5..8],
            ["", "Fixes, cheapest first", "▌1  compute in float32 (another flag): ▽ slow"]
        );
    }
}

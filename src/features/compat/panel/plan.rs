//! The plan of a row in words and bars: what the model takes on each GPU, how fast it is, and the command that starts it.

use ratatui::text::{Line, Span};

use crate::engine::plan::{Alternative, Device, Fits, Plan, Way, gib, parallel, parts, room, span};
use crate::features::compat::Compat;
use crate::widgets::PageWriter;
use crate::widgets::theme::Role;

/// Columns before a bar.
const INDENT: usize = 10;
/// Most columns of a bar.
const LONGEST: usize = 60;

/// Parts of a GPU's memory, in the order of their glyphs.
const PARTS: [(&str, Role); 6] = [
    ("weights", Role::Accent),
    ("KV cache", Role::Info),
    ("work space", Role::Warn),
    ("CUDA and libraries", Role::Muted),
    ("free", Role::Faint),
    ("in use by others", Role::Bad),
];

/// Writes the plan of a row in a column; nothing where there is none. `every` says whether each GPU has a bar of its own.
pub(super) fn write(
    w: &mut PageWriter<'_>,
    state: &Compat,
    row: usize,
    column: usize,
    every: bool,
) {
    let Some(way) = state.verdicts.planned.way(row, column) else { return };
    let Some(plan) = &way.plan else { return };
    let devices = state.verdicts.columns.devices(column).unwrap_or_default();
    let used = &devices[..way.gpus.min(devices.len())];
    let ascii = !w.look.glyphs.is_unicode;
    let (words, role) = fits(plan.fits);
    let name = state.verdicts.columns.name(column);
    let split = parallel(way.demand.parallel).map(|split| format!(", {split}")).unwrap_or_default();
    let (some, rest) = part(used.len(), devices.len(), name);
    w.labelled("plan", &format!("{words} on {some}{split}{rest}"), role);
    if let Some(refused) = &plan.refusal {
        w.labelled("", refused, Role::Bad);
    } else if let Some(refused) = &way.refused {
        w.labelled("", &format!("not every GPU shares each layer: {refused}"), Role::Warn);
    }
    copy(w, state, row);
    let each = if way.gpus > 1 { " each" } else { "" };
    let (sum, of) = (parts(plan, &way.demand, ascii), gib(plan.memory));
    w.labelled("memory", &format!("{sum} of {of} GiB{each}{}", held(used)), Role::Text);
    for device in distinct(used, every) {
        bar(w, plan, device);
    }
    legend(w);
    if let Some(offload) = plan.offload {
        let host = gib(offload.host);
        let text = format!(
            "{} of {} layers on the GPU, {host} GiB in host memory",
            offload.layers, offload.of
        );
        w.labelled("", &text, Role::Warn);
    }
    measured(w, state, row, column, plan);
    speed(w, way, (plan, ascii));
    if let Some(words) = room(plan, &way.demand) {
        w.labelled("room", &words, Role::Muted);
    }
    if plan.fits != Fits::Fits
        && let Some(helps) = state.verdicts.helps(row, column)
    {
        w.labelled("helps", &cheaper(&helps), Role::Good);
    }
}

/// How many GPUs a plan takes, and what becomes of the others.
fn part(used: usize, all: usize, name: String) -> (String, String) {
    match all - used {
        0 => (name, String::new()),
        1 => (format!("{used} of {name}"), "; the other one is not used".to_owned()),
        rest => (format!("{used} of {name}"), format!("; the other {rest} are not used")),
    }
}

/// The files that are planned where the framework does not load those that were named.
fn copy(w: &mut PageWriter<'_>, state: &Compat, row: usize) {
    let verdicts = &state.verdicts;
    let Some(copy) = verdicts.planned.copy(&verdicts.all_rows()[row].question.framework) else {
        return;
    };
    let made = "such files are made; that somebody publishes this one is assumed";
    let known = if copy.is_published { "published" } else { made };
    w.labelled("files", &format!("{} ({known})", copy.model.name), Role::Text);
}

/// What is free where others hold memory; plans take the least of the last minute.
fn held(used: &[Device]) -> String {
    let least = used.iter().min_by(|a, b| a.free.total_cmp(&b.free));
    match least.filter(|device| device.usable - device.free > device.total / 64.0) {
        Some(device) => format!("; {} GiB free, the least of the last minute", gib(device.free)),
        None => String::new(),
    }
}

fn fits(fits: Fits) -> (&'static str, Role) {
    match fits {
        Fits::Fits => ("fits", Role::Good),
        Fits::Tight => ("tight: within the error bar", Role::Warn),
        Fits::DoesNotFit => ("does not fit", Role::Bad),
        Fits::Unknown => ("unknown", Role::Muted),
    }
}

/// One GPU of each that has as much free, or all of them.
fn distinct(used: &[Device], every: bool) -> Vec<&Device> {
    let mut shown: Vec<&Device> = Vec::new();
    for device in used {
        let same = |one: &&Device| (&one.name, one.free) == (&device.name, device.free);
        if every || !shown.iter().any(same) {
            shown.push(device);
        }
    }
    shown.truncate(if every { usize::MAX } else { 2 });
    shown
}

/// The parts of a GPU's memory in bytes, in the order of [`PARTS`].
fn amounts(plan: &Plan, device: &Device) -> [f64; 6] {
    let taken = [
        plan.weights.bytes.mid,
        plan.kv.bytes.mid,
        plan.activations.bytes.mid + plan.graphs.bytes.mid,
        plan.context.bytes.mid + plan.libraries.bytes.mid,
    ];
    let others = (device.usable - device.free).max(0.0);
    let free = (device.total - others - taken.iter().sum::<f64>()).max(0.0);
    [taken[0], taken[1], taken[2], taken[3], free, others]
}

/// Cells for amounts, so that all together fill a bar and nothing that is there is drawn as nothing.
fn cells(amounts: [f64; 6], columns: usize) -> [usize; 6] {
    let all: f64 = amounts.iter().sum();
    let (mut before, mut filled) = (0.0, 0);
    amounts.map(|amount| {
        before += amount;
        let until = ((before / all.max(1.0)) * columns as f64).round() as usize;
        let least = usize::from(amount / all.max(1.0) > 0.005);
        let cells = until.saturating_sub(filled).max(least).min(columns.saturating_sub(filled));
        filled += cells;
        cells
    })
}

fn bar(w: &mut PageWriter<'_>, plan: &Plan, device: &Device) {
    let columns = w.width.saturating_sub(INDENT).min(LONGEST);
    let mut spans = vec![Span::raw(" ".repeat(INDENT))];
    let cells = cells(amounts(plan, device), columns);
    for (((_, role), glyph), cells) in PARTS.iter().zip(w.look.glyphs.parts).zip(cells) {
        spans.push(Span::styled(glyph.repeat(cells), w.look.style(*role)));
    }
    w.page.lines.push(Line::from(spans));
}

/// What the glyphs of a bar stand for, on one line where it fits.
fn legend(w: &mut PageWriter<'_>) {
    let mut spans = vec![Span::raw(" ".repeat(INDENT))];
    for ((name, role), glyph) in PARTS.into_iter().zip(w.look.glyphs.parts) {
        spans.push(Span::styled(glyph, w.look.style(role)));
        spans.push(Span::styled(format!(" {name}  "), w.look.style(Role::Muted)));
    }
    let wide: usize = spans.iter().map(Span::width).sum();
    if wide <= w.width + 2 {
        w.page.lines.push(Line::from(spans));
    }
}

/// What the model was seen to take of such a GPU, beside what is predicted. Servers that fill their share do so whether it is needed or not.
fn measured(w: &mut PageWriter<'_>, state: &Compat, row: usize, column: usize, plan: &Plan) {
    let verdicts = &state.verdicts;
    let framework = &verdicts.all_rows()[row].question.framework;
    let Some(model) = &verdicts.assumptions().model else { return };
    let Some(target) = verdicts.columns.target_of(column) else { return };
    let Some(peak) = state.served.of(framework, &model.name, &target.label) else { return };
    let bytes = peak.bytes as f64;
    let low = plan.total.low.min(plan.takes * 0.95);
    let high = plan.total.high.max(plan.takes * 1.05);
    let (words, role) = match () {
        () if bytes < low => ("; predicted is more", Role::Warn),
        () if bytes > high => ("; predicted is less", Role::Warn),
        () => ("", Role::Text),
    };
    let text = format!("peak {} GiB on {}, with its settings of then{words}", gib(bytes), peak.day);
    w.labelled("measured", &text, role);
}

fn speed(w: &mut PageWriter<'_>, way: &Way, (plan, ascii): (&Plan, bool)) {
    let Some(speed) = way.speed else { return };
    let each = match way.demand.concurrency {
        1 => String::new(),
        _ => format!(", {} for each request", span(speed.decode, ascii)),
    };
    let over = way.link.map(|link| format!(", over {}", link.words())).unwrap_or_default();
    let once = if plan.fits == Fits::DoesNotFit { "once it fits, " } else { "" };
    let text = format!(
        "{once}{} tokens/s{each}, first token after {} s{over} (predicted)",
        span(speed.decode_total, ascii),
        span(speed.first_token, ascii)
    );
    w.labelled("speed", &text, Role::Text);
}

/// A change that helps, with what it comes to.
fn cheaper(way: &Alternative) -> String {
    let flag = if way.flag.is_empty() { String::new() } else { format!(" ({})", way.flag) };
    let then = match way.plan.fits {
        Fits::Fits => "fits",
        Fits::Tight => "tight",
        _ => "still too large",
    };
    format!("{}{flag}: {} GiB, {then}", way.title, gib(way.plan.total.mid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_gpus_that_a_plan_leaves_out_is_said() {
        let told = |used| {
            let (some, rest) = part(used, 4, "4×T4".to_owned());
            some + &rest
        };
        assert_eq!(told(4), "4×T4");
        assert_eq!(told(3), "3 of 4×T4; the other one is not used");
        assert_eq!(told(1), "1 of 4×T4; the other 3 are not used");
    }

    #[test]
    fn a_bar_is_filled_and_small_parts_are_seen() {
        for columns in [6, 10, 33, 60] {
            let cells = cells([90.0, 1.0, 1.0, 1.0, 6.0, 1.0], columns);
            assert_eq!(cells.iter().sum::<usize>(), columns);
        }
        assert_eq!(cells([50.0, 25.0, 0.0, 0.0, 25.0, 0.0], 40), [20, 10, 0, 0, 10, 0]);
        assert_eq!(cells([0.0; 6], 10), [0; 6]);
    }
}

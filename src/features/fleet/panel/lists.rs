//! What stands beside the map: the worst first, models, owners, and the machine under the cursor.

use ratatui::text::Line;
use warpscope_probes::fleet::{Fleet as Machines, Machine};
use warpscope_probes::text::printable;

use crate::features::Shared;
use crate::features::fleet::Fleet;
use crate::features::fleet::problems::Problem;
use crate::features::fleet::summary::Share;
use crate::widgets::format::{counted, percent, watts};
use crate::widgets::theme::Role;
use crate::widgets::{Card, Hit, Look, NO_BREAK, Surface, text_width, wrap};

/// Lines of the smallest card.
const LEAST: u16 = 3;
/// Weight from which a problem is drawn as bad.
const BAD: f64 = 6.5;

pub(super) fn render(tab: &Fleet, machines: &Machines, mut on: Surface<'_>) {
    let summary = &tab.summary;
    let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX).saturating_add(2);
    let (models, owners) = (lines(summary.models.len()), lines(summary.owners.len()));
    let worst = lines(summary.worst.len().max(1));
    // The worst come first; what is left is for the counts, as far as they have room for a line.
    let counts = (models + owners).min(on.area.height / 2);
    let rows = worst.min(on.area.height - counts);
    problems(tab, machines, on.cut_top(rows));
    let models = models.min(on.area.height.saturating_sub(LEAST.min(owners)));
    for (title, all, rows) in
        [("Models", &summary.models, models), ("Held by", &summary.owners, owners)]
    {
        if rows.min(on.area.height) >= LEAST {
            shares(title, all, on.cut_top(rows));
        }
    }
}

fn problems(tab: &Fleet, machines: &Machines, mut on: Surface<'_>) {
    let look = on.look;
    let worst = &tab.summary.worst;
    let count = counted(worst.len(), "GPU");
    let left = [look.piece("Problems", Role::Title)];
    on.frame(Card::new(look).left(&left).right(&[look.piece(&count, Role::Muted)]));
    let inner = on.area;
    if worst.is_empty() && tab.summary.gpus > 0 {
        let good = look.style(Role::Good);
        on.buffer.set_stringn(inner.x, inner.y, "none found", inner.width.into(), good);
    }
    let groups = grouped(machines, worst).count();
    let mut spare = usize::from(inner.height).saturating_sub(groups);
    let mut rows = inner.rows();
    for same in grouped(machines, worst) {
        let [place, problem] = problem_pieces(machines, same, look);
        let is_long = text_width(&place.0) + text_width(&problem.0) > inner.width && spare > 0;
        spare -= usize::from(is_long);
        let Some(mut row) = rows.next() else { return };
        let mut pen = look.pen(on.buffer, row);
        pen.elide(&place.0, text_width(&place.0), look.style(place.1));
        if is_long && let Some(next) = rows.next() {
            row.height = 2;
            pen = look.pen(on.buffer, next);
            pen.skip(2);
        }
        pen.fit(&problem.0, look.style(problem.1));
        let machine = machines.gpus[same[0].0].machine;
        let place = tab.summary.order.iter().position(|at| *at == machine);
        if let Some(place) = place {
            on.hits.add(row, Hit::Row(place));
        }
    }
}

/// What is the same on several GPUs of a machine is one.
fn grouped<'a>(
    machines: &'a Machines,
    worst: &'a [(usize, Problem)],
) -> impl Iterator<Item = &'a [(usize, Problem)]> {
    worst.chunk_by(|a, b| {
        let machine = |one: &(usize, Problem)| machines.gpus[one.0].machine;
        machine(a) == machine(b) && a.1 == b.1
    })
}

/// Which GPUs, and what is wrong with them.
fn problem_pieces(
    machines: &Machines,
    same: &[(usize, Problem)],
    look: Look<'_>,
) -> [(String, Role); 2] {
    let (gpu, problem) = &same[0];
    let member = &machines.gpus[*gpu];
    let name = printable(&machines.machines[member.machine].name);
    let which = match (same.len(), member.index) {
        (1, Some(index)) => format!(" {index}"),
        (1, None) => String::new(),
        (count, _) => format!(" {count}{}", look.glyphs.times),
    };
    let role = if problem.weight > BAD { Role::Bad } else { Role::Warn };
    [(format!("{name}{which}  "), Role::Text), (problem.text.clone(), role)]
}

fn shares(title: &str, all: &[Share], mut on: Surface<'_>) {
    let look = on.look;
    let left = [look.piece(title, Role::Title)];
    on.frame(Card::new(look).left(&left));
    let rows = usize::from(on.area.height);
    let shown = if all.len() > rows { rows.saturating_sub(1) } else { rows };
    for (share, row) in all.iter().take(shown).zip(on.area.rows()) {
        let busy = share.busy_pct.map_or_else(String::new, |busy| percent(busy).to_string());
        count(&printable(&share.name), share.gpus, &busy, on.at(row));
    }
    // What has no room is told in sum.
    if all.len() > shown {
        let gpus = all[shown..].iter().map(|share| share.gpus).sum();
        let name = if shown == 0 { "in all" } else { "others" };
        count(&format!("{} {name}", all.len() - shown), gpus, "", on.cut_bottom(1));
    }
}

fn count(name: &str, gpus: usize, busy: &str, mut on: Surface<'_>) {
    let look = on.look;
    let counts = format!("{gpus:>6} {busy:>5}");
    let columns = u16::try_from(counts.len()).unwrap_or(u16::MAX);
    let mut pen = on.pen();
    let room = pen.rest().saturating_sub(columns);
    pen.elide(name, room, look.style(Role::Text));
    pen.skip_to_last(columns).put(&counts, look.style(Role::Muted));
}

/// A machine in lines of a width: its GPUs, how they do, and who holds them.
pub(super) fn about(
    machines: &Machines,
    machine: &Machine,
    shared: &Shared,
    (look, width): (Look<'_>, u16),
) -> Vec<Line<'static>> {
    let gpus = || machine.gpus.clone();
    let count = gpus().len();
    let model = gpus().find_map(|gpu| machines.model(gpu)).unwrap_or("GPU of unknown model");
    let mut all = vec![format!("{count} {} {}", look.glyphs.times, printable(model))];
    all.extend(facts(machines, machine, shared, look).into_iter().flatten());
    let owners = match held_by(machines, machine) {
        None => "unused, or the exporter does not report it".to_owned(),
        Some(owners) => format!("held by {owners}"),
    };
    // A line ends behind a separator, and not within a fact.
    let separator = format!("{NO_BREAK}{} ", look.glyphs.separator);
    let all = all.iter().map(|fact| fact.replace(' ', &NO_BREAK.to_string()));
    let all = all.collect::<Vec<_>>().join(&separator);
    let lines = |text: &str, role| {
        let wrapped = wrap(text, width.into()).into_iter();
        wrapped.map(move |line| Line::styled(line, look.style(role)))
    };
    lines(&all, Role::Text).chain(lines(&owners, Role::Muted)).collect()
}

/// Who holds the GPUs of a machine.
pub(super) fn held_by(machines: &Machines, machine: &Machine) -> Option<String> {
    let mut owners: Vec<&str> =
        machine.gpus.clone().filter_map(|gpu| machines.owner(gpu)).collect();
    owners.sort_unstable();
    owners.dedup();
    (!owners.is_empty()).then(|| printable(&owners.join(", ")))
}

/// Utilization, memory, power and temperature of a machine, each where it is told.
pub(super) fn facts(
    machines: &Machines,
    machine: &Machine,
    shared: &Shared,
    look: Look<'_>,
) -> [Option<String>; 4] {
    let gpus = || machine.gpus.clone();
    let values = |field: &'static str| gpus().filter_map(move |gpu| machines.value(field, gpu));
    let busy: Vec<f64> = values("util_gpu_pct").collect();
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    let memory = |gpu| machines.value("memory_used_bytes", gpu).zip(machines.memory_total(gpu));
    let memory = gpus().filter_map(memory).reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1));
    let units = shared.display.units;
    let power = values("power_w").reduce(|sum, one| sum + one);
    let hottest = values("temperature_c").reduce(f64::max);
    [
        (!busy.is_empty()).then(|| format!("{} busy", percent(mean))),
        memory.map(|(used, total)| units.bytes_of(Some(used), total).to_string()),
        power.map(|power| watts(power).to_string()),
        hottest.map(|hottest| units.celsius(hottest, look.glyphs).to_string()),
    ]
}

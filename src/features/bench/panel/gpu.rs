//! One GPU: why it is measured now or not, what it took and under which conditions, and everything that came out.

use warpscope_probes::Gpu;

use super::{below, gpu_plots, lines, stage};
use crate::features::bench::Bench;
use crate::features::bench::device::Device;
use crate::runs::run_log::{Span, Window};
use crate::widgets::theme::Role;
use crate::widgets::{Card, Look, StyledText, Surface, format};
use crate::worker::Holding;

/// Lines of the frame and the head of the table.
const FIXED: u16 = 3;
/// Lines the table has at least where there is room for more than it.
const ROWS: u16 = 8;

/// Draws everything about one GPU.
pub(crate) fn render(state: &Bench, (gpu, bench): (&Gpu, &Device), mut on: Surface<'_>) {
    let look = on.look;
    let facts = facts(state, (gpu, bench), look);
    let needed = FIXED + ROWS + facts.len() as u16;
    let spare = on.area.height.saturating_sub(needed);
    let below = if spare >= 4 { (spare / 4).clamp(4, 10).min(spare) } else { 0 };
    let plots = match spare.saturating_sub(below) {
        0..8 => 0,
        _ if bench.results.is_simulated() || bench.results.is_empty() => 0,
        // Who wants every path wants the list before the pictures.
        0..40 if bench.has_all_paths() => 0,
        // High screens have room to list more as well.
        room @ 0..16 => room,
        room => (room - room / 4).clamp(12, 28),
    };
    let alone = plots == 0 && below > 0 && !bench.has_all_paths();
    let below = if alone { spare.min(10) } else { below };
    if below > 0 {
        below::render(state, bench, on.cut_bottom(below));
    }
    if plots > 0 {
        gpu_plots::render(state, bench, on.cut_bottom(plots));
    }
    frame(state, (gpu, bench), &mut on);
    for pieces in &facts {
        let pieces: Vec<StyledText<'_>> =
            pieces.iter().map(|(text, role)| look.piece(text, *role)).collect();
        on.cut_top(1).pen().pieces(&pieces);
    }
    lines::render(state, bench, on);
}

type Fact = (String, Role);

/// What is always said of a GPU, most important first, a line each.
fn facts(state: &Bench, (gpu, bench): (&Gpu, &Device), look: Look<'_>) -> Vec<Vec<Fact>> {
    let gap = || (format!(" {} ", look.glyphs.separator), Role::Faint);
    let (word, role, why) = stage::of(Some(gpu), bench, state.devices.now());
    let mut lines = vec![vec![(format!("{word}  "), role), (why, Role::Text)]];
    let mut second = Vec::new();
    if let Some(window) = &bench.window {
        second.push(("while measuring: ".to_owned(), Role::Muted));
        for (at, fact) in conditions(window, look).into_iter().enumerate() {
            second.extend((at > 0).then(gap));
            second.push(fact);
        }
    }
    if !bench.spent.is_zero() {
        second.extend((!second.is_empty()).then(gap));
        let spent = format::short_time(bench.spent.as_secs_f64(), look.glyphs);
        second.push((format!("{spent} used"), Role::Muted));
    }
    lines.extend((!second.is_empty()).then_some(second));
    lines.extend(trouble(state, bench));
    lines
}

/// Clocks, power, temperature, and what held the clocks.
fn conditions(window: &Window, look: Look<'_>) -> Vec<Fact> {
    let glyphs = look.glyphs;
    let middle = |span: Option<Span>| span.map(|span| span.median);
    let values = [
        middle(window.sm_mhz).map(format::megahertz),
        middle(window.power_w).map(format::watts),
        middle(window.temperature_c).map(|degrees| format::celsius(degrees, glyphs)),
    ];
    let mut facts: Vec<Fact> =
        values.into_iter().flatten().map(|text| (text.to_string(), Role::Text)).collect();
    facts.push(match &window.throttle[..] {
        [] => ("clocks not held".to_owned(), Role::Text),
        reasons => (format!("held: {}", reasons.join(", ")), Role::Warn),
    });
    facts
}

/// The newest death or failure, and how many there were.
fn trouble(state: &Bench, bench: &Device) -> Option<Vec<Fact>> {
    if let Some((at, how)) = bench.deaths.back() {
        let ago = format::duration(state.devices.at().seconds_since(*at).max(0.0));
        let count = match bench.deaths.len() {
            1 => format!("its process died {ago} ago"),
            times => format!("its process died {times} times, last {ago} ago"),
        };
        return Some(vec![(format!("{count}: "), Role::Bad), (how.clone(), Role::Text)]);
    }
    let newest = bench.results.failures.iter().max_by_key(|(_, failure)| failure.at)?;
    Some(vec![(format!("{}: ", newest.0), Role::Warn), (newest.1.value.clone(), Role::Text)])
}

fn frame(state: &Bench, (gpu, bench): (&Gpu, &Device), on: &mut Surface<'_>) {
    let (look, results) = (on.look, &bench.results);
    let name = gpu.identity.name.last().map_or("GPU", String::as_str);
    let title = format!("{} {name}", gpu.index);
    let left = [look.piece(&title, Role::Title)];
    let age = results.newest.map_or("nothing measured yet".to_owned(), |at| {
        let age = state.devices.at().seconds_since(at).max(0.0);
        format!("newest result {} old", format::duration(age))
    });
    let simulated = results.is_simulated();
    let mut right = Vec::new();
    if simulated {
        right.push(look.piece("simulated: right or wrong only, no speeds", Role::Warn));
    }
    right.push(look.piece(&age, Role::Muted));
    let holding = results.holding.as_ref();
    let images = holding.map(images).unwrap_or_default();
    let mut foot_left = Vec::new();
    if !images.is_empty() {
        foot_left.push(look.piece(&images, Role::Muted));
    }
    if results.reads_a_cache() && !simulated {
        foot_left.push(look.piece("* fits the second-level cache", Role::Muted));
    }
    let held = holding.map(|holding| held(holding, bench.has_worker()));
    let foot = held.as_deref().map(|held| look.piece(held, Role::Muted));
    let card = Card::new(look).left(&left).right(&right).foot_left(&foot_left);
    on.frame(card.foot(foot.as_slice()));
}

/// How the images run here: families that run alike are named together.
fn images(holding: &Holding) -> String {
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for (family, how) in &holding.images {
        match ways.iter_mut().find(|way| way.0 == how) {
            Some(way) => way.1.push(family),
            None => ways.push((how, vec![family])),
        }
    }
    match &ways[..] {
        [] => String::new(),
        [(how, _)] => format!("images: {how}"),
        _ => {
            let named = ways.iter().map(|(how, families)| format!("{}: {how}", families.join(" ")));
            named.collect::<Vec<_>>().join("; ")
        }
    }
}

/// What the child takes of the memory, or took.
fn held(holding: &Holding, lives: bool) -> String {
    let context = holding.context_bytes.map_or("context not measured".to_owned(), |bytes| {
        format!("context {}", format::bytes(bytes as f64))
    });
    let cap = holding.arena_cap_bytes as f64;
    if !lives {
        return format!("took {context}, arena up to {}; all given back", format::bytes(cap));
    }
    format!("{context}, arena {}", format::bytes_of(Some(holding.arena_bytes as f64), cap))
}

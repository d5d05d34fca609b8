use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Gpu};

use crate::features::load::Load;
use crate::features::popup::{CLOSE_HINTS, PopupHint};
use crate::features::{Action, Cursor, Effect, Flow, PopupEvent, Press};
use crate::shell::App;
use crate::shell::hosts::{State, name, state};
use crate::widgets::format::{Units, counted, or_absent, percent};
use crate::widgets::glyphs::Glyphs;
use crate::widgets::{Menu, Surface};

/// The machines whose frames come in, those in trouble first, to bring one into view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostsMenu {
    cursor: Cursor,
}

impl HostsMenu {
    /// What an event changes.
    pub(super) fn on(&mut self, event: PopupEvent, app: &App) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press, app),
            PopupEvent::Scroll(step) => self.cursor.step(step, sorted(app).len()),
            PopupEvent::Click(row) => {
                if self.cursor.hit(row) {
                    return self.pick(app);
                }
            }
            PopupEvent::Shown(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press, app: &App) -> Flow {
        match press.action {
            Some(Action::Quit) => return Flow::quit(),
            Some(Action::Close | Action::Hosts) => return Flow::close(),
            Some(Action::Open) => return self.pick(app),
            Some(action) => {
                self.cursor.step(action.rows(press.page).unwrap_or(0), sorted(app).len())
            }
            None => {}
        }
        Flow::stay()
    }

    fn pick(&self, app: &App) -> Flow {
        let host = sorted(app).get(self.cursor.at).map(|frame| name(frame).to_owned());
        host.map_or_else(Flow::close, |host| Flow::Close(vec![Effect::ShowHost(host)]))
    }

    /// Its keys: without machines there is none to show.
    pub(super) fn hints(app: &App) -> &'static [PopupHint] {
        if sorted(app).is_empty() { CLOSE_HINTS } else { &[("enter", "show"), ("esc", "close")] }
    }

    /// Draws it over the body of the screen.
    pub(super) fn draw(&self, app: &App, on: Surface<'_>) {
        let frames = sorted(app);
        let widest = frames.iter().map(|frame| name(frame).chars().count()).max().unwrap_or(0);
        let units = app.shared.display.units;
        let row = |frame: &&Frame| row(frame, widest, units, on.look.glyphs);
        let rows: Vec<_> = frames.iter().map(row).collect();
        let head = if frames.is_empty() { String::new() } else { totals(&frames, units) };
        let empty = "This machine only: warpscope --host NAME shows others.";
        Menu::new("Hosts", &head, &rows, self.cursor.at).or(empty).render(on);
    }
}

fn sorted(app: &App) -> Vec<&Frame> {
    let mut frames = app.hosts.frames(&app.shared);
    frames.retain(|frame| !name(frame).is_empty());
    frames.sort_by_key(|frame| state(frame));
    frames
}

fn real(frame: &Frame) -> impl Iterator<Item = &Gpu> {
    frame.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf)
}

fn row(frame: &Frame, widest: usize, units: Units, glyphs: &Glyphs) -> String {
    let name = name(frame);
    if state(frame) != State::Fine
        && let Some(notice) = frame.notices.iter().max_by_key(|notice| notice.severity)
    {
        let named = format!("{name} is ");
        let what = notice.what.strip_prefix(&named).unwrap_or(&notice.what);
        return format!("{name:widest$}  {what}");
    }
    let load = Load::of(real(frame));
    let kind =
        real(frame).next().and_then(|gpu| gpu.identity.name.last()).map_or("", String::as_str);
    let hottest =
        real(frame).filter_map(|gpu| gpu.vitals.temperature_c.value()).map(|celsius| celsius.0);
    let hottest = or_absent(hottest.reduce(f32::max), |at| units.celsius(at.into(), glyphs));
    let busy = or_absent(load.busy, percent);
    let memory = or_absent(load.memory, |(used, total)| units.bytes_of(Some(used), total));
    let processes = counted(frame.processes.len(), "process");
    let (count, times) = (load.gpus, glyphs.times);
    format!(
        "{name:widest$}  {busy:>5}  {memory:>20}  {hottest:>6}  {processes:>13}  {count} {times} {kind}"
    )
}

fn totals(frames: &[&Frame], units: Units) -> String {
    let load = Load::of(frames.iter().flat_map(|frame| real(frame)));
    let lost = frames.iter().filter(|frame| state(frame) == State::Lost).count();
    let lost = if lost > 0 { format!(", {lost} not connected") } else { String::new() };
    let busy = load.busy.map_or_else(String::new, |busy| format!(", {} busy", percent(busy)));
    let memory = load.memory.map_or_else(String::new, |(used, total)| {
        format!(", {} in use", units.bytes_of(Some(used), total))
    });
    let (hosts, gpus) = (counted(frames.len(), "host"), counted(load.gpus, "GPU"));
    format!("{hosts}{lost}, {gpus}{busy}{memory}")
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::{Bytes, Celsius, Percent};
    use warpscope_probes::{Notice, Origin, Severity};

    use super::*;

    fn host(name: &str, busy: f32) -> Frame {
        let mut gpu = Gpu { presence: Presence::Present, ..Gpu::default() };
        gpu.vitals.util_gpu_pct = Percent(busy).into();
        gpu.vitals.memory_used_bytes = Bytes(10_000_000_000).into();
        gpu.vitals.memory_total_bytes = Bytes(80_000_000_000).into();
        gpu.vitals.temperature_c = Celsius(50.0).into();
        let origin = Origin::Remote { host: name.to_owned() };
        Frame { origin, gpus: vec![gpu], ..Frame::default() }
    }

    #[test]
    fn a_lost_host_adds_nothing_to_what_is_in_use() {
        let mut lost = host("b", 0.0);
        lost.gpus[0].make_late();
        let (severity, what) = (Severity::Error, "lost".to_owned());
        lost.notices.push(Notice {
            id: Notice::HOST_LOST.into(),
            severity,
            what,
            remedy: String::new(),
        });
        let units = Units { decimal: true, ..Units::default() };
        assert_eq!(
            totals(&[&host("a", 80.0), &lost], units),
            "2 hosts, 1 not connected, 2 GPUs, 80% busy, 10.0 / 80.0 GB in use"
        );
        assert_eq!(totals(&[&lost], units), "1 host, 1 not connected, 1 GPU");
    }

    #[test]
    fn a_host_is_told_in_the_units_that_are_set() {
        let units = Units { decimal: true, fahrenheit: true };
        let text = row(&host("a", 80.0), 1, units, Glyphs::ascii());
        assert!(text.contains("10.0 / 80.0 GB") && text.contains("122"), "{text}");
    }
}

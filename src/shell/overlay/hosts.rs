use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Gpu};

use crate::features::{Action, Cursor, Effect, Flow, PopupEvent, Press};
use crate::shell::App;
use crate::shell::hosts::{State, name, state};
use crate::widgets::format::{bytes_of, celsius, percent};
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

    /// Draws it over the body of the screen.
    pub(super) fn draw(&self, app: &App, on: Surface<'_>) {
        let frames = sorted(app);
        let widest = frames.iter().map(|frame| name(frame).chars().count()).max().unwrap_or(0);
        let rows: Vec<_> = frames.iter().map(|frame| row(frame, widest, on.look.glyphs)).collect();
        let first = |visible| self.cursor.first(visible, rows.len());
        let head = totals(&frames);
        let empty = "This machine only: warpscope --host NAME shows others.";
        let menu =
            Menu { title: "Hosts", head: &head, rows: &rows, empty, selected: self.cursor.at };
        menu.render(first, on);
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

/// Utilisation and memory of GPUs together, of what is known.
fn load<'a>(gpus: impl Iterator<Item = &'a Gpu>) -> (usize, Option<f64>, f64, f64) {
    let (mut count, mut busy, mut used, mut total) = (0, Vec::new(), 0.0, 0.0);
    for gpu in gpus {
        count += 1;
        busy.extend(gpu.vitals.util_gpu_pct.last().map(|percent| f64::from(percent.0)));
        used += gpu.vitals.memory_used_bytes.last().map_or(0.0, |bytes| bytes.0 as f64);
        total += gpu.vitals.memory_total_bytes.last().map_or(0.0, |bytes| bytes.0 as f64);
    }
    let mean = (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64);
    (count, mean, used, total)
}

fn row(frame: &Frame, widest: usize, glyphs: &Glyphs) -> String {
    let name = name(frame);
    if state(frame) != State::Fine
        && let Some(notice) = frame.notices.iter().max_by_key(|notice| notice.severity)
    {
        return format!("{name:widest$}  {}", notice.what);
    }
    let (count, busy, used, total) = load(real(frame));
    let kind =
        real(frame).next().and_then(|gpu| gpu.identity.name.last()).map_or("", String::as_str);
    let hottest =
        real(frame).filter_map(|gpu| gpu.vitals.temperature_c.last()).map(|celsius| celsius.0);
    let hottest = hottest.reduce(f32::max);
    let hottest = hottest.map_or_else(String::new, |at| celsius(at.into(), glyphs).to_string());
    let busy = busy.map_or_else(String::new, |busy| percent(busy).to_string());
    let memory = bytes_of(Some(used), total);
    let (processes, times) = (frame.processes.len(), glyphs.times);
    format!(
        "{name:widest$}  {busy:>5}  {memory:>20}  {hottest:>6}  {processes:>3} proc  {count} {times} {kind}"
    )
}

fn totals(frames: &[&Frame]) -> String {
    let (count, busy, used, total) = load(frames.iter().flat_map(|frame| real(frame)));
    let lost = frames.iter().filter(|frame| state(frame) == State::Lost).count();
    let lost = if lost > 0 { format!(", {lost} not connected") } else { String::new() };
    let busy = busy.map_or_else(String::new, |busy| format!(", {} busy", percent(busy)));
    let hosts = frames.len();
    format!("{hosts} hosts{lost}, {count} GPUs{busy}, {} in use", bytes_of(Some(used), total))
}

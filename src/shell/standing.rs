//! Where the values on screen come from and how current they are, on the right of the header.

use ratatui::text::{Line, Span};
use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::text::printable;
use warpscope_probes::{Frame, Origin};

use crate::shell::App;
use crate::shell::hosts::{State, name, state};
use crate::widgets::theme::Role;
use crate::widgets::{Look, format, text_width};

/// Short words about where values come from, from the least to the most important.
#[derive(Default)]
pub(crate) struct Standing {
    words: Vec<(String, Role)>,
    /// How many of the last ones change what the values mean: titles of tabs make room for them.
    urgent: usize,
}

impl Standing {
    pub(crate) fn of(app: &App, look: Look<'_>) -> Self {
        let mut words = usual(app, look);
        let urgent = urgent(app, look);
        let count = urgent.len();
        words.extend(urgent);
        let words = words.into_iter().map(|(text, role)| (printable(&text), role)).collect();
        Self { words, urgent: count }
    }

    /// Columns of the last words, with the gaps between them and at the end.
    fn width(&self, count: usize) -> u16 {
        let last = self.words[self.words.len() - count..].iter();
        let gaps = 3 * count.saturating_sub(1) + 2 * usize::from(count > 0);
        last.map(|word| text_width(&word.0))
            .fold(gaps.min(100) as u16, |sum, width| sum.saturating_add(width))
    }

    /// Columns of what must not be left out.
    pub(crate) fn needed(&self) -> u16 {
        self.width(self.urgent)
    }

    /// As many of the words as fit, the most important ones.
    pub(crate) fn fitting(&self, look: Look<'_>, room: u16) -> Line<'static> {
        let count = (0..=self.words.len()).rev().find(|count| self.width(*count) <= room);
        let shown = self.words.iter().skip(self.words.len() - count.unwrap_or(0));
        let mut spans = Vec::new();
        for (text, role) in shown {
            if !spans.is_empty() {
                let gap = format!(" {} ", look.glyphs.separator);
                spans.push(Span::styled(gap, look.style(Role::Faint)));
            }
            spans.push(Span::styled(text.clone(), look.style(*role)));
        }
        spans.push(Span::raw(" "));
        Line::from(spans)
    }
}

/// What is told where there is room.
fn usual(app: &App, look: Look<'_>) -> Vec<(String, Role)> {
    let frame = &app.shared.frame;
    let host = frame.host.machine.hostname.last().filter(|_| !app.hosts.are_several());
    let mut words: Vec<_> = host.map(|host| (host.clone(), Role::Muted)).into_iter().collect();
    words.push(driver(frame));
    if app.tabs.bench.devices.cpu().has_worker() {
        words.push((format!("{} bench", look.glyphs.play), Role::Good));
    }
    match &frame.origin {
        Origin::Local => words.push((format!("{:?}", app.shared.settings.interval), Role::Muted)),
        Origin::Remote { .. } => {}
        Origin::Replay { file, .. } => words.push((file.clone(), Role::Info)),
    }
    words.extend(clock(app).map(|clock| (clock, Role::Text)));
    words
}

/// What changes the meaning of every value: another machine, another time, a screen that stands still.
fn urgent(app: &App, look: Look<'_>) -> Vec<(String, Role)> {
    let frame = &app.shared.frame;
    let mut words = Vec::new();
    if let Some(recorded) = &app.recorded {
        let role = if recorded.trouble.is_some() { Role::Warn } else { Role::Bad };
        let written = format::bytes(recorded.bytes as f64);
        words.push((format!("{} rec {written}", look.glyphs.record), role));
    }
    match &frame.origin {
        Origin::Local => {}
        Origin::Remote { host } => {
            words.push((format!("remote {}", among(app, host)), Role::Paused));
        }
        Origin::Replay { .. } => {
            let is_several = app.hosts.are_several();
            let host = if is_several { among(app, name(frame)) } else { String::new() };
            words.extend(position(app).map(|text| (text, Role::Paused)));
            words.push((format!("replay {host}").trim_end().to_owned(), Role::Paused));
        }
    }
    if app.frozen {
        words.push((format!("{} frozen", look.glyphs.pause), Role::Paused));
    }
    words
}

/// The machine in view, and how many there are.
fn among(app: &App, host: &str) -> String {
    if !app.hosts.are_several() {
        return host.to_owned();
    }
    let frames = app.hosts.frames(&app.shared);
    let lost = frames.iter().filter(|frame| state(frame) == State::Lost).count();
    let lost = if lost > 0 { format!(", {lost} lost") } else { String::new() };
    format!("{host} of {}{lost}", frames.len())
}

/// The driver as the body shows it: one that is gone has left its GPUs there.
fn driver(frame: &Frame) -> (String, Role) {
    let late = frame.notices.iter().any(|notice| notice.id == "driver.late");
    let had_gpus = frame.gpus.iter().any(|gpu| gpu.presence != Presence::WhatIf);
    let versions = &frame.driver.versions;
    let text = match (&frame.driver.status, versions.driver.last(), versions.cuda.last()) {
        (DriverState::Starting, ..) => "asking the driver".to_owned(),
        _ if late => return ("driver stopped answering".to_owned(), Role::Warn),
        (DriverState::Failed { .. }, ..) if state(frame) == State::Lost => {
            return ("not connected".to_owned(), Role::Warn);
        }
        (DriverState::AllSuspended, ..) => "driver asleep".to_owned(),
        (_, Some(driver), Some(cuda)) => format!("driver {driver} CUDA {cuda}"),
        (_, Some(driver), None) => format!("driver {driver}"),
        (DriverState::Ready, None, _) => "driver of unknown version".to_owned(),
        (DriverState::NoDevice, ..) => return ("driver without GPUs".to_owned(), Role::Warn),
        _ if had_gpus => return ("driver lost".to_owned(), Role::Warn),
        _ => return ("no driver".to_owned(), Role::Warn),
    };
    (text, Role::Muted)
}

/// Where the recording stands.
fn position(app: &App) -> Option<String> {
    let at = app.shared.replay.as_ref()?;
    let paused = if at.paused { " paused" } else { "" };
    let damaged = match at.damaged {
        0 => String::new(),
        lines => format!(" ({} left out)", format::counted(lines, "damaged line")),
    };
    Some(format!("{:.0}/{:.0} s x{}{paused}{damaged}", at.at_s, at.length_s, at.speed))
}

/// Time of the frame, in UTC as a recording holds it, or in the zone of this machine.
fn clock(app: &App) -> Option<String> {
    let display = &app.shared.display;
    let at = app.shared.frame.at;
    if app.shared.frame.seq == 0 {
        return None;
    }
    if !display.is_local_time {
        return at.to_string().get(11..19).map(|time| format!("{time}Z"));
    }
    let at = jiff::Timestamp::from_millisecond(i64::try_from(at.0).ok()?).ok()?;
    Some(at.to_zoned(display.zone.clone()).time().strftime("%H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use warpscope_probes::{Gpu, Notice, Severity};

    use super::*;

    /// What the header says of a driver in a state, with a GPU of some presence in the body.
    fn said(status: DriverState, version: Option<&str>, gpu: Option<Presence>) -> String {
        let mut frame = Frame::default();
        frame.driver.status = status;
        if let Some(version) = version {
            frame.driver.versions.driver = version.to_owned().into();
        }
        frame.gpus.extend(gpu.map(|presence| Gpu { presence, ..Gpu::default() }));
        driver(&frame).0
    }

    #[test]
    fn the_header_denies_no_driver_whose_gpus_are_drawn() {
        use DriverState::{AllSuspended, LibraryMissing, NoDevice, NotLoaded, Ready};
        assert_eq!(said(Ready, Some("580.82.07"), Some(Presence::Present)), "driver 580.82.07");
        assert_eq!(said(Ready, None, Some(Presence::Present)), "driver of unknown version");
        assert_eq!(said(NotLoaded, None, Some(Presence::Lost)), "driver lost");
        assert_eq!(said(AllSuspended, None, Some(Presence::Suspended)), "driver asleep");
        assert_eq!(said(NoDevice, None, None), "driver without GPUs");
        assert_eq!(said(LibraryMissing, None, Some(Presence::WhatIf)), "no driver");
        assert_eq!(said(LibraryMissing, None, None), "no driver");
    }

    #[test]
    fn nothing_is_said_of_the_driver_of_a_host_that_never_answered() {
        let mut frame = Frame::default();
        frame.driver.status = DriverState::Failed { error: "gpu1 is not connected".into() };
        frame.notices.push(Notice {
            id: Notice::HOST_LOST.into(),
            severity: Severity::Error,
            what: String::new(),
            remedy: String::new(),
        });
        assert_eq!(driver(&frame), ("not connected".to_owned(), Role::Warn));
    }

    #[test]
    fn a_driver_that_stopped_answering_is_not_shown_as_if_it_did() {
        let mut frame = Frame::default();
        frame.driver.status = DriverState::Ready;
        frame.driver.versions.driver = "580.82.07".to_owned().into();
        frame.notices.push(Notice {
            id: "driver.late".into(),
            severity: Severity::Warning,
            what: String::new(),
            remedy: String::new(),
        });
        assert_eq!(driver(&frame), ("driver stopped answering".to_owned(), Role::Warn));
    }
}

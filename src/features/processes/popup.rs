//! What lies over the Processes tab: everything about a process, and the menu of signals.

use warpscope_probes::process::Process;
use warpscope_probes::text::printable;

use super::{Cmd, details};
use crate::features::keys::Action;
use crate::features::popup::{CLOSE_HINTS, Flow, PopupEvent, PopupHint, Press, Scroll};
use crate::features::process_cells::command;
use crate::features::{Cursor, Shared};
use crate::widgets::{Menu, Surface, draw_text};

/// Signals the menu offers, the gentlest first: number, name, what it does.
pub const SIGNALS: &[(i32, &str, &str)] = &[
    (15, "TERM", "ask it to end"),
    (2, "INT", "interrupt, as Ctrl-C"),
    (1, "HUP", "hang up"),
    (3, "QUIT", "end with a core dump"),
    (10, "USR1", "user signal 1"),
    (12, "USR2", "user signal 2"),
    (19, "STOP", "stop until continued"),
    (18, "CONT", "continue"),
    (9, "KILL", "end at once; nothing is saved"),
];

/// What lies over the tab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Popup {
    /// Everything about one process on one GPU.
    Process {
        /// Process id.
        pid: u32,
        /// [`warpscope_probes::Gpu::key`] of the GPU.
        gpu: String,
        /// First line in view.
        scroll: Scroll,
        /// Whether a signal can be sent to it.
        is_reachable: bool,
    },
    /// Which signal, and whether really.
    Signal(SignalMenu),
}

/// Which signal to send, and whether really.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalMenu {
    pid: u32,
    /// Command line, for the question.
    command: String,
    /// Start time, so that a reused pid is not hit.
    started_at: Option<u64>,
    /// Selected row of [`SIGNALS`].
    cursor: Cursor,
    /// Whether the user has chosen and is asked again.
    pub confirm: bool,
}

impl SignalMenu {
    pub(super) fn new(process: &Process) -> Self {
        Self {
            pid: process.pid,
            command: printable(&command(process).0),
            started_at: process.started_at.map(|at| at.0),
            cursor: Cursor::default(),
            confirm: false,
        }
    }

    fn on(&mut self, event: PopupEvent) -> Flow {
        match event {
            PopupEvent::Key(press) => return self.key(press),
            PopupEvent::Scroll(step) => self.cursor.step(step, SIGNALS.len()),
            PopupEvent::Click(row) if row < SIGNALS.len() => self.confirm = self.cursor.hit(row),
            PopupEvent::Click(_) | PopupEvent::Shown(_) => {}
            PopupEvent::Close => return Flow::close(),
        }
        Flow::stay()
    }

    fn key(&mut self, press: Press) -> Flow {
        let typed = press.chord.typed();
        match press.action {
            Some(Action::Quit) if typed.is_none() => return Flow::quit(),
            _ if self.confirm && matches!(typed, Some('y' | 'Y')) => {
                let (pid, started_at) = (self.pid, self.started_at);
                let signal = SIGNALS[self.cursor.at].0;
                return Flow::Close(vec![Cmd::Signal { pid, signal, started_at }.into()]);
            }
            Some(Action::Quit | Action::Close) => return Flow::close(),
            _ if self.confirm => return Flow::close(),
            Some(Action::Open) => self.confirm = true,
            Some(Action::Up) => self.cursor.step(-1, SIGNALS.len()),
            Some(Action::Down) => self.cursor.step(1, SIGNALS.len()),
            _ => {}
        }
        Flow::stay()
    }

    fn draw(&self, on: Surface<'_>) {
        let Self { pid, command, cursor, .. } = self;
        let title = format!("Signal to {pid} {command}");
        let head = if self.confirm {
            format!("Send SIG{} to {pid}?  y sends, any other key does not", SIGNALS[cursor.at].1)
        } else {
            "Which signal? Enter chooses; you are asked again.".to_owned()
        };
        let row = |row: &(i32, &str, &str)| format!("{:>2} SIG{:<5} {}", row.0, row.1, row.2);
        let rows: Vec<_> = SIGNALS.iter().map(row).collect();
        Menu::new(&title, &head, &rows, cursor.at).render(on);
    }
}

impl Popup {
    pub(super) fn hints(&self) -> &'static [PopupHint] {
        match self {
            Self::Process { is_reachable: true, .. } => &[("K", "signal"), ("esc", "close")],
            Self::Process { .. } => CLOSE_HINTS,
            Self::Signal(menu) if menu.confirm => &[("y", "send"), ("esc", "cancel")],
            Self::Signal(_) => &[("enter", "choose"), ("esc", "close")],
        }
    }

    pub(super) fn on(&mut self, event: PopupEvent) -> Flow {
        match self {
            Self::Process { scroll, .. } => scroll.on(event),
            Self::Signal(menu) => menu.on(event),
        }
    }

    pub(super) fn draw(&self, shared: &Shared, on: Surface<'_>) {
        match self {
            Self::Process { pid, gpu, scroll, .. } => {
                let page = details::page(shared, on.look, (*pid, gpu), on.page_width());
                draw_text(page, scroll.0, on);
            }
            Self::Signal(menu) => menu.draw(on),
        }
    }
}

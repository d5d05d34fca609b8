//! The terminal: taken on entry, given back on every way out.

use std::io::{self, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::DisableMouseCapture;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{cursor, execute};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::canvas::{Canvas, erases_in_color, knows_links};
use crate::app::App;
use crate::ui::{self, Hits, Skin};

/// Buttons and wheel, in the coordinates that have no upper end. Crossterm's own command asks for
/// every movement as well, which nothing here uses and every one of which would wake the program.
const ENABLE_MOUSE: &str = "\x1b[?1000h\x1b[?1006h";

/// A terminal in raw mode on its alternate screen. Dropping it gives the terminal back.
pub(super) struct Screen {
    buffer: Buffer,
    canvas: Canvas,
    mouse: bool,
    /// Whether parts of the screen may be links.
    links: bool,
    /// Once it is, nothing is drawn any more: half a frame must not follow a panic's message onto
    /// the shell's screen.
    given_back: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal, and makes sure that a panic gives it back before it prints.
    ///
    /// Links are sent only if they are `wanted` and the terminal is one that knows them.
    pub(super) fn take(mouse: bool, wanted: bool) -> io::Result<Self> {
        let given_back = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&given_back);
        let area = area()?;
        let term = std::env::var("TERM").unwrap_or_default();
        let canvas = Canvas::new(area, erases_in_color(&term));
        let links = wanted && knows_links(&term);
        let screen = Self { buffer: Buffer::empty(area), canvas, mouse, links, given_back };
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Threads that only read the machine are caught and reported on the screen itself.
            if std::thread::current().name() == Some("main") {
                give_back(&gate);
                print(info);
            }
        }));
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&self) -> io::Result<()> {
        enable_raw_mode()?;
        let mouse = if self.mouse { ENABLE_MOUSE } else { "" };
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            cursor::Hide,
            SetTitle("warpscope"),
            Print(mouse)
        )
    }

    /// Draws the state; writes only what changed since the last time.
    pub(super) fn draw(&mut self, app: &App, skin: &Skin) -> io::Result<Hits> {
        self.buffer.reset();
        let hits = ui::draw(app, skin, self.buffer.area, &mut self.buffer);
        let links = if self.links { hits.links() } else { &[] };
        let bytes = self.canvas.update(&self.buffer, links);
        if !bytes.is_empty() && !self.given_back.load(Ordering::Relaxed) {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()?;
        }
        Ok(hits)
    }

    /// Forgets what is on the screen, so that the next draw writes everything.
    pub(super) fn repaint(&mut self) {
        self.canvas.forget(self.buffer.area);
    }

    /// Puts text on the clipboard of the terminal in front of the user, wherever that is.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Follows the window's size; tells the rows there are.
    pub(super) fn fit(&mut self) -> io::Result<u16> {
        let area = area()?;
        if area != self.buffer.area {
            self.buffer.resize(area);
            self.canvas.forget(area);
        }
        Ok(area.height)
    }

    /// Gives the terminal back, stops this process as job control expects, and takes it again.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        give_back(&self.given_back);
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        self.given_back.store(false, Ordering::Relaxed);
        self.enter()?;
        self.repaint();
        Ok(())
    }
}

fn area() -> io::Result<Rect> {
    let (width, height) = size()?;
    Ok(Rect::new(0, 0, width, height))
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.given_back);
    }
}

/// Errors are of no use here: there may be no terminal left to tell them to.
fn give_back(given_back: &AtomicBool) {
    if given_back.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut out = io::stdout();
    execute!(
        out,
        EndSynchronizedUpdate,
        SetAttribute(Attribute::Reset),
        DisableMouseCapture,
        cursor::Show,
        LeaveAlternateScreen
    )
    .ok();
    disable_raw_mode().ok();
    out.flush().ok();
}

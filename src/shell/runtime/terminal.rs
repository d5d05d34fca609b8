//! The terminal: taken on entry, given back on every way out.

use std::io::{self, Write};
use std::panic;

use crossterm::clipboard::CopyToClipboard;
use crossterm::style::Print;
use crossterm::terminal::{
    EnterAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{cursor, execute};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::stdio::stdout;
use rustix::termios::{Winsize, tcgetwinsize};

use super::canvas::{Canvas, erases_in_color, knows_links};
use super::{fatal, restore};
use crate::shell::App;
use crate::shell::draw as ui;
use crate::shell::draw::{Appearance, Hits};

/// Buttons and wheel, in the coordinates that have no upper end. Crossterm's own command asks for
/// every movement as well, which nothing here uses and every one of which would wake the program.
const ENABLE_MOUSE: &str = "\x1b[?1000h\x1b[?1006h";

/// What is pasted comes as one text instead of as keys.
const ENABLE_PASTE: &str = "\x1b[?2004h";

const DISABLE_MOUSE: &str = "\x1b[?1006l\x1b[?1000l";

/// A terminal in raw mode on its alternate screen. Dropping it gives the terminal back.
pub(crate) struct Screen {
    buffer: Buffer,
    canvas: Canvas,
    mouse: bool,
    /// Whether parts of the screen may be links.
    links: bool,
}

impl Screen {
    /// Takes the terminal, and makes sure that a panic gives it back before it prints, and a signal before it ends the program.
    ///
    /// Links are sent only if they are `wanted` and the terminal is one that knows them.
    pub(crate) fn take(mouse: bool, wanted: bool) -> io::Result<Self> {
        let area = area()?;
        let term = std::env::var("TERM").unwrap_or_default();
        let canvas = Canvas::new(area, erases_in_color(&term));
        let links = wanted && knows_links(&term);
        let screen = Self { buffer: Buffer::empty(area), canvas, mouse, links };
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Threads that only read the machine are caught and reported on the screen itself.
            if std::thread::current().name() == Some("main") {
                give_back();
                print(info);
            }
        }));
        fatal::before_the_end(restore::give_back);
        screen.enter()?;
        Ok(screen)
    }

    fn enter(&self) -> io::Result<()> {
        restore::note(self.links);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, SetTitle("warpscope"))?;
        self.set_modes()
    }

    fn set_modes(&self) -> io::Result<()> {
        let mouse = if self.mouse { ENABLE_MOUSE } else { "" };
        execute!(io::stdout(), cursor::Hide, Print(ENABLE_PASTE), Print(mouse))
    }

    /// Sends a sequence that draws nothing.
    pub(crate) fn send(&mut self, sequence: &str) -> io::Result<()> {
        execute!(io::stdout(), Print(sequence))
    }

    /// Takes the mouse, or leaves it to the terminal.
    pub(crate) fn use_mouse(&mut self, on: bool) -> io::Result<()> {
        self.mouse = on;
        execute!(io::stdout(), Print(if on { ENABLE_MOUSE } else { DISABLE_MOUSE }))
    }

    /// Draws the state; writes only what changed since the last time.
    pub(crate) fn draw(&mut self, app: &App, appearance: &Appearance) -> io::Result<Hits> {
        let hits = ui::draw(app, appearance, self.buffer.area, &mut self.buffer);
        let links = if self.links { hits.links() } else { &[] };
        let bytes = self.canvas.update(&self.buffer, links);
        // Half a frame must not follow a panic's message onto the shell's screen.
        if !bytes.is_empty() && restore::is_held() {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()?;
        }
        Ok(hits)
    }

    /// Forgets what is on the screen, so that the next draw writes everything.
    pub(crate) fn repaint(&mut self) {
        self.canvas.forget(self.buffer.area);
    }

    /// Puts text on the clipboard of the terminal in front of the user, wherever that is.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Follows the window's size; tells the rows there are.
    pub(crate) fn fit(&mut self) -> io::Result<u16> {
        let area = area()?;
        if area != self.buffer.area {
            self.buffer.resize(area);
            self.canvas.forget(area);
        }
        Ok(area.height)
    }

    /// Gives the terminal back, stops this process as job control expects, and takes it again.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        give_back();
        fatal::stop();
        self.enter()?;
        self.repaint();
        Ok(())
    }

    /// Sets everything again after a stop that came from outside, which left the terminal to the shell as it was.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        // Its own note of raw mode would keep it from looking.
        disable_raw_mode()?;
        enable_raw_mode()?;
        self.set_modes()?;
        self.repaint();
        Ok(())
    }
}

fn area() -> io::Result<Rect> {
    // What crossterm asks opens the terminal anew, once a frame.
    match tcgetwinsize(stdout()) {
        Ok(Winsize { ws_col: width @ 1.., ws_row: height @ 1.., .. }) => {
            Ok(Rect::new(0, 0, width, height))
        }
        _ => size().map(|(width, height)| Rect::new(0, 0, width, height)),
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Errors are of no use here: there may be no terminal left to report them to.
fn give_back() {
    io::stdout().flush().ok();
    restore::give_back();
    // Crossterm keeps its own note of raw mode.
    disable_raw_mode().ok();
}

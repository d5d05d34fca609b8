//! The terminal: taken on entry, given back on every way out.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    SetTitle, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;

use crate::app::App;
use crate::ui::{self, Hits, Skin};

type Backend = CrosstermBackend<BufWriter<Tty>>;

/// Standard output until the terminal was given back. Half a frame that is still buffered when the
/// program panics must not follow the message onto the shell's screen.
struct Tty {
    out: Stdout,
    given_back: Arc<AtomicBool>,
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.given_back.load(Ordering::Relaxed) {
            Ok(bytes.len())
        } else {
            self.out.write(bytes)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A terminal in raw mode on its alternate screen. Dropping it gives the terminal back.
pub(super) struct Screen {
    terminal: Terminal<Backend>,
    mouse: bool,
    given_back: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal, and makes sure that a panic gives it back before it prints.
    pub(super) fn take(mouse: bool) -> io::Result<Self> {
        let given_back = Arc::new(AtomicBool::new(false));
        let tty = Tty { out: io::stdout(), given_back: Arc::clone(&given_back) };
        let backend = CrosstermBackend::new(BufWriter::with_capacity(32 << 10, tty));
        let gate = Arc::clone(&given_back);
        let screen = Self { terminal: Terminal::new(backend)?, mouse, given_back };
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
        let mut out = io::stdout();
        execute!(out, EnterAlternateScreen, cursor::Hide, SetTitle("warpscope"))?;
        if self.mouse {
            execute!(out, EnableMouseCapture)?;
        }
        Ok(())
    }

    /// Draws the state; writes only what changed since the last time.
    pub(super) fn draw(&mut self, app: &App, skin: &Skin) -> io::Result<Hits> {
        let mut hits = Hits::default();
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| {
            let area = frame.area();
            hits = ui::draw(app, skin, area, frame.buffer_mut());
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        Ok(hits)
    }

    /// Forgets what is on the screen, so that the next draw writes everything.
    ///
    /// Not [`Terminal::clear`]: it asks the terminal where the cursor is, and the thread that reads
    /// the keys takes the answer.
    pub(super) fn repaint(&mut self) -> io::Result<()> {
        let area = self.area()?;
        self.terminal.resize(area)
    }

    /// Puts text on the clipboard of the terminal in front of the user, wherever that is.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Size of the screen.
    pub(super) fn area(&self) -> io::Result<Rect> {
        let size = self.terminal.size()?;
        Ok(Rect::new(0, 0, size.width, size.height))
    }

    /// Gives the terminal back, stops this process as job control expects, and takes it again.
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        give_back(&self.given_back);
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        self.given_back.store(false, Ordering::Relaxed);
        self.enter()?;
        self.repaint()
    }
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
    execute!(out, EndSynchronizedUpdate, DisableMouseCapture, cursor::Show, LeaveAlternateScreen)
        .ok();
    disable_raw_mode().ok();
    out.flush().ok();
}

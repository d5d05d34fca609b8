//! The real binary in a real pseudo-terminal. Waits for what should appear, never for time to pass:
//! a deadline only turns a wait for ever into a failure.

use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// Longest wait for anything; a loaded machine needs seconds, a healthy one milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A program in a terminal of its own.
pub(crate) struct Session {
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// Settings of the terminal before the program began.
    line: String,
    before: Termios,
    name: PathBuf,
    /// Everything the program wrote.
    pub(crate) raw: Vec<u8>,
    /// The program.
    pub(crate) child: Box<dyn Child + Send + Sync>,
}

/// How to start a program.
pub(crate) struct Start<'a> {
    /// The program; warpscope without one.
    pub(crate) program: Option<&'a Path>,
    /// Arguments.
    pub(crate) args: &'a [&'a str],
    /// Environment on top of a small clean one.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// Columns and rows.
    pub(crate) size: (u16, u16),
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self { program: None, args: &[], env: &[], size: (120, 36) }
    }
}

/// The emulator has at least one cell, whatever the terminal says.
fn cells(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap_or(NonZero::<u16>::MIN)
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { cols, rows, pixel_width: 0, pixel_height: 0 }
}

/// Echo, line editing, signal keys and the rest of what tcgetattr(3) tells.
fn line_discipline(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().expect("a terminal has settings"))
}

impl Session {
    /// Starts warpscope with a clean configuration.
    pub(crate) fn start(start: &Start<'_>) -> Self {
        let pair = native_pty_system().openpty(pty_size(start.size)).expect("opens a pty");
        let program = start.program.unwrap_or(Path::new(env!("CARGO_BIN_EXE_warpscope")));
        let mut command = CommandBuilder::new(program);
        command.args(start.args);
        command.env_clear();
        let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-configuration");
        command.env("XDG_CONFIG_HOME", &nowhere);
        command.env("XDG_DATA_HOME", nowhere);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LANG", "C.UTF-8");
        // What is installed on the machine of the test is nobody's business.
        command.env("WARPSCOPE_INSPECT", "off");
        for (name, value) in start.env {
            command.env(name, value);
        }
        let line = line_discipline(&*pair.master);
        let name = pair.master.tty_name().expect("a terminal has a name");
        let before = tcgetattr(std::fs::File::open(&name).expect("opens")).expect("has settings");
        let child = pair.slave.spawn_command(command).expect("starts warpscope");
        drop(pair.slave);
        let mut reader = pair.master.try_clone_reader().expect("reads the pty");
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            keyboard: pair.master.take_writer().expect("writes the pty"),
            master: pair.master,
            output,
            screen: vt100::Parser::new(cells(start.size.1), cells(start.size.0), 0),
            line,
            before,
            name,
            raw: Vec::new(),
            child,
        }
    }

    /// Types.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("types");
        self.keyboard.flush().expect("types");
    }

    /// Gives the terminal another size.
    pub(crate) fn resize(&mut self, size: (u16, u16)) {
        self.master.resize(pty_size(size)).expect("resizes");
        self.screen.screen_mut().set_size(cells(size.1), cells(size.0));
    }

    /// What the screen shows.
    pub(crate) fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Wipes the emulator's screen, as a program that scribbles over it would.
    pub(crate) fn forget(&mut self) {
        self.screen.process(b"\x1b[2J");
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.screen.process(bytes);
    }

    /// Whether a frame has begun and not ended: what is sent of it comes colour by colour, not row by row.
    fn is_within_frame(&self) -> bool {
        let last = |mark: &[u8]| self.raw.windows(mark.len()).rposition(|bytes| bytes == mark);
        last(b"\x1b[?2026h") > last(b"\x1b[?2026l")
    }

    /// Reads until the screen satisfies `wanted` at the end of a frame.
    pub(crate) fn wait(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let end = Instant::now() + patience;
        while self.is_within_frame() || !wanted(&self.text()) {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("not seen in time:\n{}", self.text()));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("ended before:\n{}", self.text()));
                }
            }
        }
        Ok(())
    }

    /// Reads until the program has taken the terminal: keys that come before it are edited as a line.
    pub(crate) fn see_taken(&mut self) {
        const ALTERNATE: &[u8] = b"\x1b[?1049h";
        let end = Instant::now() + PATIENCE;
        while !self.raw.windows(ALTERNATE.len()).any(|bytes| bytes == ALTERNATE) {
            let left = end.saturating_duration_since(Instant::now());
            let bytes = self.output.recv_timeout(left).expect("takes the terminal in time");
            self.take(&bytes);
        }
    }

    /// Reads until the screen shows `word`.
    pub(crate) fn see(&mut self, word: &str) {
        if let Err(screen) = self.wait(PATIENCE, |text| text.contains(word)) {
            panic!("{word:?} {screen}");
        }
    }

    /// Reads until the screen no longer shows `word`.
    pub(crate) fn see_gone(&mut self, word: &str) {
        if let Err(screen) = self.wait(PATIENCE, |text| !text.contains(word)) {
            panic!("{word:?} still there, {screen}");
        }
    }

    /// Waits for the end; the exit code.
    pub(crate) fn end(&mut self) -> u32 {
        self.hear_out();
        self.child.wait().expect("is waited for").exit_code()
    }

    /// Waits for the end; the signal that caused it.
    pub(crate) fn end_by_signal(&mut self) -> Option<i32> {
        self.hear_out();
        let child: &mut dyn Child = &mut *self.child;
        let child = child.downcast_mut::<std::process::Child>().expect("is a process");
        child.wait().expect("is waited for").signal()
    }

    fn hear_out(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().ok();
                    panic!("did not end:\n{}", self.text());
                }
            }
        }
    }

    /// Where a word stands, column and row from 1, as mouse reports count.
    pub(crate) fn place(&self, word: &str) -> (usize, usize) {
        let text = self.text();
        let mut lines = text.lines().enumerate();
        let found = lines.find_map(|(row, line)| {
            let at = line.find(word)?;
            Some((line[..at].chars().count() + 1, row + 1))
        });
        found.unwrap_or_else(|| panic!("{word:?} is not on screen:\n{text}"))
    }

    /// Clicks on a word.
    pub(crate) fn click(&mut self, word: &str) {
        let (column, row) = self.place(word);
        self.keys(&format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m"));
    }

    /// Turns the wheel over a word.
    pub(crate) fn wheel(&mut self, word: &str, down: bool) {
        let (column, row) = self.place(word);
        self.keys(&format!("\x1b[<{};{column};{row}M", if down { 65 } else { 64 }));
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        kill_process(pid.expect("runs"), signal).expect("is signalled");
    }

    /// Sets the terminal as it was before the program, as a shell does.
    pub(crate) fn cook(&self) {
        let file = std::fs::File::options().read(true).write(true).open(&self.name).expect("opens");
        tcsetattr(file, OptionalActions::Now, &self.before).expect("sets");
    }

    /// Whether the settings of the terminal are those from before.
    pub(crate) fn line_is_restored(&self) -> bool {
        line_discipline(&*self.master) == self.line
    }

    /// Asserts that a program that ended left the terminal as it found it.
    pub(crate) fn assert_clean(&self) {
        let left = self.left_behind();
        assert!(left.is_empty(), "left behind: {left:?}");
        assert!(self.line_is_restored(), "{} is not {}", line_discipline(&*self.master), self.line);
    }

    /// Modes that are still on: what a program that ended left behind.
    pub(crate) fn left_behind(&self) -> Vec<&'static str> {
        const MODES: &[(&str, &str, &str)] = &[
            ("alternate screen", "\x1b[?1049h", "\x1b[?1049l"),
            ("hidden cursor", "\x1b[?25l", "\x1b[?25h"),
            ("mouse", "\x1b[?1000h", "\x1b[?1000l"),
            ("mouse motion", "\x1b[?1003h", "\x1b[?1003l"),
            ("bracketed paste", "\x1b[?2004h", "\x1b[?2004l"),
            ("synchronized update", "\x1b[?2026h", "\x1b[?2026l"),
        ];
        let last = |needle: &str| {
            let needle = needle.as_bytes();
            self.raw.windows(needle.len()).rposition(|window| window == needle)
        };
        let on = |row: &&(&str, &str, &str)| last(row.1).is_some_and(|on| last(row.2) < Some(on));
        MODES.iter().filter(on).map(|row| row.0).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
    }
}

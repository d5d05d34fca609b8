//! The real binary in a real pseudo-terminal. Waits for what should appear, never for time to pass:
//! a deadline only turns a wait for ever into a failure.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Longest wait for anything; a loaded machine needs seconds, a healthy one milliseconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A program in a terminal of its own.
pub struct Session {
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    screen: vt100::Parser,
    /// Everything the program wrote.
    pub raw: Vec<u8>,
    /// The program.
    pub child: Box<dyn Child + Send + Sync>,
}

/// How to start a program.
pub struct Start<'a> {
    /// Arguments.
    pub args: &'a [&'a str],
    /// Environment on top of a small clean one.
    pub env: &'a [(&'a str, &'a str)],
    /// Columns and rows.
    pub size: (u16, u16),
}

impl Default for Start<'_> {
    fn default() -> Self {
        Self { args: &[], env: &[], size: (120, 36) }
    }
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { cols, rows, pixel_width: 0, pixel_height: 0 }
}

impl Session {
    /// Starts warpscope with a clean configuration.
    pub fn start(start: &Start<'_>) -> Self {
        let pair = native_pty_system().openpty(pty_size(start.size)).expect("opens a pty");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(start.args);
        command.env_clear();
        let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-configuration");
        command.env("XDG_CONFIG_HOME", nowhere);
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("LANG", "C.UTF-8");
        for (name, value) in start.env {
            command.env(name, value);
        }
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
            screen: vt100::Parser::new(start.size.1.max(1), start.size.0.max(1), 0),
            raw: Vec::new(),
            child,
        }
    }

    /// Types.
    pub fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("types");
        self.keyboard.flush().expect("types");
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, size: (u16, u16)) {
        self.master.resize(pty_size(size)).expect("resizes");
        self.screen.screen_mut().set_size(size.1.max(1), size.0.max(1));
    }

    /// What the screen shows.
    pub fn text(&self) -> String {
        self.screen.screen().contents()
    }

    fn take(&mut self, bytes: &[u8]) {
        self.raw.extend_from_slice(bytes);
        self.screen.process(bytes);
    }

    /// Reads until the screen satisfies `wanted`.
    pub fn wait(&mut self, patience: Duration, wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        let end = Instant::now() + patience;
        while !wanted(&self.text()) {
            match self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.take(&bytes),
                Err(RecvTimeoutError::Timeout) => return Err(format!("not seen in time:\n{}", self.text())),
                Err(RecvTimeoutError::Disconnected) => return Err(format!("ended before:\n{}", self.text())),
            }
        }
        Ok(())
    }

    /// Reads until the screen shows `word`.
    pub fn see(&mut self, word: &str) {
        if let Err(screen) = self.wait(PATIENCE, |text| text.contains(word)) {
            panic!("{word:?} {screen}");
        }
    }

    /// Reads until the screen no longer shows `word`.
    pub fn see_gone(&mut self, word: &str) {
        if let Err(screen) = self.wait(PATIENCE, |text| !text.contains(word)) {
            panic!("{word:?} still there, {screen}");
        }
    }

    /// Waits for the end; the exit code.
    pub fn end(&mut self) -> u32 {
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
        self.child.wait().expect("is waited for").exit_code()
    }

    /// Modes that are still on: what a program that ended left behind.
    pub fn left_behind(&self) -> Vec<&'static str> {
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

pub(crate) mod file;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, StderrLock, StdoutLock, Write};

use serde::Serialize;

use crate::commands::cli::{CliError, Exit, Options, Result};
use crate::config::args::{self, ColorChoice};
use crate::io::sink::jsonl;
use crate::io::sink::printer::Printer;
use crate::io::sink::table::Style;
use crate::text::clean;

/// Standard output, through the gate.
pub(crate) fn stdout() -> Printer<StdoutLock<'static>> {
    Printer::new(io::stdout().lock())
}

/// Standard error, through the gate.
pub(crate) fn stderr() -> Printer<StderrLock<'static>> {
    Printer::new(io::stderr().lock())
}

/// Writes one line to standard error; a line feed in a name does not begin another.
pub(crate) fn note(text: impl Display) {
    // Nothing is left to tell when stderr is gone.
    let _ = writeln!(stderr(), "{}", clean(&text.to_string(), false));
}

/// One line on standard error that says how far something has come, where somebody looks.
pub(crate) struct StatusLine {
    shown: bool,
}

impl StatusLine {
    /// A line that is empty so far.
    pub(crate) fn new() -> Self {
        Self { shown: io::stderr().is_terminal() }
    }

    /// Whether the line can be seen.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown
    }

    /// Writes a text in place of the one before.
    pub(crate) fn show(&self, text: &str) {
        if self.shown {
            let mut err = stderr();
            let _ = err.erase_line().and_then(|()| write!(err, "{}", clean(text, false)));
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.shown {
            let _ = stderr().erase_line();
        }
    }
}

/// Writes a text to standard output.
pub(crate) fn print(text: &str) -> Result<Exit> {
    let feed = if text.ends_with('\n') { "" } else { "\n" };
    write(text.as_bytes())?;
    write(feed.as_bytes())?;
    Ok(Exit::Fine)
}

/// Writes bytes to standard output, at once.
pub(crate) fn write(bytes: &[u8]) -> Result<()> {
    let mut out = stdout();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// A value as JSON for standard output: indented for a person, one line for a program.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<()> {
    let person = io::stdout().is_terminal();
    let bytes = if person { jsonl::pretty(value) } else { jsonl::line(value) };
    write(&bytes.map_err(not_json)?)
}

pub(crate) fn not_json(error: serde_json::Error) -> CliError {
    CliError::Failed(format!("cannot put the result into JSON: {error}"))
}

/// Fails where there is no screen to draw on.
pub(crate) fn demand_terminal() -> Result<()> {
    if io::stdout().is_terminal() {
        return Ok(());
    }
    Err(CliError::usage(
        "the dashboard needs a terminal; `warpscope snapshot` prints text, `warpscope stream` JSON Lines",
    ))
}

/// How a table for standard output is drawn.
pub(crate) fn style(options: &Options) -> Style {
    let terminal = io::stdout().is_terminal();
    let dumb = options.env.text("TERM").is_none_or(|term| term == "dumb");
    let color = match options.get(&args::COLOR) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal && !dumb,
    };
    Style { width: columns(), ascii: options.is_ascii(), color }
}

/// Columns of the terminal; `None` when output goes elsewhere and may be as wide as it likes.
fn columns() -> Option<usize> {
    let terminal = io::stdout().is_terminal();
    let size = terminal.then(crossterm::terminal::size).and_then(Result::ok);
    size.map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}

/// Says on stderr what went wrong, if anything, and picks the code. A reader that went away is no
/// error: `warpscope stream | head` ends quietly.
pub(crate) fn report(outcome: Result<Exit>) -> Exit {
    let (exit, message) = match outcome {
        Ok(exit) => return exit,
        Err(CliError::Usage(message)) => (Exit::Usage, message),
        Err(CliError::Failed(message)) => (Exit::CheckFailed, message),
        Err(CliError::NoGpu(message)) => (Exit::NoGpu, message),
        Err(CliError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => return Exit::Fine,
        Err(CliError::Output(error)) => {
            (Exit::CheckFailed, format!("cannot write to standard output: {error}"))
        }
    };
    // Nothing is left to tell when stderr is gone too.
    let _ = writeln!(stderr(), "error: {}", indented(message.trim_end()));
    exit
}

/// Every line but the first is indented, so that a name with a line feed in it cannot pass for a message of its own.
fn indented(message: &str) -> String {
    let lines: Vec<String> =
        message.lines().map(|line| format!("  {}", clean(line, false))).collect();
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_pass_for_another_message() {
        assert_eq!(indented("a\nerror: b\n\n  c"), "a\n  error: b\n\n    c");
        assert_eq!(indented("\u{9b}a\u{202e}"), "\u{fffd}a\u{fffd}");
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let gone = CliError::Output(io::Error::from(ErrorKind::BrokenPipe));
        assert_eq!(report(Err(gone)), Exit::Fine);
    }
}

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::exit::{CliError, Exit};
use super::options::{ColorChoice, Options};
use crate::sink::jsonl;
use crate::sink::table::Style;

/// Writes a text to standard output.
pub(super) fn print(text: &str) -> Result<Exit, CliError> {
    let feed = if text.ends_with('\n') { "" } else { "\n" };
    write(text.as_bytes())?;
    write(feed.as_bytes())?;
    Ok(Exit::Fine)
}

/// Writes bytes to standard output, at once.
pub(super) fn write(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// A value as JSON for standard output: indented for a person, one line for a program.
pub(super) fn json<T: Serialize>(value: &T) -> Result<(), CliError> {
    let person = io::stdout().is_terminal();
    let bytes = if person { jsonl::pretty(value) } else { jsonl::line(value) };
    write(&bytes.map_err(not_json)?)
}

pub(super) fn not_json(error: serde_json::Error) -> CliError {
    CliError::Failed(format!("cannot put the result into JSON: {error}"))
}

/// Fails where there is no screen to draw on.
pub(super) fn demand_terminal() -> Result<(), CliError> {
    if io::stdout().is_terminal() {
        return Ok(());
    }
    Err(CliError::Usage(
        "the dashboard needs a terminal; `warpscope snapshot` prints text, `warpscope stream` JSON Lines"
            .to_owned(),
    ))
}

/// How a table for standard output is drawn.
pub(super) fn style(options: &Options) -> Style {
    let terminal = io::stdout().is_terminal();
    let dumb = options.env.text("TERM").is_none_or(|term| term == "dumb");
    let color = match options.view.color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal && !dumb,
    };
    Style { width: columns(), ascii: options.view.ascii, color }
}

/// Columns of the terminal; `None` when output goes elsewhere and may be as wide as it likes.
fn columns() -> Option<usize> {
    let terminal = io::stdout().is_terminal();
    let size = terminal.then(crossterm::terminal::size).and_then(Result::ok);
    size.map(|(columns, _)| usize::from(columns)).filter(|columns| *columns > 0)
}

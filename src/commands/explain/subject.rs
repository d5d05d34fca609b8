//! Where a text comes from: a file, standard input, or a command that runs.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use warpscope_probes::bounded::{Accept, Input};

use crate::commands::cli::{CliError, Exit, Result};
use crate::commands::output::note;
use crate::engine::explain::{Digest, Reader};
use crate::worker::signal_name;

/// Bytes read at once.
const PIECE: usize = 1 << 18;
/// What shells answer where a command cannot be started.
const NOT_FOUND: u8 = 127;

/// A command that has ended.
pub(super) struct Ended {
    pub(super) digest: Digest,
    pub(super) exit: Exit,
    /// Whether it failed, or wrote what broken numbers look like.
    pub(super) is_suspicious: bool,
}

/// Reads the text of a file; of standard input where none is named.
pub(super) fn read(path: Option<&Path>) -> Result<Digest> {
    let mut reader = Reader::default();
    let path = path.filter(|path| path.as_os_str() != OsStr::new("-"));
    let Some(path) = path else {
        if io::stdin().is_terminal() {
            note("paste the error, then press Ctrl-D");
        }
        take(&mut io::stdin().lock(), |piece| reader.push(piece))
            .map_err(|error| failed("-", &error))?;
        return Ok(reader.finish());
    };
    let name = path.display().to_string();
    let mut input = Input::open(path, Accept::Pipes).map_err(|error| failed(&name, &error))?;
    take(&mut input, |piece| reader.push(piece)).map_err(|error| failed(&name, &error))?;
    Ok(reader.finish())
}

fn failed(name: &str, error: &io::Error) -> CliError {
    CliError::Usage(format!("cannot read {name}: {error}"))
}

fn take(input: &mut impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => each(&piece[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Runs a command; what it writes is passed on and read.
pub(super) fn watch(words: &[String]) -> Result<Ended> {
    let (program, rest) = words.split_first().expect("asked for only with a command");
    let mut command = Command::new(program);
    command.args(rest).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            note(format_args!("{program}: {error}"));
            let digest = Digest::default();
            return Ok(Ended { digest, exit: Exit::Command(NOT_FOUND), is_suspicious: false });
        }
    };
    let reader = Mutex::new(Reader::default());
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| pass(errors, &mut io::stderr(), &reader));
        pass(output, &mut io::stdout(), &reader);
    });
    let status = child.wait().map_err(CliError::failed)?;
    let mut reader = reader.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Exit::Signal(signal) = Exit::of(status) {
        reader.push(format!("\nended by {}\n", signal_name(signal.into())).as_bytes());
    }
    let digest = reader.finish();
    let is_suspicious =
        !status.success() || digest.lines.iter().any(|line| looks_broken(&line.text));
    Ok(Ended { digest, exit: Exit::of(status), is_suspicious })
}

/// Passes on and reads; somebody who no longer listens does not end the command.
fn pass(from: Option<impl Read>, to: &mut impl Write, reader: &Mutex<Reader>) {
    let Some(mut from) = from else { return };
    let ended = take(&mut from, |piece| {
        let _ = to.write_all(piece).and_then(|()| to.flush());
        if let Ok(mut reader) = reader.lock() {
            reader.push(piece);
        }
    });
    if let Err(error) = ended {
        note(format_args!("the output ends early: {error}"));
    }
}

/// A model whose numbers overflow prints its first token for ever.
fn looks_broken(text: &str) -> bool {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    text.contains("!!!!!!!!") || words.into_iter().any(|word| word.eq_ignore_ascii_case("nan"))
}

//! How alerts leave the program besides the screen: the terminal's bell or notification, a command, a log.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::SystemTime;

use warpscope_probes::private;

/// Where alerts go.
#[derive(Clone, Debug, Default)]
pub struct AlertOutput {
    /// Words of the option: none, bell, osc9, osc777.
    pub signal: String,
    /// A command and its first arguments.
    pub command: Vec<String>,
    /// A file that grows by a line for each.
    pub log: Option<PathBuf>,
}

impl AlertOutput {
    /// What the terminal gets; the text has no control characters.
    pub(crate) fn sequence(&self, text: &str) -> Option<String> {
        Some(match self.signal.as_str() {
            "bell" => "\x07".to_owned(),
            "osc9" => format!("\x1b]9;{text}\x07"),
            "osc777" => format!("\x1b]777;notify;warpscope;{}\x07", text.replace(';', ",")),
            _ => return None,
        })
    }

    /// Writes the log and runs the command; says what does not work.
    pub(crate) fn send(&self, text: &str) -> Result<(), String> {
        let logged = self.log.as_ref().map_or(Ok(()), |path| {
            append(path, text).map_err(|error| format!("{}: {error}", path.display()))
        });
        let troubles: Vec<_> =
            [logged, self.run(text)].into_iter().filter_map(Result::err).collect();
        if troubles.is_empty() { Ok(()) } else { Err(troubles.join("; ")) }
    }

    fn run(&self, text: &str) -> Result<(), String> {
        let Some((program, args)) = self.command.split_first() else { return Ok(()) };
        let mut command = Command::new(program);
        command.args(args).arg(text);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
        let wait = thread::Builder::new().name("alert".into()).spawn(move || child.wait());
        wait.map(drop).map_err(|error| error.to_string())
    }
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), private::folder)?;
    let mut file = OpenOptions::new().append(true).create(true).mode(private::MODE).open(path)?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now());
    writeln!(file, "{now} {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_is_told_as_it_was_asked_for() {
        let by = |signal: &str| {
            AlertOutput { signal: signal.into(), ..AlertOutput::default() }.sequence("a;b")
        };
        assert_eq!(by("none"), None);
        assert_eq!(by("bell").as_deref(), Some("\x07"));
        assert_eq!(by("osc9").as_deref(), Some("\x1b]9;a;b\x07"));
        assert_eq!(by("osc777").as_deref(), Some("\x1b]777;notify;warpscope;a,b\x07"));
    }

    #[test]
    fn the_log_grows_by_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("state/alerts.log");
        let output = AlertOutput { log: Some(log.clone()), ..AlertOutput::default() };
        output.send("one").and_then(|()| output.send("two")).expect("writes");
        let text = std::fs::read_to_string(log).expect("reads");
        let ends: Vec<_> = text.lines().filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(ends, ["one", "two"]);
    }

    #[test]
    fn what_does_not_work_is_named_and_keeps_nothing_else_from_working() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("alerts.log");
        let command = vec!["/nonexistent/program".to_owned()];
        let output = AlertOutput { command, log: Some(log.clone()), ..AlertOutput::default() };
        assert!(output.send("one").is_err_and(|why| why.contains("/nonexistent/program")));
        let text = std::fs::read_to_string(log).expect("reads");
        assert!(text.ends_with(" one\n"), "{text}");
        let output = AlertOutput { log: Some(folder.path().to_owned()), ..output };
        let why = output.send("two").expect_err("neither works");
        let folder = folder.path().display().to_string();
        assert!(why.contains("/nonexistent/program") && why.contains(&folder), "{why}");
    }
}

//! A comparison for build servers: JUnit XML and GitHub's annotations.

use std::borrow::Cow;
use std::io::{self, Write};

use super::text::{interval, median, percent};
use super::{FailOn, Shown};
use crate::commands::cli::{Options, Result};
use crate::commands::output;
use crate::commands::output::file::Target;
use crate::config::args;
use crate::runs::compare::{Alone, Call, Row};
use crate::runs::samples::Key;
use crate::text::clean;

/// An error where the report cannot be written, before anything is measured.
pub(crate) fn check_report(options: &Options) -> Result<()> {
    let path = options.get(&args::JUNIT);
    let target = path.as_ref().map(|path| Target { path, force: options.get(&args::FORCE) });
    target.map_or(Ok(()), |target| target.check().map(drop))
}

/// Writes what the options ask for beside the comparison itself.
pub(super) fn publish(shown: &Shown<'_>, options: &Options) -> Result<()> {
    let fail_on = FailOn::new(options);
    if options.get(&args::GITHUB) {
        annotations(shown, &fail_on).iter().for_each(|line| output::note(format_args!("{line}")));
    }
    let Some(path) = options.get(&args::JUNIT) else { return Ok(()) };
    let target = Target { path: &path, force: options.get(&args::FORCE) };
    target.write(|out| junit(shown, &fail_on, out))
}

fn name(key: &Key, config: &str) -> String {
    format!("{key} {config}").trim_end().to_owned()
}

/// `+5.00% (+4.10% to +5.90%), 40.0 us to 42.0 us; reason`.
fn message(row: &Row) -> String {
    let time = row.judgement.time;
    let change = time.map_or_else(|| "unknown change".to_owned(), |time| percent(time.change));
    let held = time.and_then(interval).map(|held| format!(" ({held})")).unwrap_or_default();
    let (before, after) = (median(&row.sides.0), median(&row.sides.1));
    format!("{change}{held}, {before} to {after}; {}", row.judgement.reason)
}

/// A workflow command for everything that fails the build, and for what is slower without failing it.
fn annotations(shown: &Shown<'_>, fail_on: &FailOn) -> Vec<String> {
    let line = |fails: bool, title: &str, text: &str| {
        let level = if fails { "error" } else { "warning" };
        format!("::{level} title={}::{}", property(title), data(text))
    };
    let rows = shown.comparison.rows.iter().filter_map(|row| {
        let fails = fail_on.call(row.judgement.call);
        let title = format!("{}: {}", row.judgement.call, name(&row.key, &row.config));
        (fails || row.judgement.call == Call::Slower).then(|| line(fails, &title, &message(row)))
    });
    let missing = shown.comparison.alone.iter().filter(|one| one.is_missing).map(|one| {
        let text = format!("{}: {}", shown.names[one.run + 1], one.why);
        line(fail_on.has("missing"), &format!("MISSING: {}", name(&one.key, &one.config)), &text)
    });
    let errors = shown.errors.iter().map(|why| line(fail_on.has("error"), "ERROR", why));
    rows.chain(missing).chain(errors).collect()
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A suite per run, a case per kernel. What cannot be decided passes unless it was asked to fail.
fn junit(shown: &Shown<'_>, fail_on: &FailOn, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>")?;
    for (run, suite) in shown.names.iter().skip(1).enumerate() {
        let rows: Vec<&Row> = shown.comparison.rows.iter().filter(|row| row.run == run).collect();
        let alone = shown.comparison.alone.iter();
        let missing: Vec<&Alone> = alone.filter(|one| one.run == run && one.is_missing).collect();
        let errors = if run == 0 { shown.errors } else { &[] };
        let failed = rows.iter().filter(|row| fail_on.call(row.judgement.call)).count();
        let (gone, skipped) =
            if fail_on.has("missing") { (missing.len(), 0) } else { (0, missing.len()) };
        writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{skipped}\">",
            xml(suite),
            rows.len() + missing.len() + errors.len(),
            failed + gone,
            if fail_on.has("error") { errors.len() } else { 0 },
        )?;
        for row in rows {
            let what = if fail_on.call(row.judgement.call) { "failure" } else { "" };
            let said = format!("{} {}", row.judgement.call, message(row));
            case(out, suite, &name(&row.key, &row.config), what, &said)?;
        }
        for one in missing {
            let what = if fail_on.has("missing") { "failure" } else { "skipped" };
            case(out, suite, &name(&one.key, &one.config), what, &format!("missing: {}", one.why))?;
        }
        for why in errors {
            let what = if fail_on.has("error") { "error" } else { "" };
            case(out, suite, "every run succeeds and is read", what, why)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")
}

fn case(out: &mut dyn Write, suite: &str, name: &str, what: &str, message: &str) -> io::Result<()> {
    write!(out, "    <testcase classname=\"{}\" name=\"{}\">", xml(suite), xml(name))?;
    match what {
        "" => write!(out, "<system-out>{}</system-out>", xml(message))?,
        what => write!(out, "<{what} message=\"{}\"/>", xml(message))?,
    }
    writeln!(out, "</testcase>")
}

/// Text for an attribute or an element; characters that XML cannot hold are replaced.
fn xml(text: &str) -> Cow<'_, str> {
    let text = clean(text, false);
    let escapes = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")];
    let escape = |text: String, (from, to): (char, &str)| text.replace(from, to);
    Cow::Owned(escapes.into_iter().fold(text.into_owned(), escape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::compare::{Comparison, Judgement};
    use crate::runs::samples::Key;

    fn comparison() -> Comparison {
        let row = |name: &str, call| Row {
            key: Key { name: name.into(), ..Key::default() },
            judgement: Judgement { call, reason: "100%\nsure".into(), ..Judgement::default() },
            ..Row::default()
        };
        let gone = Key { name: "gone".into(), ..Key::default() };
        Comparison {
            rows: vec![row("foo<int, 2>", Call::Slower), row("b", Call::Same)],
            alone: vec![Alone {
                key: gone,
                config: String::new(),
                run: 0,
                is_missing: true,
                why: "why".into(),
            }],
        }
    }

    #[test]
    fn annotations_name_what_fails_and_what_is_slower_on_one_line_each() {
        let comparison = comparison();
        let names = ["old".to_owned(), "new".to_owned()];
        let errors = ["a.json: exit code 1".to_owned()];
        let shown = Shown { comparison: &comparison, names: &names, errors: &errors };
        let lines = annotations(&shown, &FailOn(vec!["missing".to_owned()]));
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("::warning title=SLOWER%3A foo<int%2C 2>::"), "{lines:?}");
        assert!(lines[0].ends_with("100%25%0Asure"), "{lines:?}");
        assert_eq!(lines[1], "::error title=MISSING%3A gone::new: why");
        assert_eq!(lines[2], "::warning title=ERROR::a.json: exit code 1");
    }

    #[test]
    fn junit_counts_failures_and_escapes_names() {
        let comparison = comparison();
        let names = ["old".to_owned(), "new & \u{1b}".to_owned()];
        let errors = ["a.json: exit code 1".to_owned()];
        let shown = Shown { comparison: &comparison, names: &names, errors: &errors };
        let mut out = Vec::new();
        junit(&shown, &FailOn(vec!["slower".to_owned(), "error".to_owned()]), &mut out)
            .expect("writes");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{text}");
        assert!(text.contains("name=\"foo&lt;int, 2&gt;\"><failure message=\"SLOWER "), "{text}");
        assert!(text.contains("name=\"new &amp; ") && !text.contains('\u{1b}'), "{text}");
    }
}

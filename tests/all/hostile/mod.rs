//! Every command, in every form it prints, on names that mean harm: nothing a terminal obeys and nothing that fools a reader
//! comes out, and no name begins a line of its own.

mod distinct;
mod inputs;

use std::process::{Command, Output, Stdio};

use stage::Stage;
use warpscope::commands::COMMANDS;
use warpscope::io::sink::export::EXPORTS;

use self::distinct::Distinct;
pub(crate) use self::inputs::Inputs;

/// Colours, a title, C1, what turns, hides or smuggles text, a mark of the program's own, and a line feed before a message.
pub(crate) const HOSTILE: &str = "\u{1b}[32mE\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2066}\u{200b}\u{ad}\u{e0041}\u{feff}\u{7f}\u{fdd3}\u{8}\r\nFORGED: line\t";

/// Escape sequences of the program's own colours.
const COLORS: &[&str] = &["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[35m"];

/// What the bytes of a command are.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Colored,
    Json,
}

struct Case {
    words: Vec<String>,
    form: Form,
    gpus: bool,
}

/// Whether a character must not be in what is printed: said anew, not asked of the program.
pub(crate) fn is_harmful(letter: char) -> bool {
    let invisible = [
        '\u{ad}'..='\u{ad}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
        '\u{fdd0}'..='\u{fdef}',
        '\u{e0000}'..='\u{e007f}',
    ];
    letter.is_control() || invisible.iter().any(|range| range.contains(&letter))
}

fn faults(bytes: &[u8], form: Form) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return vec!["is no text".to_owned()] };
    let mut found = Vec::new();
    let mut rest = text.to_owned();
    if form == Form::Colored {
        found.extend(text.contains("\x1b[32mE").then(|| "a colour from outside".to_owned()));
        COLORS.iter().for_each(|color| rest = rest.replace(color, ""));
    }
    let harmful =
        rest.char_indices().find(|(_, letter)| is_harmful(*letter) && !"\n\t".contains(*letter));
    found.extend(harmful.map(|(at, letter)| {
        let begin = rest[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
        format!("{letter:?} after {:?}", &rest[begin..at])
    }));
    let forged = text.lines().find(|line| line.starts_with("FORGED"));
    found.extend(forged.map(|line| format!("a line of its own: {line:?}")));
    found
}

/// Whether an output is JSON documents, none of whose objects has a key twice.
fn is_json(bytes: &[u8]) -> bool {
    let documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Distinct>();
    let read: Result<Vec<Distinct>, _> = documents.collect();
    read.is_ok_and(|all| !all.is_empty())
}

/// One command line in each form: as it is, in colour, as JSON.
fn forms(cases: &mut Vec<Case>, words: &[&str], forms: &[Form]) {
    for form in forms {
        let more: &[&str] = match form {
            Form::Plain => &[],
            Form::Colored => &["--color", "always"],
            Form::Json => &["--json"],
        };
        let words = words.iter().chain(more).map(|word| (*word).to_owned()).collect();
        cases.push(Case { words, form: *form, gpus: false });
    }
}

use Form::{Colored, Json, Plain};

/// Frames of a recording.
fn frames(inputs: &Inputs, cases: &mut Vec<Case>) {
    let file = inputs.named("recording", ".jsonl");
    forms(cases, &["snapshot", "-s", &file], &[Plain, Colored, Json]);
    forms(cases, &["doctor", "-s", &file], &[Plain, Colored, Json]);
    forms(cases, &["stream", "--speed", "1000", "-s", &file], &[Plain]);
    forms(cases, &["stream", "--speed", "1000", "--format", "csv", "-s", &file], &[Plain]);
    forms(cases, &["record", &inputs.named("copy", ".jsonl"), "--once", "-s", &file], &[Plain]);
    for panel in ["overview", "compat", "bench", "processes", "history"] {
        for picture in ["svg", "text"] {
            let words = [
                "screenshot",
                "--panel",
                panel,
                "--format",
                picture,
                "--size",
                "200x60",
                "-s",
                &file,
            ];
            forms(
                cases,
                &[&words[..], &["--import", &inputs.named("journal", ".jsonl")]].concat(),
                &[Plain],
            );
        }
    }
    forms(cases, &["replay", &file], &[Plain]);
}

/// Journals of runs.
fn runs(inputs: &Inputs, cases: &mut Vec<Case>) {
    let (before, after) = (inputs.named("journal", ".jsonl"), inputs.named("after", ".jsonl"));
    forms(cases, &["compare", &before, &after], &[Plain, Colored, Json]);
    forms(cases, &["compare", &before, &after, "--markdown"], &[Plain]);
    forms(cases, &["compare", &before, &after, "--csv"], &[Plain]);
    for export in EXPORTS {
        forms(cases, &["export", &before, "--format", export.id], &[Plain]);
    }
    forms(cases, &["history", "--import", &before, "--import", &after], &[Plain, Colored, Json]);
    forms(cases, &["history", "gemm"], &[Plain, Colored, Json]);
    forms(cases, &["tune", &inputs.named("tune", ".toml"), "--once"], &[Plain, Colored, Json]);
    let name = r"import json;print(json.dumps({'name':'\u009b\u202e\nFORGED','t_ns':[1]}))";
    forms(
        cases,
        &["record", &inputs.named("run", ".jsonl"), "--", "python3", "-c", name],
        &[Plain],
    );
    forms(cases, &["mark", HOSTILE], &[Plain]);
}

/// Rules, models, environments, binaries.
fn answers(inputs: &Inputs, cases: &mut Vec<Case>) {
    let rules = inputs.rules().display().to_string();
    let all = [Plain, Colored, Json];
    for (model, end) in [("model", ""), ("model", ".gguf")] {
        let model = inputs.named(model, end);
        forms(
            cases,
            &["check", "demo", "--rules", &rules, "--gpu", "P100", "--model", &model],
            &all,
        );
        forms(cases, &["check", "--rules", &rules, "--gpu", "P100", "--model", &model], &[Plain]);
    }
    let asked = ["demo", "fp16", "--rules", &rules, "--gpu", "P100"];
    for form in ["--markdown", "--csv", "--ascii"] {
        forms(cases, &[&["check"], &asked[..], &[form]].concat(), &[Plain]);
    }
    forms(cases, &[&["why"], &asked[..], &["--model", &inputs.named("model", "")]].concat(), &all);
    forms(cases, &[&["why"], &asked[..], &["--fix", "1"]].concat(), &[Plain]);
    forms(
        cases,
        &[&["why"], &asked[..], &["--write", &inputs.named("fix", ".txt")]].concat(),
        &[Plain],
    );
    forms(cases, &["frameworks", "--rules", &rules], &all);
    for (kind, end) in
        [("venv", ""), ("image", ".tar"), ("wheel", ".whl"), ("archive", ".a"), ("library", ".so")]
    {
        forms(cases, &["inspect", &inputs.named(kind, end), "--gpu", "P100,H100"], &all);
    }
}

/// GPUs with hostile names.
fn gpus(cases: &mut Vec<Case>) {
    let first = cases.len();
    let all = [Plain, Colored, Json];
    forms(cases, &["snapshot"], &all);
    forms(cases, &["doctor"], &[Plain, Json]);
    forms(cases, &["stream", "--count", "1"], &[Plain]);
    forms(cases, &["check", "--not-installed", "hardware"], &all);
    forms(cases, &["why", "--not-installed", "hardware", "instruction=mma_bf16"], &all);
    forms(cases, &["probe", "--only", "gate.dp4a", "--wait", "0s"], &[Plain, Json]);
    forms(cases, &["selftest", "--gpu", "--kernel", "mem.copy", "--wait", "0s"], &[Plain, Json]);
    forms(cases, &["bench", "--gpu", "7"], &[Plain]);
    cases[first..].iter_mut().for_each(|case| case.gpus = true);
}

/// Command lines with something wrong in them that the message names.
const MISTAKES: &[&[&str]] = &[
    &["snapshot", "--config", HOSTILE],
    &["snapshot", "-s", HOSTILE],
    &["screenshot", "--theme", HOSTILE],
    &["screenshot", "--panel", HOSTILE],
    &["check", HOSTILE, "--gpu", "T4"],
    &["check", "vllm", "--dtype", HOSTILE, "--gpu", "T4"],
    &["check", "--gpu", HOSTILE],
    &["check", "--rules", HOSTILE, "--gpu", "T4"],
    &["why", HOSTILE, "--model", HOSTILE],
    &["inspect", HOSTILE],
    &["compare", HOSTILE, HOSTILE],
    &["export", HOSTILE, "--format", "csv"],
    &["history", "--import", HOSTILE],
    &["tune", HOSTILE, "--once"],
    &["noise", "--dtype", HOSTILE],
    &["bench", "--dtype", HOSTILE],
    &["bench", "--against", HOSTILE],
    &["bench", "--gpu", "--kernel", HOSTILE],
    &["selftest", "--gpu", "--kernel", HOSTILE],
    &["probe", "--only", HOSTILE],
    &["completions", HOSTILE],
    &["man", HOSTILE],
    &["dtypes", HOSTILE],
    &["gpus", HOSTILE],
    &["frameworks", HOSTILE],
    &["record", HOSTILE, "--attach", "1", "--stdin"],
    &["record", "run.jsonl", "--", HOSTILE],
];

/// Every command with a flag it does not have, and all of the above.
fn mistakes(inputs: &Inputs, cases: &mut Vec<Case>) {
    let flag = format!("--{HOSTILE}");
    for spec in COMMANDS.iter().filter(|spec| !spec.hidden) {
        forms(cases, &[spec.name, &flag], &[Plain]);
    }
    let config = inputs.named("config", ".toml");
    forms(cases, &["config", "check", "--config", &config], &[Plain]);
    forms(cases, &["snapshot", "--config", &config], &[Plain]);
    MISTAKES.iter().for_each(|words| forms(cases, words, &[Plain]));
}

fn run(case: &Case, inputs: &Inputs, stage: &Stage) -> Output {
    let program = env!("CARGO_BIN_EXE_warpscope");
    let mut command = if case.gpus { stage.command(program) } else { Command::new(program) };
    let home = inputs.folder.path();
    for name in
        ["HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"]
    {
        command.env(name, home);
    }
    command.env("XDG_CONFIG_HOME", home.join("none")).current_dir(home).stdin(Stdio::null());
    command.args(&case.words).output().expect("starts")
}

#[test]
fn no_command_lets_a_hostile_name_through() {
    let inputs = Inputs::new();
    let stage = Stage::new("t4x2+procs+escapes");
    let mut cases = Vec::new();
    frames(&inputs, &mut cases);
    runs(&inputs, &mut cases);
    answers(&inputs, &mut cases);
    gpus(&mut cases);
    mistakes(&inputs, &mut cases);
    let (mut wrong, mut reached) = (Vec::new(), 0);
    for case in &cases {
        let output = run(case, &inputs, &stage);
        let said = [&output.stdout[..], &output.stderr].concat();
        reached += usize::from(String::from_utf8_lossy(&said).contains("FORGED"));
        for (bytes, form) in [(&output.stdout, case.form), (&output.stderr, Plain)] {
            let found = faults(bytes, form).into_iter();
            wrong.extend(found.map(|fault| format!("{:?}: {fault}", case.words)));
        }
        if case.form == Json && !is_json(&output.stdout) {
            wrong.push(format!("{:?}: is no JSON", case.words));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        reached * 3 > cases.len() * 2,
        "{reached} of {} outputs have a hostile name",
        cases.len()
    );
}

#[test]
fn the_search_finds_what_it_looks_for() {
    for bad in ["\u{1b}[31m", "\u{9b}", "\u{202e}", "\u{200b}", "\r", "a\nFORGED"] {
        assert!(!faults(bad.as_bytes(), Plain).is_empty(), "{bad:?}");
    }
    assert!(faults(b"\x9b", Plain).len() == 1 && faults("推論 ✔\n".as_bytes(), Plain).is_empty());
    assert!(faults(b"\x1b[31mx\x1b[0m", Colored).is_empty());
    assert!(!faults(HOSTILE.as_bytes(), Colored).is_empty());
}

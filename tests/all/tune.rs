//! `warpscope tune` as its user runs it, on little programs of the shell that say what they took: who is best is known beforehand.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use warpscope::runs::run_log::Journal;
use warpscope::runs::samples as points;

use crate::pty::{PATIENCE, Session, Start};

/// Prints as many samples as it is asked for, a little apart, around the time that `$time` is set to.
const PRINT: &str = r#"
say() {
    awk -v t="$time" -v count="$samples" -v more="$1" 'BEGIN {
        for (i = 0; i < count; i++) list = list (i ? "," : "") t * (1 + (i % 5) / 1000)
        print "name=f t_us=" list more
    }'
}
"#;

struct Desk(tempfile::TempDir);

impl Desk {
    /// A folder with `run.sh` and a spec around it.
    fn new(script: &str, spec: &str) -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        desk.write("run.sh", &format!("block=$1 samples=$2 output=$3\n{PRINT}\n{script}\n"));
        desk.write(
            "f.toml",
            &format!(
                "name = \"f\"\nsource = \"run.sh\"\n{spec}\n[params]\nblock = [1, 2, 4, 8, 16]\n"
            ),
        );
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("writes");
    }

    fn tune(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("tune").arg(self.path("f.toml")).args(more);
        command.env("XDG_STATE_HOME", self.path("state")).env("TMPDIR", self.0.path());
        command
    }

    fn once(&self, more: &[&str]) -> Output {
        self.tune(&[&["--once"], more].concat()).output().expect("starts")
    }

    /// Lines of `--json` of one type.
    fn json(&self, kind: &str) -> Vec<Value> {
        let output = self.once(&["--json"]);
        let all = text(&output.stdout);
        let lines = all.lines().map(|line| serde_json::from_str::<Value>(line).expect("is JSON"));
        let found: Vec<Value> = lines.filter(|line| line["type"] == kind).collect();
        assert!(!found.is_empty(), "{all}{}", text(&output.stderr));
        found
    }

    fn journal(&self) -> Journal {
        let bytes = std::fs::read(self.path("state/warpscope/tune/f.jsonl")).expect("is there");
        let journal = Journal::read(&*bytes).expect("reads");
        assert_eq!(journal.skipped.first, None);
        journal
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const RUN: &str = "run = [\"sh\", \"run.sh\", \"{block}\", \"{samples}\"]\n";
const BY_ERROR: &str =
    "[contract]\nkind = \"elementwise\"\ntolerance = 1e-5\n[[shape]]\nn = 1000\n";

/// 140 µs at one, least at 8.
const VALLEY: &str =
    "case $block in 1) time=140;; 2) time=130;; 4) time=120;; 8) time=100;; *) time=110;; esac";

fn by_block<'a>(lines: &'a [Value], block: &str) -> &'a Value {
    lines.iter().find(|line| line["parameters"]["block"] == block).expect("was tried")
}

#[test]
fn the_grid_finds_the_best_and_journal_and_results_read_back() {
    let desk = Desk::new(&format!("{VALLEY}\nsay ' error=1e-7'"), &format!("{RUN}{BY_ERROR}"));
    let results = desk.path("t4.json").display().to_string();
    let output = desk.once(&["--export", &results]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let last = said.lines().last().expect("a verdict");
    assert!(
        last.contains("best: block=8") && last.contains("FASTER than the baseline: -28.5"),
        "{said}"
    );
    assert!(said.lines().count() == 6 && said.contains("block=16"), "one line each: {said}");

    let run = desk.journal().runs.remove(0);
    let samples = |block: &str| -> usize {
        let config = format!("block={block}");
        let of = run.points.iter().filter(|point| point.config.as_ref() == Some(&config));
        of.map(|point| point.t_ns.len()).sum()
    };
    assert_eq!((samples("8"), samples("1")), (30, 30 + 4 * 30));
    assert_eq!(run.points[0].key.to_string(), "f n=1000");
    assert!(run.identity.image.is_some() && run.end.is_some_and(|end| end.samples == 270));

    let text = std::fs::read_to_string(&results).expect("was written");
    let read = points::read(&text).expect("is T4");
    assert_eq!((read.format, read.points.len(), read.left_out), ("kernel-tuner", 5, 0));
}

#[test]
fn a_search_goes_on_where_it_was_left_and_its_winner_is_kept() {
    let script = format!("echo $block >> tried\n{VALLEY}\nsay ' error=1e-7'");
    let desk = Desk::new(&script, &format!("{RUN}{BY_ERROR}"));
    let runs = || std::fs::read_to_string(desk.path("tried")).expect("is there").lines().count();
    assert!(desk.once(&[]).status.success());
    let first = runs();
    let again = desk.once(&["--resume"]);
    let said = text(&again.stdout);
    assert!(said.contains("5 candidates were measured before"), "{said}{}", text(&again.stderr));
    assert!(said.contains("best: block=8") && said.contains("FASTER"), "{said}");
    assert_eq!(runs(), first, "nothing is run again");
    desk.write("run.sh", &format!("block=$1 samples=$2\n{PRINT}\n{script}\n"));
    assert!(text(&desk.once(&["--resume"]).stdout).contains("0 candidates were measured before"));
    let tuned = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("tuned").args(words).env("XDG_STATE_HOME", desk.path("state"));
        command.output().expect("starts")
    };
    assert_eq!(text(&tuned(&["f", "n=1000"]).stdout), "block=8\n");
    assert!(text(&tuned(&[]).stdout).contains("f n=1000"));
    assert_eq!(tuned(&["g"]).status.code(), Some(1));
    let wisdom = desk.path("wisdom.json").display().to_string();
    assert!(tuned(&["f", "--wisdom", &wisdom]).status.success());
    let stored = std::fs::read_to_string(&wisdom).expect("was written");
    let stored: Value = serde_json::from_str(&stored).expect("is JSON");
    let best = &stored["data"][0]["tunable_parameters"]["block"];
    assert_eq!((&stored["kernel_name"], best), (&"f".into(), &8.into()));
}

/// The second is the faster beside the baseline and the slower in the final; every sample of both is kept.
#[test]
fn a_final_that_the_baseline_wins_keeps_the_time_that_was_measured() {
    let time = "case $block in 1) time=100;; 2) [ $(wc -l <ran2) -le 6 ] && time=97 || time=101;; *) time=140;; esac";
    let script = format!("echo >>ran$block\n{time}\nsay ' error=0'");
    let desk = Desk::new(&script, &format!("{RUN}{BY_ERROR}"));
    let said = text(&desk.once(&[]).stdout);
    assert!(said.contains("best: block=1, 100.2000 us, the baseline; nothing is faster"), "{said}");
    let kept =
        std::fs::read_to_string(desk.path("state/warpscope/tune/winners.json")).expect("is kept");
    let kept: Value = serde_json::from_str(&kept).expect("is JSON");
    let winner = kept.pointer("/machines").and_then(Value::as_object).expect("a machine");
    let winner = &winner.values().next().expect("one")["f n=1000"];
    assert_eq!(winner["change"], 0.0, "{winner}");
    let median = winner["best"][0]["median_ns"].as_f64().expect("a number");
    assert!((median - 100_200.0).abs() < 1.0, "{winner}");
    let run = desk.journal().runs.remove(0);
    let samples = |block: &str| -> usize {
        let of = run.points.iter().filter(|point| point.config.as_deref() == Some(block));
        of.map(|point| point.t_ns.len()).sum()
    };
    assert_eq!((samples("block=1"), samples("block=2")), (30 + 4 * 30 + 30, 30 + 30));
}

#[test]
fn tainted_samples_are_recorded_as_such_and_make_no_winner() {
    let clocks = "clocks=$(yes 900 | head -n $samples | paste -s -d ,)";
    let script = format!("{VALLEY}\n{clocks}\nsay \" error=0 sm_mhz=$clocks tainted=throttled\"");
    let desk = Desk::new(&script, &format!("{RUN}{BY_ERROR}"));
    let output = desk.once(&[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no winner: samples are tainted (throttled)"), "{said}");
    assert!(!desk.path("state/warpscope/tune/winners.json").exists());
    let run = desk.journal().runs.remove(0);
    assert_eq!(run.points.iter().map(|point| point.t_ns.len()).sum::<usize>(), 270);
    for point in &run.points {
        assert_eq!((&point.tainted[..], point.sm_mhz[0]), (&["throttled".to_owned()][..], 900.0));
    }
}

#[test]
fn an_objective_that_nothing_measures_is_named() {
    let objective = "objective = { minimize = \"tiem_ns\" }\n";
    let desk = Desk::new("time=1\nsay ' error=0'", &format!("{objective}{RUN}{BY_ERROR}"));
    let said = text(&desk.once(&[]).stdout);
    assert!(said.contains("the objective tiem_ns has no value for any candidate"), "{said}");
}

#[test]
fn what_a_compiler_said_is_shown_once() {
    let build = "build = [\"sh\", \"-c\", \"echo f.c: In function f >&2; echo f.c:3: error: no b here >&2; exit 1\", \"{block}\"]\n";
    let desk = Desk::new("say ' error=1e-7'", &format!("{build}{RUN}{BY_ERROR}"));
    let said = text(&desk.once(&[]).stdout);
    assert_eq!(said.matches("compile: f.c:3: error: no b here").count(), 5, "{said}");
    assert_eq!(said.matches("\n  f.c: In function f\n").count(), 1, "{said}");
}

#[test]
fn a_wrong_result_is_never_best_whichever_way_it_is_known() {
    let wrong_sum = format!(
        "{VALLEY}\ncase $block in 8) sum=37;; 16) sum=nan;; *) sum=36;; esac\nsay \" checksum=$sum\""
    );
    let wrong_error = format!(
        "{VALLEY}\ncase $block in 8) error=-1e-3;; 16) error=NaN;; *) error=1e-7;; esac\nsay \" error=$error\""
    );
    // Four bytes of a float in little-endian: 1.0, but 2.0 for 8 and a NaN for 16.
    let wrong_file = format!(
        "{VALLEY}\ncase $block in 8) end='\\000\\100';; 16) end='\\300\\177';; *) end='\\200\\077';; esac\nprintf \"\\000\\000$end\" > \"$output\"\nsay"
    );
    let by_sum =
        "[contract]\nkind = \"reference\"\nreference = [\"echo\", \"checksum=36\"]\nrel = 1e-6\n";
    let by_file = "[contract]\nkind = \"reference\"\noutput = \"f32\"\nreference = [\"sh\", \"-c\", \"printf '\\\\000\\\\000\\\\200\\\\077' > $0\", \"{output}\"]\n";
    let with_output = "run = [\"sh\", \"run.sh\", \"{block}\", \"{samples}\", \"{output}\"]\n";
    for (script, run, contract) in
        [(wrong_sum, RUN, by_sum), (wrong_error, RUN, BY_ERROR), (wrong_file, with_output, by_file)]
    {
        let desk = Desk::new(&script, &format!("{run}{contract}"));
        let lines = desk.json("result");
        for block in ["8", "16"] {
            let line = by_block(&lines, block);
            assert_eq!(
                (&line["state"], &line["median_ns"]),
                (&"correctness".into(), &Value::Null),
                "{line}"
            );
        }
        assert_eq!(by_block(&lines, "4")["call"], "faster");
        assert_eq!(desk.json("best")[0]["parameters"]["block"], "4");
        let run = desk.journal().runs.remove(0);
        let config = |point: &points::Point| point.config.clone().unwrap_or_default();
        assert!(
            run.points
                .iter()
                .all(|point| !["block=8", "block=16"].contains(&config(point).as_str()))
        );
        assert!(
            run.marks.iter().any(|mark| mark.text.starts_with("correctness: f")),
            "{:?}",
            run.marks
        );
    }
}

#[test]
fn a_result_that_was_not_written_is_not_that_of_the_run_before() {
    let script = format!("{VALLEY}\n[ $block = 8 ] || echo 1 > \"$output\"\nsay");
    let contract = "run = [\"sh\", \"run.sh\", \"{block}\", \"{samples}\", \"{output}\"]\n[contract]\nkind = \"reference\"\nreference = [\"sh\", \"-c\", \"echo 1 > $0\", \"{output}\"]\n";
    let lines = Desk::new(&script, contract).json("result");
    assert_eq!(by_block(&lines, "8")["why"], "wrote no output");
    assert_eq!(by_block(&lines, "4")["state"], "done");
}

#[test]
fn hangs_crashes_and_silence_are_told_apart_and_nothing_is_left_running() {
    let script = format!(
        "{VALLEY}\ncase $block in 2) sleep 1000 & echo $! > sleeper; wait;; 4) echo oops >&2; kill -SEGV $$;; 8) echo done; exit 0;; 16) echo 'name=f t_us=soon'; exit 0;; esac\nsay ' error=0'"
    );
    let desk = Desk::new(&script, &format!("timeout = \"1s\"\n{RUN}{BY_ERROR}"));
    let lines = desk.json("result");
    for (block, state, why) in [
        ("1", "done", ""),
        ("2", "timeout", "killed after 1s"),
        ("4", "runtime", "killed by signal 11: oops"),
        ("8", "correctness", "prints no error="),
        ("16", "runtime", "soon"),
    ] {
        let line = by_block(&lines, block);
        assert_eq!(line["state"], state, "{line}");
        assert!(line["why"].as_str().unwrap_or_default().contains(why), "{line}");
    }
    let pid = std::fs::read_to_string(desk.path("sleeper")).expect("it began");
    let pid = Pid::from_raw(pid.trim().parse().expect("a number")).expect("a process");
    let end = Instant::now() + PATIENCE;
    while test_kill_process(pid).is_ok() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(test_kill_process(pid).is_err(), "the sleeper is still there");
    let names: Vec<_> = std::fs::read_dir(desk.0.path()).expect("lists").flatten().collect();
    assert!(!names.iter().any(|one| one.file_name().to_string_lossy().contains("warpscope-tune")));
}

#[test]
fn a_build_that_fails_shows_the_first_lines_of_the_compiler() {
    let build = "build = [\"sh\", \"-c\", \"echo sum.c:3: expected a semicolon >&2; exit 1\"]\n";
    let desk = Desk::new("time=1\nsay ' error=0'", &format!("{build}{RUN}{BY_ERROR}"));
    let output = desk.once(&[]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert!(error.contains("the build ends with 1\n  sum.c:3: expected a semicolon"), "{error}");
    desk.write("t4.json", "results of yesterday");
    let results = desk.path("t4.json").display().to_string();
    assert_eq!(desk.once(&["--export", &results, "--force"]).status.code(), Some(1));
    let kept = std::fs::read_to_string(results).expect("is there");
    assert_eq!(kept, "results of yesterday", "nothing was tried");
    assert!(desk.journal().runs[0].points.is_empty());
}

#[test]
fn each_candidate_has_a_build_of_its_own_where_the_build_depends_on_it() {
    let build = "build = [\"sh\", \"-c\", \"test $1 != 4 && echo $1 > $0/built\", \"{build}\", \"{block}\"]\nrun = [\"sh\", \"run.sh\", \"{block}\", \"{samples}\", \"{build}\"]\n";
    // Taking turns, each must find what was built for it.
    let script =
        format!("{VALLEY}\n[ \"$(cat $output/built)\" = $block ] || exit 9\nsay ' error=0'");
    let lines = Desk::new(&script, &format!("{build}{BY_ERROR}")).json("result");
    for (block, state) in [("1", "done"), ("2", "done"), ("4", "compile"), ("8", "done")] {
        assert_eq!(by_block(&lines, block)["state"], state, "{lines:?}");
    }
}

#[test]
fn what_cannot_be_tuned_is_said_with_the_line_and_nothing_runs() {
    let good = format!("{RUN}{BY_ERROR}");
    for (spec, code, part) in [
        (format!("sampels = 3\n{good}"), 2, "f.toml:3: unknown field `sampels`"),
        (good.replace("{block}", "{blok}"), 2, "f.toml:3: {blok}"),
        (format!("kind = \"ptx\"\n{good}"), 2, "f.toml:1: `entry` and `[launch]`"),
        (good.replace("tolerance = 1e-5", ""), 2, "f.toml:5: nothing defines a correct result"),
        (good.replace("\"sh\"", "\"/nowhere/sh\""), 1, ""),
    ] {
        let desk = Desk::new("time=1\nsay ' error=0'", &spec);
        let output = desk.once(&[]);
        assert_eq!(output.status.code(), Some(code), "{spec}");
        assert!(text(&output.stderr).contains(part), "{}", text(&output.stderr));
    }
    let desk = Desk::new("time=1", &good);
    desk.write(
        "f.toml",
        &std::fs::read_to_string(desk.path("f.toml"))
            .expect("reads")
            .replace("run.sh\"\n", "gone.sh\"\n"),
    );
    assert!(text(&desk.once(&[]).stderr).contains("gone.sh"), "a source that is missing");
    std::fs::remove_file(desk.path("f.toml")).expect("is there");
    assert_eq!(desk.once(&[]).status.code(), Some(2), "a spec that is missing");
    let desk = Desk::new("time=1", &good);
    desk.write(
        "f.toml",
        &std::fs::read_to_string(desk.path("f.toml"))
            .expect("reads")
            .replace("[1, 2, 4, 8, 16]", "[]"),
    );
    assert!(text(&desk.once(&[]).stderr).contains("`block` has no values"));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let script = "time=100\n[ $block = 1 ] || { touch started; sleep 1000; }\nsay ' error=0'";
    let desk = Desk::new(script, &format!("timeout = \"1h\"\n{RUN}{BY_ERROR}"));
    let mut child =
        desk.tune(&["--once"]).stdout(std::process::Stdio::piped()).spawn().expect("starts");
    let end = Instant::now() + PATIENCE;
    while !desk.path("started").exists() {
        assert!(Instant::now() < end, "the second candidate never began");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("fits")).expect("a process");
    kill_process(pid, Signal::INT).expect("is there");
    assert_eq!(child.wait().expect("ends").code(), Some(130));
    let run = desk.journal().runs.remove(0);
    assert_eq!(run.points.iter().map(|point| point.t_ns.len()).sum::<usize>(), 30);
    assert!(run.marks.iter().any(|mark| mark.text.contains("ended before")), "{:?}", run.marks);
}

#[test]
fn in_a_terminal_every_save_begins_anew_and_a_broken_build_waits_for_the_next() {
    let build = "build = [\"sh\", \"-n\", \"run.sh\"]\n";
    let script = |best: u32| {
        format!(
            "{PRINT}\nblock=$1 samples=$2\n[ $block = {best} ] && time=50 || time=100\nsay ' error=0'\n"
        )
    };
    let desk = Desk::new("", &format!("{build}{RUN}{BY_ERROR}"));
    desk.write("run.sh", &script(8));
    let (spec, state) =
        (desk.path("f.toml").display().to_string(), desk.path("state").display().to_string());
    let path = std::env::var("PATH").expect("has one");
    let mut session = Session::start(&Start {
        args: &["tune", &spec],
        env: &[("XDG_STATE_HOME", &state), ("PATH", &path)],
        ..Start::default()
    });
    session.see("best: block=8");
    session.see("waiting for a save");
    desk.write("run.sh", "if then\n");
    assert!(!session.text().contains('\u{fffd}'), "{}", session.text());
    session.see("the build ends with 2");
    desk.write("run.sh", &script(16));
    session.see("best: block=16");
    session.see("SAME, now block=16");
    session.keys("\x03");
    assert_eq!(session.end(), 0, "{}", session.text());
    let journal = desk.journal();
    assert_eq!(journal.runs.len(), 3);
    assert!(
        journal.runs[2].marks.iter().any(|mark| mark.text == "saved: run.sh"),
        "{:?}",
        journal.runs[2].marks
    );
}

#[test]
fn the_kernels_of_warpscope_are_candidates_on_any_machine() {
    let desk = Desk::new("", "");
    desk.write(
        "f.toml",
        "name = \"f\"\nkind = \"cpu\"\nsamples = 10\nblocks = 2\ndtypes = [\"fp32\", \"fp16\"]\nshape = [{ n = 64, k = 256 }]\n[contract]\nkind = \"gemv\"\n[params]\nkernel = [\"portable\", \"avx2\"]\nblock = [0, 16]\n",
    );
    let lines = desk.json("result");
    assert_eq!(lines.len(), 8);
    for line in &lines {
        let (kernel, state) = (&line["parameters"]["kernel"], &line["state"]);
        let half = line["kernel"].as_str().is_some_and(|key| key.contains("fp16"));
        if half && kernel == "avx2" {
            assert_eq!(state, "constraints", "there is none: {line}");
        } else if kernel == "portable" {
            assert!(state == "done" || state == "stopped", "{line}");
            assert!(line["error"].as_f64().is_some_and(|error| error < 1e-5), "{line}");
            // A machine that is too busy has no roof.
            assert!(line["roof_share"].as_f64().is_none_or(|share| share > 0.0), "{line}");
        }
    }
}

#[test]
fn the_example_runs_and_finds_its_wrong_candidate() {
    let desk = Desk::new("", "");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tune/sum.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["tune", spec, "--once"]).env("XDG_STATE_HOME", desk.path("state"));
    let output = command.output().expect("starts");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert!(
        said.contains(
            "unroll=3  correctness: checksum: number 1 is 4999950000 instead of 5000050000"
        ),
        "{said}"
    );
}

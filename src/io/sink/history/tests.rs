use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;
use crate::runs::compare::SplitMix;
use crate::runs::run_log::{End, Identity, Mark, Record};
use crate::runs::samples::Key;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn journal(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).expect("writes");
        self.path(name)
    }

    fn store(&self) -> History {
        History::create(&self.path(FOLDER)).expect("a store")
    }
}

fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("is JSON") + "\n"
}

/// A run of one kernel with thirty samples around a level in microseconds.
fn run(at: usize, level: f64) -> String {
    let identity = Identity {
        at_ms: 1_780_000_000_000 + at as u64 * 86_400_000,
        commit: Some(format!("{at:08x}{:032x}", 0)),
        driver: Some(if at < 20 { "570.1" } else { "580.2" }.to_owned()),
        ..Identity::default()
    };
    let mut random = SplitMix::new(at as u64);
    let times: Vec<String> =
        (0..30).map(|_| (level * (1.0 + 0.01 * random.normal())).to_string()).collect();
    line(&Record::Run(Box::new(identity)))
        + &format!("name=gemm m=16 device=cpu t_us={}\n", times.join(","))
        + &line(&Record::End(End { at_ms: 1, samples: 30, ..End::default() }))
}

#[test]
fn the_same_run_imported_twice_is_one_run() {
    let folder = Folder::new();
    let journal = folder.journal("a.jsonl", &(run(0, 10.0) + &run(1, 11.0)));
    let store = folder.store();
    let first = store.import(&journal).expect("imports");
    assert_eq!((first.runs, first.again, first.samples, first.skipped.count), (2, 0, 60, 0));
    let before = store.trends().expect("reads");
    let copy = folder.journal("copy.jsonl", &std::fs::read_to_string(&journal).expect("reads"));
    let second = store.import(&copy).expect("imports");
    assert_eq!((second.runs, second.again), (2, 2));
    let after = store.trends().expect("reads");
    let medians = |all: &[crate::store::trends::Trend]| -> Vec<_> {
        all[0].run_medians.iter().map(|moment| (moment.run.hash, moment.quartiles)).collect()
    };
    assert_eq!(medians(&before), medians(&after));
    assert_eq!((after.len(), after[0].run_medians.len()), (1, 2));
    let files = folder.path(FOLDER).read_dir().expect("lists").count();
    assert_eq!(files, 4, "two for each run, and nothing is left of the staging folder");
}

#[test]
fn a_journal_that_has_grown_is_built_anew() {
    let folder = Folder::new();
    let whole = run(0, 10.0);
    let journal = folder.journal("a.jsonl", &whole);
    let store = folder.store();
    store.import(&journal).expect("imports");
    let more = whole + "name=gemm m=16 device=cpu t_us=10,10 tainted=shared\nnot a line\n";
    let imported = store.import(&folder.journal("a.jsonl", &more)).expect("imports");
    assert_eq!((imported.runs, imported.again, imported.skipped.count), (1, 1, 1));
    assert!(imported.skipped.first.is_some_and(|(line, _)| line == 5));
    let moment = &store.trends().expect("reads")[0].run_medians[0];
    assert_eq!((moment.clean, moment.tainted, moment.run.ended), (30, 2, true));
}

#[test]
fn a_run_whose_commit_was_found_later_is_the_same_run_with_it() {
    let folder = Folder::new();
    let mut identity = Identity { at_ms: 7, ..Identity::default() };
    let points = "name=k device=cpu t_us=1\n".repeat(2);
    let begun = line(&Record::Run(Box::new(identity.clone()))) + &points;
    let store = folder.store();
    store.import(&folder.journal("a.jsonl", &begun)).expect("imports");
    identity.commit = Some("c0ffee".into());
    let whole = begun + &line(&Record::Identity(Box::new(identity.clone()))) + &points;
    let imported = store.import(&folder.journal("a.jsonl", &whole)).expect("imports");
    assert_eq!((imported.runs, imported.again, imported.skipped.count), (1, 1, 0));
    let trends = store.trends().expect("reads");
    assert_eq!((trends[0].run_medians.len(), trends[0].run_medians[0].clean), (1, 4));
    assert_eq!(trends[0].run_medians[0].run.identity, identity);
}

#[test]
fn runs_of_one_moment_on_two_machines_are_two() {
    let folder = Folder::new();
    let store = folder.store();
    for id in ["a", "b"] {
        let identity = Identity { at_ms: 7, id: Some(id.into()), ..Identity::default() };
        let text = line(&Record::Run(Box::new(identity))) + "name=k device=cpu t_us=1\n";
        store.import(&folder.journal(id, &text)).expect("imports");
    }
    assert_eq!(store.trends().expect("reads")[0].run_medians.len(), 2);
}

#[test]
fn what_is_imported_is_what_the_journal_says() {
    let folder = Folder::new();
    let text = line(&Record::Run(Box::default()))
        + "name=a device=T4 cfg=x t_us=1,2,3\nname=a device=T4 cfg=x t_us=50\n"
        + "{\"type\":\"around\",\"at_ms\":1,\"points\":1,\"tainted\":[\"shared\"]}\n"
        + &line(&Record::Mark(Mark { at_ms: 5, text: "new tile".into() }));
    let store = folder.store();
    store.import(&folder.journal("a.jsonl", &text)).expect("imports");
    let trend = &store.trends().expect("reads")[0];
    let moment = &trend.run_medians[0];
    assert_eq!((moment.clean, moment.tainted, moment.median()), (3, 1, Some(2000.0)));
    assert_eq!((trend.device.as_str(), moment.run.marks[0].text.as_str()), ("T4", "new tile"));
    let samples = store.samples(moment.run.hash).expect("reads");
    let sides: Vec<_> = samples.sides().collect();
    let [(key, config, side)] = sides.as_slice() else { panic!("{sides:?}") };
    let wanted = Key { name: "a".into(), device: Some("T4".into()), ..Key::default() };
    assert_eq!((key, config.as_str()), (&wanted, "x"));
    assert_eq!((side.samples, side.tainted), (3, 1));
    assert_eq!(side.taints, ["shared"]);
    assert!(store.samples(12345).expect("reads").points() == 0);
}

#[test]
fn runs_without_their_first_line_are_told_apart_by_their_samples() {
    let folder = Folder::new();
    let store = folder.store();
    for (name, time) in [("a", 1), ("b", 2), ("c", 1)] {
        let text = format!("{{\"type\":\"point\",\"name\":\"k\",\"t_ns\":[{time}]}}\n");
        store.import(&folder.journal(name, &text)).expect("imports");
    }
    assert_eq!(store.trends().expect("reads")[0].run_medians.len(), 2);
}

#[test]
fn a_step_goes_through_the_store_and_flat_noise_stays_flat() {
    let folder = Folder::new();
    let store = folder.store();
    let flat: String = (0..40).map(|at| run(at, 10.0)).collect();
    store.import(&folder.journal("flat.jsonl", &flat)).expect("imports");
    assert_eq!(store.trends().expect("reads")[0].change_points, []);
    // The same runs, slower by five per cent from the twentieth on.
    let step: String = (0..40).map(|at| run(at, if at < 20 { 10.0 } else { 10.5 })).collect();
    store.import(&folder.journal("step.jsonl", &step)).expect("imports");
    let trend = &store.trends().expect("reads")[0];
    assert_eq!(
        (trend.run_medians.len(), trend.change_points.len()),
        (40, 1),
        "{:?}",
        trend.change_points
    );
    let shift = trend.change_points[0];
    assert!(shift.at.abs_diff(20) <= 2 && (shift.change - 0.05).abs() < 0.005, "{shift:?}");
    let beside: Vec<String> = trend.beside(&shift).into_iter().map(|one| one.what).collect();
    assert_eq!(beside, ["commit", "driver"]);
}

#[test]
fn only_the_owner_can_read_it_and_errors_name_the_path() {
    let folder = Folder::new();
    let path = folder.path("deep/er/history");
    let store = History::create(&path).expect("a store");
    store.import(&folder.journal("a.jsonl", &run(0, 10.0))).expect("imports");
    let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
    let files = path.read_dir().expect("lists").map(|file| mode(&file.expect("lists").path()));
    assert_eq!((files.collect(), mode(&path)), (vec![0o600, 0o600], 0o700));
    let file = folder.journal("file", "");
    let error = History::open(&file).expect_err("no folder");
    assert!(error.to_string().contains("file: "), "{error}");
    let error = History::create(&file.join("history")).expect_err("no folder");
    assert!(error.to_string().contains("file/history"), "{error}");
    assert!(History::open(&folder.path("none")).expect("no error").is_none());
    assert!(!folder.path("none").exists(), "looking makes nothing");
}

#[test]
fn a_long_run_is_summed_up_from_a_bounded_draw() {
    let folder = Folder::new();
    let mut text = line(&Record::Run(Box::default()));
    for at in 0..300 {
        let times: Vec<String> =
            (0..1000).map(|sample| (at * 1000 + sample + 1).to_string()).collect();
        text += &format!("name=k device=cpu t_ns={}\n", times.join(","));
    }
    let store = folder.store();
    let imported = store.import(&folder.journal("a.jsonl", &text)).expect("imports");
    let moment = &store.trends().expect("reads")[0].run_medians[0];
    assert_eq!((imported.samples, moment.clean), (300_000, 300_000));
    // The standard error of a uniform median over 32 768 draws is 300 000 / (2 √32 768) = 829.
    let median = moment.median().expect("samples");
    assert!((median - 150_000.5).abs() < 5.0 * 829.0, "{median}");
    let (.., side) = store.samples(moment.run.hash).expect("reads").sides().next().expect("k");
    assert_eq!((side.all, side.quartiles), (300_000, moment.quartiles));
}

#[test]
fn nothing_is_added_of_a_file_that_is_no_journal() {
    let folder = Folder::new();
    let store = folder.store();
    let notes = folder.journal("notes.txt", "name=k t_us=1\nnotes\n");
    let error = store.import(&notes).expect_err("no journal");
    assert!(error.to_string().contains("notes.txt is not a run log"), "{error}");
    assert_eq!(folder.path(FOLDER).read_dir().expect("lists").count(), 0);
}

#[test]
fn a_summary_that_is_damaged_or_too_new_is_named_with_its_remedy() {
    let folder = Folder::new();
    let store = folder.store();
    store.import(&folder.journal("a.jsonl", &run(0, 10.0))).expect("imports");
    let want = store.trends().expect("reads");
    let run = want[0].run_medians[0].run.hash;
    let summary = run_file::path(&folder.path(FOLDER), run, run_file::SUMMARY);
    let samples = run_file::path(&folder.path(FOLDER), run, run_file::SAMPLES);
    for (text, part) in [
        ("{", "is damaged (EOF"),
        ("", "is damaged"),
        ("{\"schema\":99}", "newer warpscope (format 99;"),
    ] {
        std::fs::write(&summary, text).expect("writes");
        let error = store.trends().expect_err("is refused").to_string();
        assert!(error.contains(part) && error.contains("history/"), "{error}");
    }
    // What the message advises.
    std::fs::remove_file(&summary).expect("is there");
    store.import(&samples).expect("imports");
    let found = store.trends().expect("reads");
    assert_eq!(found[0].run_medians[0].quartiles, want[0].run_medians[0].quartiles);
}

#[test]
fn writers_at_once_lose_nothing() {
    let folder = Folder::new();
    folder.store();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let folder = &folder;
            scope.spawn(move || {
                // Two runs of its own, and one that all of them import.
                let text = run(writer * 2, 10.0) + &run(writer * 2 + 1, 10.0) + &run(99, 10.0);
                let journal = folder.journal(&format!("{writer}.jsonl"), &text);
                folder.store().import(&journal).expect("imports");
            });
        }
    });
    assert_eq!(folder.store().trends().expect("reads")[0].run_medians.len(), 9);
}

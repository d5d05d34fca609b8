use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::schema::STEPS;
use super::*;
use crate::runs::compare::SplitMix;
use crate::runs::journal::{End, Identity, Mark, Record};
use crate::runs::points::Key;

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
        History::create(&self.path(FILE)).expect("a store")
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
fn it_is_the_owners_only_and_names_its_path_in_errors() {
    let folder = Folder::new();
    let path = folder.path("deep/er/history.db");
    drop(History::create(&path).expect("a store"));
    let mode = |path: &Path| path.metadata().expect("is there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    let below_a_file = path.join("history.db");
    let error = History::create(&below_a_file).expect_err("no folder");
    assert!(error.to_string().contains("er/history.db"), "{error}");
    assert!(History::open(&folder.path("none.db")).expect("no error").is_none());
    assert!(!folder.path("none.db").exists(), "looking makes nothing");
}

#[test]
fn the_same_run_imported_twice_is_one_run() {
    let folder = Folder::new();
    let journal = folder.journal("a.jsonl", &(run(0, 10.0) + &run(1, 11.0)));
    let mut store = folder.store();
    let first = store.import(&journal).expect("imports");
    assert_eq!((first.runs, first.again, first.samples, first.skipped.count), (2, 0, 60, 0));
    let before = store.trends().expect("reads");
    let copy = folder.journal("copy.jsonl", &std::fs::read_to_string(&journal).expect("reads"));
    let second = store.import(&copy).expect("imports");
    assert_eq!((second.runs, second.again), (2, 2));
    let after = store.trends().expect("reads");
    let medians = |all: &[crate::store::kernels::Trend]| -> Vec<_> {
        all[0].moments.iter().map(|moment| (moment.run.hash, moment.quartiles)).collect()
    };
    assert_eq!(medians(&before), medians(&after));
    assert_eq!((after.len(), after[0].moments.len()), (1, 2));
    let rows: i64 = store
        .database
        .query_row("SELECT count(*) FROM samples", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(rows, 2, "nothing of the old ones is left");
}

#[test]
fn a_journal_that_has_grown_is_built_anew() {
    let folder = Folder::new();
    let whole = run(0, 10.0);
    let journal = folder.journal("a.jsonl", &whole);
    let mut store = folder.store();
    store.import(&journal).expect("imports");
    let more = whole + "name=gemm m=16 device=cpu t_us=10,10 tainted=shared\nnot a line\n";
    let imported = store.import(&folder.journal("a.jsonl", &more)).expect("imports");
    assert_eq!((imported.runs, imported.again, imported.skipped.count), (1, 1, 1));
    assert!(imported.skipped.first.is_some_and(|(line, _)| line == 5));
    let moment = &store.trends().expect("reads")[0].moments[0];
    assert_eq!((moment.clean, moment.tainted, moment.run.ended), (30, 2, true));
}

#[test]
fn a_run_whose_commit_was_found_later_is_the_same_run_with_it() {
    let folder = Folder::new();
    let mut identity = Identity { at_ms: 7, ..Identity::default() };
    let points = "name=k device=cpu t_us=1\n".repeat(2);
    let begun = line(&Record::Run(Box::new(identity.clone()))) + &points;
    let mut store = folder.store();
    store.import(&folder.journal("a.jsonl", &begun)).expect("imports");
    identity.commit = Some("c0ffee".into());
    let whole = begun + &line(&Record::Identity(Box::new(identity.clone()))) + &points;
    let imported = store.import(&folder.journal("a.jsonl", &whole)).expect("imports");
    assert_eq!((imported.runs, imported.again, imported.skipped.count), (1, 1, 0));
    let trends = store.trends().expect("reads");
    assert_eq!((trends[0].moments.len(), trends[0].moments[0].clean), (1, 4));
    assert_eq!(trends[0].moments[0].run.identity, identity);
    let commit: String = store
        .database
        .query_row("SELECT commit_id FROM runs", [], |row| row.get(0))
        .expect("reads");
    assert_eq!(commit, "c0ffee");
}

#[test]
fn runs_of_one_moment_on_two_machines_are_two() {
    let folder = Folder::new();
    let mut store = folder.store();
    for id in ["a", "b"] {
        let identity = Identity { at_ms: 7, id: Some(id.into()), ..Identity::default() };
        let text = line(&Record::Run(Box::new(identity))) + "name=k device=cpu t_us=1\n";
        store.import(&folder.journal(id, &text)).expect("imports");
    }
    assert_eq!(store.trends().expect("reads")[0].moments.len(), 2);
}

#[test]
fn what_is_imported_is_what_the_journal_says() {
    let folder = Folder::new();
    let text = line(&Record::Run(Box::default()))
        + "name=a device=T4 cfg=x t_us=1,2,3\nname=a device=T4 cfg=x t_us=50\n"
        + "{\"type\":\"around\",\"at_ms\":1,\"points\":1,\"tainted\":[\"shared\"]}\n"
        + &line(&Record::Mark(Mark { at_ms: 5, text: "new tile".into() }));
    let mut store = folder.store();
    store.import(&folder.journal("a.jsonl", &text)).expect("imports");
    let trend = &store.trends().expect("reads")[0];
    let moment = &trend.moments[0];
    assert_eq!((moment.clean, moment.tainted, moment.median()), (3, 1, Some(2000.0)));
    assert_eq!((trend.device.as_str(), moment.run.marks[0].text.as_str()), ("T4", "new tile"));
    let points = store.points(moment.run.hash).expect("reads");
    let told: Vec<_> =
        points.iter().map(|point| (point.t_ns.as_slice(), point.tainted.len())).collect();
    assert_eq!(told, [(&[1000.0, 2000.0, 3000.0][..], 0), (&[50_000.0][..], 1)]);
    let key = Key { name: "a".into(), device: Some("T4".into()), ..Key::default() };
    assert_eq!((&points[0].key, points[0].config.as_deref()), (&key, Some("x")));
    assert_eq!(store.points(12345).expect("reads"), []);
}

#[test]
fn runs_without_their_first_line_are_told_apart_by_their_samples() {
    let folder = Folder::new();
    let mut store = folder.store();
    for (name, time) in [("a", 1), ("b", 2), ("c", 1)] {
        let text = format!("{{\"type\":\"point\",\"name\":\"k\",\"t_ns\":[{time}]}}\n");
        store.import(&folder.journal(name, &text)).expect("imports");
    }
    assert_eq!(store.trends().expect("reads")[0].moments.len(), 2);
}

#[test]
fn more_samples_than_fit_into_one_row_are_summed_up_all_the_same() {
    let folder = Folder::new();
    let mut text = line(&Record::Run(Box::default()));
    for at in 0..300 {
        let times: Vec<String> =
            (0..1000).map(|sample| (at * 1000 + sample + 1).to_string()).collect();
        text += &format!("name=k device=cpu t_ns={}\n", times.join(","));
    }
    let mut store = folder.store();
    let imported = store.import(&folder.journal("a.jsonl", &text)).expect("imports");
    let moment = &store.trends().expect("reads")[0].moments[0];
    assert_eq!((imported.samples, moment.clean), (300_000, 300_000));
    assert_eq!(moment.median(), Some(150_000.5));
    let points = store.points(moment.run.hash).expect("reads");
    assert!(points.len() > 1 && points.iter().map(|one| one.t_ns.len()).sum::<usize>() == 300_000);
}

#[test]
fn a_store_of_every_older_format_becomes_one_of_today() {
    let folder = Folder::new();
    let journal =
        folder.journal("a.jsonl", &(run(0, 10.0) + "name=gemm m=16 device=cpu t_us=9 tainted=x\n"));
    let mut today = folder.store();
    today.import(&journal).expect("imports");
    let want = today.trends().expect("reads");
    for format in 1..STEPS.len() {
        let path = folder.path(&format!("old-{format}.db"));
        let old = Connection::open(&path).expect("opens");
        for step in &STEPS[..format] {
            old.execute_batch(step.sql).expect("makes");
        }
        old.execute("ATTACH ?1 AS new", [folder.path(FILE).to_string_lossy()]).expect("attaches");
        for table in ["runs", "groups", "samples", "marks", "summaries"] {
            // A table that is younger than this format is not there.
            let _ = old.execute(&format!("INSERT INTO main.{table} SELECT * FROM new.{table}"), []);
        }
        old.execute_batch(&format!(
            "PRAGMA application_id = 0x77617270; PRAGMA user_version = {format}"
        ))
        .expect("marks");
        drop(old);
        let store = History::open(&path).expect("opens").expect("is there");
        assert_eq!(store.trends().expect("reads"), want, "format {format}");
    }
}

#[test]
fn what_is_not_ours_or_too_new_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    let refused = |path: &Path| History::create(path).expect_err("is refused").to_string();
    let notes = folder.journal("notes.db", "precious notes, long enough to be no empty file");
    assert!(refused(&notes).contains("no history of warpscope"));
    let other = folder.path("other.db");
    Connection::open(&other)
        .and_then(|one| one.execute_batch("CREATE TABLE a (b)"))
        .expect("makes");
    assert!(refused(&other).contains("no history of warpscope"));
    let newer = folder.path("newer.db");
    drop(History::create(&newer).expect("a store"));
    Connection::open(&newer)
        .and_then(|one| one.execute_batch("PRAGMA user_version = 99"))
        .expect("marks");
    assert!(refused(&newer).contains("newer warpscope (format 99"));
    assert!(refused(folder.0.path()).contains("directory"), "{}", refused(folder.0.path()));
    let mut store = folder.store();
    let error = store.import(&notes).expect_err("no journal");
    assert!(error.to_string().contains("notes.db is no journal"), "{error}");
    let text = std::fs::read_to_string(&notes).expect("is there");
    assert!(text.starts_with("precious notes"));
}

#[test]
fn a_damaged_store_is_named_with_the_way_to_build_it_anew() {
    let folder = Folder::new();
    let journal = folder.journal("a.jsonl", &run(0, 10.0));
    folder.store().import(&journal).expect("imports");
    let path = folder.path(FILE);
    let mut bytes = std::fs::read(&path).expect("is there");
    for byte in &mut bytes[200..] {
        *byte = 0xff;
    }
    std::fs::write(&path, &bytes).expect("writes");
    let read = History::open(&path).and_then(|store| store.expect("is there").trends());
    let error = read.expect_err("is damaged").to_string();
    assert!(
        error.contains("history.db is damaged (") || error.contains("is no history"),
        "{error}"
    );
    for part in ["`mv ", "history.db.old`", "`warpscope history --import JOURNAL`"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_store_is_read_where_nothing_can_be_written() {
    let folder = Folder::new();
    let journal = folder.journal("a.jsonl", &run(0, 10.0));
    let mut store = folder.store();
    store.import(&journal).expect("imports");
    let want = store.trends().expect("reads");
    drop(store);
    // A name that would mean something else in an address.
    let odd = folder.path("a %41?b#c.db");
    std::fs::rename(folder.path(FILE), &odd).expect("moves");
    let store = History::unwritable(&odd).expect("opens");
    assert!(store.is_read_only());
    assert_eq!(store.trends().expect("reads"), want);
    assert!(store.database.execute("DELETE FROM runs", []).is_err());
    let refusal = |code| {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
        refused(&odd, error).is_read_only()
    };
    let codes = [rusqlite::ffi::SQLITE_READONLY, rusqlite::ffi::SQLITE_CANTOPEN];
    assert!(codes.into_iter().all(refusal) && !refusal(rusqlite::ffi::SQLITE_CORRUPT));
}

#[test]
fn another_writer_is_named_and_readers_are_not_disturbed() {
    let folder = Folder::new();
    let journal = folder.journal("a.jsonl", &run(0, 10.0));
    let mut store = folder.store();
    store.import(&journal).expect("imports");
    let other = Connection::open(folder.path(FILE)).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("begins");
    store.database.busy_timeout(Duration::ZERO).expect("sets");
    let error = store.import(&journal).expect_err("is locked");
    assert!(matches!(error, HistoryError::Busy(_)), "{error}");
    assert!(error.to_string().contains("history.db is being written by another program"));
    assert_eq!(store.trends().expect("reads").len(), 1);
}

#[test]
fn a_step_goes_through_the_store_and_flat_noise_stays_flat() {
    let folder = Folder::new();
    let mut store = folder.store();
    let flat: String = (0..40).map(|at| run(at, 10.0)).collect();
    store.import(&folder.journal("flat.jsonl", &flat)).expect("imports");
    assert_eq!(store.trends().expect("reads")[0].shifts, []);
    // The same runs, slower by five per cent from the twentieth on.
    let step: String = (0..40).map(|at| run(at, if at < 20 { 10.0 } else { 10.5 })).collect();
    store.import(&folder.journal("step.jsonl", &step)).expect("imports");
    let trend = &store.trends().expect("reads")[0];
    assert_eq!((trend.moments.len(), trend.shifts.len()), (40, 1), "{:?}", trend.shifts);
    let shift = trend.shifts[0];
    assert!(shift.at.abs_diff(20) <= 2 && (shift.change - 0.05).abs() < 0.005, "{shift:?}");
    let beside: Vec<String> = trend.beside(&shift).into_iter().map(|one| one.what).collect();
    assert_eq!(beside, ["commit", "driver"]);
}

use warpscope_probes::Gpu;
use warpscope_probes::process::{Process, Visibility};
use warpscope_probes::units::MegaHertz;

use super::*;
use crate::io::sink::{Holds, Limits};
use crate::runs::run_log::Journal;

fn frame(mhz: u32, pids: &[u32]) -> Frame {
    let mut gpu = Gpu { key: "GPU-1".into(), ..Gpu::default() };
    gpu.identity.name = "T4".to_owned().into();
    gpu.vitals.clock_sm_mhz = MegaHertz(mhz).into();
    let process = |pid: &u32| Process {
        pid: *pid,
        gpu: "GPU-1".into(),
        visibility: Visibility::Visible,
        ..Process::default()
    };
    Frame { gpus: vec![gpu], processes: pids.iter().map(process).collect(), ..Frame::default() }
}

/// A log of this very process, so that process 1 is somebody else's.
fn recorded(work: impl FnOnce(&mut RunLog)) -> Journal {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let recorder = Recorder::open_as(Holds::RunLog, &path, Limits::default()).expect("opens");
    let scan = Scan::new(&[], None).expect("no pattern");
    let family = Family::of(std::process::id());
    let mut log = RunLog::new(recorder, scan, family, Identity::default());
    work(&mut log);
    log.end(Some(0));
    let bytes = std::fs::read(&path).expect("reads");
    let journal = Journal::read(&*bytes).expect("reads");
    assert_eq!(journal.skipped.first, None);
    journal
}

#[test]
fn points_carry_the_frames_before_and_after_them() {
    let me = std::process::id();
    let lines = |names: &[&str]| -> Vec<String> {
        names.iter().map(|name| format!("name={name} t_ns=1")).collect()
    };
    let journal = recorded(|log| {
        log.frame(frame(1500, &[me]));
        log.lines(From::Points, &lines(&["calm", "calm"]), Moment::now());
        log.frame(frame(1500, &[me]));
        log.lines(From::Output, &lines(&["crowded"]), Moment::now());
        log.frame(frame(1500, &[me, 1]));
        log.frame(frame(1500, &[me]));
        log.lines(From::Points, &lines(&["moved"]), Moment::now());
        log.frame(frame(1000, &[me]));
    });
    let run = &journal.runs[0];
    let seen: Vec<_> =
        run.points.iter().map(|p| (p.key.name.as_str(), p.tainted.join(";"))).collect();
    assert_eq!(
        seen,
        [
            ("calm", String::new()),
            ("calm", String::new()),
            ("crowded", "shared with process 1".to_owned()),
            ("moved", "clock moved".to_owned())
        ]
    );
    assert!(run.points.iter().all(|point| point.key.device.as_deref() == Some("T4")));
    assert_eq!(run.end.as_ref().map(|end| end.samples), Some(4));
}

#[test]
fn a_program_that_is_on_no_gpu_is_judged_by_none() {
    let journal = recorded(|log| {
        log.frame(frame(1500, &[1]));
        log.lines(From::Points, &["name=a t_us=1".to_owned()], Moment::now());
        log.frame(frame(900, &[1]));
    });
    let point = &journal.runs[0].points[0];
    assert_eq!((point.tainted.len(), &point.key.device), (0, &None));
}

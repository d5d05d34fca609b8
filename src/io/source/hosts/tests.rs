use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::{Receiver, channel};

use warpscope_probes::driver::DriverState;
use warpscope_probes::units::Watts;
use warpscope_probes::{Frame, Gpu, Notice, Origin, SCHEMA};

use super::*;
use crate::io::sink::jsonl;

/// Frames of a host whose ssh is a shell script that gets ssh's words.
fn watched(script: &str) -> (Receiver<Frame>, Box<dyn Control>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let ssh = folder.path().join("ssh");
    std::fs::write(&ssh, format!("#!/bin/sh\n{script}\n")).expect("is written");
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o700)).expect("is there");
    let (sender, frames) = channel();
    let source = HostsSource::new(
        vec!["gpu1".parse().expect("a name")],
        Ssh::new(ssh.to_str().expect("text")).expect("a command"),
        "warpscope-test".to_owned(),
        Duration::from_millis(100),
    );
    let control = Box::new(source).start(Arc::new(move |frame| sender.send(frame).is_ok()));
    (frames, control, folder)
}

fn until(frames: &Receiver<Frame>, wanted: impl Fn(&Frame) -> bool) -> Frame {
    let frame =
        std::iter::from_fn(|| frames.recv_timeout(Duration::from_secs(120)).ok()).find(wanted);
    frame.expect("such a frame comes")
}

fn line(seq: u64) -> String {
    let mut gpu = Gpu { key: "GPU-0".into(), ..Gpu::default() };
    gpu.vitals.power_w = Watts(70.0).into();
    let frame = Frame { schema: SCHEMA, seq, interval_s: 0.1, gpus: vec![gpu], ..Frame::default() };
    String::from_utf8(jsonl::line(&frame).expect("writes")).expect("text")
}

fn notice<'a>(frame: &'a Frame, id: &str) -> Option<&'a Notice> {
    frame.notices.iter().find(|notice| notice.id == id)
}

#[test]
fn frames_come_as_those_of_the_host_after_any_banner_and_stay_late_when_it_is_lost() {
    let script = format!(
        "echo Welcome; echo warpscope-host 1 warpscope Linux x86_64; cat <<'END'\n{}nonsense\n{}END\necho gone >&2; exit 255",
        line(1),
        line(2)
    );
    let (frames, _control, _folder) = watched(&script);
    let second = until(&frames, |frame| frame.seq == 2);
    assert_eq!(second.origin, Origin::Remote { host: "gpu1".into() });
    let lost = until(&frames, |frame| notice(frame, Notice::HOST_LOST).is_some());
    assert!(lost.gpus[0].vitals.power_w.is_late());
    assert!(notice(&lost, Notice::HOST_LOST).expect("is there").what.contains("gone"), "{lost:?}");
    // And it is tried again.
    until(&frames, |frame| frame.seq == 1 && notice(frame, Notice::HOST_LOST).is_none());
}

#[test]
fn each_way_not_to_connect_has_its_remedy() {
    let rows = [
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            "`ssh gpu1` in a terminal and check",
        ),
        ("echo 'ana@gpu1: Permission denied (publickey).' >&2; exit 255", "without a password"),
        ("echo 'ssh: Could not resolve hostname gpu1' >&2; exit 255", "~/.ssh/config"),
        ("exit 3", "ssh gpu1 true"),
        ("yes | head -c 1000000", "ssh gpu1 true"),
        ("echo warpscope-host 1 nothing Linux x86_64", "host install gpu1"),
        ("echo warpscope-host 1 warpscope Linux x86_64; yes", "ssh gpu1 true"),
    ];
    for (script, remedy) in rows {
        let (frames, _control, _folder) = watched(script);
        let lost = until(&frames, |frame| notice(frame, Notice::HOST_LOST).is_some());
        assert!(
            notice(&lost, Notice::HOST_LOST).expect("is there").remedy.contains(remedy),
            "{script}: {lost:?}"
        );
        assert!(matches!(lost.driver.status, DriverState::Failed { .. }));
    }
}

#[test]
fn a_host_that_falls_silent_is_late() {
    let script =
        format!("echo warpscope-host 1 warpscope Linux x86_64; cat <<'END'\n{}END\ncat", line(1));
    let (frames, _control, _folder) = watched(&script);
    until(&frames, |frame| frame.seq == 1 && !frame.gpus[0].vitals.power_w.is_late());
    until(&frames, |frame| frame.seq == 1 && frame.gpus[0].vitals.power_w.is_late());
}

/// Its graphs are in its time.
#[test]
fn what_is_late_has_the_time_of_the_host() {
    for at in ["2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"] {
        let frame = line(1).replace("1970-01-01T00:00:00.000Z", at);
        let script =
            format!("echo warpscope-host 1 warpscope Linux x86_64; cat <<'END'\n{frame}END\ncat");
        let (frames, _control, _folder) = watched(&script);
        let fresh = until(&frames, |frame| frame.seq == 1);
        let late = until(&frames, |frame| frame.gpus[0].vitals.power_w.is_late());
        assert!((0.0..3600.0).contains(&late.at.seconds_since(fresh.at)), "{at}: {}", late.at);
    }
}

#[test]
fn a_host_without_warpscope_is_read_through_nvidia_smi() {
    let script = "echo warpscope-host 1 nvidia-smi Linux x86_64; echo '#gpus'; echo 'No devices were found'; \
                  echo '#machine'; echo 'hostname gpu1'; echo '#end'; cat";
    let (frames, _control, _folder) = watched(script);
    let frame = until(&frames, |frame| frame.seq == 1);
    assert_eq!(frame.driver.status, DriverState::NoDevice);
    assert!(notice(&frame, "host.nvidia_smi").is_some());
}

#[test]
fn ssh_asks_nothing_forwards_nothing_and_takes_no_option_from_a_name() {
    let ssh = Ssh::new("ssh -F file").expect("a command");
    let words = ssh.words(&"gpu1".parse().expect("a name"), "echo hello");
    assert_eq!(words[..3], ["ssh", "-F", "file"]);
    assert!(words.contains(&"BatchMode=yes".to_owned()));
    assert_eq!(words[words.len() - 3..], ["--", "gpu1", "exec sh -c 'echo hello'"]);
}

//! What is written: never over something else, never through a link, and for the user alone.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{Desk, journal, text};

/// Command lines that write a file named behind them.
fn writers(desk: &Desk) -> Vec<Vec<String>> {
    let run = desk.file("run.jsonl", journal(&["gemm"])).display().to_string();
    let spec = desk.spec().display().to_string();
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect();
    vec![
        words(&["export", &run, "-o"]),
        words(&["screenshot", "--format", "text", "-o"]),
        words(&["tune", &spec, "--once", "--export"]),
    ]
}

#[test]
fn a_file_that_exists_is_replaced_only_by_force() {
    let desk = Desk::new();
    for (number, line) in writers(&desk).iter().enumerate() {
        let run = |target: &Path, more: &[&str]| {
            let words = line.iter().map(Into::into).chain([target.into()]);
            desk.run(words.chain(more.iter().map(Into::into)).collect::<Vec<std::ffi::OsString>>())
        };
        let target = desk.file(format!("precious-{number}"), "precious");
        let refused = run(&target, &[]);
        assert_eq!(refused.status.code(), Some(2), "{line:?}");
        let said = text(&refused.stderr);
        assert!(said.contains(&format!("precious-{number} exists; --force replaces it")), "{said}");
        assert_eq!(fs::read(&target).expect("is there"), b"precious");

        let link = desk.path(format!("link-{number}"));
        symlink(&target, &link).expect("links");
        for more in [&[][..], &["--force"]] {
            assert_eq!(run(&link, more).status.code(), Some(2), "{line:?}");
        }
        assert_eq!(fs::read(&target).expect("is there"), b"precious");

        let forced = run(&target, &["--force"]);
        assert_eq!(forced.status.code(), Some(0), "{line:?}: {}", text(&forced.stderr));
        assert_ne!(fs::read(&target).expect("is there"), b"precious", "{line:?}");
        let new = run(&desk.path(format!("new-{number}")), &[]);
        assert_eq!(new.status.code(), Some(0), "{line:?}: {}", text(&new.stderr));
    }
}

#[test]
fn a_recording_is_not_written_through_a_link() {
    let desk = Desk::new();
    let target = desk.path("elsewhere");
    let link = desk.path("run.jsonl");
    symlink(&target, &link).expect("links");
    for line in [&["record"][..], &["bench", "--device", "cpu", "--record"]] {
        let mut words: Vec<&std::ffi::OsStr> = line.iter().map(|word| (*word).as_ref()).collect();
        words.push(link.as_os_str());
        if line[0] == "record" {
            words.extend(["--", "true"].map(AsRef::<std::ffi::OsStr>::as_ref));
        }
        let output = desk.run(words);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {}", text(&output.stderr));
        assert!(!target.exists(), "{line:?}");
    }
}

/// Everything below a folder, with its permissions.
fn everything(folder: &Path, found: &mut Vec<(PathBuf, u32)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let about = entry.metadata().expect("is there");
        found.push((entry.path(), about.permissions().mode() & 0o777));
        if about.is_dir() {
            everything(&entry.path(), found);
        }
    }
}

#[test]
fn what_is_kept_is_for_the_user_alone_whatever_the_umask() {
    let desk = Desk::new();
    let (run, spec) = (desk.path("run.jsonl"), desk.spec());
    let list = "stat -L -c '%a %n' \"$WARPSCOPE_POINTS\" \"$WARPSCOPE_POINTS_DATAGRAM\" \"$WARPSCOPE_POINTS_STREAM\" \
                \"${WARPSCOPE_POINTS%/*}\"/* \"${WARPSCOPE_POINTS%/*}\"; echo name=x t_us=1";
    let under_no_mask = |words: &[&std::ffi::OsStr]| {
        let output = desk.shell("umask 0").args(words).output().expect("starts");
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let listed = under_no_mask(&[
        "record".as_ref(),
        run.as_ref(),
        "--history".as_ref(),
        "--".as_ref(),
        "sh".as_ref(),
        "-c".as_ref(),
        list.as_ref(),
    ]);
    let modes: Vec<&str> = listed.lines().filter(|line| line.contains('/')).collect();
    assert!(modes.len() > 5, "{listed}");
    assert!(
        modes.iter().all(|line| line.starts_with("600 ") || line.starts_with("700 ")),
        "{listed}"
    );
    under_no_mask(&["tune".as_ref(), spec.as_ref(), "--once".as_ref()]);
    under_no_mask(&["inspect".as_ref(), desk.wheel().as_ref()]);
    let mut found =
        vec![(run.clone(), run.metadata().expect("is there").permissions().mode() & 0o777)];
    for folder in ["home", "config", "data", "state", "cache"] {
        everything(&desk.path(folder), &mut found);
    }
    assert!(
        found.iter().any(|(path, _)| path.components().any(|part| part.as_os_str() == "history")),
        "{found:?}"
    );
    let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
    assert!(!run.metadata().expect("is there").file_type().is_fifo());
}

impl Desk {
    /// Something to be inspected.
    fn wheel(&self) -> PathBuf {
        PathBuf::from(env!("CARGO_BIN_EXE_warpscope"))
    }
}

#[test]
fn the_history_is_shown_where_nothing_can_be_written() {
    let desk = Desk::new();
    let run = desk.file("run.jsonl", journal(&["gemm"]));
    let imported = desk.run(["history".as_ref(), "--import".as_ref(), run.as_os_str()]);
    assert_eq!(imported.status.code(), Some(0), "{}", text(&imported.stderr));
    let want = desk.run(["history", "--json"]).stdout;
    let data = desk.path("data");
    let mount = "mount --bind \"$XDG_DATA_HOME\" \"$XDG_DATA_HOME\" && \
                 mount -o remount,ro,bind \"$XDG_DATA_HOME\"";
    let script = format!("{mount} || exit 99; exec \"$@\"");
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_warpscope")]);
    command.args(["history", "--json"]).env("XDG_DATA_HOME", &data);
    let output = match command.output() {
        Ok(output)
            if output.status.code() != Some(99) && !text(&output.stderr).contains("unshare") =>
        {
            output
        }
        other => {
            return crate::skip::skipped(format_args!("nothing can be mounted here: {other:?}"));
        }
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), text(&want));
    let said = text(&output.stderr);
    assert!(said.contains("history is not writable: it is shown as it is"), "{said}");
}

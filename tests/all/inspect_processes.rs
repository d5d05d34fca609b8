//! `warpscope inspect` of processes that really run here and have really mapped a library, and of folders to search besides.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::inspect::{GENERAL, Home, PACKAGES, SITE, fixture};

/// A program that the loader has given a library. It ends when its input does.
struct Mapping(Child);

impl Mapping {
    fn start(program: &Path, library: &Path) -> Self {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", library).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        // Once it answers, it has been loaded.
        child.stdin.as_mut().expect("piped").write_all(b"x").expect("takes it");
        child.stdout.as_mut().expect("piped").read_exact(&mut [0]).expect("answers");
        Self(child)
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn torch(home: &Home) -> PathBuf {
    home.venv().join(SITE).join("torch/lib/libtorch_cuda.so")
}

/// The paragraph of a text that a line with these words heads.
fn paragraph<'t>(text: &'t str, words: &str) -> &'t str {
    let mut all = text.split("\n\n");
    all.find(|one| one.lines().next().is_some_and(|head| head.contains(words))).unwrap_or_default()
}

#[test]
fn a_process_is_known_by_what_it_has_mapped() {
    let home = Home::new(PACKAGES);
    let cat = Mapping::start(Path::new("cat"), &torch(&home));
    let (text, code) = home.print(&["inspect", &cat.pid(), "--gpu", "P100"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("[venv]") && text.contains(&format!("process {}", cat.pid())), "{text}");
    assert!(text.contains("1 ✖ libtorch_cuda.so of torch 2.8.0"), "{text}");
}

#[test]
fn a_process_nobody_named_leads_to_an_environment_that_lies_elsewhere() {
    let (here, elsewhere) = (Home::new(&[]), Home::new(PACKAGES));
    let shown = |text: &str| text.contains(&elsewhere.venv().display().to_string());
    let (before, _) = here.print(&["inspect", "--gpu", "P100"]);
    assert!(!shown(&before), "{before}");
    let cat = Mapping::start(Path::new("cat"), &torch(&elsewhere));
    let (text, code) = here.print(&["inspect", "--gpu", "P100"]);
    let used = paragraph(&text, &format!("used by process {}", cat.pid()));
    assert!(shown(&text) && used.contains("libtorch_cuda.so"), "{text}");
    assert_eq!(code, Some(1), "{text}");
}

#[test]
fn a_program_without_python_is_judged_by_the_libraries_it_has_mapped() {
    let home = Home::new(&[]);
    let folder = tempfile::tempdir().expect("temporary folder");
    let folder = folder.path().canonicalize().expect("exists");
    let (server, library) = (folder.join("llama-server"), folder.join("libggml-cuda.so"));
    fs::copy("/bin/cat", &server).expect("a program to copy");
    fs::write(&library, fixture(GENERAL)).expect("file");
    let server = Mapping::start(&server, &library);
    for args in [vec!["inspect", "--gpu", "P100"], vec!["inspect", &server.pid(), "--gpu", "P100"]]
    {
        let (text, code) = home.print(&args);
        let used = paragraph(&text, &folder.display().to_string());
        assert!(used.contains("llama.cpp") && used.contains("✖"), "{text}");
        assert_eq!(code, Some(1), "{text}");
    }
}

#[test]
fn folders_are_searched_besides_the_home_when_they_are_named() {
    let [here, elsewhere, third] = [(); 3].map(|()| Home::new(PACKAGES));
    let shown = |text: &str, home: &Home| text.contains(&home.venv().display().to_string());
    let roots = [elsewhere.path(), third.path()].map(|path| path.display().to_string());
    let args = ["inspect", "--gpu", "T4", "--root", &roots[0], "--root", &roots[1]];
    let (text, _) = here.print(&args);
    assert!(shown(&text, &elsewhere) && shown(&text, &third), "{text}");
    assert!(text.contains("[venv]"), "the home is searched as before: {text}");
    let empty = tempfile::tempdir().expect("temporary folder");
    let root = empty.path().display().to_string();
    let (text, _) = here.print(&["inspect", "--gpu", "T4", "--root", &root]);
    assert!(text.contains(&root) && text.contains("no Python environment"), "{text}");
}

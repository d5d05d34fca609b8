use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::*;
use crate::inspect::env::sweep::Sweep;

const SITE: &str = "/home/ada/venv/lib/python3.11/site-packages";

fn line(at: u64, bytes: u64, path: &str) -> String {
    format!("{at:x}-{:x} r-xp 00000000 08:01 42                         {path}\n", at + bytes)
}

/// A process in a fake `/proc`, whose file system is `root`.
fn process(fake: &Fake, pid: u32, maps: &str, root: &str) {
    fake.put(&format!("/proc/{pid}/maps"), maps);
    fake.put(&format!("/proc/{pid}/environ"), "HOME=/home/ada\0VIRTUAL_ENV=/home/ada/other\0");
    fake.put(&format!("/proc/{pid}/cmdline"), "python\0train.py\0");
    fake.link(&format!("/proc/{pid}/exe"), "/usr/bin/python3.11");
    let root = fake.shown(root);
    symlink(root, fake.outer(&format!("/proc/{pid}/root"))).expect("link");
}

fn sweep(fake: &Fake, pids: &[u32]) -> Inventory {
    Sweep { places: fake.places(), pids: pids.to_vec(), only_named: false }
        .run(&mut Progress::silent())
}

#[test]
fn a_process_is_led_back_to_its_environment_and_packages() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake.package(SITE, "torch", "2.8.0", &["torch/lib/libtorch_cuda.so"]);
    fake.package(SITE, "PyYAML", "6.0", &["yaml/_yaml.so"]);
    fake.package(SITE, "nvidia-cublas-cu12", "12.8.4.1", &["nvidia/cublas/lib/libcublas.so.12"]);
    let maps = [
        line(0x1000, 0x100, &format!("{SITE}/yaml/_yaml.so")),
        line(0x2000, 0x900, &format!("{SITE}/torch/lib/libtorch_cuda.so")),
        line(0x3000, 0x500, &format!("{SITE}/nvidia/cublas/lib/libcublas.so.12")),
        line(0x4000, 0x100, "/usr/lib/libc.so.6"),
    ];
    process(&fake, 7, &maps.concat(), "/");
    let inventory = sweep(&fake, &[7, 8]);
    let found = only(&inventory);
    assert_eq!(found.pids, [7]);
    let [seven, eight] = inventory.processes.as_slice() else { panic!("two were asked about") };
    assert_eq!(seven.environment.as_ref(), Some(&found.root));
    assert_eq!(seven.packages, ["torch", "PyYAML"]);
    assert_eq!(seven.cuda.len(), 1);
    assert_eq!(
        (seven.cuda[0].version.as_deref(), seven.cuda[0].via.as_str()),
        (Some("12.8.4.1"), "mapped")
    );
    assert_eq!(eight.hidden.as_deref(), Some("has ended"));
    assert_eq!(inventory.unreadable, [], "an ended process is no news");
}

/// Its root is another file system, in which an absolute link must not lead into ours.
#[test]
fn a_process_in_a_container_is_read_through_its_root() {
    let fake = Fake::new();
    fake.venv("/containers/1/opt/app");
    fake.link("/containers/1/opt/venv", "/opt/app");
    let site = "/opt/app/lib/python3.11/site-packages";
    fake.package(&format!("/containers/1{site}"), "vllm", "0.9.2", &["vllm/_C.abi3.so"]);
    process(&fake, 9, &line(0x1000, 0x100, &format!("{site}/vllm/_C.abi3.so")), "/containers/1");
    let inventory = sweep(&fake, &[9]);
    let found = only(&inventory);
    assert_eq!((found.kind, found.found_by.as_str()), (EnvKind::Process, "pid 9"));
    assert_eq!(found.root, fake.outer("proc/9/root/opt/app"));
    assert_eq!(names(found), ["vllm 0.9.2"]);
    assert!(found.packages[0].libraries[0].path.exists(), "the path can be opened from here");
    assert_eq!(inventory.processes[0].packages, ["vllm"]);
}

#[test]
fn without_modules_the_process_is_asked_what_it_was_told() {
    let fake = Fake::new();
    fake.venv("/home/ada/other");
    process(&fake, 5, &line(0x1000, 0x100, "/usr/bin/python3.11"), "/");
    let inventory = sweep(&fake, &[5]);
    assert_eq!(inventory.processes[0].environment, Some(fake.shown("/home/ada/other")));
}

#[test]
fn a_program_without_python_is_named_by_its_libraries() {
    let fake = Fake::new();
    let maps = line(0x1000, 0x100, "/usr/local/lib/ollama/cuda_v12/libggml-cuda.so")
        + &line(0x2000, 0x50, "/opt/llama/libllama.so");
    process(&fake, 6, &maps, "/");
    fs::remove_file(fake.outer("proc/6/environ")).expect("is there");
    let inventory = sweep(&fake, &[6]);
    assert_eq!(inventory.processes[0].packages, ["ollama", "llama.cpp"]);
    assert_eq!(inventory.processes[0].environment, None);
}

#[test]
fn a_process_of_somebody_else_is_counted_and_named() {
    use std::os::unix::fs::PermissionsExt;
    let fake = Fake::new();
    process(&fake, 4, "", "/");
    let maps = fake.outer("proc/4/maps");
    fs::set_permissions(&maps, fs::Permissions::from_mode(0o0)).expect("is ours");
    if fs::read(&maps).is_ok() {
        println!("SKIPPED: this user may read everything");
        return;
    }
    let inventory = sweep(&fake, &[4]);
    assert!(
        inventory.processes[0]
            .hidden
            .as_deref()
            .is_some_and(|why| why.starts_with("permission denied"))
    );
    assert_eq!((inventory.unreadable.len(), inventory.unreadable_count), (1, 1));
}

/// A real process of this machine, in which the real loader has mapped a library of a venv.
#[test]
fn a_live_process_shows_the_library_it_has_mapped() {
    let fake = Fake::new();
    fake.venv("/venv");
    let site = "/venv/lib/python3.11/site-packages";
    fake.package(site, "torch", "2.8.0", &["torch/lib/libtorch_cuda.so"]);
    let library = fake.shown(&format!("{site}/torch/lib/libtorch_cuda.so"));
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let ours = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("libgcc_s.so"));
    let Some(ours) = ours else {
        println!("SKIPPED: no /proc, or no shared library that could be mapped elsewhere");
        return;
    };
    fs::copy(ours, &library).expect("a library of our own");
    let mut child = Command::new("cat")
        .env("LD_PRELOAD", &library)
        .env("VIRTUAL_ENV", fake.shown("/venv"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cat starts");
    let mut input = child.stdin.take().expect("is piped");
    let mut echo = [0];
    input.write_all(b"x").expect("cat listens");
    child.stdout.take().expect("is piped").read_exact(&mut echo).expect("cat answers");
    // It has answered, so its loader is done.
    let places = Places::at("/".into());
    let sweep = Sweep { places, pids: vec![child.id(), u32::MAX], only_named: true };
    let inventory = sweep.run(&mut Progress::silent());
    drop(input);
    child.wait().expect("cat ends with its input");
    let found = only(&inventory);
    assert_eq!((found.root.clone(), found.pids.clone()), (fake.shown("/venv"), vec![child.id()]));
    assert_eq!(inventory.processes[0].packages, ["torch"]);
    assert_eq!(inventory.processes[1].hidden.as_deref(), Some("has ended"));
}

//! `warpscope inspect`, the doctor's section and the dashboard over environments made of small files: what NVIDIA's tools built for
//! `probes/tests/binaries` stands in for the libraries of frameworks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::fake;
use crate::pty::{Session, Start};

const BINARIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/probes/tests/binaries");
pub(crate) const SITE: &str = "lib/python3.11/site-packages";

/// Code for 7.5, 9.0a and 12.0, and PTX for 7.0 and 9.0.
pub(crate) const GENERAL: &str = "host.so";
/// Code for 9.0a alone.
const HOPPER: &str = "lto.fatbin";

/// What was built on x86-64 stands in for what is built for this machine.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let mut bytes = as_built(name);
    if name == GENERAL && cfg!(target_arch = "aarch64") {
        bytes[E_MACHINE] = EM_AARCH64;
    }
    bytes
}

const E_MACHINE: usize = 18;
const EM_AARCH64: u8 = 183;

fn as_built(name: &str) -> Vec<u8> {
    fs::read(Path::new(BINARIES).join(name)).expect("fixture")
}

/// Files of packages: name, version, and libraries with the fixture they hold.
pub(crate) type Packages<'a> = &'a [(&'a str, &'a str, &'a [(&'a str, &'a str)])];

pub(crate) const PACKAGES: Packages<'_> = &[
    ("flash_attn", "2.7.4", &[("flash_attn_2_cuda.so", HOPPER)]),
    ("torch", "2.8.0", &[("torch/lib/libtorch_cuda.so", GENERAL)]),
    ("triton", "3.4.0", &[]),
];

/// Every file of an environment, by its path inside.
pub(crate) fn files(packages: Packages<'_>) -> Vec<(String, Vec<u8>)> {
    let mut files =
        vec![("pyvenv.cfg".to_owned(), b"home = /usr/bin\nversion = 3.11.7\n".to_vec())];
    for (name, version, libraries) in packages {
        let info = format!("{SITE}/{name}-{version}.dist-info");
        let record: String = libraries.iter().map(|(path, _)| format!("{path},,\n")).collect();
        let head = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n");
        files.push((format!("{info}/METADATA"), head.into_bytes()));
        files.push((format!("{info}/RECORD"), record.into_bytes()));
        let library = |(path, from): &(&str, &str)| (format!("{SITE}/{path}"), fixture(from));
        files.extend(libraries.iter().map(library));
    }
    files
}

/// A home with a venv in it.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new(packages: Packages<'_>) -> Self {
        let home = Self(tempfile::tempdir().expect("temporary folder"));
        for (path, contents) in files(packages) {
            let path = home.venv().join(path);
            fs::create_dir_all(path.parent().expect("lies in a folder")).expect("folder");
            fs::write(path, contents).expect("file");
        }
        fs::create_dir_all(home.venv().join("bin")).expect("folder");
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().canonicalize().expect("exists")
    }

    pub(crate) fn venv(&self) -> PathBuf {
        self.path().join("venv")
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("starts")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(args).env_clear().env("LANG", "C.UTF-8").env("HOME", self.path());
        command
    }

    /// What a command printed, with the venv's place replaced, and how it ended.
    pub(crate) fn print(&self, args: &[&str]) -> (String, Option<i32>) {
        let output = self.run(args);
        let text = String::from_utf8(output.stdout).expect("is text");
        (text.replace(&self.venv().display().to_string(), "[venv]"), output.status.code())
    }

    fn inspect(&self, args: &[&str]) -> (String, Option<i32>) {
        let venv = self.venv().display().to_string();
        let all: Vec<&str> = ["inspect", venv.as_str()].iter().chain(args).copied().collect();
        self.print(&all)
    }
}

#[test]
fn what_fails_comes_first_and_what_is_compiled_later_stays_unknown() {
    let home = Home::new(PACKAGES);
    let (text, code) = home.inspect(&["--gpu", "P100,T4,H100"]);
    insta::assert_snapshot!("inspect-venv", text);
    assert_eq!(code, Some(1));
    let (ascii, _) = home.inspect(&["--gpu", "P100,T4,H100", "--ascii"]);
    assert!(ascii.is_ascii() && ascii.contains("1 x libtorch_cuda.so"), "{ascii}");
    let colours = |text: &str| text.contains('\u{1b}');
    let (plain, _) = home.inspect(&["--gpu", "T4"]);
    let (bright, _) = home.inspect(&["--gpu", "T4", "--color", "always"]);
    assert!(!colours(&plain) && colours(&bright));
}

#[test]
fn the_end_says_whether_something_cannot_run() {
    let general = Home::new(&PACKAGES[1..]);
    assert_eq!(general.inspect(&["--gpu", "T4"]).1, Some(0));
    assert_eq!(general.inspect(&["--gpu", "P100"]).1, Some(1));
    assert_eq!(general.inspect(&["--gpu", "T4", "--json"]).1, Some(0));
    // Nobody to judge for: it is told, and nothing fails.
    let mut command = general.command(&["inspect", &general.venv().display().to_string()]);
    command.env("FAKE_NVML", "nodevice").env("LD_LIBRARY_PATH", fake::nvml_dir());
    let output = command.output().expect("starts");
    let text = String::from_utf8(output.stdout).expect("is text");
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("no GPU on this machine and none named"), "{text}");
}

#[test]
fn every_library_stands_in_the_json_with_its_counts() {
    let home = Home::new(PACKAGES);
    let (text, _) = home.inspect(&["--gpu", "P100,T4", "--json"]);
    let json: Value = serde_json::from_str(&text).expect("is JSON");
    let libraries = json["libraries"].as_array().expect("a list");
    let torch = libraries.iter().find(|one| one["package"] == "torch").expect("torch is there");
    assert_eq!(torch["path"], "[venv]/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so");
    assert_eq!((&torch["version"], &torch["containers"]), (&"2.8.0".into(), &2.into()));
    // As `cuobjdump` counts them: truth.txt beside the fixture.
    let counts = |one: &Value| -> Vec<(String, u64)> {
        let one = one.as_object().expect("counts by target");
        one.iter()
            .map(|(target, count)| (target.clone(), count.as_u64().expect("a count")))
            .collect()
    };
    let pairs = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
        all.iter().map(|(target, count)| ((*target).to_owned(), *count)).collect()
    };
    let mut cubin = counts(&torch["cubin"]);
    cubin.sort();
    assert_eq!(cubin, pairs(&[("sm_120", 1), ("sm_75", 2), ("sm_90a", 1)]));
    assert_eq!(counts(&torch["ptx"]), pairs(&[("compute_70", 1), ("compute_90", 1)]));
    assert!(torch["relocatable"].is_object());
    let gpu = |at: usize| {
        let gpu = &torch["gpus"][at];
        (
            gpu["gpu"].as_str().map(str::to_owned),
            ["cubin", "jit", "none"].map(|key| gpu[key].as_u64()),
        )
    };
    assert_eq!(gpu(0).1, [Some(0), Some(0), Some(2)]);
    assert_eq!(gpu(1), (Some("NVIDIA T4".to_owned()), [Some(2), Some(0), Some(0)]));
    let outcome = |package: &str| {
        let all = json["packages"].as_array().expect("a list");
        let one = all.iter().find(|one| one["package"] == package).expect("is there");
        [0, 1].map(|at| one["gpus"][at]["outcome"].as_str().map(str::to_owned))
    };
    assert_eq!(outcome("torch"), [Some("fails".to_owned()), Some("works".to_owned())]);
    assert_eq!(outcome("triton"), [Some("unknown".to_owned()), Some("unknown".to_owned())]);
}

#[test]
fn what_cannot_be_inspected_is_named_with_the_way_out() {
    let home = Home::new(PACKAGES);
    let notes = home.path().join("notes.txt");
    fs::write(&notes, "nothing to see\n").expect("file");
    let empty = home.path().join("empty");
    fs::create_dir(&empty).expect("folder");
    for (name, says) in [
        (home.path().join("missing.so"), "no such file or process"),
        (notes, "not a binary that can hold GPU code"),
        (empty, "no environment"),
        ("4194304999".into(), "has ended"),
        ("99999999999".into(), "no such file or process"),
    ] {
        let name = name.display().to_string();
        let output = home.run(&["inspect", &name, "--gpu", "T4"]);
        let error = String::from_utf8(output.stderr).expect("is text");
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.contains(says) && error.contains(&name), "{name}: {error}");
    }
}

/// A `tar` archive of regular files, as POSIX describes it.
pub(crate) fn tar(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, contents) in files {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..136].copy_from_slice(format!("{:011o}\0", contents.len()).as_bytes());
        header[156] = b'0';
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(header);
        archive.extend(contents);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.extend([0; 1024]);
    archive
}

#[test]
fn an_image_is_read_layer_by_layer_where_it_lies() {
    let home = Home::new(&[]);
    let path = home.path().join("image.tar");
    fs::write(&path, archive(PACKAGES, 1)).expect("file");
    let (text, code) = home.print(&["inspect", &path.display().to_string(), "--gpu", "P100,T4"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("/opt/venv") && text.contains("image.tar"), "{text}");
    assert!(text.contains("torch 2.8.0") && text.contains("1 ✖ libtorch_cuda.so"), "{text}");
    assert!(text.contains("? unknown until compiled"), "{text}");
}

/// An archive of `docker save` whose layer holds these packages, with rows for further images.
fn archive(packages: Packages<'_>, images: usize) -> Vec<u8> {
    let inside = |(path, contents)| (format!("opt/venv/{path}"), contents);
    let layer = tar(&files(packages).into_iter().map(inside).collect::<Vec<_>>());
    let row = r#"{"Config":"config.json","RepoTags":["demo:1"],"Layers":["layer.tar"]}"#;
    let manifest = format!("[{}]", vec![row; images].join(","));
    tar(&[
        ("manifest.json".to_owned(), manifest.into_bytes()),
        ("config.json".to_owned(), b"{}".to_vec()),
        ("layer.tar".to_owned(), layer),
    ])
}

#[test]
fn of_an_image_everything_is_listed_and_what_is_left_out_is_said() {
    let home = Home::new(&[]);
    let path = home.path().join("image.tar");
    let inspect = || home.print(&["inspect", &path.display().to_string(), "--gpu", "T4", "--json"]);
    fs::write(&path, archive(&PACKAGES[1..], 1)).expect("file");
    let (text, code) = inspect();
    let json: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(json["environments"][0]["installed"]["triton"], "3.4.0", "{text}");
    assert_eq!((code, json["unreadable"].as_array().map(Vec::len)), (Some(0), Some(0)));
    fs::write(&path, archive(&PACKAGES[1..], 2)).expect("file");
    let (text, code) = inspect();
    assert!(text.contains("holds 1 more images"), "{text}");
    assert_eq!(code, Some(4), "{text}");
    // Without room for its binaries nothing is known of them.
    let mut command = home.command(&["inspect", &path.display().to_string(), "--gpu", "T4"]);
    let output = command.env("TMPDIR", home.path().join("absent")).output().expect("starts");
    let error = String::from_utf8(output.stderr).expect("is text");
    assert!(error.contains("TMPDIR") && output.stdout.is_empty(), "{error}");
    assert_ne!(output.status.code(), Some(0), "{error}");
}

#[test]
fn what_is_cut_or_not_read_is_not_said_to_be_compiled_at_run_time() {
    let home = Home::new(&[]);
    let cubin = fixture("cuda13-sm_75.cubin");
    for (name, bytes, says, code) in [
        ("cut.cubin", cubin[..cubin.len() / 2].to_vec(), "damaged", 1),
        ("cut.fatbin", fixture("plain.fatbin")[..2000].to_vec(), "damaged", 1),
        ("cut.a", fixture("static.a")[..9000].to_vec(), "damaged", 1),
        ("thin.a", b"!<thin>\n".to_vec(), "only names files lying elsewhere", 4),
    ] {
        let path = home.path().join(name);
        fs::write(&path, bytes).expect("file");
        let (text, ended) = home.print(&["inspect", &path.display().to_string(), "--gpu", "T4"]);
        assert!(text.contains(says) && !text.contains("at run time"), "{name}: {text}");
        assert_eq!(ended, Some(code), "{name}: {text}");
    }
}

#[test]
fn one_name_that_is_no_binary_does_not_end_the_others() {
    let home = Home::new(&[]);
    let (notes, good) = (home.path().join("notes.txt"), home.path().join("good.cubin"));
    fs::write(&notes, "nothing to see\n").expect("file");
    fs::write(&good, fixture("cuda13-sm_75.cubin")).expect("file");
    let [notes, good] = [notes, good].map(|path| path.display().to_string());
    let (text, code) = home.print(&["inspect", &notes, &good, "--gpu", "T4"]);
    assert!(text.contains("good.cubin") && text.contains("not a binary"), "{text}");
    assert_eq!(code, Some(4), "{text}");
}

#[test]
fn binaries_that_are_left_out_of_a_folder_are_counted() {
    let home = Home::new(&[]);
    let folder = home.path().join("many");
    fs::create_dir(&folder).expect("folder");
    let one = folder.join("000.cubin");
    fs::write(&one, fixture("cuda13-sm_75.cubin")).expect("file");
    (1..514).for_each(|number| {
        fs::hard_link(&one, folder.join(format!("{number:03}.cubin"))).expect("link");
    });
    let name = folder.display().to_string();
    let (text, code) = home.print(&["inspect", &name, "--gpu", "T4"]);
    assert!(text.contains("2 more files after 512 binaries; name a folder below it"), "{text}");
    assert_eq!(code, Some(4));
}

#[test]
fn where_nothing_could_be_judged_the_end_says_so() {
    let home = Home::new(&[("plain", "1.0", &[])]);
    assert_eq!(home.inspect(&["--gpu", "T4"]).1, Some(4));
    // A library that nobody can open: its link leads to itself.
    let home = Home::new(&PACKAGES[1..]);
    let library = home.venv().join(SITE).join("torch/lib/libtorch_cuda.so");
    fs::remove_file(&library).expect("removed");
    std::os::unix::fs::symlink("libtorch_cuda.so", &library).expect("link");
    let (text, code) = home.inspect(&["--gpu", "T4"]);
    assert!(text.contains("libtorch_cuda.so of torch 2.8.0 could not be read"), "{text}");
    assert_eq!(code, Some(4), "{text}");
}

/// The dashboard on stand-in GPUs, looking at a home of its own and nowhere else of the user's.
fn dashboard(home: &Home, tab: &str, size: (u16, u16)) -> Session {
    let library = home.venv().join(SITE).join("torch/lib/libtorch_cuda.so");
    let env = [
        ("FAKE_NVML", "t4+gtx1060+procs".to_owned()),
        ("LD_LIBRARY_PATH", fake::nvml_dir().display().to_string()),
        ("WARPSCOPE_INSPECT", "on".to_owned()),
        ("HOME", home.path().display().to_string()),
        ("VIRTUAL_ENV", home.venv().display().to_string()),
        ("LD_PRELOAD", library.display().to_string()),
    ];
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["--no-bench", "--tab", tab];
    Session::start(&Start { args: &args, env: &env, size, ..Start::default() })
}

/// The line of the screen that begins so, past its frame.
fn line(screen: &Session, begins: &str) -> String {
    let text = screen.text();
    let mut lines = text.lines().map(|line| line.trim_start_matches(['│', ' ']));
    lines.rfind(|line| line.starts_with(begins)).unwrap_or_default().to_owned()
}

#[test]
fn the_dashboard_answers_for_what_is_installed() {
    let home = Home::new(PACKAGES);
    let mut screen = dashboard(&home, "compat", (120, 40));
    screen.keys("/the installed binaries");
    screen.see("2.8.0 installed");
    screen.keys("\r");
    // The whole line: it is drawn in one go.
    screen.see("/the installed binaries");
    let row = line(&screen, "the installed binaries");
    assert!(row.contains("2.8.0") && row.contains("✔i") && row.contains("✖i"), "{row}");
    screen.keys("q");
    screen.end();
    screen.assert_clean();
}

#[test]
fn the_processes_tab_says_what_a_process_has_mapped() {
    let home = Home::new(PACKAGES);
    let mut screen = dashboard(&home, "processes", (180, 30));
    screen.see("USES");
    screen.see("torch");
    // Not the row that is selected already: a click on that opens it.
    screen.click("--nvml");
    screen.keys("\r");
    screen.see("env");
    let venv = home.venv().display().to_string();
    screen.see(&venv);
    screen.keys("\u{3}");
    screen.end();
}

#[test]
fn the_doctor_judges_as_inspect_does() {
    let home = Home::new(&[
        ("extra", "1.0", &[("extra.so", GENERAL)]),
        // NVIDIA's own libraries choose among kernels when they run, and are not judged.
        ("nvidia_cublas_cu12", "12.8.4.1", &[("libcublas.so.12", HOPPER)]),
        ("torch", "2.8.0", &[("torch/lib/libtorch_cuda.so", GENERAL)]),
    ]);
    let doctor = || {
        let mut command = home.command(&["doctor", "--json"]);
        command.env("VIRTUAL_ENV", home.venv()).env("FAKE_NVML", "t4");
        let output = command.env("LD_LIBRARY_PATH", fake::nvml_dir()).output().expect("starts");
        let json: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
        let checks = json["checks"].as_array().expect("a list").clone();
        checks.into_iter().find(|one| one["id"] == "inspect.binaries").expect("is there")
    };
    let sound = doctor();
    for name in ["extra", "cublas"] {
        assert!(!sound["found"].to_string().contains(name), "{sound}");
    }
    let extra = home.venv().join(SITE).join("extra.so");
    fs::write(&extra, &fixture(GENERAL)[..3000]).expect("file");
    let damaged = doctor();
    assert_eq!(damaged["result"], "fail", "{damaged}");
    assert!(damaged["found"].to_string().contains("extra.so of extra 1.0"), "{damaged}");
    assert_eq!(home.inspect(&["--gpu", "T4"]).1, Some(1));
}

#[test]
fn the_doctor_tells_what_cannot_run_here_and_hides_the_home() {
    let home = Home::new(PACKAGES);
    let doctor = |args: &[&str]| {
        let mut command = home.command(&["doctor"]);
        command.args(args).env("VIRTUAL_ENV", home.venv()).env("FAKE_NVML", "gtx1060");
        command.env("LD_LIBRARY_PATH", fake::nvml_dir());
        let output = command.output().expect("starts");
        (String::from_utf8(output.stdout).expect("is text"), output.status.code())
    };
    let (text, code) = doctor(&[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("torch 2.8.0") && text.contains("contains no code that runs on sm_61"),
        "{text}"
    );
    let (text, _) = doctor(&["--json", "--redact"]);
    let json: Value = serde_json::from_str(&text).expect("is JSON");
    let checks = json["checks"].as_array().expect("a list");
    let found = |id: &str| checks.iter().find(|one| one["id"] == id).expect("is there");
    assert_eq!(found("inspect.binaries")["result"], "fail");
    assert_eq!(found("inspect.cuda")["result"], "pass");
    let environments = found("inspect.environments")["found"].as_str().expect("text");
    assert!(environments.contains("~/venv (venv, active): flash_attn 2.7.4"), "{environments}");
    assert!(!text.contains(&home.path().display().to_string()), "{text}");
}

/// Torch for CPUs, as PyPI has it for Windows, macOS and older Arm servers.
const FOR_CPUS: Packages<'_> = &[("torch", "2.9.1", &[])];

fn with_file(home: &Home, path: &str, contents: &str) {
    with_bytes(home, path, contents.as_bytes());
}

fn with_bytes(home: &Home, path: &str, contents: &[u8]) {
    let path = home.venv().join(SITE).join(path);
    fs::create_dir_all(path.parent().expect("lies in a folder")).expect("folder");
    fs::write(path, contents).expect("file");
}

/// What a command says where the venv is the active one, on a stand-in GPU, and how it ends.
fn active(home: &Home, gpu: Option<&str>, args: &[&str]) -> (String, Option<i32>) {
    let mut command = home.command(args);
    command.env("VIRTUAL_ENV", home.venv());
    if let Some(gpu) = gpu {
        command.env("FAKE_NVML", gpu).env("LD_LIBRARY_PATH", fake::nvml_dir());
    }
    let output = command.output().expect("starts");
    (String::from_utf8(output.stdout).expect("is text"), output.status.code())
}

/// Before: five times "works" and 0 from `check`, "unknown until compiled" from `inspect`, a warning from the doctor.
#[test]
fn torch_without_cuda_works_on_no_gpu() {
    let home = Home::new(FOR_CPUS);
    let version =
        "__version__ = '2.9.1+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n";
    with_file(&home, "torch/version.py", version);
    with_file(
        &home,
        "vllm-0.33.0.dist-info/METADATA",
        "Name: vllm\nVersion: 0.33.0\nRequires-Dist: torch==2.9.1\n\n",
    );
    let (text, code) = home.inspect(&["--gpu", "H100"]);
    assert!(text.contains("1 ✖ torch 2.9.1+cpu is built without CUDA"), "{text}");
    assert!(text.contains("vllm 0.33.0 stands on torch 2.9.1+cpu"), "{text}");
    assert_eq!(code, Some(1));
    let check = ["check", "torch bf16", "vllm fp16", "--installed", "--gpu", "H100"];
    let (text, code) = active(&home, None, &check);
    assert!(text.contains("✖i") && !text.contains("works,"), "{text}");
    assert_eq!(code, Some(1), "{text}");
    let (text, code) = active(&home, Some("t4"), &["doctor"]);
    assert!(text.contains("torch 2.9.1+cpu is built without CUDA"), "{text}");
    assert_eq!(code, Some(1), "{text}");
}

/// Before: `inspect`, `check` and the doctor said that all of it works.
#[test]
fn an_environment_that_starts_nothing_is_not_called_sound() {
    let home = Home::new(&[("xformers", "0.0.35", &[("xformers/_C.so", GENERAL)])]);
    let metadata = "Name: xformers\nVersion: 0.0.35\nRequires-Dist: torch>=2.10\n\n";
    with_file(&home, "xformers-0.0.35.dist-info/METADATA", metadata);
    let python = home.venv().join("bin/python");
    std::os::unix::fs::symlink("/nonexistent/python", python).expect("link");
    let (text, code) = home.inspect(&["--gpu", "T4"]);
    assert!(text.contains("! its interpreter is gone"), "{text}");
    assert!(text.contains("✖ xformers 0.0.35 asks for torch>=2.10, and no torch"), "{text}");
    assert_eq!(code, Some(1), "{text}");
    let (text, code) = active(&home, Some("t4"), &["doctor"]);
    assert!(text.contains("its interpreter is gone") && text.contains("no torch"), "{text}");
    assert_eq!(code, Some(1), "{text}");
    // A path file may lead to one.
    with_file(&home, "more.pth", "/opt/more\n");
    assert_eq!(home.inspect(&["--gpu", "T4"]).1, Some(0));
}

/// Before: "all units have machine code", with no word of the other size.
#[test]
fn a_library_of_another_size_than_recorded_is_told() {
    let home = Home::new(&[("extra", "1.0", &[("extra.so", GENERAL)])]);
    let bytes = fixture(GENERAL).len();
    let row = |bytes: usize| format!("extra.so,sha256=x,{bytes}\n");
    with_file(&home, "extra-1.0.dist-info/RECORD", &row(bytes));
    let (text, _) = home.inspect(&["--gpu", "T4"]);
    assert!(!text.contains("its record lists"), "{text}");
    with_file(&home, "extra-1.0.dist-info/RECORD", &row(bytes - 7));
    let (text, _) = home.inspect(&["--gpu", "T4"]);
    assert!(text.contains("! extra.so of extra 1.0 has"), "{text}");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("--no-deps extra"), "{text}");
    let (text, _) = active(&home, Some("t4"), &["doctor"]);
    assert!(text.contains("its record lists"), "{text}");
}

/// Before: `doctor --gpu` said "name a GPU" and nothing of the damage; `check` and the doctor advised an older release against it.
#[test]
fn damage_is_told_without_a_gpu_and_mended_by_nothing_but_a_reinstall() {
    let home = Home::new(&[
        ("torch", "2.10.0", &[("torch/lib/libtorch_cuda.so", GENERAL)]),
        ("xformers", "0.0.35", &[("xformers/_C.so", GENERAL)]),
    ]);
    let whole = fixture(GENERAL);
    let library = home.venv().join(SITE).join("xformers/_C.so");
    let (text, code) = active(&home, None, &["doctor", "--gpu", "P100"]);
    assert!(
        text.contains("P100") && text.contains("contains no code that runs on sm_60"),
        "{text}"
    );
    assert_eq!(code, Some(1), "{text}");
    let (text, _) = active(&home, None, &["doctor", "--gpu", "T4"]);
    assert!(text.contains("supports every GPU that was named"), "{text}");
    fs::write(&library, &whole[..3000]).expect("file");
    let reinstall = "pip install --force-reinstall --no-deps xformers";
    for args in [&["doctor"][..], &["doctor", "--gpu", "T4"]] {
        let (text, code) = active(&home, None, args);
        assert!(text.contains(reinstall) && !text.contains("'xformers"), "{args:?}: {text}");
        assert_eq!(code, Some(1), "{args:?}: {text}");
    }
    let check = ["check", "xformers", "--installed", "--gpu", "T4"];
    let (text, code) = active(&home, None, &check);
    assert!(text.contains(reinstall) && !text.contains("rule disagrees"), "{text}");
    assert!(!text.contains("pip install 'xformers"), "{text}");
    assert_eq!(code, Some(1), "{text}");
}

/// Before: ✔, and 0, for an x86-64 environment and library beside an Arm CPU.
#[test]
fn binaries_for_another_cpu_do_not_run_beside_a_gpu() {
    let home = Home::new(&PACKAGES[1..2]);
    with_bytes(&home, "torch/lib/libtorch_cuda.so", &as_built(GENERAL));
    let (text, code) = home.inspect(&["--gpu", "GB10"]);
    assert!(text.contains("✖ torch 2.8.0 is built for x86_64 CPUs"), "{text}");
    assert_eq!(code, Some(1), "{text}");
    let library = home.venv().join(SITE).join("torch/lib/libtorch_cuda.so");
    let library = library.display().to_string();
    assert_eq!(home.print(&["inspect", &library, "--gpu", "GB10"]).1, Some(1));
    assert_eq!(home.print(&["inspect", &library, "--gpu", "5090"]).1, Some(0));
}

/// Before: an answer for the newest release, with no word of it.
#[test]
fn what_is_asked_about_and_not_installed_is_said() {
    let home = Home::new(&PACKAGES[1..2]);
    let said = |name: &str| {
        let mut command = home.command(&["check", name, "--installed", "--gpu", "T4"]);
        let output = command.env("VIRTUAL_ENV", home.venv()).output().expect("starts");
        String::from_utf8(output.stderr).expect("is text")
    };
    assert!(said("xformers").contains("xFormers is not installed here"));
    assert!(!said("torch").contains("is not installed"));
}

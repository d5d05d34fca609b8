//! Which libraries are loaded, and which are left alone: planted ones that leave a mark when their code runs.

mod desk;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use stage::Stage;

use self::desk::{CUBLAS, Desk, PROGRAM, SITE, give, is_root, said};
use crate::pty::{Session, Start};

#[test]
fn an_environment_of_the_users_own_is_loaded_and_said_before() {
    let Some(desk) = Desk::new() else { return };
    let (said, code, ran) = desk.probe(&[]);
    assert!(ran && code == Some(0), "{said}");
    let path = desk.cublas().display().to_string();
    let loads = said.find(&format!("warpscope: loads cuBLAS from {path}"));
    assert!(loads < said.find("has no cublasCreate_v2") && loads.is_some(), "{said}");
}

#[test]
fn an_environment_that_others_can_write_is_left_alone() {
    let Some(desk) = Desk::new() else { return };
    for (part, mode) in [(".venv", 0o777), (".venv/lib", 0o757), ("", 0o777)] {
        desk.mode(part, mode);
        desk.left_alone(part, "is writable by everybody: chmod o-w");
        desk.mode(part, 0o755);
    }
    desk.mode(&format!(".venv/{SITE}/nvidia/cublas/lib"), 0o1777);
    desk.left_alone(&format!(".venv/{SITE}/nvidia/cublas/lib"), "is shared");
}

#[test]
fn an_environment_of_another_user_is_left_alone() {
    let Some(desk) = Desk::new() else { return };
    if !is_root() {
        return;
    }
    let file = format!(".venv/{CUBLAS}");
    for part in [file.as_str(), ".venv/lib", ".venv"] {
        give(&desk.at(part));
        desk.left_alone(part, "belongs to uid 65534");
        chown(desk.at(part), Some(0), Some(0)).expect("root may");
    }
    // What comes with it is held to the same.
    let beside = format!(".venv/{SITE}/nvidia/cublas/lib/libcublasLt.so.12");
    assert!(desk.plant(&beside));
    give(&desk.at(&beside));
    desk.left_alone(&beside, "belongs to uid 65534");
}

#[test]
fn a_link_that_leaves_for_an_untrusted_folder_is_not_followed() {
    let Some(desk) = Desk::new() else { return };
    fs::create_dir(desk.at("open")).expect("a folder");
    fs::rename(desk.cublas(), desk.at("open/planted.so")).expect("own");
    symlink(desk.at("open/planted.so"), desk.cublas()).expect("links");
    desk.mode("open", 0o777);
    desk.left_alone("open", "is writable by everybody");
    desk.mode("open", 0o755);
    assert!(desk.probe(&[]).2, "a link within what is trusted is followed");
}

#[test]
fn what_the_user_names_is_loaded_as_named() {
    let Some(desk) = Desk::new() else { return };
    desk.mode(".venv", 0o777);
    let path = desk.cublas().display().to_string();
    let (said, code, ran) = desk.probe(&["--cublas", &path]);
    assert!(ran && code == Some(0), "{said}");
    assert!(said.contains(&format!("{path} has no cublasCreate_v2")), "{said}");
}

/// Goals that are held against cuBLASLt look for it in the same way.
#[test]
fn goals_leave_an_untrusted_library_alone() {
    if !warpscope_kernels::image::images().iter().any(|image| image.family == "gemm") {
        crate::skip::skipped(format_args!("this build has no images of gemm"));
        return;
    }
    let Some(desk) = Desk::new() else { return };
    let goals = ["bench", "--goals", "--gpu", "--kernel", "gemm.f16.2048"];
    let (said, code, ran) = desk.run(&mut desk.command(&goals));
    assert!(ran && code == Some(1), "{said}");
    desk.mode(".venv", 0o777);
    let (said, code, ran) = desk.run(&mut desk.command(&goals));
    assert!(!ran && code == Some(1), "{said}");
    assert!(
        said.contains("not loaded: ") && said.contains("no cuBLAS was found that may be"),
        "{said}"
    );
}

/// The dashboard's key `p`, with the environment that is active.
#[test]
fn the_dashboard_names_what_it_leaves_alone() {
    let Some(mut desk) = Desk::new() else { return };
    desk.stage = Stage::new("t4+idle").without(stage::CUBLAS);
    desk.mode(".venv", 0o777);
    let text = |path: &str| desk.at(path).display().to_string();
    let (home, venv, mut env) = (text("home"), text(".venv"), desk.stage.variables());
    env.extend([("HOME", home.clone()), ("XDG_CACHE_HOME", home), ("VIRTUAL_ENV", venv.clone())]);
    env.push(("WARPSCOPE_INSPECT", "on".to_owned()));
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let args = ["--tab", "compat", "--no-bench", "--interval", "2s"];
    let start = Start { args: &args, env: &env, size: (300, 40), ..Start::default() };
    let mut screen = Session::start(&start);
    screen.see("scanning for installed packages");
    let done =
        |text: &str| !text.contains("scanning for installed") && !text.contains("inspecting ");
    screen.wait(Duration::from_secs(300), done).expect("the look around ends");
    screen.keys("p");
    screen.see("probes: ");
    screen.see(&format!("not loaded: {}", desk.cublas().display()));
    screen.see(&format!("its folder {venv} is writable by everybody"));
    assert!(!desk.at("marks/mark").exists(), "the planted library ran");
    screen.keys("q");
    assert_eq!(screen.end(), 0);
}

const SPEC: &str = r#"
name = "gemv"
kind = "cu"
source = "k.cu"
entry = "gemv"
[launch]
grid = ["n"]
block = [32]
args = ["w", "x", "y", "n", "k"]
[contract]
kind = "gemv"
[[shape]]
n = 32
k = 32
"#;

/// `tune` looks for the compiler where variables say, and no further than it trusts.
#[test]
fn a_compiler_in_a_folder_that_others_can_write_is_left_alone() {
    let Some(desk) = Desk::new() else { return };
    fs::write(desk.at("gemv.toml"), SPEC).expect("writes");
    fs::write(desk.at("k.cu"), "extern \"C\" __global__ void gemv() {}\n").expect("writes");
    assert!(desk.plant("cuda/lib64/libnvrtc.so.12") && desk.plant("conda/lib/libnvrtc.so.13"));
    let spec = desk.at("gemv.toml").display().to_string();
    let tune = || {
        let mut command = desk.command(&["tune", &spec, "--once"]);
        command.env("TMPDIR", desk.at("home"));
        command.env("CUDA_HOME", desk.at("cuda")).env("CONDA_PREFIX", desk.at("conda"));
        desk.run(&mut command)
    };
    let (said, code, ran) = tune();
    assert!(ran, "{said}");
    let (first, second) =
        (desk.at("cuda/lib64/libnvrtc.so.12"), desk.at("conda/lib/libnvrtc.so.13"));
    let loads = format!("loads NVRTC from {}, or else {}", first.display(), second.display());
    assert!(said.contains(&loads), "{said}");
    desk.mode("cuda/lib64", 0o777);
    desk.mode("conda", 0o777);
    let (said, without, ran) = tune();
    assert!(!ran && without == code, "{said}");
    for (path, component) in [(first, "cuda/lib64"), (second, "conda")] {
        let line =
            said.lines().find(|line| line.contains(&format!("not loaded: {}", path.display())));
        let folder =
            format!("its folder {} is writable by everybody", desk.at(component).display());
        assert!(line.is_some_and(|line| line.contains(&folder)), "{said}");
    }
    assert!(said.contains("name it as `nvrtc` in the spec"), "{said}");
    let named = SPEC
        .replace("entry =", &format!("nvrtc = {:?}\nentry =", desk.at("conda/lib/libnvrtc.so.13")));
    fs::write(desk.at("gemv.toml"), named).expect("writes");
    assert!(tune().2, "the spec names it");
}

/// Driver and NVML are the loader's to find; what lies in the working directory or an environment is none of its places.
#[test]
fn drivers_are_not_looked_for_in_folders() {
    let Some(desk) = Desk::new() else { return };
    for name in ["libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"] {
        for folder in ["project/deep", ".venv/lib"] {
            assert!(desk.plant(&format!("{folder}/{name}")));
        }
    }
    for arguments in [&["probe"][..], &["snapshot"]] {
        let mut command = desk.command(arguments);
        command.env_remove("LD_LIBRARY_PATH").env("VIRTUAL_ENV", desk.at(".venv"));
        let (said, _, ran) = desk.run(&mut command);
        assert!(!ran, "{said}");
    }
}

/// A program with rights its caller has not does not let the caller's words choose code; here it is setuid to a user without any.
#[test]
fn with_elevated_privileges_neither_environment_nor_options_choose_libraries() {
    let Some(desk) = Desk::new() else { return };
    if !is_root() {
        return;
    }
    assert!(desk.plant("nvml/libnvidia-ml.so.1"));
    let library = desk.at("nvml/libnvidia-ml.so.1");
    let setuid = |program: &Path| {
        let copy = desk.at("home").join(program.file_name().expect("has a name"));
        fs::copy(program, &copy).expect("copies");
        give(&copy);
        fs::set_permissions(&copy, Permissions::from_mode(0o4755)).expect("root may");
        copy
    };
    let id = Command::new(setuid(Path::new("/usr/bin/id"))).output().expect("starts");
    if !said(&id).contains("euid=65534") {
        crate::skip::skipped(format_args!("setuid programs have no effect here"));
        return;
    }
    let run = |program: &Path, arguments: &[&str], variable: &str| {
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", desk.at("home")).env(variable, &library);
        desk.run(command.current_dir(desk.at("project")))
    };
    let elevated = setuid(Path::new(PROGRAM));
    let (said, _, ran) = run(Path::new(PROGRAM), &["snapshot"], "WARPSCOPE_LIBRARY");
    assert!(ran, "the user's own process takes it: {said}");
    let (said, _, ran) = run(&elevated, &["snapshot"], "WARPSCOPE_LIBRARY");
    assert!(!ran && said.contains("WARPSCOPE_LIBRARY is ignored: it runs setuid"), "{said}");
    let (said, code, ran) = run(&elevated, &["__worker", "--gpu"], "CUDA_INJECTION64_PATH");
    assert!(!ran && code == Some(1), "{said}");
    assert!(said.contains("CUDA_INJECTION64_PATH names code"), "{said}");
    give(&library);
    let named = ["snapshot", "--library", &library.display().to_string()];
    let (said, code, ran) = run(&elevated, &named, "UNUSED");
    assert!(!ran && code == Some(2) && said.contains("belongs to uid 65534"), "{said}");
}

//! The same question put to pip, which runs Python: names and versions must agree.

use std::collections::BTreeSet;
use std::process::Command;

use super::*;
use crate::inspect::env::normalized;
use crate::inspect::env::sweep::Sweep;

type Names = BTreeSet<(String, String)>;

/// What pip says is installed for an interpreter; `None` where it cannot be asked.
fn asked(python: &Path) -> Option<Names> {
    let arguments = ["-m", "pip", "list", "--format", "json", "--disable-pip-version-check"];
    // The folder this test runs in, a user's own packages and paths of the environment are no part of the installation.
    let clean = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"];
    let mut command = Command::new(python);
    for name in clean {
        command.env_remove(name);
    }
    let output = command.arg("-s").args(arguments).current_dir("/").output().ok()?;
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
    let text =
        |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    Some(rows.iter().map(|row| (normalized(&text(row, "name")), text(row, "version"))).collect())
}

/// Requirements that are not met, as `pip check` names them: who asks, and for what. Those for packages that are missing are not ours.
fn checked(python: &Path) -> Option<BTreeSet<(String, String)>> {
    let mut command = Command::new(python);
    for name in ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"] {
        command.env_remove(name);
    }
    let output = command
        .args(["-s", "-m", "pip", "check", "--disable-pip-version-check"])
        .current_dir("/")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let row = |line: &str| {
        let (who, rest) = line.split_once(" has requirement ")?;
        let (what, _) = rest.split_once(", but you")?;
        let end = what
            .find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c))
            .unwrap_or(what.len());
        Some((normalized(who.split(' ').next()?), normalized(&what[..end])))
    };
    Some(text.lines().filter_map(row).collect())
}

/// The same of an inventory's sentences.
fn told(environment: &Environment) -> BTreeSet<(String, String)> {
    let row = |sentence: &String| {
        let (who, rest) = sentence.split_once(" asks for ")?;
        let (_, what) = rest.split_once(", but ")?;
        Some((normalized(who.split(' ').next()?), normalized(what.split(' ').next()?)))
    };
    environment.problems.iter().filter_map(row).collect()
}

fn read(environment: &Environment) -> Names {
    let python =
        environment.packages.iter().filter(|one| one.installer.as_deref() != Some("conda"));
    python.map(|one| (one.normalized.clone(), one.full_version())).collect()
}

/// Every interpreter of this machine that has pip.
#[test]
fn agrees_with_pip_on_every_environment_of_this_machine() {
    let inventory = find(&Places::here(Vec::new()), &mut Progress::silent());
    let mut compared = 0;
    for environment in &inventory.environments {
        let version = environment.python.as_deref().unwrap_or("3");
        let python = environment.root.join(format!("bin/python{version}"));
        let known = environment.kind != EnvKind::User;
        if let Some(pip) = known.then(|| asked(&python)).flatten() {
            assert_eq!(read(environment), pip, "{}", environment.root.display());
            assert_eq!(Some(told(environment)), checked(&python), "{}", environment.root.display());
            compared += 1;
        }
    }
    if compared == 0 {
        println!("SKIPPED: no interpreter with pip on this machine");
    }
}

/// A fresh venv, with a small package from the index where it can be reached.
#[test]
fn agrees_with_pip_on_a_fresh_environment() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let root = dir.path().join("venv");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&root).output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: python3 -m venv is not to be had here");
        return;
    }
    let python = root.join("bin/python");
    // The last three are of versions that pip itself calls a conflict.
    let install = "-m pip install --quiet --disable-pip-version-check --retries 0 --timeout 10 --no-deps \
                   six markupsafe requests==2.31.0 charset-normalizer==1.4.1 idna==3.7";
    let installed =
        Command::new(&python).args(install.split_whitespace()).output().expect("python starts");
    if !installed.status.success() {
        println!(
            "SKIPPED in part: the package index cannot be reached, so only pip itself is compared"
        );
    }
    let places = Places { named: vec![root.clone()], ..Places::at("/".into()) };
    let inventory = find(&places, &mut Progress::silent());
    let root = root.canonicalize().expect("a path");
    let found = inventory.environments.iter().find(|one| one.root == root).expect("is found");
    assert_eq!(found.kind, EnvKind::Venv);
    assert_eq!(read(found), asked(&python).expect("pip answers"));
    if installed.status.success() {
        let markup = found.package("MarkupSafe").expect("was installed");
        assert_eq!(markup.libraries.len(), 1, "its one extension module");
        let expected = fs::metadata(&markup.libraries[0].path).expect("is there").len();
        assert_eq!(markup.libraries[0].bytes, expected);
        assert_eq!(told(found).len(), 1, "{:?}", found.problems);
    }
    assert_eq!(Some(told(found)), checked(&python));
}

/// A venv that sees the packages of its base.
#[test]
fn agrees_with_pip_on_an_environment_that_inherits() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let root = dir.path().join("venv");
    let made =
        Command::new("python3").args(["-m", "venv", "--system-site-packages"]).arg(&root).output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: python3 -m venv is not to be had here");
        return;
    }
    let places = Places { named: vec![root.clone()], ..Places::at("/".into()) };
    let inventory =
        Sweep { places, pids: Vec::new(), only_named: true }.run(&mut Progress::silent());
    let found = only(&inventory);
    assert!(found.inherits.is_some());
    assert_eq!(read(found), asked(&root.join("bin/python")).expect("pip answers"));
}

/// A tree of real libraries for the loader.
struct Tree {
    root: PathBuf,
    site: PathBuf,
}

impl Tree {
    fn new(root: PathBuf) -> Self {
        let site = root.join("venv/lib/python3.11/site-packages");
        let places = ["torch/lib", "nvidia/cublas/lib", "nvidia/light/lib", "list"];
        places.iter().for_each(|place| fs::create_dir_all(site.join(place)).expect("a folder"));
        fs::write(root.join("venv/pyvenv.cfg"), "home = /usr/bin\n").expect("a file");
        fs::write(root.join("empty.c"), "").expect("a file");
        Self { root, site }
    }

    /// An empty library; whether there is a compiler that made it.
    fn compile(&self, out: &str, soname: &str, more: &[&str]) -> bool {
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed", "-o"]);
        command.arg(self.site.join(out)).arg(self.root.join("empty.c"));
        let output = command.arg(format!("-Wl,-soname,{soname}")).args(more).output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Torch, which needs cuBLAS, which needs cuBLASLt, with these search paths.
    fn fill(&self, blas_path: &str, torch_path: &str, tags: &str) -> bool {
        let rpath = |path: &str| format!("-Wl,-rpath,{path}");
        let light = self.site.join("nvidia/light/lib/libcublasLt.so.12").display().to_string();
        let blas = self.site.join("nvidia/cublas/lib/libcublas.so.12").display().to_string();
        let (of_blas, of_torch) = (rpath(blas_path), rpath(torch_path));
        let mut more = vec![light.as_str(), tags];
        more.extend((!blas_path.is_empty()).then_some(of_blas.as_str()));
        self.compile("nvidia/light/lib/libcublasLt.so.12", "libcublasLt.so.12", &[])
            && self.compile("nvidia/cublas/lib/libcublas.so.12", "libcublas.so.12", &more)
            && self.compile("list/libcublasLt.so.12", "libcublasLt.so.12", &[])
            && self.compile(
                "torch/lib/libtorch_cuda.so",
                "libtorch_cuda.so",
                &[&blas, tags, &of_torch],
            )
    }

    /// Libraries that an inspection finds torch to load, with this folder in `LD_LIBRARY_PATH`.
    fn found(&self, list: Option<&Path>) -> BTreeSet<PathBuf> {
        let mut places = Places { named: vec![self.root.join("venv")], ..Places::at("/".into()) };
        let list = list.map(|list| ("LD_LIBRARY_PATH".to_owned(), list.display().to_string()));
        places.vars.extend(list);
        let sweep = Sweep { places, pids: Vec::new(), only_named: true };
        let inventory = sweep.run(&mut Progress::silent());
        let libraries = only(&inventory).cuda.iter();
        let found = libraries.filter(|one| one.wins && !one.via.starts_with("preloaded"));
        found.map(|one| one.path.clone()).collect()
    }
}

/// The loader itself, asked by `ldd`: real libraries with every kind of search path, and every place filled or not.
#[test]
fn agrees_with_the_loader_on_which_copy_it_takes() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let tree = Tree::new(dir.path().canonicalize().expect("a path"));
    let mut compared = 0;
    for (blas_path, torch_path, old) in [
        ("", "$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/light/lib", true),
        ("", "$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/light/lib", false),
        ("$ORIGIN/../../light/lib", "$ORIGIN/../../nvidia/cublas/lib", false),
        ("$ORIGIN/../../light/lib", "${ORIGIN}/../../nvidia/cublas/lib", true),
    ] {
        let tags = if old { "-Wl,--disable-new-dtags" } else { "-Wl,--enable-new-dtags" };
        if !tree.fill(blas_path, torch_path, tags) {
            println!("SKIPPED: no C compiler here");
            return;
        }
        write_records(&tree.site);
        for list in [None, Some(tree.site.join("list"))] {
            let torch = tree.site.join("torch/lib/libtorch_cuda.so");
            let Some(expected) = loaded(&torch, list.as_deref()) else {
                println!("SKIPPED: no ldd here");
                return;
            };
            assert!(!expected.is_empty(), "the loader finds at least one");
            let found = tree.found(list.as_deref());
            assert_eq!(found, expected, "{torch_path} {blas_path} {tags}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}

fn write_records(site: &Path) {
    for (name, files) in [
        ("torch", &["torch/lib/libtorch_cuda.so"][..]),
        (
            "nvidia_cublas_cu12",
            &["nvidia/cublas/lib/libcublas.so.12", "nvidia/light/lib/libcublasLt.so.12"],
        ),
    ] {
        let info = site.join(format!("{name}-1.0.dist-info"));
        fs::create_dir_all(&info).expect("a folder");
        fs::write(info.join("METADATA"), format!("Name: {name}\nVersion: 1.0\n")).expect("a file");
        fs::write(
            info.join("RECORD"),
            files.iter().map(|file| format!("{file},,\n")).collect::<String>(),
        )
        .expect("a file");
    }
}

/// CUDA libraries the loader takes for a library, by `ldd`.
fn loaded(library: &Path, list: Option<&Path>) -> Option<BTreeSet<PathBuf>> {
    let mut command = Command::new("ldd");
    command.arg(library).env_remove("LD_LIBRARY_PATH");
    list.map(|list| command.env("LD_LIBRARY_PATH", list));
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let path = |line: &str| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let path = rest.split(" (").next().filter(|path| path.starts_with('/'))?;
        name.starts_with("libcublas").then(|| fs::canonicalize(path).ok()).flatten()
    };
    Some(text.lines().filter_map(path).collect())
}

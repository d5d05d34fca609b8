use super::*;
use crate::inspect::env::places::{PLACES, fits};

/// A path the pattern leads to, and the variable that has to be set.
fn instance(pattern: &str) -> (String, Option<(String, String)>) {
    let (first, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
    let rest = if rest.is_empty() { String::new() } else { format!("/{rest}") };
    let rest = rest.replace("/*/", "/some/").replace('*', "x");
    match first {
        "" => (rest, None),
        "~" => (format!("/home/ada{rest}"), None),
        "^" => (format!("/home/ada/work{rest}"), None),
        variable => {
            let name = variable.trim_start_matches('$').to_owned();
            let value = format!("/named/{name}");
            (format!("{value}{rest}"), Some((name, value)))
        }
    }
}

/// Every row by itself: a tree with the marks of its kind at its place is found, and found as that kind.
#[test]
fn every_place_of_the_table_is_looked_at() {
    for (kind, pattern) in PLACES {
        let fake = Fake::new();
        let (mut path, variable) = instance(pattern.trim_start_matches('@'));
        if pattern.starts_with('@') {
            fake.put(&path, "relative\n/listed/env\n\n");
            path = "/listed/env".to_owned();
        }
        if let Some(file) = path.strip_suffix("/python").or_else(|| path.strip_suffix("/python3")) {
            fake.prefix("/somewhere");
            fake.link(&path, "/somewhere/bin/python3");
            assert!(!file.is_empty());
        }
        let path = path
            .strip_suffix("/..")
            .map(|bin| bin.rsplit_once('/').expect("absolute").0.to_owned())
            .unwrap_or(path);
        let mut places = fake.places();
        places.vars.extend(variable);
        match kind {
            EnvKind::Conda => fake.conda(&path),
            EnvKind::System | EnvKind::User | EnvKind::Uv | EnvKind::Pyenv => fake.prefix(&path),
            EnvKind::Folder if pattern.contains("python") => {}
            EnvKind::Folder => fake.prefix(&path),
            _ => fake.venv(&path),
        }
        let inventory = find(&places, &mut Progress::silent());
        let found = only(&inventory);
        let system = ["/usr", "/usr/local"].contains(&path.as_str());
        let kind = if system { EnvKind::System } else { *kind };
        assert_eq!((found.kind, found.python.as_deref()), (kind, Some("3.11")), "{pattern}");
        assert_eq!(inventory.unreadable, [], "{pattern}");
    }
}

#[test]
fn an_environment_is_listed_once_however_many_ways_lead_to_it() {
    let fake = Fake::new();
    fake.venv("/home/ada/work/.venv");
    fake.link("/home/ada/venv", "work/.venv");
    fake.link("/opt/venv", "/home/ada/work/.venv");
    let mut places = fake.places();
    places.vars.insert("VIRTUAL_ENV".into(), "/home/ada/work/.venv".into());
    places.vars.insert("PATH".into(), "/home/ada/work/.venv/bin:/opt/venv/bin:relative".into());
    places.named = vec![
        "/opt/venv".into(),
        "../../.venv".into(),
        "/opt/venv/bin/python".into(),
        "/home/ada/work/.venv/lib64/python3.11/site-packages".into(),
        "/home/ada/work".into(),
    ];
    let inventory = find(&places, &mut Progress::silent());
    let found = only(&inventory);
    assert_eq!(found.root, fake.shown("/home/ada/work/.venv"));
    assert_eq!(found.kind, EnvKind::Venv);
    assert!(found.active);
    assert_eq!(inventory.unreadable, []);
}

/// Merged /usr: /bin, /lib and /lib64 are links, so three prefixes lead to the same packages.
#[test]
fn debian_is_one_system_with_three_package_folders() {
    let fake = Fake::new();
    for link in ["bin", "lib", "lib64"] {
        fake.dir(&format!("/usr/{link}"));
        fake.link(&format!("/{link}"), &format!("usr/{link}"));
    }
    fake.put("/usr/bin/python3.11", "");
    fake.package("/usr/lib/python3/dist-packages", "old", "1.0", &[]);
    fake.package("/usr/lib/python3/dist-packages", "both", "1.0", &[]);
    fake.package("/usr/local/lib/python3.11/dist-packages", "both", "2.0", &[]);
    fake.dir("/usr/lib/python3.11");
    let mut places = fake.places();
    places.vars.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    let inventory = find(&places, &mut Progress::silent());
    let found = only(&inventory);
    assert_eq!((found.kind, found.root.clone()), (EnvKind::System, fake.shown("/usr")));
    assert_eq!(
        names(found),
        ["both 2.0", "old 1.0"],
        "pip's folder comes before the distribution's"
    );
}

/// The official image of Python and Colab keep theirs below /usr/local, under different names.
#[test]
fn two_systems_lie_side_by_side() {
    let fake = Fake::new();
    fake.prefix("/usr/local");
    fake.package("/usr/local/lib/python3.11/site-packages", "image", "1", &[]);
    fake.dir("/usr/lib/python3.12");
    fake.package("/usr/local/lib/python3.12/dist-packages", "colab", "1", &[]);
    let inventory = fake.find();
    let mut found: Vec<_> = inventory.environments.iter().map(names).collect();
    found.sort();
    assert_eq!(found, [["colab 1"], ["image 1"]]);
}

#[test]
fn every_version_in_a_prefix_is_its_own_environment() {
    let fake = Fake::new();
    for version in ["3.9", "3.10", "3.13t"] {
        fake.dir(&format!("/usr/local/lib/python{version}/site-packages"));
    }
    let inventory = fake.find();
    let found: Vec<_> =
        inventory.environments.iter().flat_map(|one| one.python.as_deref()).collect();
    assert_eq!(found, ["3.9", "3.10", "3.13"]);
}

#[test]
fn what_a_venv_sees_of_its_base_is_read_behind_its_own() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake.put(
        "/home/ada/venv/pyvenv.cfg",
        "home = /opt/py/bin\ninclude-system-site-packages = true\n",
    );
    fake.prefix("/opt/py");
    let (own, base) =
        ("/home/ada/venv/lib/python3.11/site-packages", "/opt/py/lib/python3.11/site-packages");
    fake.package(own, "nvidia-cublas-cu12", "12.8.4.1", &[]);
    fake.package(base, "nvidia-cublas-cu12", "12.1.3.1", &[]);
    fake.package(base, "torch", "2.1.0", &["torch/lib/libtorch_cuda.so"]);
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(found.inherits.as_deref(), Some(Path::new("/opt/py")));
    assert_eq!(names(found), ["nvidia-cublas-cu12 12.8.4.1", "torch 2.1.0"]);
    assert_eq!(found.packages[1].libraries.len(), 1);
}

/// `pip install --user` of a new torch over the distribution's packages: one interpreter sees both.
#[test]
fn a_users_packages_lie_over_the_systems() {
    let fake = Fake::new();
    fake.put("/usr/bin/python3.11", "");
    fake.dir("/usr/lib/python3.11");
    fake.package("/usr/lib/python3/dist-packages", "numpy", "1.24.2", &[]);
    fake.package("/usr/lib/python3/dist-packages", "torch", "1.13.1", &[]);
    fake.package("/home/ada/.local/lib/python3.11/site-packages", "torch", "2.8.0", &[]);
    let inventory = fake.find();
    let of = |kind| inventory.environments.iter().find(|one| one.kind == kind).map(names);
    assert_eq!(of(EnvKind::User), Some(vec!["numpy 1.24.2".to_owned(), "torch 2.8.0".to_owned()]));
    assert_eq!(
        of(EnvKind::System),
        Some(vec!["numpy 1.24.2".to_owned(), "torch 1.13.1".to_owned()])
    );
}

#[test]
fn a_folder_filled_by_pip_target_is_an_environment_when_named() {
    let fake = Fake::new();
    fake.package("/data/libs", "torch", "2.8.0", &["torch/lib/libtorch_cuda.so"]);
    let mut places = fake.places();
    assert_eq!(find(&places, &mut Progress::silent()).environments, []);
    places.named = vec!["/data/libs".into()];
    let inventory = find(&places, &mut Progress::silent());
    assert_eq!(only(&inventory).kind, EnvKind::Folder);
    assert_eq!(names(only(&inventory)), ["torch 2.8.0"]);
}

#[test]
fn a_named_place_without_an_environment_is_said_to_have_none() {
    let fake = Fake::new();
    fake.dir("/data/empty");
    let mut places = fake.places();
    places.named = vec!["/data/empty".into(), "/data/missing".into()];
    let inventory = find(&places, &mut Progress::silent());
    assert_eq!(inventory.environments, []);
    let unreadable: Vec<_> = inventory.unreadable.iter().map(|one| one.path.clone()).collect();
    assert_eq!(unreadable, [PathBuf::from("/data/empty"), "/data/missing".into()]);
}

#[test]
fn windows_venvs_are_read_too() {
    let fake = Fake::new();
    fake.put("/home/ada/venv/pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.7\n");
    fake.package(
        "/home/ada/venv/Lib/site-packages",
        "torch",
        "2.8.0",
        &["torch/lib/torch_cuda.dll"],
    );
    let inventory = fake.find();
    assert_eq!(only(&inventory).python.as_deref(), Some("3.11"));
    assert_eq!(only(&inventory).packages[0].libraries.len(), 1);
}

#[test]
fn a_cancelled_search_says_so_and_ends() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    let cancel = std::sync::atomic::AtomicBool::new(true);
    let inventory = find(&fake.places(), &mut Progress::new(&cancel, |_| {}));
    assert!(inventory.cancelled && inventory.environments.is_empty());
}

#[test]
fn progress_tells_of_every_place_and_every_environment() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake.venv("/opt/venv");
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let mut steps = Vec::new();
    find(&fake.places(), &mut Progress::new(&cancel, |seen| steps.push(seen.clone())));
    let last = steps.last().expect("was told");
    assert_eq!((last.done, last.found), (2, 2));
    assert!(steps.iter().any(|seen| seen.place == fake.shown("/opt/venv")));
    assert!(steps.is_sorted_by_key(|seen| (seen.files, seen.bytes)));
}

#[test]
fn stars_stand_for_anything_but_a_leading_dot() {
    for (pattern, name, fit) in [
        ("*", "a", true),
        ("*", ".a", false),
        ("*venv*", "myvenv2", true),
        ("*venv*", ".venv", false),
        ("m*forge*", "miniforge3", true),
        ("*conda3", "miniconda3", true),
        ("*conda3", "conda4", false),
        ("aa*aa", "aaa", false),
        ("a*b*a", "aba", true),
    ] {
        assert_eq!(fits(pattern, name.as_ref()), fit, "{pattern} {name}");
    }
}

use super::*;
use crate::inspect::env::elf::tests::library;
use crate::inspect::env::ld_cache::tests::cache;

const SITE: &str = "/home/ada/venv/lib/python3.11/site-packages";
const NEEDED: u64 = 1;
const SONAME: u64 = 14;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// How torch's wheels lead to NVIDIA's: one entry for each package.
const TORCH_PATHS: &str =
    "$ORIGIN/../../nvidia/cublas/lib:$ORIGIN/../../nvidia/cuda_runtime/lib:$ORIGIN";

/// A venv with torch 2.8.0 for CUDA 12.8 whose library finds its dependencies by `tag`.
fn machine(tag: u64) -> Fake {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake.package(SITE, "torch", "2.8.0", &["torch/lib/libtorch_cuda.so"]);
    fake.put(&format!("{SITE}/torch/version.py"), "__version__ = '2.8.0+cu128'\ncuda = '12.8'\n");
    let needs = [(NEEDED, "libcublas.so.12"), (NEEDED, "libcudart.so.12"), (tag, TORCH_PATHS)];
    fake.put(&format!("{SITE}/torch/lib/libtorch_cuda.so"), library(&needs));
    fake
}

/// NVIDIA's wheel of cuBLAS: two libraries, of which one asks for the other.
fn cublas_wheel(fake: &Fake, name: &str, version: &str, major: &str) {
    let folder = "nvidia/cublas/lib";
    let files =
        [format!("{folder}/libcublas.so.{major}"), format!("{folder}/libcublasLt.so.{major}")];
    fake.package(SITE, name, version, &[&files[0], &files[1]]);
    cublas(fake, &format!("{SITE}/{folder}"), major);
}

fn cublas(fake: &Fake, folder: &str, major: &str) {
    let (blas, light) = (format!("libcublas.so.{major}"), format!("libcublasLt.so.{major}"));
    let needs = [(SONAME, blas.as_str()), (NEEDED, light.as_str()), (RUNPATH, "$ORIGIN")];
    fake.put(&format!("{folder}/{blas}"), library(&needs));
    fake.put(&format!("{folder}/{light}"), library(&[(SONAME, light.as_str())]));
}

/// Name, version and how it is found, of the copies that win.
fn winners(environment: &Environment) -> Vec<(String, String, String)> {
    let row = |one: &CudaLibrary| {
        (one.name.clone(), one.version.clone().unwrap_or_default(), one.via.clone())
    };
    environment.cuda.iter().filter(|one| one.wins).map(row).collect()
}

fn expect(rows: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
    rows.iter().map(|row| (row.0.to_owned(), row.1.to_owned(), row.2.to_owned())).collect()
}

#[test]
fn torch_finds_the_wheels_by_its_run_path() {
    let fake = machine(RUNPATH);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    let inventory = fake.find();
    let found = only(&inventory);
    let by = "RUNPATH of libtorch_cuda.so";
    assert_eq!(
        winners(found),
        expect(&[
            ("cublas", "12.8.4.1", by),
            ("cublasLt", "12.8.4.1", "RUNPATH of libcublas.so.12")
        ])
    );
    assert_eq!(found.cuda[0].package.as_deref(), Some("nvidia-cublas-cu12"));
    assert_eq!(
        found.cuda[0].needed_by,
        Some(fake.shown(&format!("{SITE}/torch/lib/libtorch_cuda.so")))
    );
    assert_eq!(found.problems, [""; 0]);
}

/// `ld.so(8)`: RPATH comes before LD_LIBRARY_PATH, RUNPATH after it.
#[test]
fn the_list_of_the_environment_beats_a_run_path_but_not_an_old_one() {
    for (tag, wins) in [(RUNPATH, "12.1.3.1"), (RPATH, "12.8.4.1")] {
        let fake = machine(tag);
        cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
        cublas(&fake, "/usr/local/cuda-12.1/lib64", "12");
        fake.put(
            "/usr/local/cuda-12.1/version.json",
            r#"{"libcublas":{"name":"CUDA cuBLAS","version":"12.1.3.1"}}"#,
        );
        let mut places = fake.places();
        places.vars.insert("LD_LIBRARY_PATH".into(), ":/usr/local/cuda-12.1/lib64:relative".into());
        let inventory = find(&places, &mut Progress::silent());
        let found = only(&inventory);
        assert_eq!(winners(found)[0].1, wins);
        let told = found.problems.iter().any(|problem| {
            problem.contains("cublas 12.1.3.1")
                && problem.contains("cublas 12.8.4.1")
                && problem.contains("LD_LIBRARY_PATH")
        });
        assert_eq!(told, tag == RUNPATH, "{:?}", found.problems);
    }
}

/// The likeliest cause of `CUBLAS_STATUS_NOT_SUPPORTED` from cublasGemmEx on cards that can do the call: a framework built against
/// the system's CUDA, and cuBLAS from pip beside it.
#[test]
fn two_versions_of_cublas_that_meet_are_named_with_what_they_cause() {
    let fake = machine(RUNPATH);
    let needs = [
        (NEEDED, "libcublas.so.12"),
        (NEEDED, "libcublasLt.so.12"),
        (RUNPATH, "$ORIGIN/../../nvidia/light/lib"),
    ];
    fake.put(&format!("{SITE}/torch/lib/libtorch_cuda.so"), library(&needs));
    let light = "nvidia/light/lib/libcublasLt.so.12";
    fake.package(SITE, "nvidia-cublas-cu12", "12.8.4.1", &[light]);
    fake.put(&format!("{SITE}/{light}"), library(&[(SONAME, "libcublasLt.so.12")]));
    fake.put("/opt/nvidia/libcublas.so.12.0.2.224", library(&[(SONAME, "libcublas.so.12")]));
    fake.link("/opt/nvidia/libcublas.so.12", "libcublas.so.12.0.2.224");
    fake.put(
        "/etc/ld.so.cache",
        cache(&[(MACHINE, "libcublas.so.12", "/opt/nvidia/libcublas.so.12")]),
    );
    let inventory = fake.find();
    let found = only(&inventory);
    let expected = [
        ("cublas", "12.0.2.224", "ld.so.cache"),
        ("cublasLt", "12.8.4.1", "RUNPATH of libtorch_cuda.so"),
    ];
    assert_eq!(winners(found), expect(&expected));
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    for part in
        ["cublas 12.0.2.224", "cublasLt 12.8.4.1", "CUBLAS_STATUS_NOT_SUPPORTED", "reinstall"]
    {
        assert!(found.problems[0].contains(part), "{part}: {:?}", found.problems);
    }
}

#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0x0a03;
#[cfg(not(target_arch = "aarch64"))]
const MACHINE: u32 = 0x0303;

/// Each has its soname: `libcublas.so.11` and `libcublas.so.12`.
#[test]
fn two_majors_lie_side_by_side() {
    let fake = machine(RUNPATH);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    cublas_wheel(&fake, "nvidia-cublas-cu11", "11.11.3.6", "11");
    assert_eq!(only(&fake.find()).problems, [""; 0]);
}

#[test]
fn two_versions_of_one_major_in_one_environment_are_a_problem() {
    let fake = machine(RUNPATH);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    cublas_wheel(&fake, "nvidia-cublas-cu11", "11.11.3.6", "11");
    fake.package(SITE, "nvidia-cublas-old", "12.1.3.1", &["nvidia/old/lib/libcublas.so.12"]);
    let inventory = fake.find();
    let problems = &only(&inventory).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    for part in
        ["wheel nvidia-cublas-old", "wheel nvidia-cublas-cu12", "12.1.3.1", "12.8.4.1", "uninstall"]
    {
        assert!(problems[0].contains(part), "{part}: {problems:?}");
    }
    assert!(!problems[0].contains("cu11"), "{problems:?}");
}

/// Wheel repairers give a bundled library a name of its own, so that it cannot meet another.
#[test]
fn a_bundled_copy_with_a_name_of_its_own_is_no_problem() {
    let fake = machine(RUNPATH);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    let (module, bundled) = ("other/_C.so", "other.libs/libcublas-37d11411.so.11.10.1.25");
    fake.package(SITE, "other", "1.0", &[module, bundled]);
    let needs = [(NEEDED, "libcublas-37d11411.so.11.10.1.25"), (RPATH, "$ORIGIN/../other.libs")];
    fake.put(&format!("{SITE}/{module}"), library(&needs));
    let inventory = fake.find();
    let found = only(&inventory);
    let mut versions: Vec<_> = winners(found).into_iter().map(|row| row.1).collect();
    versions.sort();
    assert_eq!(versions, ["11.10.1.25", "12.8.4.1", "12.8.4.1"]);
    assert_eq!(found.problems, [""; 0]);
}

/// CUDA 13's wheels share one tree.
#[test]
fn the_tree_of_cuda_13_is_known() {
    let fake = machine(RUNPATH);
    let needs = [(NEEDED, "libcublas.so.13"), (RUNPATH, "$ORIGIN/../../nvidia/cu13/lib")];
    fake.put(&format!("{SITE}/torch/lib/libtorch_cuda.so"), library(&needs));
    fake.package(SITE, "nvidia-cublas", "13.0.0.19", &["nvidia/cu13/lib/libcublas.so.13"]);
    let inventory = fake.find();
    assert_eq!(
        winners(only(&inventory)),
        expect(&[("cublas", "13.0.0.19", "RUNPATH of libtorch_cuda.so")])
    );
}

#[test]
fn what_the_loader_does_not_find_is_opened_from_the_wheel() {
    let fake = machine(SONAME);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    let inventory = fake.find();
    assert_eq!(winners(only(&inventory))[0].2, "preloaded from wheel nvidia-cublas-cu12");
}

/// bitsandbytes ships one library for each CUDA and opens the one that fits: this very version, or the newest before it.
#[test]
fn of_builds_of_a_library_the_fitting_one_pulls_in_what_it_needs() {
    for fitting in ["128", "126"] {
        let fake = machine(RUNPATH);
        fake.put(&format!("{SITE}/torch/lib/libtorch_cuda.so"), library(&[]));
        cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
        cublas(&fake, "/usr/local/cuda-11.8/lib64", "11");
        let builds =
            ["118", fitting].map(|cuda| format!("bitsandbytes/libbitsandbytes_cuda{cuda}.so"));
        fake.package(SITE, "bitsandbytes", "0.45.0", &[&builds[0], &builds[1]]);
        for (file, major) in builds.iter().zip(["11", "12"]) {
            let needed = format!("libcublas.so.{major}");
            fake.put(&format!("{SITE}/{file}"), library(&[(NEEDED, needed.as_str())]));
        }
        fake.put(
            "/etc/ld.so.cache",
            cache(&[(MACHINE, "libcublas.so.11", "/usr/local/cuda-11.8/lib64/libcublas.so.11")]),
        );
        let inventory = fake.find();
        let found = only(&inventory);
        let winners = winners(found);
        assert!(!winners.is_empty(), "{fitting}");
        assert!(winners.iter().all(|row| row.1 == "12.8.4.1"), "{fitting}: {winners:?}");
        assert_eq!(found.problems, [""; 0]);
    }
}

#[test]
fn conda_environments_bring_their_own() {
    let fake = Fake::new();
    fake.conda("/opt/conda");
    let site = "/opt/conda/lib/python3.11/site-packages";
    fake.package(site, "torch", "2.4.1", &["torch/lib/libtorch_cuda.so"]);
    let needs = [(NEEDED, "libcublas.so.12"), (RPATH, "$ORIGIN:$ORIGIN/../../../..")];
    fake.put(&format!("{site}/torch/lib/libtorch_cuda.so"), library(&needs));
    fake.put("/opt/conda/lib/libcublas.so.12.1.3.1", library(&[(SONAME, "libcublas.so.12")]));
    fake.link("/opt/conda/lib/libcublas.so.12", "libcublas.so.12.1.3.1");
    let record = r#"{"name":"libcublas","version":"12.1.3.1","files":["lib/libcublas.so.12","lib/libcublas.so.12.1.3.1"]}"#;
    fake.put("/opt/conda/conda-meta/libcublas-12.1.3.1-0.json", record);
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(winners(found), expect(&[("cublas", "12.1.3.1", "RPATH of libtorch_cuda.so")]));
    assert_eq!(found.cuda.len(), 1, "the link and its end are one: {:?}", found.cuda);
    assert_eq!(found.problems, [""; 0]);
}

#[test]
fn an_environment_without_gpu_packages_has_no_cuda_libraries() {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake.package(SITE, "plain", "1", &["plain/_x.so"]);
    fake.put(&format!("{SITE}/plain/_x.so"), library(&[(NEEDED, "libc.so.6")]));
    cublas(&fake, "/usr/lib/cuda", "12");
    fake.put(
        "/etc/ld.so.cache",
        cache(&[(MACHINE, "libcublas.so.12", "/usr/lib/cuda/libcublas.so.12")]),
    );
    let inventory = fake.find();
    assert_eq!(only(&inventory).cuda, []);
}

/// Folders and files may be called anything; sentences about them must be safe to print.
#[test]
fn names_with_escape_sequences_do_not_reach_a_sentence() {
    let fake = machine(RUNPATH);
    cublas_wheel(&fake, "nvidia-cublas-cu12", "12.8.4.1", "12");
    let hostile = "/opt/\u{1b}[2Jcuda";
    fake.put(&format!("{hostile}/libcublas.so.12.1.3.1"), library(&[(SONAME, "libcublas.so.12")]));
    fake.link(&format!("{hostile}/libcublas.so.12"), "libcublas.so.12.1.3.1");
    let mut places = fake.places();
    places.vars.insert("LD_LIBRARY_PATH".into(), hostile.into());
    let inventory = find(&places, &mut Progress::silent());
    let found = only(&inventory);
    assert!(!found.problems.is_empty());
    let sentences = found.problems.iter().chain(found.cuda.iter().map(|one| &one.via));
    assert!(sentences.into_iter().all(|sentence| !sentence.contains('\u{1b}')));
}

/// The cause of `CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH`: cuDNN opens its parts by name, and an old one is listed first.
#[test]
fn parts_of_cudnn_of_another_version_are_named() {
    let fake = machine(RPATH);
    let needs = [(NEEDED, "libcudnn.so.9"), (RPATH, "$ORIGIN/../../nvidia/cudnn/lib")];
    fake.put(&format!("{SITE}/torch/lib/libtorch_cuda.so"), library(&needs));
    let files = ["nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cudnn/lib/libcudnn_ops.so.9"];
    fake.package(SITE, "nvidia-cudnn-cu12", "9.10.2.21", &files);
    for (file, soname) in files.iter().zip(["libcudnn.so.9", "libcudnn_ops.so.9"]) {
        fake.put(&format!("{SITE}/{file}"), library(&[(SONAME, soname), (RUNPATH, "$ORIGIN")]));
    }
    fake.put("/opt/old/libcudnn_ops.so.9.1.0", library(&[(SONAME, "libcudnn_ops.so.9")]));
    fake.link("/opt/old/libcudnn_ops.so.9", "libcudnn_ops.so.9.1.0");
    let inventory = fake.find();
    let own = "RUNPATH of libcudnn.so.9";
    let expected =
        [("cudnn", "9.10.2.21", "RPATH of libtorch_cuda.so"), ("cudnn_ops", "9.10.2.21", own)];
    assert_eq!(winners(only(&inventory)), expect(&expected));
    assert_eq!(only(&inventory).problems, [""; 0]);
    let mut places = fake.places();
    places.vars.insert("LD_LIBRARY_PATH".into(), "/opt/old".into());
    let inventory = find(&places, &mut Progress::silent());
    let found = only(&inventory);
    assert_eq!(winners(found)[1].1, "9.1.0");
    assert!(
        found.problems.iter().any(|one| one.contains("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH")),
        "{:?}",
        found.problems
    );
}

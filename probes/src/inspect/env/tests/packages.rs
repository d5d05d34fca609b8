use proptest::prelude::*;

use super::*;

const SITE: &str = "/home/ada/venv/lib/python3.11/site-packages";

fn machine() -> Fake {
    let fake = Fake::new();
    fake.venv("/home/ada/venv");
    fake
}

#[test]
fn a_record_says_which_libraries_belong_to_whom() {
    let fake = machine();
    let files =
        ["torch/__init__.py", "torch/lib/libtorch_cuda.so", "torch/lib/libgomp-98b21ff3.so.1"];
    fake.package(SITE, "torch", "2.8.0+cu128", &files);
    fake.package(SITE, "nvidia-cublas-cu12", "12.8.4.1", &["nvidia/cublas/lib/libcublas.so.12"]);
    let inventory = fake.find();
    let found = only(&inventory);
    let torch = found.package("Torch").expect("is installed");
    assert_eq!((torch.version.as_str(), torch.local.as_deref()), ("2.8.0", Some("cu128")));
    assert_eq!(torch.installer.as_deref(), Some("pip"));
    assert_eq!(
        libraries(torch, &fake.shown(SITE)),
        ["torch/lib/libtorch_cuda.so", "torch/lib/libgomp-98b21ff3.so.1"]
    );
    let cublas = found.package("nvidia_cublas.cu12").expect("is installed");
    assert_eq!(libraries(cublas, &fake.shown(SITE)), ["nvidia/cublas/lib/libcublas.so.12"]);
}

#[test]
fn a_record_cannot_lead_out_of_the_environment() {
    let fake = machine();
    fake.put("/etc/secret.so", "secret");
    fake.put("/home/ada/venv/lib/inside.so", "fine");
    fake.package(SITE, "evil", "1.0", &[]);
    fake.link(&format!("{SITE}/evil/pipe.so"), "/dev/zero");
    let rows = "/etc/secret.so,,\n../../../../../../etc/secret.so,,\n../../inside.so,,\nevil/pipe.so,,\nmissing.so,,\n/home/ada/venv/../../../etc/secret.so,,\n";
    fake.put(&format!("{SITE}/evil-1.0.dist-info/RECORD"), rows);
    let inventory = fake.find();
    let evil = &only(&inventory).packages[0];
    assert_eq!(libraries(evil, &fake.shown("/home/ada/venv")), ["lib/inside.so"]);
}

#[test]
fn a_library_that_is_listed_twice_is_one() {
    let fake = machine();
    fake.package(SITE, "x", "1.0", &["x/_C.so", "x/_C.so", "x/../x/_C.so"]);
    fake.package(SITE, "y", "1.0", &[]);
    fake.put(&format!("{SITE}/y-1.0.dist-info/RECORD"), "y/_C.so,sha256=x,4\ny/_C.so,,4\n");
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(libraries(&found.packages[0], &fake.shown(SITE)), ["x/_C.so"]);
    assert_eq!(found.packages[1].missing.len(), 1);
}

/// Only what is not there is missing: of a link that leads to itself nobody can tell, nor of a folder that may not be entered.
#[test]
fn a_library_that_cannot_be_looked_at_is_not_missing() {
    let fake = machine();
    fake.package(SITE, "x", "1.0", &["x/_C.so", "x/gone.so", "x/file"]);
    fs::remove_file(fake.outer(&format!("{SITE}/x/gone.so"))).expect("removed");
    fs::remove_file(fake.outer(&format!("{SITE}/x/_C.so"))).expect("removed");
    fake.link(&format!("{SITE}/x/_C.so"), "_C.so");
    let rows = "x/_C.so,sha256=x,4\nx/gone.so,sha256=x,4\nx/file/below.so,sha256=x,4\n";
    fake.put(&format!("{SITE}/x-1.0.dist-info/RECORD"), rows);
    let inventory = fake.find();
    let package = &only(&inventory).packages[0];
    assert_eq!(libraries(package, &fake.shown(SITE)), ["x/_C.so"]);
    assert_eq!((package.libraries[0].bytes, package.libraries[0].recorded), (4, Some(4)));
    let missing: Vec<_> = package.missing.iter().filter_map(|one| one.path.file_name()).collect();
    assert_eq!(missing, ["gone.so", "below.so"]);
}

/// PEP 660: the package is used where the project lies, and its record lists a path file only.
#[test]
fn an_editable_install_has_the_libraries_of_its_project() {
    let fake = machine();
    fake.package(SITE, "my-kernels", "0.1", &["__editable__.my_kernels.pth"]);
    let url = r#"{"url":"file:///home/ada/my%20project","dir_info":{"editable":true}}"#;
    fake.put(&format!("{SITE}/my_kernels-0.1.dist-info/direct_url.json"), url);
    fake.put("/home/ada/my project/src/my_kernels/_C.abi3.so", "code");
    fake.put("/home/ada/my project/other/_C.so", "not of the package");
    fake.package(SITE, "built", "0.1", &["built/_C.so"]);
    let url = r#"{"url":"file:///home/ada/my%20project","dir_info":{}}"#;
    fake.put(&format!("{SITE}/built-0.1.dist-info/direct_url.json"), url);
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(libraries(&found.packages[0], &fake.shown(SITE)), ["built/_C.so"]);
    let project = fake.shown("/home/ada/my project");
    assert_eq!(libraries(&found.packages[1], &project), ["src/my_kernels/_C.abi3.so"]);
}

#[test]
fn what_torch_says_of_its_build_is_kept() {
    let fake = machine();
    fake.package(SITE, "torch", "2.8.0", &[]);
    let text =
        "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\ngit_version = 'a1cb3cc'\n";
    fake.put(&format!("{SITE}/torch/version.py"), text);
    let inventory = fake.find();
    let torch = &only(&inventory).packages[0];
    assert_eq!(torch.full_version(), "2.8.0+cu128");
    assert_eq!((torch.cuda.as_deref(), torch.git.as_deref()), (Some("12.8"), Some("a1cb3cc")));
}

#[test]
fn old_and_linked_packages_are_read() {
    let fake = machine();
    fake.put(&format!("{SITE}/single-1.2.egg-info"), "Name: single\nVersion: 1.2\n");
    fake.put(
        &format!("{SITE}/Folder-2.0-py3.11.egg-info/PKG-INFO"),
        "Name: Folder\nVersion: 2.0\n",
    );
    fake.put(
        &format!("{SITE}/Folder-2.0-py3.11.egg-info/requires.txt"),
        "six>=1\n\n[extra]\nother\n",
    );
    fake.put(&format!("{SITE}/Folder-2.0-py3.11.egg-info/top_level.txt"), "folder\n../../..\n");
    fake.put(&format!("{SITE}/folder/deep/kernels.so"), "code");
    fake.put(&format!("{SITE}/folder.cpython-311-x86_64-linux-gnu.so"), "code");
    fake.put(&format!("{SITE}/linked.egg-link"), "/home/ada/project\n.");
    fake.put("/home/ada/project/linked.egg-info/PKG-INFO", "Name: linked\nVersion: 0.1\n");
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(names(found), ["Folder 2.0", "linked 0.1", "single 1.2"]);
    assert_eq!(found.packages[0].requires, ["six>=1"]);
    let expected = ["folder/deep/kernels.so", "folder.cpython-311-x86_64-linux-gnu.so"];
    assert_eq!(libraries(&found.packages[0], &fake.shown(SITE)), expected);
    assert_eq!(found.packages[1].source.as_deref(), Some("file:///home/ada/project (editable)"));
}

#[test]
fn conda_names_what_python_does_not() {
    let fake = Fake::new();
    fake.conda("/opt/conda");
    let site = "/opt/conda/lib/python3.11/site-packages";
    fake.package(site, "torch", "2.4.1", &["torch/lib/libtorch_cuda.so"]);
    let torch = r#"{"name":"pytorch","version":"2.4.1","build":"py3.11_cuda12.1_cudnn9.1.0_0","files":["lib/python3.11/site-packages/torch-2.4.1.dist-info/METADATA","lib/python3.11/site-packages/torch/lib/libtorch_cuda.so"]}"#;
    fake.put("/opt/conda/conda-meta/pytorch-2.4.1.json", torch);
    fake.put("/opt/conda/lib/libcublas.so.12.1.3.1", "\x7fELF");
    let cublas = r#"{"name":"libcublas","version":"12.1.3.1","build":"0","files":["lib/libcublas.so.12.1.3.1","../../etc/passwd.so"],"extra":{"x":[1,2]}}"#;
    fake.put("/opt/conda/conda-meta/libcublas-12.1.3.1-0.json", cublas);
    fake.put("/opt/conda/conda-meta/broken.json", "{");
    let inventory = fake.find();
    let found = only(&inventory);
    assert_eq!(names(found), ["libcublas 12.1.3.1", "torch 2.4.1"]);
    assert!(found.packages.iter().all(|one| one.installer.as_deref() == Some("conda")));
    assert_eq!(
        libraries(&found.packages[0], &fake.shown("/opt/conda")),
        ["lib/libcublas.so.12.1.3.1"]
    );
    assert_eq!(inventory.unreadable.len(), 1, "the broken record is named");
}

#[test]
fn a_broken_upgrade_is_a_problem() {
    let fake = machine();
    fake.package(SITE, "numpy", "1.26.4", &[]);
    fake.package(SITE, "numpy", "2.1.0", &[]);
    let inventory = fake.find();
    let problems = &only(&inventory).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("numpy 1.26.4 and 2.1.0"), "{problems:?}");
}

#[test]
fn a_folder_that_may_not_be_read_is_counted_and_named() {
    use std::os::unix::fs::PermissionsExt;
    let fake = machine();
    let site = fake.outer(SITE);
    let mode =
        |mode| fs::set_permissions(&site, fs::Permissions::from_mode(mode)).expect("is ours");
    mode(0);
    let ours = fs::read_dir(&site).is_ok();
    let inventory = fake.find();
    mode(0o755);
    if ours {
        println!("SKIPPED: this user may read everything");
        return;
    }
    assert_eq!((inventory.unreadable.len(), inventory.unreadable_count), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_bytes_in_any_file_are_survived(
        metadata in proptest::collection::vec(any::<u8>(), 0..300),
        record in "[a-z./\",\n\u{0}]{0,200}",
        json in "[\\[\\]{}\":a-z0-9,]{0,100}",
        config in "[a-z =.\n\u{1b}-]{0,100}",
    ) {
        let fake = machine();
        let info = format!("{SITE}/x-1.dist-info");
        for (file, bytes) in [("METADATA", metadata.as_slice()), ("RECORD", record.as_bytes()), ("direct_url.json", json.as_bytes()), ("INSTALLER", &metadata)] {
            fake.put(&format!("{info}/{file}"), bytes);
        }
        fake.put(&format!("{SITE}/torch-1.dist-info/METADATA"), &metadata);
        fake.put(&format!("{SITE}/torch/version.py"), &metadata);
        fake.put(&format!("{SITE}/y.egg-link"), &metadata);
        fake.put("/home/ada/venv/pyvenv.cfg", &config);
        fake.put("/home/ada/venv/conda-meta/x.json", &json);
        let inventory = fake.find();
        let found = only(&inventory);
        let root = fake.shown("/home/ada/venv");
        prop_assert!(found.packages.iter().flat_map(|one| &one.libraries).all(|one| one.path.starts_with(&root)));
        let text = serde_json::to_string(&found.packages).expect("plain data");
        prop_assert!(!text.contains("\\u001b"));
    }
}

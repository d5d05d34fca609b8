use std::fs;
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::gzip::tests::gzip;
use super::*;
use crate::inspect::env::EnvKind;

const SITE: &str = "opt/venv/lib/python3.11/site-packages";

/// Writes an archive as POSIX describes it: names with their contents, links with their target, folders with neither.
#[derive(Default)]
struct Archive(Vec<u8>);

impl Archive {
    fn member(mut self, name: &str, kind: u8, link: &str, contents: &[u8]) -> Self {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..136].copy_from_slice(format!("{:011o}\0", contents.len()).as_bytes());
        header[156] = kind;
        header[157..157 + link.len()].copy_from_slice(link.as_bytes());
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend(header);
        self.0.extend(contents);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, contents: impl AsRef<[u8]>) -> Self {
        self.member(name, b'0', "", contents.as_ref())
    }

    fn package(self, name: &str, version: &str, files: &[(&str, &str)]) -> Self {
        let info = format!("{SITE}/{name}-{version}.dist-info");
        let record: String = files.iter().map(|(file, _)| format!("{file},,\n")).collect();
        let head = format!("Name: {name}\nVersion: {version}\n\nlong description\n");
        let archive =
            self.file(&format!("{info}/METADATA"), head).file(&format!("{info}/RECORD"), record);
        files.iter().fold(archive, |archive, (file, contents)| {
            archive.file(&format!("{SITE}/{file}"), contents)
        })
    }

    fn end(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        self.0
    }
}

/// A venv with two packages; then one is replaced and one removed; then a folder is emptied.
fn layers() -> [Vec<u8>; 3] {
    let lower = Archive::default()
        .file("opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n")
        .package(
            "torch",
            "2.7.0",
            &[("torch/lib/libtorch_cuda.so", "old"), ("torch/version.py", "cuda = '12.6'\n")],
        )
        .package("gone", "1.0", &[("gone/_C.so", "gone")])
        .file("opt/emptied/lib.so", "hidden")
        .end();
    let middle = Archive::default()
        .file(&format!("{SITE}/.wh.torch-2.7.0.dist-info"), "")
        .file(&format!("{SITE}/.wh.gone"), "")
        .file(&format!("{SITE}/.wh.gone-1.0.dist-info"), "")
        .package(
            "torch",
            "2.8.0",
            &[("torch/lib/libtorch_cuda.so", "newer"), ("torch/version.py", "cuda = '12.8'\n")],
        )
        .end();
    let upper = Archive::default()
        .file("opt/emptied/new.so", "shown")
        .file("opt/emptied/.wh..wh..opq", "")
        .member("opt/link", b'2', "/opt/venv", b"")
        .member(&format!("{SITE}/other.so"), b'1', "opt/emptied/new.so", b"")
        .end();
    [lower, middle, upper]
}

const CONFIG: &str = r#"{"architecture":"amd64","config":{"Env":["PATH=/opt/venv/bin:/usr/bin","VIRTUAL_ENV=/opt/venv"],"WorkingDir":"/app"}}"#;

/// What `docker save` writes.
fn docker(layers: &[Vec<u8>]) -> Vec<u8> {
    let names: Vec<_> = (0..layers.len()).map(|n| format!("\"l{n}/layer.tar\"")).collect();
    let manifest = format!(
        r#"[{{"Config":"c.json","RepoTags":["app:1\u001b[2J"],"Layers":[{}]}}]"#,
        names.join(",")
    );
    let archive = Archive::default().file("c.json", CONFIG).file("manifest.json", manifest);
    let each = layers.iter().enumerate();
    each.fold(archive, |archive, (n, layer)| archive.file(&format!("l{n}/layer.tar"), layer)).end()
}

fn written(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("image.tar");
    fs::write(&path, bytes).expect("a file");
    (dir, path)
}

/// The answer for [`layers`], however they are packed.
fn check(path: &Path) -> Image {
    let image = read_image(path, &mut Progress::silent()).expect("an image");
    assert_eq!(image.inventory.unreadable, []);
    let [found] = image.inventory.environments.as_slice() else { panic!("{:#?}", image.inventory) };
    assert_eq!((found.kind, found.root.as_path()), (EnvKind::Venv, Path::new("/opt/venv")));
    let names: Vec<_> =
        found.packages.iter().map(|one| (one.name.as_str(), one.full_version())).collect();
    assert_eq!(names, [("torch", "2.8.0".to_owned())], "what a whiteout hides is gone");
    assert_eq!(found.packages[0].cuda.as_deref(), Some("12.8"));
    let library = Path::new("/").join(SITE).join("torch/lib/libtorch_cuda.so");
    assert_eq!(found.packages[0].libraries[0].path, library);
    let files: Vec<_> = image
        .files
        .iter()
        .map(|file| (file.layer, file.path.to_str().expect("plain"), file.bytes))
        .collect();
    let other = format!("/{SITE}/other.so");
    assert_eq!(
        files,
        [
            (2, "/opt/emptied/new.so", 5),
            (2, other.as_str(), 5),
            (1, library.to_str().expect("plain"), 5)
        ]
    );
    let mut streamed = Vec::new();
    let mut each = |file: &ImageFile, body: &mut dyn Read| {
        let mut text = String::new();
        body.read_to_string(&mut text).expect("is whole");
        streamed.push((file.path.clone(), text));
    };
    stream_image(path, &image, &image.files[1..], &mut each, &mut Progress::silent())
        .expect("streams");
    assert_eq!(streamed, [(library, "newer".to_owned()), (other.into(), "shown".to_owned())]);
    image
}

#[test]
fn a_docker_archive_is_read_layer_over_layer() {
    let (_dir, path) = written(&docker(&layers()));
    let image = check(&path);
    assert_eq!(image.name.as_deref(), Some("app:1\u{fffd}[2J"));
    assert_eq!(image.architecture.as_deref(), Some("amd64"));
    assert_eq!(image.vars["VIRTUAL_ENV"], "/opt/venv");
}

#[test]
fn packed_layers_are_unpacked_as_they_are_read() {
    let Some(packed) = layers().iter().map(|layer| gzip(layer)).collect::<Option<Vec<_>>>() else {
        println!("SKIPPED: no gzip here");
        return;
    };
    check(&written(&docker(&packed)).1);
}

/// The OCI image layout: an index of platforms, one of which is an attestation.
#[test]
fn a_layout_is_read_as_a_folder_and_as_an_archive() {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let index = format!(
        r#"{{"manifests":[{{"digest":"sha256:aa","platform":{{"architecture":"unknown"}}}},{{"digest":"sha256:ab","platform":{{"architecture":"{arch}"}},"annotations":{{"io.containerd.image.name":"app"}}}}]}}"#
    );
    let manifest = r#"{"config":{"digest":"sha256:c0"},"layers":[{"digest":"sha256:00"},{"digest":"sha256:01"},{"digest":"sha256:02"}]}"#;
    let mut files = vec![
        ("index.json".to_owned(), index.into_bytes()),
        ("blobs/sha256/ab".to_owned(), manifest.into()),
        ("blobs/sha256/c0".to_owned(), CONFIG.into()),
    ];
    files.extend(
        layers().into_iter().enumerate().map(|(n, layer)| (format!("blobs/sha256/0{n}"), layer)),
    );
    let dir = tempfile::tempdir().expect("a folder");
    let mut archive = Archive::default();
    for (name, bytes) in files {
        let path = dir.path().join(&name);
        fs::create_dir_all(path.parent().expect("has one")).expect("a folder");
        fs::write(path, &bytes).expect("a file");
        archive = archive.file(&name, bytes);
    }
    assert_eq!(check(dir.path()).name.as_deref(), Some("app"));
    check(&written(&archive.end()).1);
}

#[test]
fn what_cannot_be_read_is_named_with_the_way_out() {
    let zstd = docker(&[layers()[1].clone(), vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0]]);
    let (_dir, path) = written(&zstd);
    let image = read_image(&path, &mut Progress::silent()).expect("an image");
    assert_eq!(image.inventory.unreadable.len(), 1);
    assert!(image.inventory.unreadable[0].reason.contains("zstd"));
    assert_eq!(image.files.len(), 1, "the other layer is read");

    for (bytes, part) in [
        (&[0x1f, 0x8b, 8, 0][..], "packed with gzip"),
        (&Archive::default().file("a", "b").end(), "docker save"),
    ] {
        let (_dir, path) = written(bytes);
        let error = read_image(&path, &mut Progress::silent()).expect_err("no image").to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(read_image(Path::new("/missing.tar"), &mut Progress::silent()).is_err());
}

/// tar appends: what stands later replaces what stood before, and is streamed alone, also under the names it was given.
#[test]
fn of_a_path_that_stands_twice_in_a_layer_the_last_counts() {
    let layer = Archive::default()
        .file("a/x.so", "old")
        .file("a/x.so", "newer")
        .member("a/y.so", b'1', "a/x.so", b"")
        .end();
    let (_dir, path) = written(&docker(&[layer]));
    let image = read_image(&path, &mut Progress::silent()).expect("an image");
    assert_eq!(image.files.len(), 2);
    for file in &image.files {
        let mut streamed = Vec::new();
        let mut each = |_: &ImageFile, body: &mut dyn Read| {
            let mut text = String::new();
            body.read_to_string(&mut text).expect("is text");
            streamed.push(text);
        };
        let wanted = std::slice::from_ref(file);
        stream_image(&path, &image, wanted, &mut each, &mut Progress::silent()).expect("streams");
        assert_eq!(streamed, ["newer"], "{}", file.path.display());
    }
}

/// A layer made by the tar program from a real venv reads like the venv itself.
#[test]
fn a_real_environment_in_an_image_reads_as_on_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().join("rootfs");
    let venv = root.join("opt/venv");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&venv).output();
    let layer = Command::new("tar").arg("-C").arg(&root).args(["-cf", "-", "."]).output();
    let (Ok(made), Ok(layer)) = (made, layer) else {
        println!("SKIPPED: no python3 or tar here");
        return;
    };
    assert!(made.status.success() && layer.status.success());
    let (_dir, path) = written(&docker(&[layer.stdout]));
    let image = read_image(&path, &mut Progress::silent()).expect("an image");
    let disk = crate::inspect::env::find(&Places::at(root), &mut Progress::silent());
    let names = |inventory: &Inventory| -> Vec<_> {
        let packages = inventory.environments.iter().flat_map(|one| &one.packages);
        packages.map(|one| (one.name.clone(), one.full_version())).collect()
    };
    assert_eq!(names(&image.inventory), names(&disk));
    assert!(names(&disk).iter().any(|one| one.0 == "pip"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_damage_is_survived(place in 0_usize..40_000, noise in proptest::collection::vec(any::<u8>(), 1..40), cut in any::<bool>()) {
        let mut bytes = docker(&layers());
        let place = place % bytes.len();
        let end = (place + noise.len()).min(bytes.len());
        bytes[place..end].copy_from_slice(&noise[..end - place]);
        if cut {
            bytes.truncate(place);
        }
        let (_dir, path) = written(&bytes);
        if let Ok(image) = read_image(&path, &mut Progress::silent()) {
            let mut each = |_: &ImageFile, body: &mut dyn Read| drop(body.read_to_end(&mut Vec::new()));
            let _ = stream_image(&path, &image, &image.files, &mut each, &mut Progress::silent());
        }
    }
}

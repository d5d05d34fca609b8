//! Wheels and tools from PyPI, fetched once by pip and kept under `target/oracle`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Platforms a wheel may be for; pip takes none of them by itself when the interpreter is another.
const PLATFORMS: [&str; 8] = [
    "manylinux_2_35_x86_64",
    "manylinux_2_31_x86_64",
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
];

/// Writes one member of an archive to a file.
const EXTRACT: &str = "import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open(sys.argv[2]) as member, open(sys.argv[3], 'wb') as out:
    shutil.copyfileobj(member, out)";

/// Where downloads stay.
pub(crate) fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target")).join("oracle")
}

/// Runs a command to its end; its last words are the error.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr)
        .trim()
        .lines()
        .last()
        .unwrap_or_default()
        .to_owned();
    Err(format!("{}: {said}", command.get_program().display()))
}

/// The wheel of a requirement like `torch==2.8.0`, from the folder or from the index.
pub(crate) fn wheel(requirement: &str) -> Result<PathBuf, String> {
    let folder = folder().join(requirement.replace("==", "-"));
    if let Some(here) = first_wheel(&folder) {
        return Ok(here);
    }
    let mut pip = Command::new("pip");
    pip.args([
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--python-version",
        "3.11",
    ]);
    pip.args(["--implementation", "cp", "--abi", "cp311", "--abi", "abi3", "--abi", "none"]);
    pip.args(PLATFORMS.iter().flat_map(|platform| ["--platform", platform]));
    run(pip.arg("--dest").arg(&folder).arg(requirement))?;
    first_wheel(&folder).ok_or_else(|| format!("pip left no wheel for {requirement}"))
}

fn first_wheel(folder: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(folder).ok()?.flatten().map(|file| file.path());
    files.into_iter().find(|path| path.extension().is_some_and(|end| end == "whl"))
}

/// Writes a member of a wheel to a file.
pub(crate) fn extract(wheel: &Path, member: &str, to: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-c", EXTRACT]).arg(wheel).arg(member).arg(to))
}

/// NVIDIA's lister: the newest, and one that still reads what the newest refuses.
pub(crate) fn tools() -> Result<[PathBuf; 2], String> {
    let tool = |requirement: &str, member: &str| {
        let path = folder().join(requirement.replace("==", "-")).join("cuobjdump");
        if !path.exists() {
            extract(&wheel(requirement)?, member, &path)?;
            run(Command::new("chmod").arg("+x").arg(&path))?;
        }
        Ok::<_, String>(path)
    };
    Ok([
        tool("nvidia-cuda-cuobjdump==13.5.37", "nvidia/cu13/bin/cuobjdump")?,
        tool("triton==3.4.0", "triton/backends/nvidia/bin/cuobjdump")?,
    ])
}

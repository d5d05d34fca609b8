//! The CPU a wheel is for.

use std::path::Path;

/// CPUs that platform tags of wheels end with, as `uname -m` calls them on Linux.
const TAGS: &[(&str, &str)] = &[
    ("x86_64", "x86_64"),
    ("win_amd64", "x86_64"),
    ("aarch64", "aarch64"),
    ("win_arm64", "aarch64"),
    ("macosx_arm64", "aarch64"),
    ("ppc64le", "ppc64le"),
];

/// The CPU a wheel is for; none where any will do, and for what is no wheel.
pub(super) fn of_wheel(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".whl")?;
    TAGS.iter().find(|(tag, _)| name.ends_with(tag)).map(|(_, cpu)| *cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_names_its_cpu_last() {
        for (name, cpu) in [
            ("torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl", Some("x86_64")),
            ("torch-2.8.0-cp311-cp311-manylinux_2_28_aarch64.whl", Some("aarch64")),
            ("torch-2.8.0-cp311-cp311-win_amd64.whl", Some("x86_64")),
            ("unsloth-2025.1-py3-none-any.whl", None),
            ("libx86_64.so", None),
        ] {
            assert_eq!(of_wheel(Path::new(name)), cpu, "{name}");
        }
    }
}

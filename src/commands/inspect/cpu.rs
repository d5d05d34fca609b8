//! The CPU a wheel is for, and the CPU beside a GPU.

use std::path::Path;

use warpscope_kernels::Sm;

use crate::engine::Target;

/// CPUs that platform tags of wheels end with, as `uname -m` calls them on Linux.
const TAGS: &[(&str, &str)] = &[
    ("x86_64", "x86_64"),
    ("win_amd64", "x86_64"),
    ("aarch64", "aarch64"),
    ("win_arm64", "aarch64"),
    ("macosx_arm64", "aarch64"),
    ("ppc64le", "ppc64le"),
];

/// GPUs that NVIDIA sells on one board or chip with an Arm CPU, by how their names begin.
const ARM: &[&str] = &["Jetson", "DRIVE", "IGX", "NVIDIA GB", "NVIDIA GH", "NVIDIA Thor"];

/// The CPU a wheel is for; none where any will do, and for what is no wheel.
pub(super) fn of_wheel(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".whl")?;
    TAGS.iter().find(|(tag, _)| name.ends_with(tag)).map(|(_, cpu)| *cpu)
}

/// The CPU beside a GPU: that of this machine for one that is here, and that it is sold with for one that was named.
pub(super) fn beside(target: &Target) -> Option<&'static str> {
    if !target.what_if {
        return Some(std::env::consts::ARCH);
    }
    let integrated = [Sm::new(7, 2), Sm::new(8, 7), Sm::new(11, 0), Sm::new(12, 1)];
    let arm = ARM.iter().any(|start| target.label.starts_with(start))
        || target.sm.is_some_and(|sm| integrated.contains(&sm));
    arm.then_some("aarch64")
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

    #[test]
    fn a_gpu_on_a_board_with_an_arm_cpu_names_it() {
        let what_if = |label: &str, sm| beside(&Target::of_sm(label, sm));
        assert_eq!(what_if("NVIDIA GB10", Sm::new(12, 1)), Some("aarch64"));
        assert_eq!(what_if("Jetson AGX Orin 64GB", Sm::new(8, 7)), Some("aarch64"));
        assert_eq!(what_if("NVIDIA GH200 480GB", Sm::new(9, 0)), Some("aarch64"));
        assert_eq!(what_if("NVIDIA B200", Sm::new(10, 0)), None);
        assert_eq!(what_if("GeForce RTX 5090", Sm::new(12, 0)), None);
    }
}

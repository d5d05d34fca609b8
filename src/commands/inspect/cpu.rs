//! The system and CPU a wheel is for, as its name says.

use std::path::Path;

/// CPUs that platform tags of wheels end with, as `uname -m` calls them on Linux.
const CPUS: &[(&str, &str)] = &[
    ("x86_64", "x86_64"),
    ("amd64", "x86_64"),
    ("aarch64", "aarch64"),
    ("arm64", "aarch64"),
    ("ppc64le", "ppc64le"),
    ("armv7l", "armv7l"),
    ("i686", "i686"),
    ("win32", "i686"),
];

/// The first macOS for which NVIDIA has no driver and no CUDA: 10.2 was the last of them, on 10.13.
const MAC_WITHOUT_CUDA: u32 = 11;

/// A system that wheels are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Linux,
    Windows,
    /// With its first number.
    Mac(u32),
}

/// One platform tag; none where any will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Platform {
    system: Option<System>,
    cpu: Option<&'static str>,
}

impl Platform {
    fn of(tag: &str) -> Self {
        let mac = tag.strip_prefix("macosx_").map(|rest| rest.split('_').next().unwrap_or(rest));
        let system = match mac {
            Some(version) => version.parse().ok().map(System::Mac),
            None if tag.starts_with("win") => Some(System::Windows),
            None if tag.contains("linux") => Some(System::Linux),
            None => None,
        };
        let cpu = CPUS.iter().find(|(end, _)| tag.ends_with(end)).map(|(_, cpu)| *cpu);
        Self { system, cpu }
    }

    /// Why it is not installed beside a GPU; `cpu` is the kind there, on Linux, where that is known.
    fn refused(self, cpu: Option<&str>) -> Option<String> {
        match (self.system, cpu, self.cpu) {
            (Some(System::Mac(MAC_WITHOUT_CUDA..)), ..) => {
                Some("it is a wheel for macOS, which has no driver for NVIDIA GPUs".to_owned())
            }
            (Some(System::Mac(_)), Some(_), _) => {
                Some(format!("it is a wheel for macOS: {NO_PIP}"))
            }
            (Some(System::Windows), Some(_), _) => {
                Some(format!("it is a wheel for Windows: {NO_PIP}"))
            }
            (_, Some(machine), Some(wheel)) if wheel != machine => Some(format!(
                "it is a wheel for {wheel} CPUs, and the CPU beside this GPU is {machine}: pip does not install it there"
            )),
            _ => None,
        }
    }
}

const NO_PIP: &str = "pip does not install it on Linux, which runs beside this GPU";

/// Why a wheel is not installed beside a GPU, by the platforms in its name; none for what is no wheel.
pub(super) fn refused(path: &Path, cpu: Option<&str>) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".whl")?;
    let tags = name.rsplit('-').next()?.split('.');
    let mut refused: Vec<Option<String>> = tags.map(|tag| Platform::of(tag).refused(cpu)).collect();
    // One that fits is enough.
    if refused.iter().all(Option::is_some) { refused.pop().flatten() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First figures: the wheels for macOS and Windows had no such word.
    #[test]
    fn a_wheel_names_its_platform_last() {
        for (name, cpu, says) in [
            ("torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl", Some("aarch64"), "x86_64 CPUs"),
            ("torch-2.8.0-cp311-cp311-manylinux_2_28_aarch64.whl", Some("x86_64"), "aarch64 CPUs"),
            ("torch-2.8.0-cp311-cp311-win_amd64.whl", Some("x86_64"), "Windows"),
            ("torch-2.9.1-cp311-none-macosx_11_0_arm64.whl", None, "macOS"),
            ("x-1-py3-none-macosx_12_0_universal2.whl", Some("aarch64"), "macOS"),
            ("x-1-py3-none-linux_armv7l.whl", Some("aarch64"), "armv7l CPUs"),
        ] {
            let refused = refused(Path::new(name), cpu);
            assert!(
                refused.as_ref().is_some_and(|text| text.contains(says)),
                "{name}: {refused:?}"
            );
        }
        for (name, cpu) in [
            ("unsloth-2025.1-py3-none-any.whl", Some("aarch64")),
            ("libx86_64.so", Some("aarch64")),
            ("x-1-py3-none-win_amd64.whl", None),
            ("x-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", Some("x86_64")),
            ("x-1-cp38-cp38-macosx_10_9_x86_64.whl", None),
        ] {
            assert_eq!(refused(Path::new(name), cpu), None, "{name}");
        }
    }
}

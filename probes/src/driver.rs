//! The NVIDIA driver, or why there is none.

use serde::{Deserialize, Serialize};

use crate::notice::{Notice, Severity};
use crate::readings;

readings! {
    /// Versions the driver reports.
    pub struct Versions {
        driver: String = "driver", "Driver version: 580.82.07.";
        cuda: String = "CUDA", "Newest CUDA version the driver supports: 13.0.";
        nvml: String = "NVML", "Version of the NVML library.";
    }
}

/// Whether NVML answers, and if not, why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum DriverState {
    /// Not asked yet.
    #[default]
    Starting,
    /// NVML answers.
    Ready,
    /// libnvidia-ml.so.1 is not on this machine.
    LibraryMissing,
    /// The library is there, the kernel module is not loaded.
    NotLoaded,
    /// The kernel module is there, this user may not use it.
    NoPermission,
    /// Library and kernel module are of different versions.
    VersionMismatch {
        /// Version of the loaded kernel module, from /proc/driver/nvidia/version.
        kernel: Option<String>,
    },
    /// NVML answers and counts no device.
    NoDevice,
    /// Every NVIDIA device is runtime-suspended, so NVML was not even initialised.
    AllSuspended,
    /// Anything else, with NVML's own words.
    Failed {
        /// Error name or number.
        error: String,
    },
}

impl DriverState {
    /// What the user should know when there is nothing to show, and the way out; nothing while it works.
    pub fn explain(&self) -> Option<Notice> {
        let (id, severity, what, remedy) = match self {
            Self::Starting | Self::Ready => return None,
            Self::LibraryMissing => (
                "library_missing",
                Severity::Warning,
                "The NVIDIA management library libnvidia-ml.so.1 was not found.".to_owned(),
                "Install the NVIDIA driver; in a container, install nvidia-container-toolkit on the host and start with: \
                 docker run --gpus all …; under WSL, install the driver on Windows, not in Linux, and run: wsl --update",
            ),
            Self::NotLoaded => (
                "not_loaded",
                Severity::Error,
                "The NVIDIA library is installed, but its kernel module is not loaded.".to_owned(),
                "Load it with: sudo modprobe nvidia; if that fails, read: sudo dmesg | grep -i nvrm; \
                 a new kernel needs the module rebuilt: sudo dkms autoinstall; in a container, load it on the host",
            ),
            Self::NoPermission => (
                "no_permission",
                Severity::Error,
                "This user may not use the NVIDIA devices.".to_owned(),
                "Look at the rights with: ls -l /dev/nvidia*; join the group that owns them with: \
                 sudo usermod -aG video $USER; log in again; in a container, start with: docker run --gpus all …",
            ),
            Self::VersionMismatch { kernel } => (
                "version_mismatch",
                Severity::Error,
                match kernel {
                    Some(kernel) => format!(
                        "The loaded NVIDIA kernel module ({kernel}) and the installed library are of different versions."
                    ),
                    None => "The loaded NVIDIA kernel module and the installed library are of different versions.".to_owned(),
                },
                "The driver was updated while it ran: reboot, or stop every program on the GPUs and reload it with: \
                 sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia; \
                 in a container, restart the container",
            ),
            Self::NoDevice => (
                "no_device",
                Severity::Warning,
                "The NVIDIA driver answers, and counts no GPU.".to_owned(),
                "See whether the board is there with: lspci -d 10de: ; read what the driver says with: \
                 sudo dmesg | grep -i nvrm; in a container, start with: docker run --gpus all …",
            ),
            Self::AllSuspended => (
                "all_suspended",
                Severity::Info,
                "Every NVIDIA GPU is suspended to save power, and was not woken.".to_owned(),
                "Values appear when a program uses the GPU; to wake one now, run: nvidia-smi",
            ),
            Self::Failed { error } => (
                "failed",
                Severity::Error,
                format!("The NVIDIA management library did not start: {error}."),
                "See whether the driver's own tool says more: nvidia-smi; and what the kernel says: \
                 sudo dmesg | grep -i nvrm",
            ),
        };
        Some(Notice { id: format!("driver.{id}"), severity, what, remedy: remedy.to_owned() })
    }
}

/// The NVIDIA driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// Whether it answers.
    #[serde(default)]
    pub status: DriverState,
    /// Versions it reports.
    #[serde(default)]
    pub versions: Versions,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const DOCKER: &str = "docker run --gpus all …";

    #[test]
    fn each_way_to_fail_has_its_own_sentence_and_way_out() {
        let failures = [
            DriverState::LibraryMissing,
            DriverState::NotLoaded,
            DriverState::NoPermission,
            DriverState::VersionMismatch { kernel: Some("535.261.03".into()) },
            DriverState::NoDevice,
            DriverState::AllSuspended,
            DriverState::Failed { error: "NVML error 31".into() },
        ];
        let notices: Vec<_> = failures.iter().map(|s| s.explain().expect("explained")).collect();
        for part in
            [|n: &Notice| n.id.clone(), |n: &Notice| n.what.clone(), |n: &Notice| n.remedy.clone()]
        {
            assert_eq!(notices.iter().map(part).collect::<HashSet<_>>().len(), failures.len());
        }
        for notice in &notices {
            assert!(notice.id.starts_with("driver."), "{}", notice.id);
            assert!(notice.what.ends_with('.'), "{}", notice.what);
            assert!(notice.remedy.contains(": "), "names a command: {}", notice.remedy);
        }
        assert!(notices[3].what.contains("535.261.03"));
        assert!(notices[6].what.contains("NVML error 31"));
    }

    #[test]
    fn every_command_of_a_remedy_stands_alone() {
        for (state, want) in [
            (DriverState::NoDevice, &["lspci -d 10de:", "sudo dmesg | grep -i nvrm", DOCKER][..]),
            (
                DriverState::NoPermission,
                &["ls -l /dev/nvidia*", "sudo usermod -aG video $USER", DOCKER],
            ),
            (
                DriverState::NotLoaded,
                &["sudo modprobe nvidia", "sudo dmesg | grep -i nvrm", "sudo dkms autoinstall"],
            ),
            (
                DriverState::VersionMismatch { kernel: None },
                &["sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia"],
            ),
        ] {
            let notice = state.explain().expect("explained");
            let commands: Vec<_> = notice.steps().filter_map(|step| step.1).collect();
            assert_eq!(commands, want);
        }
    }

    #[test]
    fn a_working_driver_needs_no_words() {
        assert_eq!(DriverState::Ready.explain(), None);
        assert_eq!(DriverState::Starting.explain(), None);
    }
}

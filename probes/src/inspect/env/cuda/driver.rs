//! Whether a driver runs what was built with a CUDA toolkit.

use serde::{Deserialize, Serialize};

/// How far a driver serves a CUDA runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverServes {
    /// It is as new as the runtime.
    Fully,
    /// It runs the machine code, but cannot compile PTX of this runtime nor offer what came with it: CUDA's minor-version compatibility.
    MachineCodeOnly,
    /// It is older than the runtime's major version: CUDA refuses to start, `CUDA driver version is insufficient`. On data-centre GPUs
    /// the forward-compatibility package (`cuda-compat`) lifts this.
    No,
}

/// Whether a driver that supports CUDA `driver` (major, minor) runs programs built with CUDA `runtime`.
///
/// Source: "CUDA Compatibility", minor-version compatibility, which begins with CUDA 11; drivers serve every older runtime.
pub fn driver_serves(driver: (u32, u32), runtime: (u32, u32)) -> DriverServes {
    const FIRST_COMPATIBLE_MAJOR: u32 = 11;
    if driver >= runtime {
        DriverServes::Fully
    } else if driver.0 == runtime.0 && runtime.0 >= FIRST_COMPATIBLE_MAJOR {
        DriverServes::MachineCodeOnly
    } else {
        DriverServes::No
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;
    use crate::catalogue::toolkits_tests::toolkits;
    use crate::rules::Version;

    fn version(text: &str) -> Version {
        text.parse().expect("a version")
    }

    fn pair(cuda: &str) -> (u32, u32) {
        let (major, minor) = cuda.split_once('.').expect("major and minor");
        (major.parse().expect("a number"), minor.parse().expect("a number"))
    }

    /// NVIDIA's release notes name two drivers for each toolkit: the one that came with it, and the oldest that is enough.
    #[test]
    fn agrees_with_the_drivers_of_the_release_notes() {
        let toolkits: Vec<_> = toolkits().iter().filter(|one| one.min_driver.is_some()).collect();
        assert!(toolkits.len() > 10);
        for driver in &toolkits {
            for runtime in &toolkits {
                // The driver that came with 11.0 was a beta, older than what 11.0 itself then asked for.
                let came = version(driver.min_driver.as_deref().expect("has one"));
                let least = version(&driver.compatible_driver);
                let number =
                    if came.compare(&least) == Some(Ordering::Less) { least } else { came };
                let enough = number
                    .compare(&version(&runtime.compatible_driver))
                    .expect("both are releases");
                let served = driver_serves(pair(&driver.cuda), pair(&runtime.cuda));
                let expected = enough.is_ge();
                assert_eq!(
                    served != DriverServes::No,
                    expected,
                    "driver of {} with {}",
                    driver.cuda,
                    runtime.cuda
                );
            }
        }
    }

    #[test]
    fn newer_runtimes_of_the_same_major_lose_their_ptx() {
        assert_eq!(driver_serves((12, 4), (12, 8)), DriverServes::MachineCodeOnly);
        assert_eq!(driver_serves((12, 8), (12, 4)), DriverServes::Fully);
        assert_eq!(driver_serves((13, 0), (11, 8)), DriverServes::Fully);
        assert_eq!(driver_serves((12, 9), (13, 0)), DriverServes::No);
        assert_eq!(driver_serves((10, 1), (10, 2)), DriverServes::No);
    }
}

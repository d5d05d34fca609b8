//! Drivers that are too old for the CUDA of an environment.

use warpscope_probes::inspect::env::{DriverServes, Environment, driver_serves};

/// For which GPUs, by their names and the CUDA of their driver, it is too old for the runtime an environment would load; each kind of GPU once.
pub(crate) fn driver_problems<'a>(
    home: &Environment,
    gpus: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<String> {
    let mut problems: Vec<String> = Vec::new();
    for problem in gpus.filter_map(|gpu| driver_problem(home, gpu)) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

fn driver_problem(home: &Environment, (label, cuda): (&str, Option<&str>)) -> Option<String> {
    let runtime = home.cuda_runtime()?;
    let (major, minor) = cuda?.split_once('.')?;
    let driver: (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    let (have, want) =
        (format!("{}.{}", driver.0, driver.1), format!("{}.{}", runtime.0, runtime.1));
    match driver_serves(driver, runtime) {
        DriverServes::Fully => None,
        DriverServes::MachineCodeOnly => Some(format!(
            "the driver of {label} is for CUDA {have}, the runtime here is {want}: machine code runs, but PTX of that version does not compile"
        )),
        DriverServes::No => Some(format!(
            "the driver of {label} is for CUDA {have} and too old for the runtime {want} here: update the driver, or install builds for CUDA {}; on a data-centre GPU the package cuda-compat-{}-{} may do",
            served(driver),
            runtime.0,
            runtime.1
        )),
    }
}

/// Versions of CUDA whose builds a driver runs: from CUDA 11 on all of its major version.
fn served((major, minor): (u32, u32)) -> String {
    match driver_serves((major, minor), (major, u32::MAX)) {
        DriverServes::No => format!("{major}.{minor} or older"),
        _ => format!("{major}.x"),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::inspect::env::Package;

    use super::*;

    #[test]
    fn a_driver_that_is_too_old_is_told_once_with_builds_that_exist() {
        let torch = |cuda: &str| {
            let (normalized, cuda) = ("torch".to_owned(), Some(cuda.to_owned()));
            let packages = vec![Package { normalized, cuda, ..Package::default() }];
            Environment { packages, ..Environment::default() }
        };
        let board = ("NVIDIA H100", Some("12.7"));
        let problems = |cuda: &str, gpu| driver_problems(&torch(cuda), [gpu, gpu].into_iter());
        let one = problems("13.0", board);
        assert_eq!(one.len(), 1, "one kind, one problem: {one:?}");
        for part in ["CUDA 12.7 and too old", "builds for CUDA 12.x", "cuda-compat-13-0"] {
            assert!(one[0].contains(part), "{part}: {one:?}");
        }
        let old = problems("10.2", ("Tesla K80", Some("10.1")));
        assert!(old[0].contains("builds for CUDA 10.1 or older"), "{old:?}");
        assert!(problems("12.8", board)[0].contains("machine code runs"));
        assert_eq!(problems("12.4", board), [""; 0]);
    }
}

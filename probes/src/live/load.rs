//! Whether the driver takes an image at all: machine code of exactly one architecture, PTX of one target, PTX of one version.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Machine, MachineError};
use warpscope_kernels::image::{Image, ImageKind, Isa, images};
use warpscope_kernels::{Sm, Suffix};

use super::found::Found;
use super::{Answer, block, short};

/// Family under which images are loaded here, so that none of the program's own is in the way.
const FAMILY: &str = "load";
/// The kernel that every image of gates has.
const ENTRY: &str = "echo";
/// Its lanes.
const LANES: u32 = 32;

/// `CUDA_ERROR_NO_BINARY_FOR_GPU` and `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`, with the words frameworks print for them.
const MESSAGES: [(u32, &str); 2] = [
    (209, "CUDA error: no kernel image is available for execution on the device"),
    (222, "CUDA error: the provided PTX was compiled with an unsupported toolchain."),
];

/// What is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Machine code for this target and nothing else.
    Cubin(Sm),
    /// PTX for this target, in the version that brought the target.
    Ptx(Sm, Isa),
    /// PTX of this version, for an old target.
    Version(Isa),
}

/// Loads an image and runs what is in it.
pub(super) fn find(machine: &mut CudaMachine, load: Load) -> Found {
    let Some((name, bytes)) = image(load, machine.facts().sm) else {
        return Found::unknown("this build has no such image: run build-kernels");
    };
    let (loaded, log) = machine.load_image(FAMILY, &bytes);
    let result = loaded.and_then(|()| run(machine));
    machine.unload_image(FAMILY);
    let found = match &result {
        Ok(true) => Found::works(format!("{name} was loaded and ran")),
        Ok(false) => Found::wrong(format!("{name} was loaded and gave a wrong result")),
        Err(error) => refused(load, &name, error),
    };
    let said = log.lines().next().unwrap_or_default().trim().to_owned();
    let found = if said.is_empty() { found } else { found.fact("log", said) };
    found.by(name)
}

fn refused(load: Load, name: &str, error: &MachineError) -> Found {
    const UNSUPPORTED_VERSION: u32 = 222;
    let found = Found::failure(name, error);
    let MachineError::Driver { code, .. } = error else { return found };
    let about_version = matches!(load, Load::Version(_)) && *code == UNSUPPORTED_VERSION;
    let found = if about_version { Found { answer: Answer::Fails, ..found } } else { found };
    match MESSAGES.iter().find(|row| row.0 == *code) {
        Some((_, message)) => found.fact("message", *message),
        None => found,
    }
}

/// The image and what it is, in words.
fn image(load: Load, device: Sm) -> Option<(String, Vec<u8>)> {
    match load {
        Load::Cubin(target) => {
            let image = of_gates(|image| image.kind == ImageKind::Cubin && image.target == target)?;
            Some((
                format!("machine code for {target} alone ({})", short(image.sha256)),
                image.bytes(),
            ))
        }
        Load::Ptx(target, isa) => {
            let text = text(target, isa)?;
            Some((format!("PTX {isa} for {target}"), text.into_bytes()))
        }
        Load::Version(isa) => {
            let target = device.min(Sm::new(7, 5));
            let text = text(Sm { suffix: Suffix::None, ..target }, isa)?;
            Some((format!("PTX of version {isa}"), text.into_bytes()))
        }
    }
}

fn of_gates(is_it: impl Fn(&Image) -> bool) -> Option<&'static Image> {
    let of_gates = images().iter().filter(|image| image.entry(ENTRY).is_some());
    of_gates.filter(|image| image.family.starts_with("gate")).find(|image| is_it(image))
}

/// The kernel as PTX, labelled so.
fn text(target: Sm, isa: Isa) -> Option<String> {
    let lowest = of_gates(|image| image.kind == ImageKind::Ptx)?;
    super::gate::alone(&lowest.text()?, ENTRY, target, isa)
}

/// Whether every word comes back inverted.
fn run(machine: &mut CudaMachine) -> Result<bool, MachineError> {
    let given: Vec<u8> = (0..LANES).flat_map(|lane| (lane * 0x0101_0101).to_le_bytes()).collect();
    let back = block::run(machine, block::block(FAMILY, ENTRY, LANES), &[&given, &given])?;
    Ok(back.iter().zip(given).all(|(back, given)| *back == !given))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: u32) -> MachineError {
        let call = "cuModuleLoadDataEx".to_owned();
        MachineError::Driver { call, code, name: code.to_string() }
    }

    #[test]
    fn a_refusal_is_told_in_the_words_users_meet() {
        let cubin = Load::Cubin(Sm::new(8, 0));
        let found = refused(cubin, "machine code for sm_80", &error(209));
        assert_eq!(found.answer, Answer::Fails);
        assert!(found.facts[0].1.contains("no kernel image is available"));
    }

    /// An old driver says nothing of the target; of the version it says all.
    #[test]
    fn an_unknown_version_is_evidence_about_versions_only() {
        let version = refused(Load::Version(Isa::new(8, 8)), "PTX", &error(222));
        assert_eq!(version.answer, Answer::Fails);
        assert!(version.facts[0].1.contains("unsupported toolchain"));
        let target = refused(Load::Ptx(Sm::new(8, 9), Isa::new(7, 8)), "PTX", &error(222));
        assert_eq!(target.answer, Answer::Unknown);
        assert_eq!(
            refused(Load::Version(Isa::new(8, 8)), "PTX", &error(2)).answer,
            Answer::Unknown
        );
    }
}
